"""The fleet's own routing: who is told of each alert, by what alerts are grouped, and what is muted."""

from __future__ import annotations

from pathlib import Path

import pytest

from watchkeeper import Severity, testing
from watchkeeper.building import build
from watchkeeper.proof.carried import CERTAINLY, NEVER, carried
from watchkeeper.proof.reach import passing, reach
from watchkeeper.routing.definitions import walk
from watchkeeper.settings import Settings, load_settings
from watchkeeper_fleet.alerts.gpu_stall import STALLED
from watchkeeper_fleet.metrics.agent import STALL, STEP_WALL
from watchkeeper_fleet.metrics.trunk import JOBS_FAILING
from watchkeeper_fleet.pack import PACK
from watchkeeper_fleet.routing import BUSINESS_HOURS, CHANNELS, PAGERS, ROUTING, SHORT

ROOT = Path(__file__).parents[2]
TEAMS = load_settings(ROOT).teams
BENCH = testing.Bench(PACK)
CONFIG = BENCH.router
PROJECT, _ = build(PACK, Settings(root=ROOT))
ALERTS = {
    rule.name.value: carried(rule, PROJECT.catalogue)
    for group in PROJECT.groups
    for rule in group.rules
    if rule.is_alert
}


def labels_of(name, **more):
    alert = PACK.alerts[name]
    return {"alertname": name, "severity": str(alert.severity), "team": alert.team, **more}


def has(name, label):
    """Tell whether an alert surely carries a label."""
    known = ALERTS[name].label(label)
    return "" not in known.values if known.values is not None else "" in known.excluded


def test_each_team_has_a_pager_and_a_channel():
    assert sorted(TEAMS) == sorted(SHORT) == sorted(PAGERS) == sorted(CHANNELS)
    assert PAGERS["inference-sre"].name == "pagerduty-inference"


@pytest.mark.parametrize("name", sorted(PACK.alerts))
def test_who_is_told(name):
    """Critical pages, warning makes a ticket and stands in Slack and in the mail of the day, info tells nobody."""
    alert = PACK.alerts[name]
    wanted = {
        Severity.CRITICAL: [PAGERS[alert.team].name],
        Severity.WARNING: ["tickets", "email-daily", CHANNELS[alert.team].name],
        Severity.INFO: ["nobody"],
    }[alert.severity]
    if name == "Watchdog":
        wanted = ["heartbeat"]
    if name in ("TrunkBroken", "TrunkBadlyBroken"):
        wanted = ["issues", *wanted]
    assert BENCH.routes(labels_of(name)) == wanted


def test_an_alert_of_no_team_and_no_severity_that_is_known_is_looked_at():
    assert BENCH.routes({"alertname": "X"}) == ["slack-monitoring"]
    assert BENCH.routes({"alertname": "X", "severity": "critical", "team": "new"}) == ["pagerduty-monitoring"]
    assert BENCH.routes({"alertname": "X", "severity": "warning", "team": "new"})[-1] == "slack-monitoring"


def test_a_stall_pages_without_a_wait():
    series = {STALL: "0+4x40", STEP_WALL: "0+10x40"}
    fired = BENCH.run(series, labels={"instance": "n1", "gpu": "0"}).fires(STALLED)
    fired.routes_to("pagerduty-inference")
    (route,) = [route for _, route in walk(ROUTING.route) if ("alertname", "=", STALLED.name) in route.match]
    assert route.group_wait == "0s"
    found = reach(CONFIG, ALERTS[STALLED.name])
    (end,) = [one for one, way in found.items() if way.reached == CERTAINLY]
    assert str(end) == f'route {{alertname="{STALLED.name}"}}'


def test_the_hud_alert_pages_and_opens_an_issue():
    series = {JOBS_FAILING.where(repository="pytorch/pytorch", branch="main", commits="3"): "14x40"}
    BENCH.run(series, labels={"instance": "trunk"}).fires("TrunkBadlyBroken").routes_to("issues", "pagerduty-dev-infra")


def test_the_heartbeat_is_told_again_and_again():
    (route,) = [route for _, route in walk(ROUTING.route) if route.receiver == "heartbeat"]
    assert (route.group_wait, route.group_interval, route.repeat_interval) == ("0s", "1m", "1m")


def test_tickets_are_made_in_business_hours():
    (route,) = [route for _, route in walk(ROUTING.route) if route.receiver == "tickets"]
    assert route.active_during == (BUSINESS_HOURS.name,)


@pytest.mark.parametrize("name", sorted(PACK.alerts))
def test_nothing_is_grouped_by_what_an_alert_lacks(name):
    grouped = {
        label.value
        for route, way in reach(CONFIG, ALERTS[name]).items()
        if way.reached != NEVER
        for label in route.grouping.group_by or ()
    }
    assert grouped
    assert [label for label in grouped if not has(name, label)] == []


@pytest.mark.parametrize(
    "rule", CONFIG.inhibit_rules, ids=[f"inhibition {n}" for n in range(len(CONFIG.inhibit_rules))]
)
def test_what_an_inhibition_holds_equal_is_on_both_sides(rule):
    """Where it can be absent from a target, the source still has it, so that nothing is muted by what both lack."""
    sources, targets = (
        [name for name, alert in ALERTS.items() if passing(matchers, {}, alert)[0] != NEVER]
        for matchers in (rule.source, rule.target)
    )
    assert sources
    assert targets
    labels = [label.value for label in rule.equal]
    assert [(name, label) for name in sources for label in labels if not has(name, label)] == []
    assert [name for name in targets if all(has(name, label) for label in labels)]
    assert not set(sources) & set(targets)


@pytest.mark.parametrize(
    "name",
    ["GPUOutOfMemory", "GPUStallRatioHigh", "GPUTooHot", "GPULost", "ExporterDown", "InferenceStuck", "ZombieRank"],
)
def test_a_node_that_is_down_silences_what_is_on_it(name):
    down = labels_of("GPUNodeNotReady", cluster="c1", node="n1")
    on_it = labels_of(name, cluster="c1", node="n1", **({"gpu": "0"} if has(name, "gpu") else {}))
    assert BENCH.inhibits(down, on_it)
    assert not BENCH.inhibits(down, {**on_it, "node": "n2"})
    assert not BENCH.inhibits(down, {**on_it, "cluster": "c2"})
    assert not BENCH.inhibits(on_it, down)


def test_it_does_not_silence_what_tells_of_more_than_the_node():
    down = labels_of("GPUNodeNotReady", cluster="c1", node="n1")
    for name in ("GPUNodeNotReady", "GPUNodeCascade", "InferenceErrorsHigh", "NodeOOMKill", "NotificationsFailing"):
        assert not BENCH.inhibits(down, labels_of(name, cluster="c1", node="n1"))


def test_a_badly_broken_trunk_silences_a_broken_one():
    badly, broken = (labels_of(n, repository="a/b", branch="main") for n in ("TrunkBadlyBroken", "TrunkBroken"))
    assert BENCH.inhibits(badly, broken)
    assert not BENCH.inhibits(broken, badly)
    assert not BENCH.inhibits(badly, {**broken, "branch": "release"})


def test_an_error_silences_the_retries_before_it():
    oom, retrying = (
        labels_of(name, cluster="c", instance="n1", gpu="0") for name in ("GPUOutOfMemory", "GPUAllocatorRetrying")
    )
    assert BENCH.inhibits(oom, retrying)
    assert not BENCH.inhibits(oom, {**retrying, "gpu": "1"})
