"""What the checks of routing say, and of what they say nothing."""

from __future__ import annotations

import pytest

from watchkeeper.files import check, read
from watchkeeper.settings import Settings, Targets


def alerts(*rules, group="{}"):
    """A rule file: each rule is a name, an expression and labels."""
    lines = ["groups:", "- name: g", f"  labels: {group}", "  rules:"]
    for name, expr, labels in rules:
        lines += [f"  - alert: {name}", f"    expr: {expr}", f"    labels: {{{labels}}}"]
    return "\n".join(lines) + "\n"


@pytest.fixture
def findings(tmp_path):
    def found(configuration, rules=""):
        files = []
        for name, text in (("alertmanager.yml", configuration), ("rules.yml", rules)):
            if text:
                (tmp_path / name).write_text(text)
                files.append(str(tmp_path / name))
        _, all_of_them = check(read(files, lambda items, *_: items), Settings(root=tmp_path, targets=Targets.newest()))
        return [
            (one.severity, one.check, one.message, one.excerpt.text[one.excerpt.start : one.excerpt.end].strip())
            for one in all_of_them
            if one.check.startswith(("routing/", "alertmanager/", "yaml/"))
        ]

    return found


TAIL = """
receivers:
- name: tickets
  webhook_configs: [{url: "https://x/"}]
- name: pager
  webhook_configs: [{url: "https://y/"}]
"""
TWO = alerts(("Hot", "max by (gpu) (heat) > 9", "severity: critical"), ("Full", "sum(used) > 9", "severity: warning"))


def config(*routes, receiver="tickets", more=""):
    """A tree of routes to the pager, side by side, by their matchers."""
    lines = ["route:", f"  receiver: {receiver}", more, "  routes:"]
    for written in routes:
        lines += ["  - receiver: pager", f"    matchers: ['{written}']"]
    return "\n".join(lines) + "\n" + TAIL


def test_a_value_that_no_alert_has(findings):
    assert findings(config('severity="page"'), TWO) == [
        ("warning", "routing/unreachable",
         'none of the 2 alerts given passes severity="page": there it is critical, warning', 'severity="page"'),
    ]  # fmt: skip


def test_a_value_mistyped(findings):
    assert findings(config('severity="critcal"'), TWO) == [
        ("warning", "routing/matcher",
         'no alert has what severity="critcal" asks for; did you mean severity="critical"?', 'severity="critcal"'),
    ]  # fmt: skip
    assert findings(config('severity=~"critcal|warning"', 'severity="critical"'), TWO) == [
        ("warning", "routing/matcher",
         'no alert has what severity=~"critcal|warning" asks for; did you mean severity="critical"?',
         'severity=~"critcal|warning"'),
    ]  # fmt: skip


def test_a_label_mistyped(findings):
    assert findings(config('severty="critical"'), alerts(("Full", "sum(used) > 9", "severity: critical"))) == [
        ("warning", "routing/matcher",
         'no alert has what severty="critical" asks for; did you mean the label "severity"?', 'severty="critical"'),
    ]  # fmt: skip


def test_a_label_that_no_alert_carries_may_come_from_outside(findings):
    ((severity, check_id, message, marked),) = findings(config('cluster="a"'), TWO)
    assert (severity, check_id, marked) == ("warning", "routing/unreachable", 'cluster="a"')
    assert message.startswith('none of the 2 alerts given carries the label "cluster": route {cluster="a"} gets none')
    assert message.endswith("unless external_labels or alert relabelling add it")
    open_world = alerts(("Hot", "heat > 9", "severity: critical"))
    assert findings(config('cluster="a"'), open_world) == []


def test_an_alert_of_a_name_that_is_elsewhere_is_a_note(findings):
    assert [one[:2] for one in findings(config('alertname="Watchdog"'), TWO)] == [("note", "routing/unreachable")]


def test_without_rules_only_what_is_proven_from_the_tree(findings):
    assert findings(config('severity="page"', 'cluster="a"')) == []
    assert findings(config('severity="a"', 'severity="a",team="b"')) == [
        ("warning", "routing/unreachable",
         'route {severity="a", team="b"} never gets an alert: route {severity="a"}, on line 5, takes what is left for it',  # noqa: E501 - one message
         "receiver: pager\n    matchers: ['severity=\"a\",team=\"b\"']"),
    ]  # fmt: skip
    assert findings(config('severity="a",severity="b"')) == [
        ("error", "routing/unreachable",
         'route {severity="a", severity="b"} never gets an alert: no alert that gets here passes severity="b"',
         'severity="b"'),
    ]  # fmt: skip


def test_the_route_that_takes_all_is_named(findings):
    several = findings(config("team=a", "severity=x", "team=a,zone=z"))
    assert [one[2] for one in several] == [
        'route {team="a", zone="z"} never gets an alert: route {team="a"}, on line 5, takes what is left for it'
    ]
    between = findings(config("team=a", "team!=a", "zone=z"))
    assert [one[2] for one in between] == [
        'route {zone="z"} never gets an alert: the routes before it take all that is left for it, between them'
    ]


def test_what_is_below_a_dead_route_is_not_told_too(findings):
    tree = (
        "route:\n  receiver: tickets\n  routes:\n  - receiver: pager\n  - matchers: [a=b]\n    routes:\n"
        "    - matchers: [c=d]\n" + TAIL
    )
    assert [one[0] for one in findings(tree)] == ["error"]  # whatever is sent to the pager, tickets never gets it
    nested = "route:\n  receiver: tickets\n  routes:\n  - matchers: [team=x]\n    routes:\n    - matchers: [a=b]\n"
    assert [one[3] for one in findings(nested + TAIL, TWO) if one[1] != "routing/receiver"] == ["team=x"]


def test_routes_that_fail_each_alert_for_another_reason(findings):
    rules = alerts(("A", "sum(x) > 1", "severity: page, team: a"), ("B", "sum(x) > 1", "severity: info, team: b"))
    ((_, _, message, _),) = findings(config('severity="page",team="b"'), rules)
    assert message.endswith("each fails a matcher of it, or is taken before")
    taken = config('severity="critical"', 'severity=~"c.*"')
    assert [one[1] for one in findings(taken, TWO)] == ["routing/unreachable"]


def test_group_labels_and_labels_by_template(findings):
    by_group = alerts(("A", "sum(x) > 1", ""), group="{severity: page}")
    assert findings(config('severity="page"'), by_group) == []
    by_template = alerts(("A", "sum(x) > 1", 'severity: "{{ if gt $value 9.0 }}page{{ else }}info{{ end }}"'))
    assert findings(config('severity="page"'), by_template) == []
    removed = alerts(("A", "sum by (team) (x) > 1", 'team: ""'))
    assert [one[1] for one in findings(config("team=a"), removed)] == ["routing/unreachable"]


def test_values_that_the_expression_pins(findings):
    rules = alerts(("A", 'max by (env) (x{env="prod"}) > max by (env) (y{env="prod"})', "severity: page"))
    assert findings(config('env="prod"'), rules) == []
    assert [one[2] for one in findings(config('env="staging"'), rules)] == [
        'none of the 1 alerts given passes env="staging": there it is prod'
    ]
    either = alerts(("A", 'x{env="prod"} > 1 or y{env="test"} > 1', "severity: page"))
    assert findings(config('env="test"'), either) == []
    replaced = alerts(("A", 'label_replace(x{env="prod"}, "env", "$1", "zone", "(.*)") > 1', "severity: page"))
    assert findings(config('env="staging"'), replaced) == []


NULL = "receivers:\n- name: nobody\n- name: pager\n  webhook_configs: [{url: 'https://y/'}]\n"


def test_an_alert_that_nobody_hears_of(findings):
    tree = 'route:\n  receiver: nobody\n  routes:\n  - {receiver: pager, matchers: [severity="critical"]}\n' + NULL
    assert findings(tree, TWO) == [
        ("warning", "routing/unrouted",
         'alert Full: no route matches it: it goes to the root route\'s receiver "nobody", which has no integration',
         "Full"),
    ]  # fmt: skip
    assert findings(tree, alerts(("A", "sum(x) > 1", "severity: info"), ("B", "x > 1", "severity: critical"))) == []
    assert findings(tree.replace("matchers: [severity", "matchers: [other"), alerts(("A", "x > 1", ""))) == []


def test_many_alerts_that_nobody_hears_of(findings):
    tree = 'route:\n  receiver: nobody\n  routes:\n  - {receiver: pager, matchers: [severity="critical"]}\n' + NULL
    rules = alerts(
        *((f"A{n}", "sum(x) > 1", "severity: warning") for n in range(6)), ("B", "x > 1", "severity: critical")
    )
    assert findings(tree, rules) == [
        ("warning", "routing/unrouted",
         '6 of 7 alerts are matched by no route and go to "nobody", which has no integration: A0, A1, A2, A3, A4, ...',
         "nobody"),
    ]  # fmt: skip


def test_alerts_that_are_left_to_the_default(findings):
    rules = alerts(*((f"A{n}", "sum(x) > 1", "severity: critical") for n in range(3)), ("B", "sum(x) > 1", "team: b"))
    assert findings(config('severity="critical"'), rules) == [
        ("note", "routing/unrouted", '1 of 4 alerts are matched by no route and go to "tickets": B', "tickets"),
    ]
    assert findings(config('team="b"'), rules) == []  # most are left: it is meant
    assert findings("route: {receiver: tickets, routes: [{receiver: pager}]}" + TAIL, rules) == []


def test_a_receiver_without_a_route(findings):
    assert findings("route: {receiver: tickets}" + TAIL) == [
        ("note", "routing/receiver", 'no route leads to receiver "pager"', "pager"),
    ]


def test_grouping_by_a_label_that_no_alert_has(findings):
    of_expression = alerts(("A", "sum by (instance) (x) > 1", ""))
    grouped = "route: {receiver: tickets, group_by: [instnace], routes: [{receiver: pager, continue: true}]}" + TAIL
    ((severity, _, message, _),) = findings(grouped, of_expression)
    assert severity == "warning"
    assert message.endswith('did you mean "instance"?')
    tree = "route:\n  receiver: tickets\n  group_by: [alertname, severty, region]\n" + TAIL  # fmt: skip
    rules = alerts(("A", "sum(x) > 1", "severity: critical"))
    assert [one[:2] + one[3:] for one in findings(tree, rules) if one[1] != "routing/receiver"] == [
        ("warning", "routing/group-by", "severty"), ("note", "routing/group-by", "region"),
    ]  # fmt: skip
    assert [one for one in findings(tree, alerts(("A", "x > 1", ""))) if one[1] != "routing/receiver"] == []


def inhibit(source, target, equal):
    return (
        "route: {receiver: tickets, routes: [{receiver: pager}]}"
        + TAIL
        + f"inhibit_rules:\n- source_matchers: ['{source}']\n  target_matchers: ['{target}']\n  equal: [{equal}]\n"
    )


PAIR = alerts(
    ("Lost", 'max by (instance) (lost{instance!=""}) > 0', "severity: critical, layer: gpu"),
    ("Hot", 'max by (instance, gpu) (heat{instance!="", gpu!=""}) > 0', "severity: warning, layer: gpu"),
    ("Fleet", "sum(lost) > 3", "severity: page"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("source", "target", "equal", "said"),
    [
        ('severity="critical"', 'severity="warning"', "instance", []),
        ('severity="critical"', 'severity="warning"', "layer, instance", []),
        ('severity="critical"', 'severity="warning"', "gpu",
         [("warning", '"gpu" never has the same value on both sides (missing in the source, always there in', "gpu")]),
        ('severity="critical"', 'severity="warning"', "alertname",
         [("note", '"alertname" never has the same value on both sides ("Lost" in the source, "Hot" in', "alertname")]),
        ('severity="critical"', 'severity="warning"', "instance, rack",
         [("warning", 'neither side of the inhibition carries "rack"', "rack")]),
        ('severity="page"', 'severity="critical"', "instance",
         [("warning", '"instance" never has the same value', "instance")]),
        ('severity="fatal"', 'severity="warning"', "instance",
         [("warning", 'none of the 3 alerts given is a source of the inhibition: none passes severity="fatal"',
           'severity="fatal"')]),
        ('severity="critical"', 'severity="info"', "instance",
         [("warning", "is a target of the inhibition", 'severity="info"')]),
        ('severity="critical"', 'severity=~"warn"', "instance", [("warning", 'did you mean severity="warning"?',
                                                                    'severity=~"warn"')]),
        ('alertname="InfoInhibitor"', 'severity="warning"', "instance",
         [("note", "is a source of the inhibition", 'alertname="InfoInhibitor"')]),
        ('severity="critical"', 'severity="critical"', "instance",
         [("error", "the inhibition mutes nothing: an alert that passes one side passes the other too", "")]),
        ('layer=~".+"', 'layer!=""', "instance",
         [("error", "the inhibition mutes nothing: an alert that passes one side passes the other too", "")]),
        ('severity=~"critical|page"', 'severity=~"critical|warning"', "layer", []),
    ],
)  # fmt: skip
def test_inhibition(findings, source, target, equal, said):
    found = findings(inhibit(source, target, equal), PAIR)
    assert [one[0] for one in found] == [one[0] for one in said], found
    for (_, _, message, marked), (_, words, place) in zip(found, said, strict=True):
        assert words in message
        assert not place or marked == place


def test_two_sides_that_are_one_are_told_without_rules(findings):
    assert [one[:2] for one in findings(inhibit("a=b", "a=b", "c"))] == [("error", "routing/inhibition")]
    assert findings(inhibit("a=b", "a=c", "d")) == []
    assert findings(inhibit("a=b", "a=~b|c", "d")) == []


def test_a_label_that_may_be_there_is_no_finding(findings):
    unknown = alerts(("Lost", "lost > 0", "severity: critical"), ("Hot", "heat > 0", "severity: warning"))
    assert findings(inhibit('severity="critical"', 'severity="warning"', "gpu, rack"), unknown) == []


# As others write them: nothing to report, with rules of the usual kinds and without.
PUBLIC = [
    """
global: {resolve_timeout: 5m}
inhibit_rules:
- {equal: [namespace, alertname], source_matchers: [severity = critical], target_matchers: [severity =~ warning|info]}
- {equal: [namespace], source_matchers: [alertname = InfoInhibitor], target_matchers: [severity = info]}
route:
  group_by: [namespace]
  group_wait: 30s
  group_interval: 5m
  repeat_interval: 12h
  receiver: Default
  routes:
  - {matchers: [alertname = Watchdog], receiver: Watchdog}
  - {matchers: [alertname = InfoInhibitor], receiver: "null"}
  - {matchers: [severity = critical], receiver: Critical}
receivers:
- {name: Default, slack_configs: [{api_url: "https://hooks.example.com/x", channel: "#a"}]}
- {name: Watchdog, webhook_configs: [{url: "https://deadman.example.com/"}]}
- {name: Critical, pagerduty_configs: [{routing_key: x}]}
- {name: "null"}
""",
    """
global: {smtp_smarthost: "localhost:25", smtp_from: "a@example.org"}
route:
  group_by: [alertname, cluster, service]
  receiver: team-mails
  routes:
  - matchers: [service=~"^(foo1|foo2|baz)$"]
    receiver: team-mails
    routes:
    - matchers: [severity="critical"]
      receiver: team-pager
  - matchers: [service="database"]
    receiver: team-pager
    group_by: [alertname, cluster, database]
    routes:
    - {matchers: [owner="team-x"], receiver: team-pager, continue: true}
    - {matchers: [owner="team-y"], receiver: team-mails}
  - matchers: [severity!~"info|debug"]
    receiver: team-mails
    mute_time_intervals: [night]
    continue: true
inhibit_rules:
- source_matchers: [severity="critical"]
  target_matchers: [severity="warning"]
  equal: [alertname, cluster, service]
time_intervals:
- name: night
  time_intervals: [{times: [{start_time: "00:00", end_time: "06:00"}], weekdays: ["monday:friday"], location: UTC}]
receivers:
- {name: team-mails, email_configs: [{to: "team@example.org"}]}
- {name: team-pager, pagerduty_configs: [{service_key: x}]}
""",
]
USUAL = """
groups:
- name: usual
  rules:
  - alert: Watchdog
    expr: vector(1)
    labels: {severity: none}
  - alert: InfoInhibitor
    expr: ALERTS{severity="info"} == 1 unless on (namespace) ALERTS{alertname!="InfoInhibitor"} == 1
    labels: {severity: none}
  - alert: TargetDown
    expr: 100 * (count(up == 0) by (job, namespace, service) / count(up) by (job, namespace, service)) > 10
    labels: {severity: warning}
  - alert: Throttled
    expr: sum(increase(throttled[5m])) by (container, pod, namespace) > 25
    labels: {severity: info}
  - alert: DiskFull
    expr: node_filesystem_avail_bytes / node_filesystem_size_bytes < 0.05
    labels: {severity: warning}
  - alert: DiskFull
    expr: node_filesystem_avail_bytes / node_filesystem_size_bytes < 0.03
    labels: {severity: critical}
"""


@pytest.mark.parametrize("text", PUBLIC, ids=["operator", "example"])
@pytest.mark.parametrize("rules", ["", USUAL], ids=["alone", "rules"])
def test_usual_configurations_are_fine(findings, text, rules):
    assert [one for one in findings(text, rules) if one[0] != "note"] == []
