"""What is wrong with a routing is told at its definitions, before Alertmanager refuses it."""

from datetime import date
from pathlib import Path

import pytest

from watchkeeper import Alert, Gauge, Group, Pack, Waiver, re
from watchkeeper.building import build
from watchkeeper.checks import ids
from watchkeeper.findings import to_text
from watchkeeper.render.alertmanager import document
from watchkeeper.routing import (
    Email,
    Global,
    Inhibition,
    PagerDuty,
    Period,
    Receiver,
    Route,
    Routing,
    Slack,
    TimeInterval,
    Webhook,
)
from watchkeeper.settings import Settings, Targets
from watchkeeper.waivers.held import apply, of_definitions

A = Receiver("a", [Webhook("http://127.0.0.1/x")])
DOWN = Alert("Down", expr="up == 0", for_="5m", severity="critical", team="sre", summary="{{ $labels.job }} is down")
SLOW = Alert(
    "Slow", expr="max by (node) (up) == 0", for_="5m", severity="warning", team="sre", summary="{{ $labels.node }}"
)


def pack_of(routing):
    return Pack(
        metrics=(Gauge("up", "Up."),),
        groups=(Group("g", [DOWN, SLOW]),),
        target_labels=("job", "instance", "node"),
        routing=routing,
    )


def found(routing, **targets):
    """Return what is found that is about routing."""
    project, findings = build(pack_of(routing), Settings(root=Path("/nowhere"), targets=Targets(**targets)))
    for finding in findings:
        to_text(finding).encode()
    assert "deploy/alertmanager/alertmanager.yaml" in project.files
    return [one for one in findings if one.check.startswith(("routing/", "alertmanager/", "yaml/"))]


def test_what_is_right_has_no_findings():
    route = Route(match={"severity": "critical"}, group_by=["job"])
    inhibition = Inhibition({"alertname": "Down"}, {"alertname": "Slow"}, ["node"])
    assert found(Routing(Route(A, routes=[route]), receivers=[A], inhibitions=[inhibition])) == []


BAD = {
    "no such receiver": (lambda: Route("b"), 'no receiver "b"'),
    "no duration": (lambda: Route(A, group_wait="5x"), "group_wait of a route must be a duration"),
    "no regular expression": (lambda: Route(match={"job": re("(")}), "not a regular expression"),
    "mistyped label": (lambda: Route(match={"severty": "critical"}), 'did you mean the label "severity"?'),
    "mistyped value": (lambda: Route(match={"severity": "critcal"}), 'did you mean severity="critical"?'),
    "no such alert": (lambda: Route(match={"alertname": "Sloow"}), 'given passes alertname="Sloow"'),
    "lacking label": (lambda: Route(match={"alertname": "Slow"}, group_by=["jobs"]), 'groups by "jobs"'),
    "no such interval": (lambda: Route(match={"job": "x"}, mute_during=["night"]), 'no time interval "night"'),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_route_that_is_wrong_is_told_at_its_call(name):
    make, said = BAD[name]
    route = make()
    (finding,) = found(Routing(Route(A, routes=[Route(A, match={"job": "first"}), route]), receivers=[A]))
    assert (finding.place, finding.place.column) == (route.place, 0)
    assert said in finding.message
    assert finding.fix
    assert finding.excerpt


def test_a_route_that_nothing_reaches_names_the_line_of_the_one_before():
    first = Route(match={"severity": "critical"})
    second = Route(match={"severity": "critical", "team": "sre"})
    (finding,) = found(Routing(Route(A, routes=[first, second]), receivers=[A]))
    assert finding.check == "routing/unreachable"
    assert finding.place == second.place
    assert f'route {{severity="critical"}}, on line {first.place.line}, takes what is left' in finding.message


def test_an_alert_that_nobody_is_told_of_is_told_at_the_alert():
    nobody = Receiver("nobody")
    findings = found(Routing(Route(nobody, routes=[Route(A, match={"severity": "critical"})]), receivers=[A, nobody]))
    assert [(one.check, one.place) for one in findings] == [("routing/unrouted", SLOW.place)]


def test_an_inhibition_that_can_not_hold():
    without = Inhibition({"alertname": "Down"}, {"alertname": "Slow"}, ["job"])
    itself = Inhibition({"alertname": "Down"}, {"alertname": "Down"}, ["job"])
    findings = found(Routing(Route(A), receivers=[A], inhibitions=[without, itself]))
    assert [(one.check, one.place) for one in findings] == [
        ("routing/inhibition", without.place),
        ("routing/inhibition", itself.place),
    ]
    assert '"job" never has the same value on both sides' in findings[0].message


def test_receivers_and_time_intervals_that_are_wrong():
    mail = Email("a@b")
    again = Receiver("a", [mail])
    alone = Receiver("alone", [Slack("#x", api_url_file="/s")])
    bad = TimeInterval("t", [Period(times=["9-17"], location="Mars/Base")])
    findings = found(Routing(Route(A), receivers=[A, again, alone], time_intervals=[bad]))
    told = {(one.place, one.message) for one in findings}
    assert told == {
        (again.place, 'receiver "a" is defined twice'),
        (mail.place, "an entry of email_configs has no smarthost"),
        (mail.place, "an entry of email_configs has no from"),
        (bad.place, 'start_time "9" is no time of day'),
        (bad.place, 'no time zone "Mars/Base"'),
    }


def test_a_receiver_without_a_route():
    alone = Receiver("alone", [Slack("#x", api_url_file="/s")])
    (finding,) = found(Routing(Route(A), receivers=[A, alone]))
    assert (finding.check, finding.place, finding.severity) == ("routing/receiver", alone.place, "note")


def test_a_text_that_yaml_can_not_hold_is_told_at_the_generated_file():
    (finding,) = found(Routing(Route(A, routes=[Route(match={"job": "\ud800"})]), receivers=[A]))
    assert finding.place.file == "deploy/alertmanager/alertmanager.yaml"
    assert finding.message.startswith("not YAML")


FEATURES = {
    "url_file": (lambda: {"receivers": [Receiver("a", [Webhook(url_file="/x")])]}, (0, 26)),
    "timeout": (lambda: {"receivers": [Receiver("a", [Webhook("http://h", timeout="5s")])]}, (0, 28)),
    "routing_key_file": (lambda: {"receivers": [Receiver("a", [PagerDuty("/x")])]}, (0, 25)),
    "smtp_auth_password_file": (lambda: {"global_": Global(smtp_auth_password_file="/x")}, (0, 25)),
    "slack_api_url_file": (lambda: {"global_": Global(slack_api_url_file="/x")}, (0, 22)),
    "api_url_file": (lambda: {"receivers": [Receiver("a", [Slack("#x", api_url_file="/x")])]}, (0, 22)),
    "time interval": (lambda: {"time_intervals": [TimeInterval("t", [Period(weekdays=["monday"])])]}, (0, 24)),
    "location": (lambda: {"time_intervals": [TimeInterval("t", [Period(location="UTC")])]}, (0, 25)),
    'label name "é" in equal': (lambda: {"inhibitions": [Inhibition({}, {}, ["é"])]}, (0, 28)),
    'label name "é" in group_by': (lambda: {"route": Route("a", group_by=["é"])}, (0, 27)),
    'label name "a b" in a matcher': (lambda: {"route": Route("a", routes=[Route(match={"a b": "c"})])}, (0, 27)),
    "matchers": (lambda: {"route": Route("a", routes=[Route(match={"job": "c"})])}, (0, 22)),
}


@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_that_is_too_new_names_itself_and_its_version(name):
    make, since = FEATURES[name]
    routing = Routing(**{"route": Route("a"), "receivers": [A], **make()})

    def told(target):
        findings = [one for one in found(routing, alertmanager=target) if one.check == "routing/feature"]
        return [one for one in findings if name in one.message and one.message.endswith(f"0.{since[1]}")]

    (finding,) = told((0, since[1] - 1))
    assert f"needs Alertmanager 0.{since[1]}" in finding.message
    assert finding.place.file == __file__
    assert told(since) == []


def test_the_default_target_is_0_25():
    receiver = Receiver("a", [Webhook(url_file="/x")])
    (finding,) = found(Routing(Route(receiver), receivers=[receiver]))
    assert finding.severity == "error"
    assert "the oldest in use is 0.25" in finding.why


def test_a_waiver_of_the_routing_is_for_all_its_parts():
    foreign = Route(match={"alertname": "KubePodCrashLooping"})
    waiver = Waiver("routing/unreachable", reason="rules of kube-prometheus come here too")

    def reported(*waivers):
        pack = pack_of(Routing(Route(A, routes=[foreign]), receivers=[A], waivers=waivers))
        _, findings = build(pack, Settings(root=Path("/nowhere")))
        held, faults = of_definitions(pack, ids())
        kept, waived = apply([*findings, *faults], held, date(2026, 12, 1))
        return [one.check for one in kept if one.check.startswith(("routing/", "waiver/"))], len(waived)

    assert reported() == (["routing/unreachable"], 0)
    assert reported(waiver) == ([], 1)
    assert reported(waiver, Waiver("routing/matcher", reason="none")) == (["waiver/unused"], 1)


TEXTS = {
    "broken": ("{{ .Status", (0, 25), "unclosed action"),
    "no function": ("{{ upper .Status }}", (0, 25), 'function "upper" not defined'),
    "too new": ('{{ (index .Alerts 0).StartsAt | tz "UTC" }}', (0, 27), "the function tz needs Alertmanager 0.28"),
    "new enough": ('{{ (index .Alerts 0).StartsAt | tz "UTC" }}', (0, 28), ""),
    "no template": ('{{ range .Alerts }}{{ template "watchkeeper.txt" . }}{{ end }}', (0, 25), '"watchkeeper.txt"'),
    "the page's": ('{{ template "watchkeeper.text" . }}', (0, 25), ""),
    "Alertmanager's": ('{{ template "slack.default.title" . }}{{ template "__subject" . }}', (0, 25), ""),
    "its own": ('{{ define "x" }}y{{ end }}{{ template "x" . }}', (0, 25), ""),
    "none": ("a } b {", (0, 25), ""),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_of_a_receiver_that_can_not_be_expanded(name):
    text, target, said = TEXTS[name]
    slack = Slack("#x", api_url_file="/s", text=text)
    pager = PagerDuty("/k", details={"more": text})
    receiver = Receiver("a", [slack, pager])
    findings = found(Routing(Route(receiver), receivers=[receiver]), alertmanager=target)
    if not said:
        assert findings == []
        return
    assert [(one.check, one.place) for one in findings] == [
        ("routing/template", slack.place),
        ("routing/template", pager.place),
    ]
    assert findings[0].message.startswith('receiver "a", text of a Slack: ')
    assert findings[1].message.startswith('receiver "a", "more" in details of a PagerDuty: ')
    assert all(said in one.message and one.severity == "error" for one in findings)


def test_our_own_texts_can_be_expanded():
    receiver = Receiver("a", [Slack("#x", api_url_file="/s"), PagerDuty("/k")])
    config = document(Routing(Route(receiver), receivers=[receiver]))
    made = config["receivers"][0]
    slack = made["slack_configs"][0]
    pager = made["pagerduty_configs"][0]
    own = Slack("#x", api_url_file="/s", title=slack["title"], text=slack["text"])
    also = PagerDuty("/k", description=pager["description"], severity=pager["severity"], details=pager["details"])
    assert found(Routing(Route("a"), receivers=[Receiver("a", [own, also])])) == []
