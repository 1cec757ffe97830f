"""Inference: slow, stuck, failing, nonsense; and what only looks so."""

from watchkeeper.testing import observed
from watchkeeper_fleet.alerts.inference import (
    DRIFT,
    FAILING,
    GARBAGE,
    KERNEL_SLOW,
    SLOW,
    STUCK,
    WEIGHTS_CHANGED,
)
from watchkeeper_fleet.metrics.agent import (
    DTYPE_CHANGES,
    EMBEDDING_PSI,
    EMBEDDING_SAMPLES,
    INFERENCE_ERRORS,
    KERNEL,
    LATENCY,
    NONFINITE,
    OLDEST_IN_PROGRESS,
    READY,
)

TARGET = {"job": "watchkeeper", "instance": "n1", "node": "n1", "cluster": "c1"}
PROCESS = {**TARGET, "workload": "chat", "process": "0", "rank": "0"}
FUNCTION = {**PROCESS, "function": "embed"}


def test_slow_calls(pack):
    calls = observed(LATENCY, {0.12: "0+15x40", 40.0: "0+1x40"})
    run = pack.run(calls, labels=FUNCTION)
    run.fires(SLOW, first="1m30s", summary="p99 latency of chat embed is 42.6s")


def test_calls_of_45_seconds_can_be_read(pack):
    # With buckets that end at 10 s, no figure would be above 10.
    run = pack.run(observed(LATENCY, {0.12: "0+15x40", 50.0: "0+2x40"}), labels=FUNCTION)
    assert run.value('workload_function:inference_latency_seconds:p99_5m{function="embed"}', "10m") > 45


def test_the_slowest_of_a_handful_is_no_percentile(pack):
    # One call a minute, and each takes a minute: 0.017 calls a second.
    run = pack.run(observed(LATENCY, {60.0: [i // 4 for i in range(80)]}), labels=FUNCTION)
    run.silent(SLOW)


def test_a_call_that_hangs(pack):
    run = pack.run({OLDEST_IN_PROGRESS: "0x4 15+15x20"}, labels=FUNCTION)
    run.fires(STUCK, first="2m15s", summary="A call of chat embed on n1 hangs", description="1m 15s in process 0")


def test_slow_calls_that_finish_do_not_hang(pack):
    # The age falls whenever a call returns.
    pack.run({OLDEST_IN_PROGRESS: [5.0, 20.0, 28.0, 2.0] * 20}, labels=FUNCTION).silent(STUCK)
    pack.run({OLDEST_IN_PROGRESS: [0.0, 32.0, 0.0, 0.0] * 20}, labels=FUNCTION).silent(STUCK)


def kernels(slower_from: int, name: str = "gemm"):
    """Two days and two hours, a sample every 5 minutes: 100 µs each, then 2 ms each from a sample on."""
    fast = [float(100 * min(i, slower_from)) for i in range(600)]
    slow = [float(100 * max(0, i - slower_from)) for i in range(600)]
    return observed(KERNEL, {8e-5: fast, 2e-3: slow}, kernel=name)


def test_a_kernel_slower_than_yesterday(pack):
    run = pack.run(kernels(580), labels={**PROCESS, "gpu": "0"}, interval="5m")
    run.fires(KERNEL_SLOW, by="49h", summary="Kernel gemm of chat is much slower than yesterday")


def test_kernels_that_wait_for_others_do_not_count(pack):
    run = pack.run(kernels(580, "ncclDevKernel_AllReduce"), labels={**PROCESS, "gpu": "0"}, interval="5m")
    run.silent(KERNEL_SLOW)


def test_a_kernel_as_slow_as_always(pack):
    run = pack.run(kernels(0), labels={**PROCESS, "gpu": "0"}, interval="5m")
    run.silent(KERNEL_SLOW)


def test_answers_that_are_none(pack):
    run = pack.run({NONFINITE: "0x20 1x80"}, labels=FUNCTION)
    run.fires(GARBAGE, first="5m15s", summary="chat embed on n1 answers NaN or infinity")
    run.resolves(GARBAGE, at="20m")


def test_a_restart_of_a_process_that_counted_some(pack):
    # Its counter starts again at 0: no new answer.
    pack.run({NONFINITE: "7x20 stale _x4 0x40"}, labels=FUNCTION).silent(GARBAGE)


def test_calls_that_fail(pack):
    calls = observed(LATENCY, {0.12: "0+15x40"})
    run = pack.run(calls, {INFERENCE_ERRORS.where(**{"class": "OutOfMemoryError"}): "0+3x40"}, labels=FUNCTION)
    run.fires(FAILING, first="2m45s", summary="20% of the calls of chat embed fail")


def test_one_caller_with_nonsense(pack):
    # 1 in 20 is at the mark, not above it.
    calls = observed(LATENCY, {0.12: "0+20x60"})
    pack.run(calls, {INFERENCE_ERRORS.where(**{"class": "ValueError"}): "0+1x60"}, labels=FUNCTION).silent(FAILING)


def test_a_few_calls_at_night_that_all_fail(pack):
    # One call in 5 minutes is no rate to page for.
    calls = observed(LATENCY, {0.12: [i // 20 for i in range(120)]})
    errors = {INFERENCE_ERRORS.where(**{"class": "ValueError"}): [i // 20 for i in range(120)]}
    pack.run(calls, errors, labels=FUNCTION).silent(FAILING)


def test_embeddings_drift(pack):
    run = pack.run(
        {EMBEDDING_PSI: "0.4x60", EMBEDDING_SAMPLES: "5000x60"},
        labels={**PROCESS, "embedding": "query"},
        interval="1m",
    )
    run.fires(DRIFT, first="30m", summary="Embeddings query of chat have drifted", description="index 0.40 over")


def test_a_small_window_says_nothing(pack):
    run = pack.run(
        {EMBEDDING_PSI: "3x60", EMBEDDING_SAMPLES: "200x60"}, labels={**PROCESS, "embedding": "query"}, interval="1m"
    )
    run.silent(DRIFT)


def test_a_campaign_of_twenty_minutes_is_no_drift(pack):
    run = pack.run(
        {EMBEDDING_PSI: "0.1x10 0.4x20 0.1x40", EMBEDDING_SAMPLES: "5000x71"},
        labels={**PROCESS, "embedding": "query"},
        interval="1m",
    )
    run.silent(DRIFT)


def test_weights_that_change_while_serving(pack):
    run = pack.run({DTYPE_CHANGES: "0x20 1x120", READY: "1x141"}, labels=PROCESS)
    run.fires(WEIGHTS_CHANGED, first="5m15s", summary="Weights of chat on n1 were changed while it serves")
    run.resolves(WEIGHTS_CHANGED, at="25m")


def test_a_conversion_while_loading(pack):
    # 5 minutes lie between the conversion and the first request.
    run = pack.run({DTYPE_CHANGES: "0x4 290x60", READY: "0x26 1x38"}, labels=PROCESS)
    run.silent(WEIGHTS_CHANGED)


def test_a_process_that_is_ready_right_after_it_has_converted(pack):
    run = pack.run({DTYPE_CHANGES: "0x4 290x120", READY: "0x6 1x118"}, labels=PROCESS)
    run.silent(WEIGHTS_CHANGED)
