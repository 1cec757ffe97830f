"""What checks of definitions say, where a page's two examples are not all there is to it."""

from pathlib import Path

import pytest

from watchkeeper import Alert, Gauge, Group, Pack, Place, Recording, Runbook
from watchkeeper.building import build
from watchkeeper.findings import to_text
from watchkeeper.runbook import SECTIONS
from watchkeeper.settings import Settings, Targets

SURROGATE = "\ud800"


def alert(name="TargetDown", expr="up == 0", **more):
    given = {"severity": "critical", "team": "sre", "summary": "Down", "runbook": "down", **more}
    return Alert(name, expr=expr, **given)


@pytest.fixture
def findings(tmp_path):
    """Build a pack of these rules, and return what one check finds."""

    def run(check, *rules, dashboards=(), runbooks=None, group=None, keep=True, **settings):
        groups = (Group("g", list(rules), **(group or {})),)
        pack = Pack(metrics=(Gauge("up", "Up"),), groups=groups, dashboards=dashboards, runbooks=runbooks)
        _, found = build(pack, Settings(root=tmp_path, **settings), keep=keep)
        for finding in found:
            to_text(finding).encode()
        return [finding for finding in found if finding.check == check]

    return run


# text/unicode


@pytest.mark.parametrize(
    "more",
    [
        {"name": SURROGATE},
        {"expr": f"up == 0 or up{{job='{SURROGATE}'}}"},
        {"summary": "x\udfffy"},
        {"labels": {"a": SURROGATE}},
        {"annotations": {"a": f"{{{{ '{SURROGATE}' }}}}"}},
        {"annotations": {SURROGATE: "a"}},
        {"team": SURROGATE},
    ],
)
def test_a_surrogate_anywhere_in_an_alert_is_told_at_the_alert(findings, more):
    one = alert(**more)
    (finding,) = findings("text/unicode", alert("Other"), one)
    assert finding.place == one.place
    assert "\\ud" in finding.message


def test_a_surrogate_in_a_recording_rule_or_group(findings):
    rule = Recording("a:b", "up", labels={"c": SURROGATE})
    assert [one.place for one in findings("text/unicode", rule)] == [rule.place]
    assert findings("text/unicode", alert(), group={"labels": {"c": SURROGATE}})[0].message.startswith("group g")


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("which", ["title", "inner", "key"])
def test_a_surrogate_in_a_dashboard(findings, which, keep):
    inner = {"type": "text", "title": "In", "options": {}}
    model = {"uid": "a", "title": "A", "panels": [{"type": "row", "title": "R", "collapsed": True, "panels": [inner]}]}
    owner = {"title": model, "inner": inner, "key": inner["options"]}[which]
    owner[SURROGATE if which == "key" else "title"] = "\ud83d"

    def dashboard(_):
        return model

    found = findings("text/unicode", dashboards=(dashboard,), keep=keep)
    assert {finding.place.line for finding in found} == {dashboard.__code__.co_firstlineno}
    start = "dashboard a, title" if which == "title" else 'panel "'
    assert all(finding.message.startswith(start) for finding in found)
    assert found


def test_a_surrogate_in_a_runbook_page(findings):
    page = Runbook("down", SURROGATE, Place("down.md", 1))
    assert [one.place for one in findings("text/unicode", alert(), runbooks=(page,))] == [page.place]


def test_what_only_looks_like_a_surrogate_is_fine(findings):
    assert findings("text/unicode", alert(summary="\\ud800", labels={"a": "\U0001f525"})) == []


# alert/template


@pytest.mark.parametrize(
    ("more", "said", "at"),
    [
        ({"summary": "{{ $labels.x "}, "annotation summary: unclosed action", 13),
        ({"summary": "{{ nofunc 1 }}"}, 'annotation summary: function "nofunc" not defined', 3),
        ({"description": "\n{{ if }}"}, "annotation description: missing value for if", 7),
        ({"labels": {"x": "{{ $value }"}}, 'label x: unexpected "}" in operand', 10),
        ({"annotations": {"x": "{{ tmpl 1 }}"}}, 'annotation x: function "tmpl" not defined', 3),
        ({"summary": "{{ now | toTime }}"}, "annotation summary: now needs Prometheus 3.6", 3),
    ],
)
def test_a_template_that_prometheus_refuses(findings, more, said, at):
    (finding,) = findings("alert/template", alert(**more))
    assert finding.message == f"alert TargetDown, {said}"
    assert finding.excerpt.start == at


def test_functions_of_a_newer_prometheus(findings):
    assert findings("alert/template", alert(summary="{{ now }}"), targets=Targets(prometheus=(3, 6))) == []


@pytest.mark.parametrize(
    "summary", ["{", "}}", "{{ $labels.instance }} }}", '{{ "{{" }} {{/* a */}}', "{{ 0.5 | humanize }}"]
)
def test_a_template_that_is_fine(findings, summary):
    assert findings("alert/template", alert(summary=summary)) == []


def test_addresses_of_the_settings_are_told_once_and_there(findings, tmp_path):
    found = findings("alert/template", alert(), alert("B"), runbook_url="https://x/{{", grafana_url="https://{{ y }}")
    assert [finding.message.partition(":")[0] for finding in found] == [
        "[tool.watchkeeper] grafana_url",
        "[tool.watchkeeper] runbook_url",
    ]
    assert {finding.place.file for finding in found} == {str(tmp_path / "pyproject.toml")}


def test_a_group_of_alerts_labels(findings):
    group = {"labels": {"x": "{{ "}}
    assert [finding.message for finding in findings("alert/template", alert(), group=group)] == [
        "group g, label x: unclosed action"
    ]
    assert findings("alert/template", Recording("a:b", "up"), group=group) == []


# Limits of ours


@pytest.mark.parametrize(
    ("check", "more"),
    [
        ("promql/syntax", {"expr": "(" * 200 + "up" + ")" * 200}),
        ("promql/syntax", {"expr": "up == 0 #" + " " * (1 << 20)}),
        ("alert/template", {"summary": "{{ " + "(" * 200 + "1" + ")" * 200 + " }}"}),
    ],
)
def test_a_limit_of_ours_is_called_one(findings, check, more):
    (finding,) = findings(check, alert(**more))
    assert "limit of ours" in finding.why
    assert "refuses" not in finding.why
    assert finding.fix


# runbook/page


def page(**sections):
    text = "\n".join(f"## {name}\n{sections.get(name.split()[0], 'Text.')}" for name in SECTIONS)
    return Runbook("down", text, Place("down.md", 1))


@pytest.mark.parametrize(
    "text",
    [
        "```sh\nawk '{print}' {treshold}\n```",
        "~~~~\n{nam}\n~~~\n## list\n~~~~",
        "```\n## list\n```",
        "  ```sh\n## list\n  ```",
        "    {nam}\n\t{nam}",
        "Run `echo {nam}` or ``a`{nam}``.",
        "${PID} ${name} ${nam} {{name}} \\{name} {print}",
    ],
)
def test_what_a_page_has_of_its_own(findings, text):
    assert findings("runbook/page", alert(), runbooks=(page(First=text),)) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Above {treshold}.", '{treshold} stands for nothing; did you mean "threshold"?'),
        ("Held for {keep}.", "{keep} stands for nothing"),
        ("```\n{nam}\n```\nand {nam}", '{nam} stands for nothing; did you mean "name"?'),
        ("```\na\n```\n## list\n", 'there is no section "list"'),
        ("``` `a` ```\n## list\n", 'there is no section "list"'),
    ],
)
def test_what_is_wrong_with_a_page(findings, text, said):
    (finding,) = findings("runbook/page", alert(), runbooks=(page(First=text),))
    assert finding.message.startswith(f"runbook down: {said}")


# rule/label


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"labels": {"team": "x"}}, 'label "team" is made from the definition'),
        ({"labels": {"alertname": "x"}, "team": ""}, 'label "alertname" is made from the definition'),
        ({"annotations": {"summary": "x"}}, 'annotation "summary" is made from the definition'),
        ({"annotations": {"runbook_url": "x"}}, 'annotation "runbook_url" is made from the definition'),
        ({"labels": {"priority": "P1"}}, None),
        ({"labels": {"team": ""}, "team": ""}, None),
        ({"annotations": {"summary": ""}, "summary": ""}, None),
        ({"annotations": {"runbook_url": "https://wiki/x"}, "runbook": ""}, None),
        ({"annotations": {"dashboard_url": "https://grafana/d/x"}}, None),
    ],
)
def test_what_a_field_says_is_not_said_again(findings, more, said):
    found = [finding.message for finding in findings("rule/label", alert(**more))]
    assert found == ([f"alert TargetDown: {said}"] if said else [])


# alert/runbook


@pytest.mark.parametrize(("url", "number"), [("https://wiki/x", 0), (" ", 1)])
def test_a_runbook_kept_elsewhere(findings, url, number):
    found = findings("alert/runbook", alert(runbook="", annotations={"runbook_url": url}))
    assert len(found) == number


# promql/metric


def test_a_pack_without_metrics_has_no_contract(findings):
    pack = Pack(groups=(Group("g", [alert(expr="upp == 0"), alert("B", expr="sum by (cluster) (up) == 0")]),))
    _, found = build(pack, Settings(root=Path()))
    assert found == []
    assert len(findings("promql/metric", alert(expr="upp == 0"))) == 1
