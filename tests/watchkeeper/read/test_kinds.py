"""What a document is, and PrometheusRule manifests."""

from __future__ import annotations

import json

import pytest

from watchkeeper.read.documents import documents
from watchkeeper.read.kinds import kind, parts
from watchkeeper.read.rules import rule_groups
from watchkeeper.read.source import File


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("groups: []", "rules"),
        ("groups:", "rules"),
        ("namespace: x\ngroups: []", "rules"),
        ("name: a\nrules: []", "rules"),
        ("- {alert: a, expr: up}", "rules"),
        ("alert: a\nexpr: up", "rules"),
        ("- {name: a, rules: []}", "rules"),
        ("apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule", "prometheusrule"),
        ("route: {receiver: x}\nreceivers: [{name: x}]", "alertmanager"),
        ("receivers: [{name: x}]\nglobal: {}", "alertmanager"),
        ("route: {receiver: x}", "alertmanager"),
        ("{title: x, panels: [], schemaVersion: 39}", "dashboard"),
        ("{title: x, rows: []}", "dashboard"),
        ("{dashboard: {panels: []}, overwrite: true}", "dashboard"),
        ("apiVersion: dashboard.grafana.app/v1\nkind: Dashboard", "dashboard"),
        ("rule_files: [x]\ntests: []", "tests"),
        ("apiVersion: 1\ngroups: [{name: a, folder: b, rules: []}]", "unknown"),
        ("apiVersion: x/v1alpha1\nkind: AlertmanagerConfig\nspec: {route: {receiver: x}}", "unknown"),
        ("apiVersion: v1\nkind: ConfigMap\ndata: {}", "unknown"),
        ("global: {}\nrule_files: [a]\nscrape_configs: []", "unknown"),
        ("receivers: {otlp: {}}\nservice: {}", "unknown"),
        ("route: /x\nname: y", "unknown"),
        ("name: ci\non: push\njobs: {}", "unknown"),
        ("[]", "unknown"),
        ("- a\n- {b: c}", "unknown"),
        ("foo", "unknown"),
        ("{? [a] : b}", "unknown"),
    ],
)  # fmt: skip
def test_kinds(text, expected):
    (node,) = documents(File("f.yaml", text))
    assert kind(node) == expected


MANIFEST = """\
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: gpu.rules-1, labels: {release: x}}
spec:
  groups:
  - name: g
    partial_response_strategy: Warn
    limit: 5
    rules:
    - {alert: A, expr: up == 0, for: 5m, labels: {severity: "5"}}
    - {record: b, expr: 1}
"""


def read(text):
    file = File("f.yaml", text)
    groups, findings, kinds = [], [], []
    for is_a, node, faults in parts(file):
        kinds.append(is_a)
        findings += faults
        if is_a == "rules":
            found, more = rule_groups(node, file)
            groups += found
            findings += more
    return kinds, [rule.name.value for group in groups for rule in group.rules], findings


def test_a_manifest():
    assert read(MANIFEST) == (["rules"], ["A", "b"], [])


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "message"),
    [
        ("gpu.rules-1", "GPU_rules", 3, 18, 'can\'t have the name "GPU_rules"'),
        ("name: gpu.rules-1, ", "", 3, 11, "without a name"),
        ("metadata: {name: gpu.rules-1, labels: {release: x}}\n", "", 1, 1, "without metadata"),
        ("coreos.com/v1", "coreos.com/v2", 1, 13, "another apiVersion"),
        ("spec:", "spce:", 4, 1, 'no key "spce"; did you mean "spec"?'),
        ("Warn", "ignore", 7, 32, 'no partial_response_strategy: "ignore"'),
        ('"5"', "5", 10, 61, "severity is a truth value or a number"),
        ('"5"', "No", 10, 61, "severity is a truth value or a number"),
        ("expr: 1", "expr: 1.5", 11, 25, "expr is a truth value or a number"),
        ("for: 5m", "for: 0", 10, 38, "for is a truth value or a number"),
        ("name: g", "name: 1", 6, 11, "name is a truth value or a number"),
        ("    limit: 5", "    fro: 5", 8, 5, 'no key "fro"'),
        ("record: b", "recrod: b", 11, 8, 'no key "recrod"; did you mean "record"?'),
    ],
)
def test_faults_of_a_manifest(old, new, line, column, message):
    assert old in MANIFEST
    _, _, findings = read(MANIFEST.replace(old, new))
    found = [(f.place.line, f.place.column) for f in findings if message in f.message]
    assert found == [(line, column)]
    assert all(finding.why and finding.severity == "error" for finding in findings)


def test_several_manifests_and_lists():
    other = "apiVersion: apps/v1\nkind: Deployment\n"
    kinds, rules, findings = read(f"{MANIFEST}---\n{other}---\n{MANIFEST}---\n")
    assert (kinds, rules, findings) == (["rules", "unknown", "rules", "unknown"], ["A", "b", "A", "b"], [])
    indented = MANIFEST.replace("\n", "\n  ").rstrip()
    listed = f"apiVersion: v1\nkind: List\nitems:\n- {indented}\n- {{kind: Secret}}\n- {indented}\n"
    assert read(listed) == (["rules", "unknown", "rules"], ["A", "b", "A", "b"], [])


def test_a_second_document_with_rules_is_never_read():
    text = "groups: [{name: a, rules: [{record: a, expr: 1}]}]\n"
    kinds, rules, findings = read(f"{text}---\n# nothing\n---\n{text}")
    assert (kinds, rules) == (["rules", "unknown", "rules"], ["a", "a"])
    assert [(f.check, f.place.line, f.place.column) for f in findings] == [("yaml/value", 5, 1)]
    assert "says nothing of the others" in findings[0].why
    assert read(f"namespace: x\n{text}---\nnamespace: y\n{text}")[2] == []  # mimirtool reads all


def test_what_is_no_yaml_is_broken_rules_or_unknown():
    assert read("groups:\n\t- name: a\n")[0] == ["broken"]
    assert read("- alert: a\n  expr: [\n")[0] == ["broken"]
    kinds, _, findings = read("a: [\n")
    assert kinds == ["unknown"]
    assert findings[0].check == "yaml/parse"
    assert read("")[0] == []


def test_a_manifest_in_json():
    rule = {"alert": "A", "expr": "up\t== 0", "labels": {"a": 5}}
    spec = {"groups": [{"name": "g", "rules": [rule]}]}
    head = {"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "metadata": {"name": "a"}}
    kinds, rules, findings = read(json.dumps({**head, "spec": spec}, indent=1))
    assert (kinds, rules, len(findings)) == (["rules"], ["A"], 1)
