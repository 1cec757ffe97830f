"""What exporters saw of RC-9902: every series of it, from the incident's recorded and assumed times.

Eight nodes. On node 04 eight processes, one a GPU, serve one model in shards; on each other node one process is looked
at. All of it is assumed, but for the times and figures that `rc9902_log` names as recorded.
"""

from __future__ import annotations

from functools import partial

from watchkeeper_fleet.incidents import rc9902_log as log
from watchkeeper_fleet.incidents.sampling import counter, rising, switch
from watchkeeper_fleet.metrics import agent, exporter, external

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from watchkeeper_fleet.incidents.sampling import Curve, Scrapes

    # (allocated, reserved) in GiB
    Memory = Callable[[float], tuple[float, float]]

GIB = 2.0**30
CLUSTER = "inference"
WORKLOAD = "inference-engine-v2"
NODES = tuple(f"k8s-gpu-node-{number:02}" for number in range(1, 9))
NODE_04 = NODES[3]

# The quiet hour. Node 07 loads a model into a second process; nodes 01 to 03 get a new version one after another.
LOAD_SINCE, LOAD_UNTIL = -3000.0, -2910.0
ROLLOUT = {NODES[0]: -2400.0, NODES[1]: -2100.0, NODES[2]: -1800.0}
RESTART = 30.0  # seconds without a process
LOADING = 120.0  # seconds of loading
NAN_SINCE = 39.0  # 03:12:40
FALL_APART = 8.0  # seconds from one node's fall to the next
CALLS = 20.0  # a second and node
FAST, LATE = 0.12, 50.0  # seconds a call
OPTIMIZED = 5.0  # parameters a second


def everything(scrapes: Scrapes, memory: Memory) -> None:
    """All series of the incident."""
    for node in NODES:
        _kubernetes(scrapes, node)
        _host(scrapes, node)
        _serving(scrapes, node)
    gpu_0(scrapes, memory)
    for gpu in range(1, 8):
        _steady(scrapes, NODE_04, str(gpu))
    for node in NODES:
        if node in ROLLOUT:
            _rolled_out(scrapes, node)
        elif node != NODE_04:
            _steady(scrapes, node, "0")
    _loaded(scrapes)
    _ingress(scrapes)
    _probes(scrapes)
    scrapes.add("up", {"job": "kube-state-metrics", "instance": "ksm", "cluster": CLUSTER}, 1.0)


def target(node: str, job: str = "watchkeeper") -> dict[str, str]:
    """The target labels of a node's exporter."""
    return {"job": job, "instance": node, "node": node, "cluster": CLUSTER}


def process(node: str, slot: str = "0", rank: str = "") -> dict[str, str]:
    """The labels of a process."""
    return {**target(node), "workload": WORKLOAD, "process": slot, "rank": rank or slot}


def fallen(node: str) -> float:
    """When a node falls: node 04 as recorded, the others one after another."""
    if node == NODE_04:
        return log.NOT_READY
    others = [one for one in NODES if one != NODE_04]
    return log.CASCADE + FALL_APART * others.index(node)


def gpu_0(scrapes: Scrapes, memory: Memory) -> None:
    """The process that dies, and its device."""
    own = process(NODE_04)

    def alive(part: int) -> Curve:
        return lambda time: GIB * memory(time)[part] if time < log.OOM else None

    def free(time: float) -> float:
        held = memory(time)[1] if time < log.OOM else 0.0
        return GIB * (log.TOTAL_GIB - log.OUTSIDE_GIB - held)

    _memory(scrapes, own, "0", alive(0), alive(1))
    scrapes.add(agent.READY, own, switch((log.OOM, None), before=1.0))
    scrapes.add(agent.DTYPE_CHANGES, own, _until(log.OOM, rising(OPTIMIZED, log.CONTEXT)))
    _device(scrapes, NODE_04, "0", free, ooms=counter(log.OOM))


def _memory(scrapes: Scrapes, own: dict[str, str], gpu: str, allocated: Curve, reserved: Curve) -> None:
    scrapes.add(agent.ALLOCATED, {**own, "gpu": gpu}, allocated)
    scrapes.add(agent.RESERVED, {**own, "gpu": gpu}, reserved)
    scrapes.add(agent.ALLOC_RETRIES, {**own, "gpu": gpu}, lambda time: None if allocated(time) is None else 0.0)


def _device(scrapes: Scrapes, node: str, gpu: str, free: Curve, ooms: Curve | float = 0.0) -> None:
    own = {**target(node), "gpu": gpu}
    scrapes.add(exporter.GPU_FREE, own, free)
    scrapes.add(exporter.GPU_TOTAL, own, GIB * log.TOTAL_GIB)
    scrapes.add(exporter.NODE_OOMS, own, ooms)
    scrapes.add(exporter.XID_ERRORS, {**own, "xid": "79"}, 0.0)


def _saw(time: float) -> float:
    """Batches: half a GiB up and down within a minute."""
    return log.ALLOCATED_AT_START_GIB + 0.5 * abs((time % 60) / 30 - 1)


def _steady(scrapes: Scrapes, node: str, gpu: str) -> None:
    """A process that serves all hour, and from the error on waits for a rank that is dead."""
    own = process(node, slot=gpu)
    slack = log.ALLOCATED_AT_START_GIB * 0.14 / 0.86

    def allocated(time: float) -> float:
        return GIB * _saw(time)

    _memory(scrapes, own, gpu, allocated, _level(log.ALLOCATED_AT_START_GIB + 0.5 + slack))
    scrapes.add(agent.READY, own, 1.0)
    changes = rising(OPTIMIZED, log.CONTEXT, log.OOM) if node == NODE_04 else 0.0
    scrapes.add(agent.DTYPE_CHANGES, own, changes)
    held = log.ALLOCATED_AT_START_GIB + 0.5 + slack + log.OUTSIDE_GIB
    _device(scrapes, node, gpu, _level(log.TOTAL_GIB - held))
    _waiting(scrapes, own)


def _level(gib: float) -> Curve:
    """A steady level."""
    return lambda _: GIB * gib


def _waiting(scrapes: Scrapes, own: dict[str, str], since: float = log.QUIET) -> None:
    """From `since` on: progress until the error, then none, with work in hand and the CPU busy."""
    epoch = log.EPOCH_MS / 1000
    add = partial(_since, scrapes, since)
    add(agent.PROGRESS_TIMESTAMP, own, lambda time: epoch + min(time, log.OOM))
    add(agent.WORK_IN_PROGRESS, own, lambda _: 1.0)
    add(exporter.PROCESS_CPU, own, lambda time: 0.4 * (time - since) + 0.6 * max(0.0, time - log.OOM))
    oldest = {**own, "function": "embed"}
    add(agent.OLDEST_IN_PROGRESS, oldest, lambda time: FAST if time < log.OOM else time - log.OOM)


def _since(scrapes: Scrapes, since: float, name: object, labels: dict[str, str], curve: Curve) -> None:
    scrapes.add(name, labels, lambda time: curve(time) if time >= since else None)


def _rolled_out(scrapes: Scrapes, node: str) -> None:
    """A process that is asked to stop, and its successor in another slot, which loads and then serves."""
    since = ROLLOUT[node]
    born, ready = since + RESTART, since + RESTART + LOADING
    old, new = process(node), process(node, slot="1", rank="0")
    steady = log.ALLOCATED_AT_START_GIB

    def loading(time: float) -> float | None:
        return None if time < born else GIB * steady * min(1.0, (time - born) / LOADING)

    def held(time: float) -> float:
        gib = steady if time < since else 0.0 if time < born else steady * min(1.0, (time - born) / LOADING)
        return GIB * (log.TOTAL_GIB - log.OUTSIDE_GIB - gib)

    gone = switch((since, None), before=GIB * steady)
    _memory(scrapes, old, "0", gone, gone)
    _memory(scrapes, new, "0", loading, loading)
    scrapes.add(agent.READY, old, switch((since, None), before=1.0))
    scrapes.add(agent.READY, new, switch((born, 0.0), (ready, 1.0), before=None))
    scrapes.add(agent.DTYPE_CHANGES, old, switch((since, None), before=0.0))
    # Weights are converted while they are loaded.
    scrapes.add(agent.DTYPE_CHANGES, new, switch((born, 0.0), (born + LOADING / 2, 290.0), before=None))
    _device(scrapes, node, "0", held)
    _waiting(scrapes, new, ready)


def _loaded(scrapes: Scrapes) -> None:
    """A second model, loaded into a process of its own on a second device of node 07."""
    own = {**process(NODES[6], slot="1", rank="0"), "workload": "reranker"}

    def loading(time: float) -> float | None:
        if time < LOAD_SINCE:
            return None
        return GIB * 60.0 * min(1.0, (time - LOAD_SINCE) / (LOAD_UNTIL - LOAD_SINCE))

    _memory(scrapes, own, "1", loading, loading)
    scrapes.add(agent.READY, own, switch((LOAD_SINCE, 0.0), (LOAD_UNTIL, 1.0), before=None))
    scrapes.add(agent.DTYPE_CHANGES, own, switch((LOAD_SINCE, 0.0), before=None))

    def free(time: float) -> float:
        return GIB * (log.TOTAL_GIB - log.OUTSIDE_GIB) - (loading(time) or 0.0)

    _device(scrapes, NODES[6], "1", free)


def _kubernetes(scrapes: Scrapes, node: str) -> None:
    own = {"job": "kube-state-metrics", "instance": "ksm", "node": node, "cluster": CLUSTER}
    ready = switch((fallen(node), 0.0), before=1.0)
    scrapes.add(external.NODE_CONDITION, {**own, "condition": "Ready", "status": "true"}, ready)
    scrapes.add(external.NODE_CAPACITY, {**own, "resource": "nvidia_com_gpu", "unit": "integer"}, 8.0)
    scrapes.add(external.NODE_UNSCHEDULABLE, own, 0.0)


def _host(scrapes: Scrapes, node: str) -> None:
    own = target(node)
    scrapes.add("up", own, 1.0)
    dead = (log.OOM,) if node == NODE_04 else ()
    scrapes.add(external.NODE_OOM_KILLS, target(node, "node"), counter(*dead))
    scrapes.add(exporter.PROCESSES_LOST, {**own, "workload": WORKLOAD}, counter(*dead))
    scrapes.add(exporter.DEVICES_EXPECTED, own, 8.0)
    scrapes.add(exporter.DEVICES_VISIBLE, own, 8.0)


def _serving(scrapes: Scrapes, node: str) -> None:
    """Calls and their durations, by the first process of a node."""
    own = {**process(node), "function": "embed"}
    fast = rising(CALLS, log.QUIET, log.OOM)
    late = rising(CALLS / 4, log.SLOW, log.BLACKOUT)
    for bound in (*agent.LATENCY.buckets, float("inf")):
        le = "+Inf" if bound == float("inf") else str(bound)
        parts = [curve for value, curve in ((FAST, fast), (LATE, late)) if value <= bound]
        scrapes.add(agent.LATENCY.bucket, {**own, "le": le}, _sum(parts))
    scrapes.add(agent.LATENCY.count, own, _sum([fast, late]))
    nan = rising(1.0, NAN_SINCE, log.OOM) if node == NODE_04 else 0.0
    scrapes.add(agent.NONFINITE, own, nan)


def _sum(parts: list[Curve]) -> Curve:
    return lambda time: float(sum(curve(time) or 0.0 for curve in parts))


def _ingress(scrapes: Scrapes) -> None:
    own = {"job": "ingress-nginx", "instance": "ingress", "cluster": CLUSTER, "namespace": "ai", "ingress": "inference"}
    offered = CALLS * len(NODES)
    scrapes.add(external.INGRESS_REQUESTS, {**own, "status": "200"}, rising(offered, log.QUIET, log.BAD_GATEWAY))
    # The balancer fails open: it goes on sending to nodes that are dead.
    scrapes.add(external.INGRESS_REQUESTS, {**own, "status": "502"}, rising(offered, log.BAD_GATEWAY))


def _probes(scrapes: Scrapes) -> None:
    for kind, instance, gone in (
        ("blackbox-inference", "https://inference/health", log.BLACKOUT),
        ("blackbox-vector-database", "vectors:19530", log.VECTORS_GONE),
    ):
        own = {"job": kind, "instance": instance, "cluster": CLUSTER}
        scrapes.add(external.PROBE_SUCCESS, own, switch((gone, 0.0), before=1.0))
        scrapes.add("up", own, 1.0)


def _until(end: float, curve: Curve) -> Curve:
    return lambda time: curve(time) if time < end else None
