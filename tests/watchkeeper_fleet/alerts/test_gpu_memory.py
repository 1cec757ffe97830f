"""GPU memory: what fires before memory is gone, and what only looks as if it were going."""

from watchkeeper_fleet.alerts.gpu_memory import FRAGMENTED, HEADROOM_LOW, JUMP, LEAK, OUT_OF_MEMORY, RETRYING
from watchkeeper_fleet.metrics.agent import ALLOC_RETRIES, ALLOCATED, READY, RESERVED
from watchkeeper_fleet.metrics.exporter import GPU_FREE, GPU_TOTAL, NODE_OOMS

GIB = 2**30
DEVICE = {"job": "watchkeeper", "instance": "n1", "node": "n1", "cluster": "c1", "gpu": "3"}
ON_GPU = {**DEVICE, "workload": "chat", "process": "0", "rank": "0"}


def memory(allocated, reserved, free, *, total=80.0, ready=1.0):
    """The series of one process on one device, from GiB sample after sample or steady."""
    length = max(len(part) for part in (allocated, reserved, free) if isinstance(part, list))
    steady = {ALLOCATED: allocated, RESERVED: reserved, GPU_FREE: free, GPU_TOTAL: total}
    series = {
        metric: [GIB * value for value in (part if isinstance(part, list) else [part] * length)]
        for metric, part in steady.items()
    }
    return {**series, READY: [ready] * length}


def climb(start, step, length):
    return [start + step * i for i in range(length)]


def test_fragmentation_on_a_full_device(pack):
    run = pack.run(memory([40.0] * 30, 72.0, 4.0), labels=ON_GPU)
    run.fires(FRAGMENTED, first="5m", summary="44.44% of torch memory unused on n1 GPU 3", labels={"workload": "chat"})


def test_the_cache_of_an_idle_process_is_no_fragmentation(pack):
    # Nine tenths of what it reserved is unused, and half of the device is free.
    pack.run(memory([4.0] * 60, 40.0, 36.0), labels=ON_GPU).silent(FRAGMENTED)


def test_headroom_that_a_runaway_uses_up(pack):
    run = pack.run(memory(climb(22, 3, 16), climb(24, 3, 16), climb(54, -3, 16)), labels=ON_GPU)
    run.fires(HEADROOM_LOW, first="45s", summary="n1 GPU 3 runs out of memory within 5 minutes", count=1)


def test_headroom_while_a_model_loads(pack):
    # The same climb, by a process that does not serve yet.
    run = pack.run(memory(climb(0, 3, 24), climb(1, 3, 24), climb(75, -3, 24), ready=0.0), labels=ON_GPU)
    run.silent(HEADROOM_LOW)


def test_headroom_of_a_server_that_reserves_nearly_all(pack):
    # 90 % is reserved on purpose; what is allocated goes up and down with the batches.
    saw = [50.0, 50.25, 50.5, 50.25] * 15
    pack.run(memory(saw, 72.0, 4.0), labels=ON_GPU).silent(HEADROOM_LOW)


def test_a_large_batch_is_a_jump(pack):
    run = pack.run(memory([20.0] * 12, [24.0] * 8 + [40.0] * 4, [52.0] * 8 + [36.0] * 4), labels=ON_GPU)
    run.fires(JUMP, first="2m", summary="rose by 16GiB", labels={"severity": "info"})


def test_a_model_that_loads_is_no_jump(pack):
    reserved = [1.0] * 8 + [40.0] * 8
    pack.run(memory([1.0] * 16, reserved, [70.0] * 16, ready=0.0), labels=ON_GPU).silent(JUMP)


def test_a_jump_resolves_by_itself(pack):
    run = pack.run(memory([20.0] * 20, [24.0] * 8 + [40.0] * 12, [40.0] * 20), labels=ON_GPU)
    run.resolves(JUMP, by="3m15s")


def test_a_leak_lifts_the_floor(pack):
    # 0.5 GiB a minute under a saw-tooth of 8 GiB: 80 GiB are full within half an hour of minute 80.
    saw = [20 + 0.5 * minute + 2 * (minute % 5) for minute in range(110)]
    run = pack.run(memory(saw, 78.0, 1.0), labels=ON_GPU, interval="1m")
    alert = run.fires(LEAK, by="1h45m", summary="full within 30 minutes", labels={"severity": "warning"})
    assert alert.firing[0][0] > 70 * 60


def test_the_saw_tooth_of_batches_is_no_leak(pack):
    saw = [40 + 8 * (minute % 5) for minute in range(120)]
    pack.run(memory(saw, 78.0, 1.0), labels=ON_GPU, interval="1m").silent(LEAK)


def test_a_cache_that_warms_up_is_no_leak(pack):
    # Key-value blocks after a start: steep at first, then level, far from full.
    curve = [20 + 30 * (1 - 0.93**minute) for minute in range(150)]
    pack.run(memory(curve, 60.0, 20.0), labels=ON_GPU, interval="1m").silent(LEAK)


def test_retrying(pack):
    run = pack.run({ALLOC_RETRIES: "0x20 0+1x20"}, labels=ON_GPU, interval="15s")
    run.fires(RETRYING, labels={"gpu": "3"}, summary="n1 GPU 3")
    run.silent(RETRYING, until="5m")
    run.fires(RETRYING, first="7m30s", description="process 0 of chat")


def test_a_single_flush_is_not_retrying(pack):
    # After a change of batch size: gone within 2 minutes.
    pack.run({ALLOC_RETRIES: "0x20 1x40"}, labels=ON_GPU).silent(RETRYING)


def test_out_of_memory(pack):
    run = pack.run({NODE_OOMS: "0x20 1x80"}, labels=DEVICE)
    run.fires(OUT_OF_MEMORY, first="5m15s", exact=True, summary="Out of memory on n1 GPU 3", labels={
        **DEVICE, "severity": "critical", "priority": "P1", "team": "inference-sre",
    })  # fmt: skip
    # The window of 5 minutes, then 10 more.
    run.resolves(OUT_OF_MEMORY, at="20m")


def test_an_exporter_that_is_restarted_saw_no_error(pack):
    # Its count is kept across restarts, a gap is all that shows.
    pack.run({NODE_OOMS: "3x20 _x4 3x20"}, labels=DEVICE).silent(OUT_OF_MEMORY)
