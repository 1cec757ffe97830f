"""Stall: GPUs that wait for data while there is work."""

from watchkeeper_fleet.alerts.gpu_stall import STALLED
from watchkeeper_fleet.metrics.agent import STALL, STEP_WALL

LABELS = {"job": "watchkeeper", "instance": "n1", "node": "n1", "cluster": "c1", "gpu": "3"}
LABELS |= {"workload": "train", "process": "0", "rank": "0"}


def test_a_fifth_of_the_time_is_too_much(pack):
    run = pack.run({STEP_WALL: "0+15x40", STALL: "0+3x40"}, labels=LABELS)
    run.fires(STALLED, first="2m30s", summary="train starves GPU 3 on n1", description="For 20% of the time")


def test_an_idle_server_starves_nobody(pack):
    # One short request a minute, nearly all of it spent waiting.
    run = pack.run({STEP_WALL: "0+1x60", STALL: "0+0.9x60"}, labels=LABELS)
    run.silent(STALLED)


def test_a_slow_start_of_an_epoch_is_short(pack):
    # All workers of the data loader start anew: a minute without data.
    run = pack.run({STEP_WALL: "0+15x60", STALL: "0x20 5+5x3 20x36"}, labels=LABELS)
    run.silent(STALLED)
