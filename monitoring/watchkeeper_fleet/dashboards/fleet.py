"""The fleet: is anything on fire, where, and since when. For whoever was paged and knows nothing yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import watchkeeper.dashboards as d
from watchkeeper.contract import not_, re, selector
from watchkeeper_fleet.alerts.nodes import (
    APPLICATION_XIDS,
    CASCADE,
    CONTAINER_OOM,
    CORDONED,
    DEVICE_LOST,
    GPU_RESOURCE,
    HOT,
    INNER_DEVICES,
    NO_LIMIT,
    NODE_OOM,
    NOT_READY,
    ON_CONTAINER,
    ON_POD,
    PULL,
    READY,
    UNCORRECTABLE,
    XID,
)
from watchkeeper_fleet.alerts.processes import LOST, SKEW, ZOMBIE
from watchkeeper_fleet.alerts.watchers import WATCHDOG
from watchkeeper_fleet.dashboards.parts import (
    ALIVE,
    BARS,
    CLUSTERS,
    LINE,
    NODES,
    bands,
    board,
    colours,
    column,
    counted,
    events,
    level,
    links,
    names,
    node_board,
    right_axis,
    tile,
    to,
)
from watchkeeper_fleet.metrics.agent import PROCESS_INFO, PROGRESS_TIMESTAMP, WORK_IN_PROGRESS
from watchkeeper_fleet.metrics.exporter import (
    DEVICES_EXPECTED,
    DEVICES_VISIBLE,
    ECC_ERRORS,
    EGRESS_CAPACITY,
    PROCESS_CPU,
    PROCESSES_LOST,
    ROW_REMAP_FAILED,
    SLOWDOWN_TEMPERATURE,
    TEMPERATURE,
    THROTTLED,
    UTILIZATION,
    XID_ERRORS,
)
from watchkeeper_fleet.metrics.external import (
    LIMITS,
    NETWORK_RECEIVED,
    NODE_OOM_KILLS,
    NODE_UNSCHEDULABLE,
    POD_PHASE,
    POD_READY,
    REQUESTS,
    RESTARTS,
    TERMINATED_REASON,
)

if TYPE_CHECKING:
    from watchkeeper import Pack

WORK = {**NODES, "workload": re("$workload")}
# An alert about a function has no node, and one about the trunk has no cluster: those stay in whatever is chosen.
ANY = {name: re(f"{choice}|") for name, choice in WORK.items()}

FIRING = {"alertname": not_(WATCHDOG.name), "alertstate": "firing", **ANY}

# The families in the order in which they fall: what, and the board that shows it, "" where it is this one.
BOARDS = {
    "gpu_memory": ("GPU memory", "gpu-memory"),
    "gpu_stall": ("GPU stall", "gpu-stall"),
    "processes": ("Processes", ""),
    "nodes": ("Nodes and devices", ""),
    "inference": ("Inference", "inference"),
    "serving": ("Serving", "inference"),
    "trunk": ("Trunk", "trunk"),
    "watchers": ("Watchers", "watchers"),
}

NODE, GPU = "{{node}}", "{{node}} GPU {{gpu}}"

IS_READY = READY.where(**NODES)
EXPECTED, VISIBLE = DEVICES_EXPECTED.where(**NODES), DEVICES_VISIBLE.where(**NODES)
WARMTH, LIMIT, SLOWED = (
    TEMPERATURE.where(**NODES),
    SLOWDOWN_TEMPERATURE.where(**NODES),
    THROTTLED.where(reason="thermal", **NODES),
)
XIDS = XID_ERRORS.where(xid=not_(re(APPLICATION_XIDS)), **NODES)
UNCORRECTED, UNMAPPED = ECC_ERRORS.where(kind="uncorrected", **NODES), ROW_REMAP_FAILED.where(**NODES)
KILLS, ENDED = NODE_OOM_KILLS.where(**NODES), PROCESSES_LOST.where(**WORK)
INFO, PROGRESS = PROCESS_INFO.where(**WORK), PROGRESS_TIMESTAMP.where(**WORK)
# What kube-state-metrics says of restarts and readiness names no node.
OUT_OF_MEMORY = (
    f"max by (cluster, namespace, pod, container) (increase({RESTARTS.where(**CLUSTERS)}[10m])) and {ON_CONTAINER}"
    f" {TERMINATED_REASON.where(reason='OOMKilled', **CLUSTERS)} == 1"
)
GPU_PODS = REQUESTS.where(resource=GPU_RESOURCE, **NODES)
# As in the alert, but for the node, which is what one looks for on this board; requests name it.
UNLIMITED = (
    f"max by (cluster, node, namespace, pod, container) ({GPU_PODS}) > 0"
    f" and {ON_POD} {POD_PHASE.where(phase='Running', **CLUSTERS)} == 1"
    f" unless {ON_CONTAINER} {LIMITS.where(resource='memory', **CLUSTERS)}"
)
RECEIVED = NETWORK_RECEIVED.where(device=not_(re(INNER_DEVICES)), **CLUSTERS)
WAY_OUT = f"max by (cluster) ({EGRESS_CAPACITY.where(**CLUSTERS)})"
WAY_OUT_USED = f"sum by (cluster) (rate({RECEIVED}[2m])) / on (cluster) {WAY_OUT}"

# As in the alert, whose comparisons have no one number.
CLOSE = 3  # °C below the device's own limit
SLOWED_SECONDS = 30  # of 300

WORKING = (
    f"time() - {PROGRESS} and min_over_time({WORK_IN_PROGRESS.where(**WORK)}[5m]) == 1"
    f" and on (cluster, instance, process) rate({PROCESS_CPU.where(**WORK)}[2m]) > 0.5"
)


def dashboard(pack: Pack) -> Any:
    """Return the dashboard `fleet`."""
    return d.dashboard(
        uid="fleet",
        title="Fleet",
        description="Is anything on fire, where, and since when? Start here; the other boards say why.",
        tags=["gpu", "watchkeeper"],
        time=("now-3h", "now"),
        refresh="30s",
        variables=[
            d.datasource(),
            d.label_values("cluster", DEVICES_EXPECTED, label="Cluster"),
            d.label_values("node", DEVICES_EXPECTED.where(**CLUSTERS), label="Node"),
            d.label_values("workload", PROCESS_INFO.where(**NODES), label="Workload"),
        ],
        links=links(),
        panels=[
            d.row("Is anything on fire?", _summary(pack)),
            d.row("Where, and since when?", _where(pack)),
            d.row("Which nodes?", _nodes(pack)),
            d.row("Which devices?", _devices(pack)),
            d.row("Which processes?", _processes(pack)),
            d.row("Who takes the host's memory?", _memory(pack)),
            d.row("Is the network full?", _network(pack)),
        ],
    )


def _alerts(**more: str) -> str:
    return selector("ALERTS", **FIRING, **more)


def _summary(pack: Pack) -> list[Any]:
    gpu = "by (cluster, node, gpu)"
    faulty = f"increase({XIDS}[10m]) > 0 or increase({UNCORRECTED}[10m]) > 0 or {UNMAPPED} == 1"
    hot = f"{WARMTH} > ({LIMIT} - {CLOSE}) or increase({SLOWED}[5m]) > {SLOWED_SECONDS}"
    return [
        tile(
            "Critical alerts",
            counted(_alerts(severity="critical"), ALIVE),
            "Firing now, and somebody was paged for each. No data: the Watchdog is silent, so alerting itself is dead.",
        ),
        tile(
            "Warnings",
            counted(_alerts(severity="warning"), ALIVE),
            "Firing now, each a ticket. Several at once that began together are one cause: see the times below.",
            thresholds={1: "orange"},
        ),
        tile(
            "Nodes not ready",
            counted(f"{IS_READY} == 0 unless {CORDONED}", IS_READY),
            (
                "Nodes with GPUs that Kubernetes counts out, but for cordoned ones. No data: kube-state-metrics is "
                "gone, and nothing is known."
            ),
        ),
        tile(
            "GPUs lost",
            f"sum(clamp_min({EXPECTED} - {VISIBLE}, 0))",
            "GPUs that should be there and do not answer. As a rule only a restart of the host brings one back.",
        ),
        tile(
            "GPUs with faults",
            counted(f"count {gpu} ({faulty})", XIDS),
            "GPUs with an XID of the hardware, or a memory error that could not be corrected, in the last 10 minutes.",
        ),
        tile(
            "GPUs too hot",
            counted(f"count {gpu} ({hot})", WARMTH),
            "GPUs close to slowing down, or slowed down by heat. Many on one node: its fans or its place in the rack.",
            thresholds={1: "orange"},
        ),
        tile(
            "Zombie ranks",
            counted(f"({WORKING}) > {level(pack, ZOMBIE)}", PROGRESS),
            (
                "Processes that burn CPU, have had work in hand all the while and finish nothing. One is enough to "
                "hold up all ranks of a job."
            ),
        ),
        tile(
            "Processes lost",
            f"sum(increase({ENDED}[5m]))",
            "Vanished in the last 5 minutes without being asked to. Some after a deployment are normal.",
            decimals=0,
            thresholds={1: "orange"},
        ),
        tile(
            "Killed by the kernel",
            f"sum(increase({KILLS}[5m]))",
            (
                "Processes, in the last 5 minutes: a container reached its own limit (see beside), or a whole host ran "
                "out of memory, and then which one dies is chance."
            ),
            decimals=0,
            thresholds=colours(pack, NODE_OOM),
        ),
        tile(
            "Containers over their limit",
            counted(f"({OUT_OF_MEMORY}) > 0", RESTARTS.where(**CLUSTERS)),
            "Killed for want of memory, and restarted in the last 10 minutes. Only that container suffers.",
            thresholds={1: "orange"},
        ),
        tile(
            "GPU pods without limit",
            counted(UNLIMITED, GPU_PODS),
            "Running, and free to take the memory of the whole host. Not tonight's fire, but the fuel of the next one.",
            thresholds={1: "orange"},
        ),
        tile(
            "Way out in use",
            f"max({WAY_OUT_USED})",
            (
                "Of what the way out of the cluster carries. Full: all wait for each other. No data: no capacity is "
                "configured."
            ),
            unit="percentunit",
            decimals=0,
            thresholds=colours(pack, PULL),
        ),
    ]


def _where(pack: Pack) -> list[Any]:
    targets: list[Any] = []
    overrides: list[dict[str, Any]] = []
    groups = {group.name: group for group in pack.groups if any(a.name != WATCHDOG.name for a in group.alerts)}
    order = [*(name for name in BOARDS if name in groups), *(name for name in groups if name not in BOARDS)]
    for number, group in enumerate(order):
        title, uid = BOARDS.get(group, (group.replace("_", " ").capitalize(), ""))
        members = re("|".join(a.name for a in groups[group].alerts if a.name != WATCHDOG.name))
        firing = {**FIRING, "alertname": members}
        critical, warning = (selector("ALERTS", severity=word, **firing) for word in ("critical", "warning"))
        letter = chr(ord("A") + number)
        targets.append(d.target(f"2 * max({critical}) or max({warning}) or 0 * count({ALIVE})", title, ref_id=letter))
        if uid:
            properties = [{"id": "links", "value": [board(f"Board: {title}", uid)]}]
            overrides.append({"matcher": {"id": "byFrameRefID", "options": letter}, "properties": properties})
    since = selector("ALERTS_FOR_STATE", **{name: value for name, value in FIRING.items() if name != "alertstate"})
    return [
        d.state_timeline(
            "What burns",
            targets,
            description=(
                "The worst alert of each family over time. What turned red first is the likely cause, what follows its "
                "effect. Click on a band for the board that says why. Gaps: alerting was dead."
            ),
            unit="short",
            values={0: ("fine", "green"), 1: ("warning", "orange"), 2: ("critical", "red")},
            overrides=overrides,
            options={"legend": {"showLegend": False}},
            height=10,
        ),
        d.table(
            "Firing now",
            f"{since} * 1000 and ignoring (alertstate) {_alerts(severity=re('critical|warning'))}",
            description="Critical ones first, then warnings. Since when the condition holds, which is before the page.",
            columns={
                "severity": "Severity",
                "alertname": "Alert",
                "Value": "Since",
                "cluster": "Cluster",
                "node": "Node",
                "gpu": "GPU",
                "workload": "Workload",
            },
            units={"Since": "dateTimeFromNow"},
            overrides=[
                column(
                    "Severity", values={"critical": ("critical", "red"), "warning": ("warning", "orange")}, width=90
                ),
                column("Node", links=_boards_of_node()),
            ],
            sort_by="Severity",
            width=12,
            height=10,
        ),
    ]


def _boards_of_node() -> list[dict[str, Any]]:
    return [
        node_board("This node alone", "fleet"),
        node_board("GPU memory of this node", "gpu-memory"),
        node_board("GPU stall of this node", "gpu-stall"),
    ]


def _nodes(pack: Pack) -> list[Any]:
    by = "by (cluster, node)"
    # Alerts about a function or a branch have no node, and so no line in the table.
    firing = f"count {by} ({_alerts(severity=re('critical|warning'))})"
    fell_out = f"({IS_READY} == 0 and max_over_time({IS_READY}[10m]) == 1) unless {CORDONED}"
    return [
        d.state_timeline(
            "Nodes that fell out",
            bands(IS_READY, "cluster, node", "{{cluster}} {{node}}"),
            description=(
                "Each node that was not ready at some moment of the time shown, and one band for all others. A "
                "cordoned one is somebody's doing and does not page. No data: kube-state-metrics is gone."
            ),
            unit="short",
            values={0: ("not ready", "red"), 1: ("ready", "green")},
            options={"legend": {"showLegend": False}},
            width=8,
            alerts=names(pack, NOT_READY),
        ),
        d.timeseries(
            "Nodes out within 10 minutes",
            f"count by (cluster) ({fell_out}) or 0 * count by (cluster) ({IS_READY})",
            legend="{{cluster}}",
            description=(
                "Two and more: load that moves from one node to the next brings them down in turn. Take load away "
                "before bringing nodes back. Cordoned ones are left out."
            ),
            unit="short",
            min=0,
            decimals=0,
            width=8,
            alerts=names(pack, CASCADE),
        ),
        d.timeseries(
            "GPUs that do not answer",
            f"{EXPECTED} - {VISIBLE}",
            legend=NODE,
            description="By node. Steps of one: a device fell off its bus. All of a node: its driver.",
            unit="short",
            min=0,
            decimals=0,
            width=8,
            alerts=names(pack, DEVICE_LOST),
        ),
        d.table(
            "Nodes now",
            [
                f"max {by} ({IS_READY})",
                f"max {by} ({NODE_UNSCHEDULABLE.where(**NODES)}) and on (cluster, node) {IS_READY}",
                f"sum {by} ({EXPECTED})",
                f"sum {by} ({EXPECTED} - {VISIBLE})",
                f"min {by} ({LIMIT} - {WARMTH})",
                f"avg {by} ({UTILIZATION.where(**NODES)})",
                f"{firing} and on (cluster, node) ({IS_READY} or {EXPECTED})",
            ],
            description=(
                "Those with the most alerts first. Click on a node to see it alone. Ready empty: not in Kubernetes."
            ),
            columns={
                "cluster": "Cluster",
                "node": "Node",
                "Value #G": "Alerts",
                "Value #A": "Ready",
                "Value #B": "Cordoned",
                "Value #C": "GPUs",
                "Value #D": "Lost",
                "Value #E": "To slowdown",
                "Value #F": "Utilisation",
            },
            units={"To slowdown": "celsius", "Utilisation": "percentunit", "Alerts": "short"},
            overrides=[
                column("Node", links=_boards_of_node()),
                column("Ready", values={0: ("no", "red"), 1: ("yes", "green")}),
                column("Cordoned", values={0: ("no", "transparent"), 1: ("yes", "blue")}),
                column("Lost", thresholds={None: "transparent", 1: "red"}),
                column("To slowdown", thresholds={None: "orange", CLOSE: "transparent"}),
                column("Alerts", thresholds={None: "transparent", 1: "orange"}),
            ],
            sort_by="-Alerts",
        ),
    ]


def _devices(pack: Pack) -> list[Any]:
    return [
        d.timeseries(
            "Heat, from the limit",
            [
                d.target(f"topk(10, {WARMTH} - {LIMIT})", GPU),
                d.target(f"topk(10, increase({SLOWED}[5m]))", f"{GPU}, slowed down"),
            ],
            description=(
                "Degrees from the temperature at which a device slows itself down, of the ten hottest (0 is there), "
                "and dashed the ten that heat slowed down most. Neighbours together: cooling. One alone: its fan, its "
                "dust."
            ),
            unit="celsius",
            width=8,
            thresholds={-CLOSE: "orange"},
            custom=LINE,
            overrides=[right_axis("B", "s", "slowed down in 5 minutes")],
            alerts=names(pack, HOT),
        ),
        d.timeseries(
            "XID errors in 10 minutes",
            events(f"increase({XIDS}[10m])", XIDS, f"{GPU}: XID {{{{xid}}}}"),
            description=(
                "What the driver reports of the hardware or of itself. 79: the device fell off the bus. 48, 63, 64, "
                "94, 95: its memory. Drain the node, then look the number up."
            ),
            unit="short",
            min=0,
            decimals=0,
            width=8,
            custom=BARS,
            alerts=names(pack, XID),
        ),
        d.timeseries(
            "Memory errors that were not corrected",
            [
                *events(f"increase({UNCORRECTED}[10m])", UNCORRECTED, f"{GPU}, errors in 10 minutes"),
                d.target(f"{UNMAPPED} == 1", f"{GPU}, row not remapped"),
            ],
            description=(
                "Results of this GPU may be wrong. Take it out of service; a row that can't be remapped is for repair."
            ),
            unit="short",
            min=0,
            decimals=0,
            width=8,
            thresholds={1: "red"},
            custom={**BARS, **LINE},
            alerts=names(pack, UNCORRECTABLE),
        ),
    ]


def _processes(pack: Pack) -> list[Any]:
    versions = ("cluster", "workload", "python_version", "torch_version", "cuda_version")
    stacks = f"count by ({', '.join(versions)}) ({INFO})"
    return [
        d.timeseries(
            "Busy without progress",
            f"topk(10, {WORKING})",
            legend="{{workload}} rank {{rank}} on {{node}}",
            description=(
                "Time since the last finished step or request of processes that burn CPU and have had work for 5 "
                "minutes, the ten longest. All ranks of a job at once: they wait for one that is dead."
            ),
            links=[to("Do their GPUs wait for data?", "gpu-stall")],
            unit="s",
            min=0,
            width=8,
            alerts=names(pack, ZOMBIE),
        ),
        d.timeseries(
            "Processes lost in 5 minutes",
            events(
                f"sum by (cluster, node, instance, workload) (increase({ENDED}[5m]))", ENDED, "{{workload}} on {{node}}"
            ),
            description="They left no word. Together with a kill by the kernel: host memory. With an XID: the device.",
            unit="short",
            min=0,
            decimals=0,
            width=8,
            custom=BARS,
            alerts=names(pack, LOST),
        ),
        d.timeseries(
            "Different stacks by workload",
            f"count by (cluster, workload) ({stacks})",
            legend="{{workload}}",
            description=(
                "Combinations of Python, torch and CUDA. More than one for longer than a rollout: part of it is stuck."
            ),
            unit="short",
            min=0,
            decimals=0,
            width=8,
            alerts=names(pack, SKEW),
        ),
        d.table(
            "Versions",
            stacks,
            description=(
                "Which workload runs on what, with the number of processes. The odd one out is the small number."
            ),
            columns={
                "workload": "Workload",
                "cluster": "Cluster",
                "python_version": "Python",
                "torch_version": "torch",
                "cuda_version": "CUDA",
                "Value": "Processes",
            },
            units={"Processes": "short"},
            sort_by="Workload",
            height=6,
        ),
    ]


def _memory(pack: Pack) -> list[Any]:
    pods = {"cluster": "Cluster", "node": "Node", "namespace": "Namespace", "pod": "Pod", "container": "Container"}
    return [
        d.timeseries(
            "Kills by the kernel in 5 minutes",
            events(f"increase({KILLS}[5m])", KILLS, NODE),
            description=(
                "With a restart beside it: that container was over its own limit. Without one the host itself may have "
                "run out of memory: look for a pod without a limit on that node, in the table here."
            ),
            unit="short",
            min=0,
            decimals=0,
            width=8,
            custom=BARS,
            alerts=names(pack, NODE_OOM),
        ),
        d.timeseries(
            "Restarts after running out of memory",
            events(f"({OUT_OF_MEMORY})", RESTARTS.where(**CLUSTERS), "{{namespace}}/{{pod}} {{container}}"),
            description=(
                "In 10 minutes, of containers that went over their own limit. Nothing here is good. Again and again: "
                "the limit is too low, or it leaks."
            ),
            unit="short",
            min=0,
            decimals=0,
            width=8,
            custom=BARS,
            alerts=names(pack, CONTAINER_OOM),
        ),
        d.table(
            "GPU pods without a memory limit",
            UNLIMITED,
            description=(
                "Each runs, and may take its host down with it. Nothing here is good, if the tile above shows a number."
            ),
            columns={**pods, "Value": "GPUs or slices"},
            units={"GPUs or slices": "short"},
            sort_by="Node",
            width=8,
            alerts=names(pack, NO_LIMIT),
        ),
    ]


def _network(pack: Pack) -> list[Any]:
    by_node = NETWORK_RECEIVED.where(device=not_(re(INNER_DEVICES)), **NODES)
    not_ready = f"{POD_READY.where(condition='false', **CLUSTERS)} == 1 and {ON_POD} {GPU_PODS}"
    return [
        d.timeseries(
            "Received, of what the way out carries",
            WAY_OUT_USED,
            legend="{{cluster}}",
            description=(
                "The way out (a NAT gateway, a peering) fills long before the hosts' interfaces do. Above the line "
                "with many pods starting: they fetch weights, so start them in turn. No data: no capacity is "
                "configured."
            ),
            unit="percentunit",
            min=0,
            width=8,
            alerts=names(pack, PULL),
        ),
        d.timeseries(
            "GPU pods not ready",
            f"count by (cluster) ({not_ready}) or 0 * count by (cluster) ({GPU_PODS})",
            legend="{{cluster}}",
            description="Pods with GPUs that start or fail. They fall one by one: it comes back. They stay: they wait.",
            unit="short",
            min=0,
            decimals=0,
            width=8,
        ),
        d.timeseries(
            "Received by node",
            f"topk(10, sum by (cluster, node) (rate({by_node}[$__rate_interval])))",
            legend=NODE,
            description="The ten that receive most. Flat at the same height on all: they share a bottleneck.",
            unit="Bps",
            min=0,
            width=8,
        ),
    ]
