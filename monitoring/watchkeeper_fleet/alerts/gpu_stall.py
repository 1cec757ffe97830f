"""Stall: GPUs that wait for the CPU to feed them."""

from watchkeeper import Alert, Group, Recording, Severity
from watchkeeper_fleet.metrics.agent import STALL, STEP_WALL

BY = "by (cluster, node, instance, workload, gpu)"

# Seconds of offered work per second: an idle server offers none, and then no ratio means anything.
OFFERED = Recording("instance_workload_gpu:gpu_step_wall_seconds:rate2m", f"sum {BY} (rate({STEP_WALL}[2m]))")

RATIO = Recording(
    "instance_workload_gpu:gpu_stall:ratio_rate2m", f"sum {BY} (rate({STALL}[2m])) / {OFFERED}", unit="ratio"
)

STALLED = Alert(
    "GPUStallRatioHigh",
    expr=f"{RATIO} > 0.15 and {OFFERED} > 0.2",
    for_="2m",
    severity=Severity.CRITICAL,
    priority="P1",
    team="inference-sre",
    summary="{{ $labels.workload }} starves GPU {{ $labels.gpu }} on {{ $labels.instance }}",
    description=(
        "For {{ $value | humanizePercentage }} of the time in which {{ $labels.workload }} had work, "
        "the GPU waited for data from the CPU."
    ),
    reason="GPU_stall_ratio={{ $value | humanizePercentage }}",
    runbook="gpu-stall-ratio-high",
)

GROUP = Group("gpu_stall", [OFFERED, RATIO, STALLED], interval="15s")
