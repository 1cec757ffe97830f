"""Watching the watchers: what is blind, and what only restarts."""

import pytest

from watchkeeper import re
from watchkeeper_fleet.alerts.watchers import (
    EXPORTER_DOWN,
    KUBE_STATE,
    MISSING,
    NOTIFY,
    RELOAD,
    RULES,
    SPOOL,
    WATCHDOG,
)
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

OURS = 'up{job="watchkeeper",instance="n1",node="n1",cluster="c1"}'
KUBE = 'up{job="kube-state-metrics",instance="ksm",cluster="c1"}'
HOST = {"job": "watchkeeper", "instance": "n1", "node": "n1", "cluster": "c1"}
PROMETHEUS = {"job": "prometheus", "instance": "p1", "cluster": "c1"}
MANAGER = {"job": "alertmanager", "instance": "a1", "cluster": "c1"}


def test_the_watchdog_barks_always(pack):
    run = pack.run({OURS: "1x40"})
    run.fires(WATCHDOG, first="0s", at="10m", count=1, labels={"severity": "info"})


def test_the_watchdog_wakes_nobody(pack):
    pack.run({OURS: "0x40"}).silent(WATCHDOG, labels={"severity": re("critical|warning")})


def test_an_exporter_that_is_down(pack):
    run = pack.run({OURS: "1x10 0x30"})
    run.fires(EXPORTER_DOWN, first="5m45s", exact=True, summary="Exporter watchkeeper n1 is down", labels={
        **HOST, "severity": "warning", "priority": "P2", "team": "monitoring",
    })  # fmt: skip


def test_a_job_that_vanished(pack):
    # Without absent() it would be green: no target, no series, no alert. The lookback keeps the last sample 5 minutes.
    run = pack.run({OURS: "1x10 stale _x40", KUBE: "1x51"})
    run.fires(EXPORTER_DOWN, first="5m45s", labels={"job": "watchkeeper", "instance": ""})


def test_a_prober_that_is_down(pack):
    run = pack.run({OURS: "1x40", 'up{job="blackbox-inference",instance="b1"}': "0x40"})
    run.fires(EXPORTER_DOWN, labels={"job": "blackbox-inference"})


def test_an_upgrade_of_an_exporter(pack):
    pack.run({OURS: "1x10 0x10 1x20"}).silent(EXPORTER_DOWN)


def test_files_that_can_not_be_read(pack):
    run = pack.run(
        {SPOOL_FILES.where(state="corrupt"): "0x10 2x50", SPOOL_FILES.where(state="live"): "8x60"}, labels=HOST
    )
    run.fires(SPOOL, first="12m45s", count=1, summary="2 corrupt spool files on n1")


def test_a_file_that_is_just_being_made(pack):
    run = pack.run(
        {SPOOL_FILES.where(state="corrupt"): "0x10 1x8 0x50", SPOOL_FILES.where(state="dead"): "5x68"}, labels=HOST
    )
    run.silent(SPOOL)


def pod(phase="Running"):
    names = {"namespace": "ai", "pod": "chat-0", "uid": "u0"}
    target = {"job": "kube-state-metrics", "instance": "ksm", "cluster": "c1"}
    return {
        REQUESTS.where(resource="nvidia_com_gpu", unit="integer", container="server", **names, **target): "1x60",
        POD_PHASE.where(phase=phase, **names, **target): "1x60",
    }


def test_a_pod_that_reports_nothing(pack):
    pack.run(pod()).fires(MISSING, first="10m", summary="ai/chat-0 runs on GPUs and reports nothing")


def test_a_pod_that_reports(pack):
    info = {PROCESS_INFO.where(namespace="ai", pod="chat-0", container="server", **HOST): "_x30 1x30"}
    pack.run(pod(), info).silent(MISSING)


def test_a_pod_that_waits(pack):
    pack.run(pod("Pending")).silent(MISSING)


def test_kube_state_metrics_is_gone(pack):
    run = pack.run({OURS: "1x40", KUBE: "1x10 0x30"})
    run.fires(KUBE_STATE, first="7m45s", summary="kube-state-metrics of c1 is gone", labels={"cluster": "c1"})


def test_a_restart_of_kube_state_metrics(pack):
    pack.run({OURS: "1x60", KUBE: "1x10 0x15 1x35"}).silent(KUBE_STATE)


@pytest.mark.parametrize("metric", [RULE_FAILURES, MISSED_ITERATIONS], ids=["failures", "missed"])
def test_rules_that_fail(pack, metric):
    run = pack.run({metric: "0x10 0+1x40"}, labels={**PROMETHEUS, "rule_group": "rules.yaml;nodes"})
    run.fires(RULES, by="4m", summary="Prometheus p1 does not evaluate rules.yaml;nodes")


def test_a_reload_misses_an_evaluation_or_two(pack):
    run = pack.run({MISSED_ITERATIONS: "0x10 2x60"}, labels={**PROMETHEUS, "rule_group": "rules.yaml;nodes"})
    run.silent(RULES)


def test_alerts_that_prometheus_drops(pack):
    run = pack.run({NOTIFICATIONS_DROPPED: "0x10 0+1x50"}, labels=PROMETHEUS)
    run.fires(NOTIFY, first="8m", summary="Notifications of p1 are lost", description="(none named) refuses them")


def test_a_receiver_that_refuses(pack):
    series = {
        NOTIFICATIONS_FAILED.where(integration="pagerduty", reason="serverError"): "0+1x60",
        NOTIFICATIONS.where(integration="pagerduty"): "0+10x60",
        NOTIFICATIONS.where(integration="slack"): "0+10x60",
    }
    run = pack.run(series, labels=MANAGER)
    run.fires(NOTIFY, first="5m15s", count=1, description="(pagerduty) refuses them")


def test_a_receiver_that_was_away_for_a_moment(pack):
    # Failures within one scrape: gone from the window after 5 minutes, and `for` is as long.
    series = {
        NOTIFICATIONS_FAILED.where(integration="pagerduty", reason="serverError"): "0x10 3x50",
        NOTIFICATIONS.where(integration="pagerduty"): "0+10x60",
    }
    pack.run(series, labels=MANAGER).silent(NOTIFY)


@pytest.mark.parametrize("metric", [CONFIG_RELOAD, ALERTMANAGER_RELOAD], ids=["prometheus", "alertmanager"])
def test_a_configuration_that_does_not_load(pack, metric):
    pack.run({metric: "1x10 0x50"}, labels=PROMETHEUS).fires(RELOAD, first="12m45s", summary="p1 runs on an old")


def test_a_reload_in_the_middle_of_a_write(pack):
    pack.run({CONFIG_RELOAD: "1x10 0x30 1x20"}, labels=PROMETHEUS).silent(RELOAD)
