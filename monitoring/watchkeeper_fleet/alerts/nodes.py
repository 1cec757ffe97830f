"""Nodes: GPU hosts that fall out, one after another or alone, and devices that are hot, lost or broken."""

from watchkeeper import Alert, Group, Recording, Severity, not_, re
from watchkeeper_fleet.metrics.exporter import (
    DEVICES_EXPECTED,
    DEVICES_VISIBLE,
    ECC_ERRORS,
    EGRESS_CAPACITY,
    ROW_REMAP_FAILED,
    SLOWDOWN_TEMPERATURE,
    TEMPERATURE,
    THROTTLED,
    XID_ERRORS,
)
from watchkeeper_fleet.metrics.external import (
    LIMITS,
    NETWORK_RECEIVED,
    NODE_CAPACITY,
    NODE_CONDITION,
    NODE_OOM_KILLS,
    NODE_UNSCHEDULABLE,
    POD_PHASE,
    POD_READY,
    REQUESTS,
    RESTARTS,
    TERMINATED_REASON,
)

# Whole devices, and slices of them (MIG).
GPU_RESOURCE = re("nvidia_com_(gpu|mig_.*)")
GPU_REQUEST = REQUESTS.where(resource=GPU_RESOURCE)
# XIDs that are faults of the application.
APPLICATION_XIDS = "13|31|43|45"
# Interfaces that carry nothing out of the host, or whose traffic is counted on another one as well.
INNER_DEVICES = "lo|veth.*|cni.*|cali.*|docker.*|br-.*|bond.*|ib.*"
CORDONED = f"on (cluster, node) max by (cluster, node) ({NODE_UNSCHEDULABLE}) == 1"
ON_CONTAINER = "on (cluster, namespace, pod, container)"
ON_POD = "on (cluster, namespace, pod)"

# 1 where a node with GPUs is ready, 0 where it is not; nodes without GPUs are left out.
READY = Recording(
    "node:gpu_node:ready",
    f"max by (cluster, node) ({NODE_CONDITION.where(condition='Ready', status='true')})"
    f" and on (cluster, node) max by (cluster, node) ({NODE_CAPACITY.where(resource='nvidia_com_gpu')}) > 0",
)

NOT_READY = Alert(
    "GPUNodeNotReady",
    # A cordoned node is somebody's doing.
    expr=f"{READY} == 0 unless {CORDONED}",
    for_="1m",
    severity=Severity.CRITICAL,
    priority="P1",
    team="gpu-platform",
    summary="GPU node {{ $labels.node }} is not ready",
    description="Its pods do not serve, and their load moves to the other nodes of {{ $labels.cluster }}.",
    runbook="gpu-node-not-ready",
)

CASCADE = Alert(
    "GPUNodeCascade",
    # Nodes that fell within minutes of each other: not those that have been out for a week, nor those being serviced.
    expr=f"count by (cluster) (({READY} == 0 and max_over_time({READY}[10m]) == 1) unless {CORDONED}) >= 2",
    keep_firing_for="15m",
    severity=Severity.CRITICAL,
    priority="P1",
    team="gpu-platform",
    summary="{{ $value | humanize }} GPU nodes of {{ $labels.cluster }} fell out within 10 minutes",
    description="Load that a balancer moves from the first to the next brings down one after another.",
    reason="Nodes_lost_in_10m={{ $value | humanize }}",
    runbook="gpu-node-cascade",
)

CONTAINER_OOM = Alert(
    "ContainerOOMKilled",
    # The reason stays until the next end, so only a restart makes it news.
    # Of these series kube-state-metrics says no node: what stands there is its own.
    expr=(
        f"max by (cluster, namespace, pod, container) (increase({RESTARTS}[10m])) > 0 and {ON_CONTAINER}"
        f" {TERMINATED_REASON.where(reason='OOMKilled')} == 1"
    ),
    keep_firing_for="10m",
    severity=Severity.WARNING,
    priority="P2",
    team="inference-sre",
    summary="{{ $labels.namespace }}/{{ $labels.pod }} ({{ $labels.container }}) was killed for want of memory",
    description="Host memory, not GPU memory, over its own limit: {{ $value | humanize }} restarts in 10 minutes.",
    runbook="container-oom-killed",
)

NODE_OOM = Alert(
    "NodeOOMKill",
    # The kernel counts both kills of a host without memory and kills of a container at its own limit, so it can't page.
    expr=f"increase({NODE_OOM_KILLS}[5m]) > 0",
    keep_firing_for="10m",
    severity=Severity.WARNING,
    priority="P2",
    team="gpu-platform",
    summary="The kernel of {{ $labels.node }} kills processes for want of memory",
    description="{{ $value | humanize }} in 5 minutes: the host ran out of memory, or a container reached its limit.",
    runbook="node-oom-kill",
)

NO_LIMIT = Alert(
    "GPUPodWithoutMemoryLimit",
    expr=(
        f"max by (cluster, namespace, pod, container) ({GPU_REQUEST}) > 0"
        f" and {ON_POD} {POD_PHASE.where(phase='Running')} == 1"
        f" unless {ON_CONTAINER} {LIMITS.where(resource='memory')}"
    ),
    for_="15m",
    severity=Severity.WARNING,
    priority="P2",
    team="inference-sre",
    summary="{{ $labels.namespace }}/{{ $labels.pod }} has GPUs and no memory limit",
    description="{{ $labels.container }} may take the memory of the whole host; the kernel then chooses who dies.",
    runbook="gpu-pod-without-memory-limit",
)

HOT = Alert(
    "GPUTooHot",
    # Each device knows from where on it slows itself down.
    expr=f"{TEMPERATURE} > ({SLOWDOWN_TEMPERATURE} - 3) or increase({THROTTLED.where(reason='thermal')}[5m]) > 30",
    for_="5m",
    severity=Severity.WARNING,
    priority="P2",
    team="gpu-platform",
    summary="GPU {{ $labels.gpu }} on {{ $labels.instance }} is too hot",
    description="It is within 3 °C of slowing down, or was slowed down for more than 30 of the last 300 seconds.",
    runbook="gpu-too-hot",
)

XID = Alert(
    "GPUXidError",
    # 13, 31, 43 and 45 are faults of the application, and each known XID exists at 0 from the start.
    expr=f"increase({XID_ERRORS.where(xid=not_(re(APPLICATION_XIDS)))}[10m]) > 0",
    keep_firing_for="1h",
    severity=Severity.WARNING,
    priority="P2",
    team="gpu-platform",
    summary="XID {{ $labels.xid }} on GPU {{ $labels.gpu }} of {{ $labels.instance }}",
    description="{{ $value | humanize }} in 10 minutes: the driver reports a fault of the hardware or of itself.",
    runbook="gpu-xid-error",
)

DEVICE_LOST = Alert(
    "GPULost",
    expr=f"{DEVICES_EXPECTED} - {DEVICES_VISIBLE} > 0",
    for_="1m",
    severity=Severity.CRITICAL,
    priority="P1",
    team="gpu-platform",
    summary="{{ $value | humanize }} GPUs of {{ $labels.instance }} are gone",
    description="They do not answer to the driver any more; as a rule only a restart of the host brings them back.",
    reason="GPUs_missing={{ $value | humanize }}",
    runbook="gpu-lost",
)

UNCORRECTABLE = Alert(
    "GPUUncorrectableErrors",
    expr=f"increase({ECC_ERRORS.where(kind='uncorrected')}[10m]) > 0 or {ROW_REMAP_FAILED} == 1",
    keep_firing_for="1h",
    severity=Severity.CRITICAL,
    priority="P1",
    team="gpu-platform",
    summary="Memory of GPU {{ $labels.gpu }} on {{ $labels.instance }} is faulty",
    description="Errors that could not be corrected, or a row that could not be remapped: results may be wrong.",
    runbook="gpu-uncorrectable-errors",
)

PULL = Alert(
    "WeightPullSaturatesNetwork",
    # The interfaces of the hosts were not full in the incident: the way out of the cluster was.
    expr=(
        f"sum by (cluster) (rate({NETWORK_RECEIVED.where(device=not_(re(INNER_DEVICES)))}[2m]))"
        f" / on (cluster) max by (cluster) ({EGRESS_CAPACITY}) > 0.8"
        f" and on (cluster)"
        f" count by (cluster) ({POD_READY.where(condition='false')} == 1 and {ON_POD} {GPU_REQUEST}) >= 4"
    ),
    for_="5m",
    severity=Severity.WARNING,
    priority="P2",
    team="gpu-platform",
    summary="{{ $labels.cluster }} uses {{ $value | humanizePercentage }} of what its way out carries",
    description="Several GPU pods start at once and fetch their weights: each waits for all.",
    runbook="weight-pull-saturates-network",
)

GROUP = Group(
    "nodes",
    [
        READY,
        NOT_READY,
        CASCADE,
        CONTAINER_OOM,
        NODE_OOM,
        NO_LIMIT,
        HOT,
        XID,
        DEVICE_LOST,
        UNCORRECTABLE,
        PULL,
    ],
    interval="30s",
)
