"""Rule files are taken and refused as Prometheus takes and refuses them, with the place of each fault."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.findings import to_text
from watchkeeper.read.kinds import parts
from watchkeeper.read.rules import rule_groups
from watchkeeper.read.source import File

ROOT = Path(__file__).parents[3]

_spec = importlib.util.spec_from_file_location("rule_files", Path(__file__).with_name("rule_files.py"))
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)


def read(text):
    """The groups of a file, and what is wrong with it and with its expressions."""
    file = File("rules.yaml", text)
    groups, findings = [], []
    for kind, node, faults in parts(file):
        findings += faults
        if node is not None and kind not in ("dashboard", "alertmanager", "tests"):
            found, more = rule_groups(node, file)
            groups += found
            findings += more
    for group in groups:
        for rule in group.rules:
            if error := rule.expression.error:
                findings.append(
                    rule.expression.finding("promql/syntax", error.message, error.position, error.end, why="x")
                )
    return groups, findings


def errors(text):
    return [finding for finding in read(text)[1] if finding.severity == "error"]


@pytest.mark.parametrize("text", cases.ACCEPTED)
def test_what_prometheus_takes_is_taken(text):
    assert errors(text) == []


@pytest.mark.parametrize(("text", "check", "line", "column"), cases.REFUSED)
def test_what_prometheus_refuses_is_refused_with_its_place(text, check, line, column):
    found = errors(text)
    assert [finding.check for finding in found] == [check] * len(found)
    assert found
    assert (found[0].place.line, found[0].place.column) == (line, column)
    assert all(finding.why for finding in found)
    assert all(
        finding.fix or finding.check in ("promql/syntax", "yaml/parse") or "?" in finding.message for finding in found
    )
    assert len({(f.place, f.message) for f in found}) == 1 or "{}" in text
    assert all(to_text(finding).splitlines()[0].isprintable() for finding in found)


@pytest.mark.parametrize(("text", "check", "_"), cases.STRICTER)
def test_what_we_refuse_besides(text, check, _):
    assert [finding.check for finding in errors(text)] == [check]


@pytest.mark.parametrize(("text", "_"), cases.LAXER)
def test_what_others_take(text, _):
    assert errors(text) == []


def promtool():
    here = [
        os.environ.get("WATCHKEEPER_PROMTOOL3"),
        os.environ.get("WATCHKEEPER_PROMETHEUS3", "").replace("prometheus", "promtool"),
        str(ROOT / ".cache/prometheus3/usr/bin/promtool"),
        shutil.which("promtool"),
    ]
    for one in here:
        if one and os.access(one, os.X_OK):
            said = subprocess.run([one, "--version"], capture_output=True, text=True, check=True)
            if "version 3." in said.stdout + said.stderr:
                return one
    pytest.skip("Prometheus 3 is not here: name its promtool in WATCHKEEPER_PROMTOOL3")


def test_promtool_says_the_same(tmp_path):
    binary = promtool()
    texts = dict.fromkeys(cases.ACCEPTED, True) | {text: False for text, *_ in cases.REFUSED}
    texts |= {text: True for text, *_ in cases.STRICTER} | {text: False for text, _ in cases.LAXER}
    names = {}
    for number, text in enumerate(texts):
        path = tmp_path / f"{number}.yaml"
        path.write_bytes(text.encode())
        names[str(path)] = text
    command = [binary, "check", "rules", "--lint=none", *names]
    said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout
    verdicts = dict(re.findall(r"^Checking (.*)\n\s*(SUCCESS|FAILED)", said, re.MULTILINE))
    assert verdicts.keys() == names.keys()
    told = {names[name]: verdict == "SUCCESS" for name, verdict in verdicts.items()}
    assert {text for text, taken in texts.items() if told[text] != taken} == set()


def test_groups_as_checks_see_them():
    text = (
        "groups:\n- name: g\n  interval: 1m\n  query_offset: 5s\n  limit: 3\n  labels: {team: x}\n  rules:\n"
        "  - alert: A\n    expr: |\n      up\n      == 0\n    for: 5m\n    keep_firing_for: 0\n"
        "    labels: {severity: No}\n    annotations: {summary: it's, other: ~}\n"
        "  - {record: a:b, expr: up, labels: {x: y}}\n"
    )
    groups, findings = read(text)
    assert findings == []
    (group,) = groups
    assert (group.name.value, group.file, group.interval_ms, group.definition) == ("g", "rules.yaml", 60_000, None)
    assert (group.query_offset.value, group.limit.value, group.labels["team"].value) == ("5s", "3", "x")
    alert, recording = group.rules
    assert (alert.name.value, alert.is_alert, alert.owner, alert.group) == ("A", True, "alert A", group)
    assert alert.expression.text == "up\n== 0\n"
    assert alert.expression.owner == "alert A"
    assert (alert.for_.value, alert.keep_firing_for.value) == ("5m", "0")
    assert alert.labels["severity"].value == "No"
    assert {name: text.value for name, text in alert.annotations.items()} == {"summary": "it's", "other": ""}
    assert (recording.name.value, recording.is_alert, recording.for_) == ("a:b", False, None)
    # Each text knows where it stands: the operator in a block, a value in a flow mapping.
    assert str(alert.expression.finding("x", "y", 3, 5).place).endswith(":11:7")
    assert str(alert.annotations["summary"].finding("x", "y").place).endswith(":15:28")
    assert str(group.limit.finding("x", "y").place).endswith(":5:10")


def test_a_fault_costs_no_other_rule():
    rules = "{alert: A, expr: up, fro: 5m}\n  - []\n  - {alert: B}\n  - {record: c, expr: up, for: 5m}"
    groups, findings = read(
        f"groups:\n- name: g\n  rules:\n  - {rules}\n- name: g\n  rules: [{{alert: D, expr: up}}]\n"
    )
    assert [rule.name.value for group in groups for rule in group.rules] == ["A", "c", "D"]
    assert [(finding.place.line, finding.check) for finding in findings] == [
        (4, "yaml/key"), (5, "yaml/value"), (6, "yaml/value"), (7, "yaml/key"), (8, "yaml/value"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        (cases.rule(cases.BASE + "fro: 5m"), 'no key "fro"; did you mean "for"?', ""),
        (cases.rule(cases.BASE + "severity: page"), 'no key "severity"', "put it below labels"),
        (cases.rule(cases.BASE + "summary: x"), 'no key "summary"', "put it below annotations"),
        (cases.rule(cases.BASE + "expr: 1"), 'the key "expr" is already there, on line 5', "leave one of them"),
        (
            cases.rule(cases.BASE + "labels: {a: {{ $value }} }"),
            "is a mapping, not a text",
            "quote a value that begins",
        ),
        ("groups: [{name: a}, {name: a}]", "group a is already there, on line 1", "one group"),
        (cases.rule(cases.BASE + "for: 5 minutes"), 'for is no duration: "5 minutes"', "such as 5m"),
    ],
)
def test_messages(text, message, fix):
    finding = errors(text)[0]
    assert message in finding.message
    assert fix in finding.fix


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("groups: []", "warning"),
        ("groups: [null]", "warning"),
        (cases.rule("~"), "warning"),
        ("groups: [{name: a}]", "note"),  # harmless, and some generators write it
    ],
)
def test_what_holds_nothing_is_told(text, severity):
    assert {finding.severity for finding in read(text)[1]} == {severity}


SOURCE = [text for text in cases.ACCEPTED if len(text) > 60] + [text for text, *_ in cases.REFUSED if len(text) > 60]


@given(data=st.data(), text=st.sampled_from(SOURCE))
def test_whatever_is_changed_is_groups_or_findings(data, text):
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 6)))
        new = data.draw(
            st.sampled_from(
                [
                    "",
                    " ",
                    "\n",
                    "- ",
                    ": ",
                    "[",
                    "{",
                    "*x",
                    "&x ",
                    "<<: ",
                    "~",
                    "'",
                    '"',
                    "\t",
                    "? ",
                    "!!",
                    "|\n",
                    "#",
                    "é",
                    "\0",
                    "---\n",
                ]
            )
        )
        text = text[:start] + new + text[end:]
    for finding in read(text)[1]:
        assert to_text(finding)
        assert finding.place.line >= 1
