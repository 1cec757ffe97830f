"""Watching the watchers: a green wall means nothing if what paints it has stopped."""

from watchkeeper import Alert, Group, Severity, re
from watchkeeper_fleet.alerts.nodes import GPU_RESOURCE
from watchkeeper_fleet.metrics.agent import PROCESS_INFO
from watchkeeper_fleet.metrics.exporter import SPOOL_FILES
from watchkeeper_fleet.metrics.external import (
    ALERTMANAGER_RELOAD,
    CONFIG_RELOAD,
    MISSED_ITERATIONS,
    NOTIFICATIONS,
    NOTIFICATIONS_DROPPED,
    NOTIFICATIONS_FAILED,
    POD_PHASE,
    REQUESTS,
    RULE_FAILURES,
)

ON_POD = "on (cluster, namespace, pod)"

WATCHDOG = Alert(
    "Watchdog",
    # Always fires. Route it to a heartbeat outside: when that stops, alerting has stopped.
    expr="vector(1)",
    severity=Severity.INFO,
    priority="P3",
    team="monitoring",
    summary="Alerting works",
    description="Fires all the time, for a heartbeat outside to notice when it no longer arrives.",
    runbook="watchdog",
)

EXPORTER_DOWN = Alert(
    "ExporterDown",
    # absent() too, or a job that vanished altogether is green.
    expr='up{job=~"watchkeeper|watchkeeper-trunk|blackbox-.*"} == 0 or absent(up{job="watchkeeper"})',
    for_="3m",
    severity=Severity.WARNING,
    priority="P2",
    team="monitoring",
    summary="Exporter {{ $labels.job }} {{ $labels.instance }} is down",
    description="Nothing is known of what it watches, and no alert about that can fire.",
    runbook="exporter-down",
)

SPOOL = Alert(
    "SpoolUnreadable",
    expr=f"{SPOOL_FILES.where(state=re('corrupt|refused'))} > 0",
    for_="10m",
    severity=Severity.WARNING,
    priority="P2",
    team="monitoring",
    summary="{{ $value | humanize }} {{ $labels.state }} spool files on {{ $labels.instance }}",
    description="Processes that wrote them are not seen.",
    runbook="spool-unreadable",
)

MISSING = Alert(
    "MetricsMissing",
    # Of these series kube-state-metrics says no node: what stands there is its own.
    expr=(
        f"max by (cluster, namespace, pod, container) ({REQUESTS.where(resource=GPU_RESOURCE)}) > 0"
        f" and {ON_POD} {POD_PHASE.where(phase='Running')} == 1 unless {ON_POD} {PROCESS_INFO}"
    ),
    for_="10m",
    severity=Severity.WARNING,
    priority="P2",
    team="monitoring",
    summary="{{ $labels.namespace }}/{{ $labels.pod }} runs on GPUs and reports nothing",
    description="Container {{ $labels.container }} has no agent, or its spool folder is not mounted.",
    runbook="metrics-missing",
)

KUBE_STATE = Alert(
    "KubeStateMetricsDown",
    # Without it no node is ever not ready, and no pod ever lacks anything. A cluster is known by our own exporters.
    expr='count by (cluster) (up{job="watchkeeper"}) unless on (cluster) up{job="kube-state-metrics"} == 1',
    for_="5m",
    severity=Severity.CRITICAL,
    priority="P1",
    team="monitoring",
    summary="kube-state-metrics of {{ $labels.cluster }} is gone",
    description="Alerts about nodes and pods can't fire: what looks green there is unknown.",
    runbook="kube-state-metrics-down",
)

RULES = Alert(
    "RuleEvaluationFailing",
    expr=f"increase({RULE_FAILURES}[5m]) > 2 or increase({MISSED_ITERATIONS}[5m]) > 2",
    keep_firing_for="10m",
    severity=Severity.CRITICAL,
    priority="P1",
    team="monitoring",
    summary="Prometheus {{ $labels.instance }} does not evaluate {{ $labels.rule_group }}",
    description="Rules of this group fail or are skipped, so its alerts may not fire.",
    runbook="rule-evaluation-failing",
)

NOTIFY = Alert(
    "NotificationsFailing",
    expr=(
        f"increase({NOTIFICATIONS_DROPPED}[5m]) > 0"
        f" or sum by (cluster, instance, integration) (rate({NOTIFICATIONS_FAILED}[5m]))"
        f" / sum by (cluster, instance, integration) (rate({NOTIFICATIONS}[5m])) > 0.01"
    ),
    for_="5m",
    severity=Severity.CRITICAL,
    priority="P1",
    team="monitoring",
    summary="Notifications of {{ $labels.instance }} are lost",
    description=(
        "Prometheus drops alerts on the way to Alertmanager, or a receiver "
        "({{ if $labels.integration }}{{ $labels.integration }}{{ else }}none named{{ end }}) refuses them."
    ),
    runbook="notifications-failing",
)

RELOAD = Alert(
    "ConfigReloadFailed",
    expr=f"{CONFIG_RELOAD} == 0 or {ALERTMANAGER_RELOAD} == 0",
    for_="10m",
    severity=Severity.WARNING,
    priority="P2",
    team="monitoring",
    summary="{{ $labels.instance }} runs on an old configuration",
    description="Its last reload failed: new rules, routes and targets are not in force.",
    runbook="config-reload-failed",
)

GROUP = Group("watchers", [WATCHDOG, EXPORTER_DOWN, SPOOL, MISSING, KUBE_STATE, RULES, NOTIFY, RELOAD], interval="30s")
