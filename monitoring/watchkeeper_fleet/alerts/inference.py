"""Inference: slow, stuck, failing, or answering nonsense."""

from watchkeeper import Alert, Group, Recording, Severity, not_, re
from watchkeeper_fleet.alerts.gpu_memory import ready_for
from watchkeeper_fleet.metrics.agent import (
    DTYPE_CHANGES,
    EMBEDDING_PSI,
    EMBEDDING_SAMPLES,
    INFERENCE_ERRORS,
    KERNEL,
    LATENCY,
    NONFINITE,
    OLDEST_IN_PROGRESS,
)

BY = "by (cluster, workload, function)"

CALLS = Recording("workload_function:inference_latency_seconds:rate5m", f"sum {BY} (rate({LATENCY.count}[5m]))")

P99 = Recording(
    "workload_function:inference_latency_seconds:p99_5m",
    f"histogram_quantile(0.99, sum by (cluster, workload, function, le) (rate({LATENCY.bucket}[5m])))",
    unit="seconds",
)

ERRORS = Recording(
    "workload_function:inference_errors:ratio_rate5m",
    f"sum {BY} (rate({INFERENCE_ERRORS}[5m])) / {CALLS}",
    unit="ratio",
)

# NCCL kernels are left out: they spin while they wait for other ranks.
KERNEL_P99 = Recording(
    "workload_kernel:gpu_kernel_seconds:p99_10m",
    "histogram_quantile(0.99, sum by (cluster, workload, kernel, le)"
    f" (rate({KERNEL.bucket.where(kernel=not_(re('(?i).*nccl.*')))}[10m])))",
    unit="seconds",
)

SLOW = Alert(
    "LatencyP99Spike",
    # A handful of calls has no 99th percentile worth waking anyone for.
    expr=f"{P99} > 2 and {CALLS} > 0.1",
    for_="1m",
    severity=Severity.CRITICAL,
    priority="P1",
    team="inference-sre",
    summary="p99 latency of {{ $labels.workload }} {{ $labels.function }} is {{ $value | humanizeDuration }}",
    description=(
        "One call in a hundred of {{ $labels.function }} takes longer than that. "
        "Calls that never return are not counted: look at InferenceStuck too."
    ),
    reason="Latency_p99={{ $value | humanizeDuration }}",
    runbook="latency-p99-spike",
)

STUCK = Alert(
    "InferenceStuck",
    # Calls that hang are in no histogram.
    expr=f"max by (cluster, node, instance, workload, process, function) ({OLDEST_IN_PROGRESS}) > 30",
    for_="30s",
    severity=Severity.CRITICAL,
    priority="P1",
    team="inference-sre",
    summary="A call of {{ $labels.workload }} {{ $labels.function }} on {{ $labels.instance }} hangs",
    description=(
        "It has been running for {{ $value | humanizeDuration }} in process {{ $labels.process }}; "
        "no latency figure knows of it until it returns."
    ),
    reason="Oldest_call={{ $value | humanizeDuration }}",
    runbook="inference-stuck",
)

KERNEL_SLOW = Alert(
    "KernelLatencyP99High",
    # There is no figure that fits all kernels, so each is held to its own past: the day before, which a lasting
    # slowdown is no part of until tomorrow.
    expr=f"{KERNEL_P99} / avg_over_time({KERNEL_P99}[1d] offset 1d) > 3",
    for_="15m",
    severity=Severity.WARNING,
    priority="P2",
    team="inference-sre",
    summary="Kernel {{ $labels.kernel }} of {{ $labels.workload }} is much slower than yesterday",
    description="Its 99th percentile is {{ $value | humanize }} times that of the day before.",
    runbook="kernel-latency-p99-high",
)

GARBAGE = Alert(
    "NonFiniteOutput",
    expr=f"increase({NONFINITE}[5m]) > 0",
    keep_firing_for="10m",
    severity=Severity.CRITICAL,
    priority="P1",
    team="inference-sre",
    summary="{{ $labels.workload }} {{ $labels.function }} on {{ $labels.instance }} answers NaN or infinity",
    description="{{ $value | humanize }} answers in 5 minutes held numbers that are none; the calls succeeded.",
    reason="Nonfinite_outputs_in_5m={{ $value | humanize }}",
    runbook="non-finite-output",
)

FAILING = Alert(
    "InferenceErrorsHigh",
    expr=f"{ERRORS} > 0.05 and {CALLS} > 0.1",
    for_="2m",
    severity=Severity.CRITICAL,
    priority="P1",
    team="inference-sre",
    summary="{{ $value | humanizePercentage }} of the calls of {{ $labels.workload }} {{ $labels.function }} fail",
    description="Which exceptions they raise is in inference_errors_total, by class.",
    reason="Error_ratio={{ $value | humanizePercentage }}",
    runbook="inference-errors-high",
)

DRIFT = Alert(
    "EmbeddingDrift",
    # 0.25 is the usual mark for a real shift of a population: by half a standard deviation. A thousand embeddings that
    # have not shifted are at 9 * (1/1000 + 1/n), 0.02 or so; those of a few busy users are higher.
    expr=f"{EMBEDDING_PSI} > 0.25 and {EMBEDDING_SAMPLES} >= 1000",
    for_="30m",
    severity=Severity.WARNING,
    priority="P2",
    team="inference-sre",
    summary="Embeddings {{ $labels.embedding }} of {{ $labels.workload }} have drifted from their reference",
    description='Population stability index {{ printf "%.2f" $value }} over the window, on {{ $labels.instance }}.',
    runbook="embedding-drift",
)

WEIGHTS_CHANGED = Alert(
    "WeightsChangedLive",
    expr=f"increase({DTYPE_CHANGES}[5m]) > 0 and {ready_for('5m')}",
    keep_firing_for="15m",
    severity=Severity.CRITICAL,
    priority="P1",
    team="inference-sre",
    summary="Weights of {{ $labels.workload }} on {{ $labels.instance }} were changed while it serves",
    description="{{ $value | humanize }} changes of a parameter's type in 5 minutes in process {{ $labels.process }}.",
    reason="Parameter_type_changes_in_5m={{ $value | humanize }}",
    runbook="weights-changed-live",
)

GROUP = Group(
    "inference",
    [CALLS, P99, ERRORS, KERNEL_P99, SLOW, STUCK, KERNEL_SLOW, GARBAGE, FAILING, DRIFT, WEIGHTS_CHANGED],
    interval="15s",
)
