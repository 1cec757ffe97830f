"""GPU memory: what torch's allocator holds, what is left, and the signs of an out-of-memory error before it happens."""

from watchkeeper import Alert, Group, Recording, Severity
from watchkeeper_fleet.metrics.agent import ALLOC_RETRIES, ALLOCATED, READY, RESERVED
from watchkeeper_fleet.metrics.exporter import GPU_FREE, GPU_TOTAL, NODE_OOMS

# Private to its process: never summed into a headroom per GPU.
SLACK = Recording("instance_gpu_process:torch_cuda_memory_slack:bytes", f"{RESERVED} - {ALLOCATED}", unit="bytes")

# What one process can still get: its own cache, and what the device has free.
HEADROOM = Recording(
    "instance_gpu_process:torch_cuda_memory_headroom:bytes",
    f"{SLACK} + on (cluster, instance, gpu) group_left () {GPU_FREE}",
    unit="bytes",
)

# The floor of each window: a leak lifts it, the saw-tooth of batches does not.
FLOOR = Recording(
    "instance_gpu_process:torch_cuda_memory_allocated:min5m", f"min_over_time({ALLOCATED}[5m])", unit="bytes"
)


def ready_for(window: str) -> str:
    """Return the condition that the process has been ready for so long.

    Loading a model fills the device exactly as a runaway does, so what an alert looks back at must all be after it.
    """
    return f"on (cluster, instance, process) min_over_time({READY}[{window}]) == 1"


FRAGMENTED = Alert(
    "HighGPUMemoryFragmentation",
    # The cache of an idle process is 90 % slack, so only where the device is nearly full does it matter.
    expr=f"({SLACK} / {RESERVED} > 0.30) and on (cluster, instance, gpu) ({GPU_FREE} / {GPU_TOTAL} < 0.10)",
    for_="5m",
    severity=Severity.CRITICAL,
    priority="P1",
    team="inference-sre",
    summary="{{ $value | humanizePercentage }} of torch memory unused on {{ $labels.instance }} GPU {{ $labels.gpu }}",
    description=(
        "Process {{ $labels.process }} of {{ $labels.workload }} holds memory that no tensor uses, "
        "and the device has less than 10 % free: the next large request may fail although enough is free in pieces."
    ),
    reason="Unused_of_torch_memory={{ $value | humanizePercentage }}",
    runbook="gpu-memory-fragmentation",
)

HEADROOM_LOW = Alert(
    "GPUMemoryHeadroomLow",
    # Less than 300 s of growth is left. A static share would page every server that reserves 90 % on purpose.
    expr=(
        f"{HEADROOM} < 300 * (deriv({ALLOCATED}[1m]) > 0)"
        f" and {ready_for('1m')} and on (cluster, instance, gpu) ({GPU_FREE} / {GPU_TOTAL} < 0.60)"
    ),
    keep_firing_for="5m",
    severity=Severity.CRITICAL,
    priority="P1",
    team="inference-sre",
    summary="{{ $labels.instance }} GPU {{ $labels.gpu }} runs out of memory within 5 minutes at this rate",
    description=(
        "Process {{ $labels.process }} of {{ $labels.workload }} can still get {{ $value | humanize1024 }}B, "
        "and what it has allocated grows by more than that in 5 minutes."
    ),
    reason="Headroom={{ $value | humanize1024 }}B",
    runbook="gpu-memory-headroom-low",
)

JUMP = Alert(
    "GPUMemoryJump",
    # Every load and every large batch does this: for reading next to other alerts, not for waking anyone.
    expr=(
        f"({RESERVED} - min_over_time({RESERVED}[1m])) > on (cluster, instance, gpu) group_left () (0.10 * {GPU_TOTAL})"
        f" and {ready_for('1m')}"
    ),
    severity=Severity.INFO,
    priority="P3",
    team="inference-sre",
    summary="Reserved memory on {{ $labels.instance }} GPU {{ $labels.gpu }} rose by {{ $value | humanize1024 }}B",
    description="Process {{ $labels.process }} of {{ $labels.workload }} took over 10 % of the device within a minute.",
    runbook="gpu-memory-jump",
)

LEAK = Alert(
    "GPUMemoryLeak",
    expr=(
        f"predict_linear({FLOOR}[30m], 1800) > on (cluster, instance, gpu) group_left () {GPU_TOTAL}"
        f" and {ready_for('30m')}"
    ),
    for_="10m",
    severity=Severity.WARNING,
    priority="P2",
    team="inference-sre",
    summary="{{ $labels.instance }} GPU {{ $labels.gpu }} is on course to be full within 30 minutes",
    description=(
        "The least that process {{ $labels.process }} of {{ $labels.workload }} has allocated "
        "in any 5 minutes keeps rising: {{ $value | humanize1024 }}B expected in 30 minutes."
    ),
    runbook="gpu-memory-leak",
)

RETRYING = Alert(
    "GPUAllocatorRetrying",
    expr=f"increase({ALLOC_RETRIES}[2m]) > 0",
    for_="2m",
    keep_firing_for="5m",
    severity=Severity.WARNING,
    priority="P2",
    team="inference-sre",
    summary="Allocator is retrying on {{ $labels.instance }} GPU {{ $labels.gpu }}",
    description=(
        "{{ $value | humanize }} cache flushes in 2 minutes by process {{ $labels.process }} "
        "of {{ $labels.workload }}: each stalls the device, and the next step is an out-of-memory error."
    ),
    runbook="gpu-allocator-retrying",
)

OUT_OF_MEMORY = Alert(
    "GPUOutOfMemory",
    # The process often dies before its next scrape, so the daemon keeps the count, and it exists at 0 from the start.
    expr=f"increase({NODE_OOMS}[5m]) > 0",
    keep_firing_for="10m",
    severity=Severity.CRITICAL,
    priority="P1",
    team="inference-sre",
    summary="Out of memory on {{ $labels.instance }} GPU {{ $labels.gpu }}",
    description="{{ $value | humanize }} out-of-memory errors in 5 minutes on this GPU.",
    reason="Out_of_memory_errors_in_5m={{ $value | humanize }}",
    runbook="gpu-out-of-memory",
)

GROUP = Group(
    "gpu_memory",
    [SLACK, HEADROOM, FLOOR, FRAGMENTED, HEADROOM_LOW, JUMP, LEAK, RETRYING, OUT_OF_MEMORY],
    interval="10s",  # with scrapes 15 s apart, a page a minute before the error of RC-9902 needs it
)
