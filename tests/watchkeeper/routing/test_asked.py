"""Tests of alerts that ask who is told, and what a failure says."""

import pytest

from watchkeeper import Alert, Gauge, Group, Pack, Severity, not_, re, testing
from watchkeeper.routing import Inhibition, Receiver, Route, Routing
from watchkeeper.testing import AlertFailure, UnknownNameError

UP = Gauge("acme_up", "Up.", labels=("zone",))
DOWN = Alert(
    "AcmeDown", expr=f"{UP} == 0", severity=Severity.CRITICAL, team="web", summary="{{ $labels.zone }} is down"
)
SLOW = Alert("AcmeSlow", expr=f"{UP} < 1", severity=Severity.WARNING, team="web", summary="{{ $labels.zone }} is slow")
PAGER, LOG, WEB, ML, ROOT = (Receiver(name) for name in ("pager", "log", "web", "ml", "root"))
TO_WEB = Route(WEB, match={"team": "web", "zone": not_("b")})
TO_LOG = Route(LOG, match={"zone": re("a|b")}, continue_=True)
TO_PAGER = Route(PAGER, match={"severity": "critical"}, routes=[TO_WEB])
TO_ML = Route(ML, match={"team": re("ml|web")})
TOP = Route(ROOT, routes=[TO_LOG, TO_PAGER, TO_ML, Route(WEB, match={"team": "web"})])
ROUTING = Routing(
    TOP,
    receivers=[PAGER, LOG, WEB, ML, ROOT],
    inhibitions=[Inhibition({"severity": "critical"}, {"severity": "warning"}, ["zone"])],
)
PACK = Pack(metrics=(UP,), groups=(Group("acme", [DOWN, SLOW]),), routing=ROUTING)
BENCH = testing.Bench(PACK)
SERIES = {UP: ['{zone="a"} 0x4', '{zone="b"} 1x4']}


@pytest.mark.parametrize(
    ("labels", "receivers"),
    [
        ({}, ["root"]),
        ({"zone": "a"}, ["log"]),
        ({"severity": "critical", "zone": "b", "team": "web"}, ["log", "pager"]),
        ({"severity": "critical", "team": "web"}, ["web"]),
        ({"severity": "warning", "team": "ml"}, ["ml"]),
        ({"severity": "warning", "team": "web", "zone": "b"}, ["log", "ml"]),
    ],
    ids=["none", "log", "pager", "web", "ml", "two"],
)
def test_routes(labels, receivers):
    assert BENCH.routes(labels) == receivers


def test_inhibits():
    down, slow = {"severity": "critical", "zone": "a"}, {"severity": "warning", "zone": "a"}
    assert BENCH.inhibits(down, slow)
    assert not BENCH.inhibits(slow, down)
    assert not BENCH.inhibits(down, {**slow, "zone": "b"})
    assert BENCH.inhibits({"severity": "critical"}, {"severity": "warning"})  # a label that both lack is equal
    assert not BENCH.inhibits(down, down)


def test_an_alert_that_fires_is_asked_who_is_told():
    fired = BENCH.run(SERIES).fires(DOWN, labels={"zone": "a"})
    fired.routes_to("web")
    fired.routes_to("log", "web")
    assert fired.labels["zone"] == "a"
    assert fired.firing


def failure(*receivers):
    with pytest.raises(AlertFailure) as caught:
        BENCH.run(SERIES).fires(DOWN, labels={"zone": "a"}).routes_to(*receivers)
    return str(caught.value).splitlines()


def test_a_failure_names_the_matcher_that_said_no_and_the_routes_that_were_passed():
    critical, log, web = 'route {severity="critical"}', 'route {zone=~"a|b"}', 'route {team="web", zone!="b"}'
    passed = [
        f'  it passed {log} ({TO_LOG.place}) to "log"',
        f'  it passed {critical} > {web} ({TO_WEB.place}) to "web"',
    ]
    alert = '{alertname="AcmeDown", severity="critical", team="web", zone="a"}'
    assert failure("log", "root") == [
        f'{alert} is not routed to "root", but to "log", "web"',
        f"  the root route ({TOP.place}): {log} below it ({TO_LOG.place}) takes it",
        *passed,
    ]
    assert failure("ml") == [
        f'{alert} is not routed to "ml", but to "log", "web"',
        f'  route {{team=~"ml|web"}} ({TO_ML.place}): {critical} ({TO_PAGER.place}) takes it before',
        *passed,
    ]
    assert failure("pager") == [
        f'{alert} is not routed to "pager", but to "log", "web"',
        f"  {critical} ({TO_PAGER.place}): {web} below it ({TO_WEB.place}) takes it",
        *passed,
    ]


def test_a_matcher_that_says_no_is_shown_with_what_the_alert_has():
    to_pager = Route(PAGER, match={"severity": "warning"})
    to_web = Route(WEB, match={"rack": "1"})
    routing = Routing(Route(ROOT, routes=[to_pager, to_web]), receivers=[ROOT, PAGER, WEB])
    fired = testing.run(PACK.with_routing(routing), SERIES).fires(DOWN)
    with pytest.raises(AlertFailure) as caught:
        fired.routes_to("pager")
    assert f'  route {{severity="warning"}} ({to_pager.place}): severity is "critical"\n' in str(caught.value)
    with pytest.raises(AlertFailure) as caught:
        fired.routes_to("web")
    assert f'  route {{rack="1"}} ({to_web.place}): it has no rack\n' in str(caught.value)
    assert str(caught.value).endswith(f'  it passed the root route ({routing.route.place}) to "root"')


def test_a_mistyped_receiver_is_an_error_of_the_test():
    with pytest.raises(UnknownNameError, match=r'there is no receiver "pagers"; did you mean "pager"\?'):
        BENCH.run(SERIES).fires(DOWN).routes_to("pagers")


def test_a_pack_without_routing_says_so():
    bare = testing.Bench(PACK.with_routing(None))
    with pytest.raises(UnknownNameError, match="the pack has no routing"):
        bare.routes({})
    with pytest.raises(UnknownNameError, match="the pack has no routing"):
        bare.run(SERIES).fires(DOWN).routes_to("pager")


def test_a_routing_that_would_be_refused_says_why():
    bad = testing.Bench(PACK.with_routing(Routing(Route("nobody"), receivers=[])))
    with pytest.raises(ValueError, match=r'test_asked\.py:\d+: there is no receiver "nobody": run `watchkeeper check`'):
        bad.routes({})
