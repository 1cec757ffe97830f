"""What the pack relies on from others' exporters, as far as it uses it.

kube-state-metrics is scraped with honor_labels, so the `node` of its series about nodes, and of resource requests and
limits, is the node that they are about; it is among the target labels and not repeated here. Its other series about
pods name no node: what stands there is that of kube-state-metrics itself.
"""

from watchkeeper.contract import Counter, Gauge, Histogram

# node_exporter

NODE_OOM_KILLS = Counter(
    "node_vmstat_oom_kill",
    "Processes that the kernel killed for want of host memory.",
    external=True,
)
NETWORK_RECEIVED = Counter(
    "node_network_receive_bytes_total",
    "Bytes that a network interface received.",
    labels=("device",),
    unit="bytes",
    external=True,
)

# kube-state-metrics

POD = ("namespace", "pod")
CONTAINER = (*POD, "container")

NODE_CONDITION = Gauge(
    "kube_node_status_condition",
    "1 for the status that a condition of a node has.",
    labels=("condition", "status"),
    external=True,
)
NODE_CAPACITY = Gauge(
    "kube_node_status_capacity",
    "What a node has of a resource.",
    labels=("resource", "unit"),
    external=True,
)
NODE_UNSCHEDULABLE = Gauge(
    "kube_node_spec_unschedulable",
    "1 where a node was cordoned.",
    external=True,
)
RESTARTS = Counter(
    "kube_pod_container_status_restarts_total",
    "Restarts of a container.",
    labels=(*CONTAINER, "uid"),
    external=True,
)
TERMINATED_REASON = Gauge(
    "kube_pod_container_status_last_terminated_reason",
    "1 for the reason of a container's last end; it stays until the next one.",
    labels=(*CONTAINER, "uid", "reason"),
    external=True,
)
REQUESTS = Gauge(
    "kube_pod_container_resource_requests",
    "What a container asks for of a resource.",
    labels=(*CONTAINER, "uid", "resource", "unit"),
    external=True,
)
LIMITS = Gauge(
    "kube_pod_container_resource_limits",
    "What a container may have of a resource.",
    labels=(*CONTAINER, "uid", "resource", "unit"),
    external=True,
)
POD_PHASE = Gauge(
    "kube_pod_status_phase",
    "1 for the phase that a pod is in.",
    labels=(*POD, "uid", "phase"),
    external=True,
)
POD_READY = Gauge(
    "kube_pod_status_ready",
    "1 for whether a pod is ready.",
    labels=(*POD, "uid", "condition"),
    external=True,
)

# ingress-nginx

INGRESS_REQUESTS = Counter(
    "nginx_ingress_controller_requests",
    "Requests by the status that the client got.",
    labels=("namespace", "ingress", "service", "status", "method", "host", "path"),
    external=True,
)

# blackbox_exporter: `instance` is what was probed

PROBE_SUCCESS = Gauge(
    "probe_success",
    "1 where the probe succeeded.",
    external=True,
)

# Prometheus

RULE_FAILURES = Counter(
    "prometheus_rule_evaluation_failures_total",
    "Rule evaluations that failed.",
    labels=("rule_group",),
    external=True,
)
MISSED_ITERATIONS = Counter(
    "prometheus_rule_group_iterations_missed_total",
    "Evaluations of a rule group that were left out because the one before took too long.",
    labels=("rule_group",),
    external=True,
)
NOTIFICATIONS_DROPPED = Counter(
    "prometheus_notifications_dropped_total",
    "Alerts that never reached an Alertmanager.",
    external=True,
)
CONFIG_RELOAD = Gauge(
    "prometheus_config_last_reload_successful",
    "1 where the last reload of the configuration succeeded.",
    external=True,
)
RULE_DURATION = Gauge(
    "prometheus_rule_group_last_duration_seconds",
    "Duration of a rule group's last evaluation.",
    labels=("rule_group",),
    unit="seconds",
    external=True,
)

# Alertmanager

NOTIFICATIONS_FAILED = Counter(
    "alertmanager_notifications_failed_total",
    "Notifications that a receiver refused.",
    labels=("integration", "reason"),
    external=True,
)
NOTIFICATIONS = Counter(
    "alertmanager_notifications_total",
    "Notifications that were tried.",
    labels=("integration",),
    external=True,
)
ALERTMANAGER_RELOAD = Gauge(
    "alertmanager_config_last_reload_successful",
    "1 where the last reload of the configuration succeeded.",
    external=True,
)
NOTIFICATION_LATENCY = Histogram(
    "alertmanager_notification_latency_seconds",
    "Duration of sending a notification.",
    labels=("integration",),
    unit="seconds",
    external=True,
)
