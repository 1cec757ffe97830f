"""Rules as public projects write them: all checks together find no error and nothing to warn of."""

# ruff: noqa: E501 - rules are shown as they are written

import pytest

RULES = [
    {
        "alert": "TargetDown",
        "expr": "100 * (count(up == 0) BY (cluster, job, namespace) / count(up) BY (cluster, job, namespace)) > 10",
        "for": "10m",
        "labels": {"severity": "warning"},
        "annotations": {
            "description": '{{ printf "%.4g" $value }}% of the {{ $labels.job }} targets in {{ $labels.namespace }} are down.',
            "summary": "One or more targets are unreachable.",
        },
    },
    {
        "alert": "Watchdog",
        "expr": "vector(1)",
        "labels": {"severity": "none"},
        "annotations": {"summary": "Always firing: it shows that alerting works."},
    },
    {
        "alert": "NodeFilesystemSpaceFillingUp",
        "expr": """(
  node_filesystem_avail_bytes{job="node",fstype!="",mountpoint!=""} / node_filesystem_size_bytes{job="node",fstype!="",mountpoint!=""} * 100 < 15
and
  predict_linear(node_filesystem_avail_bytes{job="node",fstype!="",mountpoint!=""}[6h], 24*60*60) < 0
and
  node_filesystem_readonly{job="node",fstype!="",mountpoint!=""} == 0
)
""",
        "for": "1h",
        "labels": {"severity": "warning"},
        "annotations": {
            "description": 'Filesystem on {{ $labels.device }}, mounted on {{ $labels.mountpoint }}, at {{ $labels.instance }} has only {{ printf "%.2f" $value }}% available space left.',
            "summary": "Filesystem is predicted to run out of space within the next 24 hours.",
        },
    },
    {
        "alert": "NodeNetworkReceiveErrs",
        "expr": 'rate(node_network_receive_errs_total{job="node"}[2m]) / rate(node_network_receive_packets_total{job="node"}[2m]) > 0.01',
        "for": "1h",
        "labels": {"severity": "warning"},
        "annotations": {
            "description": '{{ $labels.instance }} interface {{ $labels.device }} has encountered {{ printf "%.0f" $value }} receive errors in the last two minutes.',
            "summary": "Network interface is reporting many receive errors.",
        },
    },
    {
        "alert": "NodeClockNotSynchronising",
        "expr": 'min_over_time(node_timex_sync_status{job="node"}[5m]) == 0 and node_timex_maxerror_seconds{job="node"} >= 16',
        "for": "10m",
        "labels": {"severity": "warning"},
        "annotations": {"summary": "Clock not synchronising.", "description": "Clock at {{ $labels.instance }} is off."},
    },
    {
        "alert": "KubePodCrashLooping",
        "expr": 'max_over_time(kube_pod_container_status_waiting_reason{reason="CrashLoopBackOff", job="kube-state-metrics"}[5m]) >= 1',
        "for": "15m",
        "labels": {"severity": "warning"},
        "annotations": {
            "description": "Pod {{ $labels.namespace }}/{{ $labels.pod }} ({{ $labels.container }}) is waiting{{ with $labels.cluster }} on {{ . }}{{ end }}.",
            "runbook_url": "https://runbooks.example.com/kubepodcrashlooping",
            "summary": "Pod is crash looping.",
        },
    },
    {
        "alert": "KubeCPUOvercommit",
        "expr": """sum(namespace_cpu:kube_pod_container_resource_requests:sum{}) by (cluster)
-
(sum(kube_node_status_allocatable{resource="cpu"}) by (cluster) - max(kube_node_status_allocatable{resource="cpu"}) by (cluster)) > 0
and
(sum(kube_node_status_allocatable{resource="cpu"}) by (cluster) - max(kube_node_status_allocatable{resource="cpu"}) by (cluster)) > 0
""",
        "for": "10m",
        "labels": {"severity": "warning"},
        "annotations": {"description": "Cluster {{ $labels.cluster }} has overcommitted CPU.", "summary": "Overcommitted."},
    },
    {
        "alert": "KubeQuotaOvercommit",
        "expr": 'sum(min without(resource) (kube_resourcequota{type="hard", resource=~"(cpu|requests.cpu)"})) / sum(kube_node_status_allocatable{resource="cpu"}) > 1.5',
        "for": "5m",
        "labels": {"severity": "warning"},
        "annotations": {"summary": "Cluster has overcommitted CPU resource requests."},
    },
    {
        "alert": "KubeJobFailed",
        "expr": 'kube_job_failed{job="kube-state-metrics"} > 0',
        "for": "15m",
        "labels": {"severity": "warning"},
        "annotations": {"description": "Job {{ $labels.namespace }}/{{ $labels.job_name }} failed.", "summary": "Job failed."},
    },
    {
        "alert": "KubeAPIErrorBudgetBurn",
        "expr": """sum by (cluster) (apiserver_request:burnrate1h) > (14.40 * 0.01000)
and on (cluster)
sum by (cluster) (apiserver_request:burnrate5m) > (14.40 * 0.01000)
""",
        "for": "2m",
        "labels": {"long": "1h", "severity": "critical", "short": "5m"},
        "annotations": {"description": "The API server is burning too much error budget.", "summary": "Error budget burn."},
    },
    {
        "alert": "KubeVersionMismatch",
        "expr": """count by (cluster) (count by (git_version, cluster) (label_replace(kubernetes_build_info{job!~"kube-dns|coredns"},"git_version","$1","git_version","(v[0-9]*.[0-9]*).*"))) > 1""",
        "for": "15m",
        "labels": {"severity": "warning"},
        "annotations": {"description": "There are {{ $value }} different versions of components running."},
    },
    {
        "alert": "PrometheusBadConfig",
        "expr": 'max_over_time(prometheus_config_last_reload_successful{job="prometheus"}[5m]) == 0',
        "for": "10m",
        "labels": {"severity": "critical"},
        "annotations": {"message": "Prometheus {{$labels.instance}} has failed to reload its configuration."},
    },
    {
        "alert": "PrometheusErrorSendingAlerts",
        "expr": """(
  rate(prometheus_notifications_errors_total{job="prometheus"}[5m])
/
  rate(prometheus_notifications_sent_total{job="prometheus"}[5m])
)
* 100
> 1
""",
        "for": "15m",
        "labels": {"severity": "warning"},
        "annotations": {
            "description": '{{ printf "%.1f" $value }}% errors while sending alerts from {{$labels.instance}} to {{$labels.alertmanager}}.',
            "summary": "Errors sending alerts.",
        },
    },
    {
        "alert": "PrometheusRuleFailures",
        "expr": "increase(prometheus_rule_evaluation_failures_total[3m]) > 0",
        "for": "0m",
        "labels": {"severity": "critical"},
        "annotations": {
            "summary": "Prometheus rule evaluation failures (instance {{ $labels.instance }})",
            "description": "Prometheus encountered {{ $value }} failures.\n  VALUE = {{ $value }}\n  LABELS = {{ $labels }}",
        },
    },
    {
        "alert": "HostHighCpuLoad",
        "expr": '1 - (avg without (cpu) (rate(node_cpu_seconds_total{mode="idle"}[5m]))) > .80',
        "for": "10m",
        "labels": {"severity": "warning"},
        "annotations": {
            "summary": "Host high CPU load (instance {{ $labels.instance }})",
            "description": "CPU load is > 80%\n  VALUE = {{ $value }}\n  LABELS = {{ $labels }}",
        },
    },
    {
        "alert": "etcdMembersDown",
        "expr": """max without (endpoint) (
  sum without (instance, pod) (up{job=~".*etcd.*"} == bool 0)
or
  count without (To) (sum without (instance, pod) (rate(etcd_network_peer_sent_failures_total{job=~".*etcd.*"}[120s])) > 0.01)
)
> 0
""",
        "for": "20m",
        "labels": {"severity": "warning"},
        "annotations": {"description": 'etcd cluster "{{ $labels.job }}": members are down ({{ $value }}).', "summary": "Down."},
    },
    {
        "alert": "etcdInsufficientMembers",
        "expr": """sum(up{job=~".*etcd.*"} == bool 1) without (instance, pod) < ((count(up{job=~".*etcd.*"}) without (instance, pod) + 1) / 2)""",
        "for": "3m",
        "labels": {"severity": "critical"},
        "annotations": {"description": 'etcd cluster "{{ $labels.job }}": insufficient members ({{ $value }}).', "summary": "Few."},
    },
    {
        "alert": "AlertmanagerClusterDown",
        "expr": """(
  count by (job) (avg_over_time(up{job="alertmanager"}[5m]) < 0.5)
/
  count by (job) (up{job="alertmanager"})
)
>= 0.5
""",
        "for": "5m",
        "labels": {"severity": "critical"},
        "annotations": {
            "description": "{{ $value | humanizePercentage }} of Alertmanager instances within the {{$labels.job}} cluster are down.",
            "summary": "Half or more of the instances are down.",
        },
    },
    {
        "alert": "InstanceGone",
        "expr": 'up{job="blackbox"} == 0 or absent(up{job="blackbox"})',
        "for": "5m",
        "labels": {"severity": "page"},
        "annotations": {"summary": "{{ $labels.job }} is gone from {{ $labels.instance }}"},
    },
    {
        "alert": "InfoInhibitor",
        "expr": """ALERTS{severity = "info"} == 1 unless on(namespace) ALERTS{alertname != "InfoInhibitor", severity =~ "warning|critical", alertstate="firing"} == 1""",
        "labels": {"severity": "none"},
        "annotations": {"description": "Suppresses info alerts.", "summary": "Info-level alert inhibition."},
    },
    {
        "alert": "HighRequestLatency",
        "expr": """histogram_quantile(0.99, sum(rate(http_request_duration_seconds_bucket{job="api"}[5m])) by (le, namespace, job, route)) > 1""",
        "for": "15m",
        "labels": {"severity": "critical"},
        "annotations": {"message": '{{ $labels.job }} {{ $labels.route }} is at {{ printf "%.2f" $value }}s 99th percentile.'},
    },
    {
        "alert": "ServiceErrorsByTier",
        "expr": "sum(rate(http_requests_total{code=~'5..'}[5m])) / sum(rate(http_requests_total[5m])) > 0.05",
        "for": "5m",
        "labels": {"severity": "{{ if gt $value 0.5 }}critical{{ else }}warning{{ end }}", "team": "web"},
        "annotations": {"summary": "{{ $value | humanizePercentage }} of requests fail in {{ $externalLabels.cluster }}"},
    },
    {
        "alert": "CertificateExpires",
        "expr": "probe_ssl_earliest_cert_expiry - time() < 86400 * 20",
        "labels": {"severity": "warning"},
        "annotations": {"summary": "Certificate of {{ $labels.instance }} expires in {{ $value | humanizeDuration }}"},
    },
    {
        "alert": "DeadMansSnitch",
        "expr": "absent_over_time(backup_last_success_timestamp_seconds{job='backup'}[1d]) or time() - backup_last_success_timestamp_seconds{job='backup'} > 86400",
        "labels": {"severity": "ticket"},
        "annotations": {"summary": "No backup of {{ $labels.database }}", "dashboard": "https://grafana.example.com/d/x"},
    },
    {
        "alert": "ShardsWanted",
        "expr": "max_over_time(shards_wanted[5m]) > max_over_time(shards_max[5m])",
        "for": "15m",
        "labels": {"severity": "warning"},
        "annotations": {
            "description": '{{ $labels.instance }} wants {{ $value }}, more than {{ printf `shards_max{instance="%s"}` $labels.instance | query | first | value }}.',
            "summary": "Too many shards are wanted.",
        },
    },
    {
        "alert": "MonitorsDown",
        "expr": "count(quorum == 0) <= count(members) - floor(count(members) / 2) + 1",
        "for": "30s",
        "labels": {"severity": "warning"},
        "annotations": {
            "description": """{{ $down := query "count(quorum == 0)" | first | value }}{{ $s := "" }}{{ if gt $down 1.0 }}{{ $s = "s" }}{{ end }}{{ $down }} monitor{{ $s }} down: {{- range query "quorum == 0" }} - {{ .Labels.daemon }} on {{ .Labels.hostname }} {{- end }}""",
            "summary": "Some monitors are down",
        },
    },
    {
        "alert": "NotSynced",
        "expr": 'min by (namespace, user, part) (time() - label_replace(max_over_time(synced_timestamp_seconds[15m]), "part", "$1", "job", ".*-rc-([0-9]+)")) > 2100',
        "for": "2m",
        "labels": {"severity": "critical"},
        "annotations": {"message": "{{ $labels.user }} in {{ $labels.namespace }}{{ if $labels.part }}/{{ $labels.part }}{{ end }}{{ with $labels.region }} of {{ . }}{{ end }} is not synced since {{ $value | humanizeDuration }}."},
    },
    {"record": "instance:node_num_cpu:sum", "expr": 'count without (cpu, mode) (node_cpu_seconds_total{job="node",mode="idle"})'},
    {
        "record": "namespace_workload_pod:kube_pod_owner:relabel",
        "expr": 'max by (cluster, namespace, workload, pod) (label_replace(kube_pod_owner{owner_kind="DaemonSet"}, "workload", "$1", "owner_name", "(.*)"))',
        "labels": {"workload_type": "daemonset"},
    },
    {
        "record": "namespace_workload_pod:kube_pod_owner:relabel",
        "expr": 'max by (cluster, namespace, workload, pod) (label_replace(kube_pod_owner{owner_kind="StatefulSet"}, "workload", "$1", "owner_name", "(.*)"))',
        "labels": {"workload_type": "statefulset"},
    },
    {
        "record": "code_verb:apiserver_request_total:increase1h",
        "expr": 'sum by (cluster, code, verb) (increase(apiserver_request_total{job="apiserver",verb=~"LIST|GET",code=~"2.."}[1h]))',
    },
    {
        "record": "code_verb:apiserver_request_total:increase1h",
        "expr": 'sum by (cluster, code, verb) (increase(apiserver_request_total{job="apiserver",verb=~"LIST|GET",code=~"3.."}[1h]))',
    },
    {"record": "cluster:node_cpu:ratio_rate5m", "expr": "avg by (cluster) (instance:node_cpu_utilisation:rate5m)"},
    {"record": ":node_memory_MemAvailable_bytes:sum", "expr": "sum by (cluster) (node_memory_MemAvailable_bytes)"},
]  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.get("alert") or rule["record"])
def test_a_rule_is_fine(anyone, rule):
    found = anyone.findings("", rule)
    assert [(one.check, one.message) for one in found if one.severity != "note"] == []
    assert all("style point" in one.why for one in found if one.check.startswith(("alert/", "template/", "rule/")))


def test_they_are_fine_side_by_side(anyone):
    twice = [
        {**rule, "labels": {"severity": "critical"}, "expr": rule["expr"].replace("> 0", "> 1")}
        for rule in RULES
        if rule.get("labels") == {"severity": "warning"}
    ]
    found = anyone.findings("", anyone.group(*RULES, *twice, interval="30s"))
    assert [(one.check, one.message) for one in found if one.severity != "note"] == []
