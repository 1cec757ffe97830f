"""Watching the watchers: does alerting work, and does it see everything? A green wall may be a dead one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import watchkeeper.dashboards as d
from watchkeeper.contract import re, selector
from watchkeeper_fleet.alerts.nodes import GPU_RESOURCE
from watchkeeper_fleet.alerts.watchers import (
    EXPORTER_DOWN,
    KUBE_STATE,
    MISSING,
    NOTIFY,
    ON_POD,
    RELOAD,
    RULES,
    SPOOL,
    WATCHDOG,
)
from watchkeeper_fleet.dashboards.parts import (
    ALIVE,
    BARS,
    CLUSTERS,
    LINE,
    NODES,
    bands,
    colours,
    counted,
    events,
    links,
    names,
    right_axis,
    tile,
)
from watchkeeper_fleet.metrics.agent import PROCESS_INFO
from watchkeeper_fleet.metrics.exporter import BUILD_INFO, COLLECTION_DURATION, NVML_UP, SPOOL_FILES
from watchkeeper_fleet.metrics.external import (
    ALERTMANAGER_RELOAD,
    CONFIG_RELOAD,
    MISSED_ITERATIONS,
    NOTIFICATION_LATENCY,
    NOTIFICATIONS,
    NOTIFICATIONS_DROPPED,
    NOTIFICATIONS_FAILED,
    POD_PHASE,
    REQUESTS,
    RULE_DURATION,
    RULE_FAILURES,
)

if TYPE_CHECKING:
    from watchkeeper import Pack

EXPORTERS = selector("up", job=re("watchkeeper|watchkeeper-trunk|blackbox-.*"), **NODES)
NONE_AT_ALL = f"absent({selector('up', job='watchkeeper', **NODES)})"
# A cluster is known by our own exporters: 0 where it has them and no kube-state-metrics.
KUBE = (
    f"max by (cluster) ({selector('up', job='kube-state-metrics', **CLUSTERS)})"
    f" or 0 * count by (cluster) ({selector('up', job='watchkeeper', **CLUSTERS)})"
)

FILES, UNREADABLE = SPOOL_FILES.where(**NODES), SPOOL_FILES.where(state=re("corrupt|refused"), **NODES)
DRIVERS = NVML_UP.where(**NODES)
GPU_PODS = REQUESTS.where(resource=GPU_RESOURCE, **NODES)
# As in the alert, but for the node, by which one sees that an exporter is to blame; requests name it.
SILENT = (
    f"max by (cluster, node, namespace, pod, container) ({GPU_PODS}) > 0"
    f" and {ON_POD} {POD_PHASE.where(phase='Running', **CLUSTERS)} == 1"
    f" unless {ON_POD} {PROCESS_INFO.where(**CLUSTERS)}"
)
FAILED, MISSED = RULE_FAILURES.where(**CLUSTERS), MISSED_ITERATIONS.where(**CLUSTERS)
DROPPED = NOTIFICATIONS_DROPPED.where(**CLUSTERS)
_BY = "sum by (cluster, instance, integration)"
REFUSED = (
    f"{_BY} (rate({NOTIFICATIONS_FAILED.where(**CLUSTERS)}[5m])) / {_BY} (rate({NOTIFICATIONS.where(**CLUSTERS)}[5m]))"
)
RELOADED, AM_RELOADED = CONFIG_RELOAD.where(**CLUSTERS), ALERTMANAGER_RELOAD.where(**CLUSTERS)

# As in the alerts, which compare two values with a number each.
SHARE_REFUSED = 0.01
EVALUATIONS = 2  # that may fail or be left out in 5 minutes

DOWN_UP = {0: ("down", "red"), 1: ("up", "green")}
QUIET = {"legend": {"showLegend": False}}


def dashboard(pack: Pack) -> Any:
    """Return the dashboard `watchers`."""
    return d.dashboard(
        uid="watchers",
        title="Watchers",
        description="Whether what is green elsewhere can be believed: exporters, rules, notifications.",
        tags=["watchkeeper"],
        time=("now-6h", "now"),
        refresh="30s",
        variables=[
            d.datasource(),
            d.label_values("cluster", BUILD_INFO, label="Cluster"),
            d.label_values("node", BUILD_INFO.where(**CLUSTERS), label="Node of the exporter"),
        ],
        links=links(),
        panels=[
            d.row("Can the green be believed?", _summary(pack)),
            d.row("Does alerting work?", _alerting(pack)),
            d.row("Do the exporters see everything?", _exporters(pack)),
            d.row("Are they quick enough?", _pace()),
        ],
    )


def _summary(pack: Pack) -> list[Any]:
    return [
        tile(
            "Watchdog",
            f"max({ALIVE}) or vector(0)",
            "The alert that always fires. Silent: rules are not evaluated, and no alert on any board can fire.",
            values={0: ("silent", "red"), 1: ("alive", "green")},
            thresholds={None: "red", 1: "green"},
        ),
        tile(
            "Rule groups that fail",
            counted(f"increase({FAILED}[5m]) > {EVALUATIONS} or increase({MISSED}[5m]) > {EVALUATIONS}", FAILED),
            (
                f"More than {EVALUATIONS} of their evaluations in 5 minutes failed or were left out: their alerts may "
                "not fire. No data: nobody watches Prometheus."
            ),
        ),
        tile(
            "Notifications dropped",
            f"sum(increase({DROPPED}[5m]))",
            "Alerts in 5 minutes that never reached Alertmanager: nobody was paged for them.",
            decimals=0,
        ),
        tile(
            "Notifications refused",
            f"max({REFUSED} >= 0)",  # where none is sent it is no number
            (
                "The share that a receiver refused, of the worst one: a key that ran out, a channel that is gone. No "
                "data: none sent."
            ),
            unit="percentunit",
            decimals=1,
            thresholds={SHARE_REFUSED: "red"},
        ),
        tile(
            "Old configurations",
            counted(f"{RELOADED} == 0 or {AM_RELOADED} == 0", f"({RELOADED} or {AM_RELOADED})"),
            "Servers whose last reload failed: new rules and routes are not in force there.",
            thresholds={1: "orange"},
        ),
        tile(
            "kube-state-metrics",
            f"min({KUBE}) or vector(0)",
            "Down in one cluster at least: its nodes and pods are unknown, and what looks green about them is not.",
            values=DOWN_UP,
            thresholds={None: "red", 1: "green"},
        ),
        tile(
            "Exporters down",
            f"count({EXPORTERS} == 0) or sum({NONE_AT_ALL}) or 0 * count({EXPORTERS})",
            "Of hosts, trunk and probes. Nothing is known of what they watch. It is 1 too where no host is scraped.",
            thresholds={1: "orange"},
        ),
        tile(
            "Hosts without NVML",
            counted(f"{DRIVERS} == 0", DRIVERS),
            "The driver does not answer there: heat, faults and free memory of their GPUs are unknown.",
            thresholds={1: "orange"},
        ),
        tile(
            "Spool files unreadable",
            f"sum({UNREADABLE})",
            (
                "Processes that wrote them are not seen. Corrupt: a full disk or another version. Refused: too many, "
                "or no file."
            ),
            thresholds=colours(pack, SPOOL),
        ),
        tile(
            "Pods that report nothing",
            counted(SILENT, GPU_PODS),
            "They run on GPUs without an agent, so no alert about memory, stalls or answers can fire for them.",
            thresholds={1: "orange"},
        ),
        tile(
            "Slowest collection",
            f"max({COLLECTION_DURATION.where(**NODES)})",
            "Of an exporter. Longer than the scrape's time-out, and the host vanishes from all boards.",
            unit="s",
            thresholds={2: "orange", 8: "red"},
        ),
        tile(
            "Hosts that report",
            f"count({BUILD_INFO.where(**NODES)})",
            "Exporters that answered the last scrape. Fewer than there are hosts: some are not scraped at all.",
            thresholds={None: "text"},
        ),
    ]


def _alerting(pack: Pack) -> list[Any]:
    return [
        d.state_timeline(
            "Heartbeat of alerting",
            f"max({ALIVE}) or vector(0)",
            legend=WATCHDOG.name,
            description=(
                "Red: for that long no alert could fire, on any board. All green and the heartbeat outside is missing "
                "it: it is lost on the way, see the notifications."
            ),
            unit="short",
            values={0: ("silent", "red"), 1: ("alive", "green")},
            options=QUIET,
            width=8,
            height=6,
            alerts=names(pack, WATCHDOG),
        ),
        d.state_timeline(
            "Configuration in force",
            [d.target(RELOADED, "Prometheus {{instance}}"), d.target(AM_RELOADED, "Alertmanager {{instance}}")],
            description=(
                "Red: the last reload failed and the one before it is in force. The server's log has the line at fault."
            ),
            unit="short",
            values={0: ("old", "red"), 1: ("current", "green")},
            options=QUIET,
            width=8,
            height=6,
            alerts=names(pack, RELOAD),
        ),
        d.state_timeline(
            "kube-state-metrics over time",
            KUBE,
            legend="{{cluster}} kube-state-metrics",
            description=(
                "By cluster, of those that have our exporters. Red or a gap: whatever Kubernetes says of its nodes and "
                "pods was unknown then, not fine."
            ),
            unit="short",
            values=DOWN_UP,
            options=QUIET,
            width=8,
            height=6,
            alerts=names(pack, KUBE_STATE),
        ),
        d.timeseries(
            "Rules that failed or were left out",
            [
                *events(f"increase({FAILED}[5m])", FAILED, "{{rule_group}} failed"),
                d.target(f"increase({MISSED}[5m]) > 0", "{{rule_group}} left out"),
            ],
            description=(
                "In 5 minutes, by group; up to the line it is a start or a reload. Failed: two series where one is "
                "expected, often after a relabelling. Left out: the group takes longer than its interval, see below."
            ),
            unit="short",
            min=0,
            decimals=0,
            thresholds={EVALUATIONS: "red"},
            custom={**BARS, **LINE},
            alerts=names(pack, RULES),
        ),
        d.timeseries(
            "Notifications that were lost",
            [
                d.target(f"increase({DROPPED}[5m])", "{{instance}} dropped"),
                d.target(REFUSED, "{{instance}} {{integration}} refused"),
            ],
            description=(
                "Dropped in 5 minutes between Prometheus and Alertmanager, and (dashed) the share that a receiver "
                "refused. Anything above 0: somebody was not told."
            ),
            unit="short",
            min=0,
            thresholds={1: "red"},
            custom=LINE,
            overrides=[right_axis("B", "percentunit", "refused")],
            alerts=names(pack, NOTIFY),
        ),
    ]


def _exporters(pack: Pack) -> list[Any]:
    return [
        d.state_timeline(
            "Exporters that were down",
            [
                *bands(EXPORTERS, "cluster, job, instance", "{{job}} {{instance}}"),
                d.target(f"{NONE_AT_ALL} - 1", "{{job}}: no target is left"),
            ],
            description=(
                "Each that did not answer at some moment of the time shown, and one band for all others. Several of "
                "one rack or switch: the network. One: its daemon, or its host, see the fleet. All of a blackbox job: "
                "the prober, not what it probes."
            ),
            unit="short",
            values=DOWN_UP,
            options=QUIET,
            width=8,
            alerts=names(pack, EXPORTER_DOWN),
        ),
        d.state_timeline(
            "Hosts where NVML was silent",
            bands(DRIVERS, "cluster, instance", "{{node}}"),
            description=(
                "Each host where the driver did not answer, and one band for all others. It hangs, often after an XID, "
                "or is being replaced."
            ),
            unit="short",
            values={0: ("silent", "red"), 1: ("answers", "green")},
            options=QUIET,
            width=8,
        ),
        d.table(
            "Pods that report nothing",
            SILENT,
            key="pods-that-report-nothing-now",
            description=(
                "On GPUs, running, and unseen. All of a workload: no agent in its image. Some: spool not mounted there."
            ),
            columns={
                "cluster": "Cluster",
                "node": "Node",
                "namespace": "Namespace",
                "pod": "Pod",
                "container": "Container",
                "Value": "GPUs or slices",
            },
            units={"GPUs or slices": "short"},
            sort_by="Namespace",
            width=8,
            alerts=names(pack, MISSING),
        ),
        d.timeseries(
            "Spool files that can't be read",
            UNREADABLE,
            legend="{{node}} {{state}}",
            description=(
                "Each is a process that is not seen. Corrupt on many hosts after a release: agent and exporter differ. "
                "Refused: no plain file, too large, or too many; see the exporter's log."
            ),
            unit="short",
            min=0,
            decimals=0,
            alerts=names(pack, SPOOL),
        ),
        d.timeseries(
            "Spool files by state",
            f"sum by (state) ({FILES})",
            legend="{{state}}",
            description=(
                "Live is what runs. Dead and stale ones go after a while: if they only grow, the folder is not cleaned."
            ),
            unit="short",
            min=0,
            stack=True,
        ),
    ]


def _pace() -> list[Any]:
    latency = NOTIFICATION_LATENCY.bucket.where(**CLUSTERS)
    return [
        d.timeseries(
            "Collection time",
            f"topk(10, {COLLECTION_DURATION.where(**NODES)})",
            legend="{{node}}",
            description=(
                "The ten slowest exporters. It nears the scrape's time-out: NVML hangs, or the spool is crowded."
            ),
            unit="s",
            min=0,
            width=8,
        ),
        d.timeseries(
            "Time of a rule group",
            f"topk(10, {RULE_DURATION.where(**CLUSTERS)})",
            legend="{{rule_group}}",
            description="The ten slowest. One that nears its interval will soon be left out: it reads too many series.",
            unit="s",
            min=0,
            width=8,
        ),
        d.timeseries(
            "Time to notify, p99",
            f"histogram_quantile(0.99, sum by (integration, le) (rate({latency}[$__rate_interval])))",
            legend="{{integration}}",
            description="From Alertmanager to the receiver. It stands at tens of seconds: the receiver times out.",
            unit="s",
            min=0,
            interval="5m",
            width=8,
        ),
        d.table(
            "Versions of the exporter",
            f"count by (cluster, version) ({BUILD_INFO.where(**NODES)})",
            description=(
                "More than one for longer than a rollout: some hosts were missed, and may read spool files otherwise."
            ),
            columns={"cluster": "Cluster", "version": "Version", "Value": "Hosts"},
            units={"Hosts": "short"},
            sort_by="Version",
            height=5,
        ),
    ]
