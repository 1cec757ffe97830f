"""Processes: zombies, losses and skew; and long steps, deployments and rollouts."""

from watchkeeper_fleet.alerts.processes import LOST, SKEW, ZOMBIE
from watchkeeper_fleet.metrics.agent import PROCESS_INFO, PROGRESS_TIMESTAMP, WORK_IN_PROGRESS
from watchkeeper_fleet.metrics.exporter import PROCESS_CPU, PROCESSES_LOST

HOST = {"job": "watchkeeper", "instance": "n1", "node": "n1", "cluster": "c1"}
RANK = {**HOST, "workload": "train", "process": "4", "rank": "4"}


def test_a_rank_that_spins(pack):
    # Its last step ended at 5 minutes; since then it waits for a neighbour that is dead, at 100 % CPU.
    progress = [min(15.0 * i, 300.0) for i in range(80)]
    run = pack.run({PROGRESS_TIMESTAMP: progress, WORK_IN_PROGRESS: "1x79", PROCESS_CPU: "0+15x79"}, labels=RANK)
    run.fires(ZOMBIE, first="10m45s", summary="Rank 4 of train on n1 is a zombie", description="5m 45s")


def test_an_idle_server_makes_no_progress_either(pack):
    # Its threads poll, but there is no work in hand.
    run = pack.run({PROGRESS_TIMESTAMP: "0x79", WORK_IN_PROGRESS: "0x79", PROCESS_CPU: "0+12x79"}, labels=RANK)
    run.silent(ZOMBIE)


def test_the_first_call_after_an_idle_hour(pack):
    # A minute of honest work after 10 minutes without any.
    work = "0x40 1x4 0x35"
    run = pack.run({PROGRESS_TIMESTAMP: "0x44 660x35", WORK_IN_PROGRESS: work, PROCESS_CPU: "0+12x79"}, labels=RANK)
    run.silent(ZOMBIE)


def test_a_rank_that_sleeps_on_a_lock(pack):
    run = pack.run({PROGRESS_TIMESTAMP: "0x79", WORK_IN_PROGRESS: "1x79", PROCESS_CPU: "0+0.1x79"}, labels=RANK)
    run.silent(ZOMBIE)


def test_processes_that_vanish(pack):
    run = pack.run({PROCESSES_LOST: "0x20 2x80"}, labels={**HOST, "workload": "chat"})
    run.fires(LOST, first="5m15s", summary="2 processes of chat on n1 vanished", labels={"severity": "warning"})
    run.resolves(LOST, at="20m")


def test_processes_that_were_asked_to_stop(pack):
    # They leave a stop mark, and the count stands still.
    pack.run({PROCESSES_LOST: "5x80"}, labels={**HOST, "workload": "chat"}).silent(LOST)


def stack(process, torch, values):
    versions = {"python_version": "3.11.4", "torch_version": torch, "cuda_version": "12.1"}
    return {PROCESS_INFO.where(process=process, pid=process, **versions): values}


def test_two_versions_side_by_side(pack):
    labels = {**HOST, "workload": "chat"}
    run = pack.run(stack("0", "2.1.0", "1x90"), stack("1", "2.2.0", "1x90"), labels=labels, interval="1m")
    run.fires(SKEW, first="1h", summary="chat runs on 2 different stacks")


def test_a_rollout(pack):
    labels = {**HOST, "workload": "chat"}
    run = pack.run(
        stack("0", "2.1.0", "1x20 stale"),
        stack("0b", "2.2.0", "_x21 1x80"),
        stack("1", "2.1.0", "1x40 stale"),
        stack("1b", "2.2.0", "_x41 1x60"),
        labels=labels,
        interval="1m",
    )
    run.silent(SKEW)


def test_a_cluster_that_is_upgraded_later(pack):
    labels = {"job": "watchkeeper", "instance": "n1", "node": "n1", "workload": "chat"}
    first = {key.replace("{", '{cluster="c1",'): values for key, values in stack("0", "2.1.0", "1x90").items()}
    second = {key.replace("{", '{cluster="c2",'): values for key, values in stack("0", "2.2.0", "1x90").items()}
    pack.run(first, second, labels=labels, interval="1m").silent(SKEW)
