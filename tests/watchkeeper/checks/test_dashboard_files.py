"""What checks say of dashboards in files: legends, variables, thresholds; and which files are looked at."""

import json

import pytest

from watchkeeper.files import check, read
from watchkeeper.settings import Settings, Targets

PROMETHEUS = {"type": "prometheus", "uid": "main"}


@pytest.fixture
def found(tmp_path):
    """Write files, check all or those that are named, and return what is found, by default of the checks asked for."""

    def run(files, *families, named=None):
        for name, text in files.items():
            (tmp_path / name).write_text(text if isinstance(text, str) else json.dumps(text, indent=1))
        names = [str(tmp_path / name) for name in (files if named is None else named)]
        contents = read(names or [str(tmp_path)], lambda items, *_: items)
        _, findings = check(contents, Settings(root=tmp_path, targets=Targets.newest()))
        return [finding for finding in findings if not families or finding.check in families]

    return run


def board(*targets, variables=(), **panel):
    one = {"title": "P", "type": "timeseries", "datasource": PROMETHEUS, **panel, "targets": list(targets)}
    return {"title": "D", "schemaVersion": 39, "panels": [one], "templating": {"list": list(variables)}}


def query(name, text):
    return {"name": name, "type": "query", "datasource": PROMETHEUS, "query": text}


def marked(finding):
    return finding.excerpt.text[finding.excerpt.start : finding.excerpt.end]


@pytest.mark.parametrize(
    ("expr", "legend", "gone"),
    [
        ("sum by (job) (up)", "{{ job }} {{ instance }} {{pod}}", ["instance", "pod"]),
        ("sum by (job) (up)", "{{job}}", []),
        ("sum(up)", "{{ job }}", ["job"]),
        ("up", "{{ job }} {{ anything }}", []),
        ("sum by (job) (up) or vector(1)", "{{ job }}", []),
        ("sum without (job) (up)", "{{ job }} {{ instance }}", ["job"]),
        ('up{job=""}', "{{ job }}", ["job"]),
        ("up", "{{ __name__ }}", []),
        ("sum by (__name__) (up)", "{{ __name__ }}", []),
        ("sum by (job) (up)", "{{ __name__ }}", ["__name__"]),
        ("sum by ($by) (up)", "{{ job }}", []),
        ("sum by (job) (up)", "{{ $by }} {{[[by]]}} {{ ${by} }}", []),
        ("$expr", "{{ job }}", []),
        ("$op(up) by (job)", "{{ job }}", []),
        ("sum(up)", '{{ "{{" }} job {{ "}}" }} {{ .Values.x }}', []),
        ("up", "{{ $labels.job }}: {{ $value }}", ["$labels.job", "$value"]),
        ("sum(up)", "__auto", []),
    ],
)
def test_legends(found, expr, legend, gone):
    variables = [{"name": name, "type": "custom"} for name in ("by", "expr", "op")]
    value = board({"refId": "A", "expr": expr, "legendFormat": legend}, variables=variables)
    findings = found({"d.json": value}, "dashboard/legend", "dashboard/variable")
    assert sorted(map(marked, findings)) == sorted(gone)
    assert {finding.severity for finding in findings} <= {"warning"}


def test_labels_of_variables(found):
    rules = "groups: [{name: g, rules: [{record: 'job:up:sum', expr: sum by (job) (up)}]}]"
    value = board(variables=[
        query("a", "label_values(job:up:sum, job)"), query("b", "label_values(job:up:sum, cluster)"),
        query("c", 'label_values(up{pod=""}, pod)'), query("d", "label_values(up, pod)"),
        query("e", "label_values(pod)"), query("f", "label_values(job:up:sum, $a)"),
    ])  # fmt: skip
    findings = found({"d.json": value, "r.yaml": rules}, "dashboard/legend")
    assert [(marked(finding), finding.severity) for finding in findings] == [("cluster", "warning"), ("pod", "error")]


@pytest.mark.parametrize(
    ("expr", "undefined"),
    [
        ("rate(x[$__rate_interval])", None),
        ("x[$__range:$__interval] / $__interval_ms / $__range_s > $__from", None),
        ("rate(x[$__rate_interva])", ("$__rate_interva", "error")),
        ("x{job=~'$job|${job:regex}|[[job]]'}", None),
        ("x{job=~'$jobs'}", ("$jobs", "warning")),
        ("x{job=~'[[jobs:regex]]'}", ("[[jobs:regex]]", "warning")),
        ('x{job="${jobs.text}"}', ("${jobs.text}", "warning")),
        ("x[$window]", ("$window", "error")),
        ("sum(x) by ($by)", ("$by", "error")),
        ("sum(x) $by", ("$by", "error")),
        ("${metric}_total", ("${metric}", "error")),
        ("x # by $job and $by", None),
        ('x{a="#"} > $t', ("$t", "error")),
        ('label_replace(x, "a", "$1$2", "b", "(.)(.)")', None),
        ('label_replace(x, "a", "$name", "b", "(?P<name>.*)")', None),
        ("x{job='${ENVIRONMENT}'}", None),  # what envsubst puts in
        ("x{job='$ENVIRONMENT'}", ("$ENVIRONMENT", "warning")),
        ("rate(x[$__auto_interval_window])", None),
        ("x{a=~'b$'}", None),
        ("x{a=~'[[:alpha:]]$'}", None),
    ],
)
def test_variables(found, expr, undefined):
    value = board({"refId": "A", "expr": expr}, variables=[query("job", "label_values(up, job)")])
    findings = found({"d.json": value}, "dashboard/variable")
    assert [(marked(finding), finding.severity) for finding in findings] == ([undefined] if undefined else [])


def test_a_variable_is_reported_once_where_it_is_worst(found):
    targets = [{"expr": expr} for expr in ('x{a="$b"}', "x > $b", 'y{a="$b"}')]
    (finding,) = found({"d.json": board(*targets)}, "dashboard/variable")
    assert (finding.severity, marked(finding)) == ("error", "$b")
    assert "2 more times" in finding.message
    assert finding.excerpt.lines()[0].strip() == '"expr": "x > $b"'


def test_variables_of_variables_and_the_name_that_was_meant(found):
    value = board(variables=[query("node", 'label_values(up{job="$job"}, node)'), query("jobs", "metrics($nod)")])
    first, second = found({"d.json": value}, "dashboard/variable")
    assert "variable node of dashboard D uses the variable $job" in first.message
    assert first.message.endswith('did you mean "jobs"?')
    assert second.message.endswith('did you mean "node"?')


def test_what_another_data_source_may_know_is_left_alone(found):
    assert found({"d.json": board({"expr": "x[$__unknown]"}, datasource="main")}, "dashboard/variable") == []
    assert found({"d.json": board({"expr": "x{$__unknown} |= `$y`"}, datasource={"type": "loki"})}) == []


RULES = """
groups:
  - name: g
    rules:
      - {alert: High, expr: "sum by (job) (rate(errors_total[5m])) > 0.5"}
      - {alert: Low, expr: "10 > (free_bytes{a='b'} ) and on () up"}
      - {alert: Off, expr: enabled == 0}
      - {alert: Both, expr: a > b}
"""


def steps(*values, style="line", mode="absolute"):
    listed = [{"color": "green", "value": None}, *({"color": "red", "value": value} for value in values)]
    defaults = {"thresholds": {"mode": mode, "steps": listed}, "custom": {"thresholdsStyle": {"mode": style}}}
    return {"fieldConfig": {"defaults": defaults, "overrides": []}}


HIGH = "sum by (job)(rate(errors_total[5m]))"
LOW = 'free_bytes{a="b"}'


@pytest.mark.parametrize(
    ("expr", "panel", "missing"),
    [
        (HIGH, {}, "High draws no threshold at 0.5"),
        (f"({HIGH})", {}, "High draws no threshold at 0.5"),
        (LOW, {}, "Low draws no threshold at 10"),
        (HIGH, steps(0.5), ""),
        (HIGH, steps(0.1, 0.5000000000000001), ""),
        (HIGH, steps(0.9), "High draws no threshold at 0.5"),
        (HIGH, steps(0.5, style="off"), "High draws no threshold at 0.5"),
        (HIGH, {**steps(0.5, style="off"), "type": "stat"}, ""),
        (HIGH, steps(50, mode="percentage"), ""),
        (HIGH, {"type": "table"}, ""),
        (HIGH, {"type": "graph"}, "High draws no threshold at 0.5"),
        (HIGH, {"type": "graph", "thresholds": [{"op": "gt", "value": 0.5, "line": True}]}, ""),
        (HIGH, {"type": "graph", "alert": {"conditions": [{"evaluator": {"type": "gt", "params": [0.5]}}]}}, ""),
        (LOW, {"type": "singlestat", "thresholds": "5, 10"}, ""),
        (LOW, {"type": "singlestat", "thresholds": ""}, "Low draws no threshold at 10"),
        ("rate(errors_total[5m])", {}, ""),
        (f"{HIGH} * 100", {}, ""),
        (f"{HIGH} > 0.5", {}, ""),
        ("enabled", {}, ""),
        ("a", {}, ""),
    ],
)
def test_thresholds(found, expr, panel, missing):
    findings = found({"d.json": board({"refId": "A", "expr": expr}, **panel), "r.yaml": RULES}, "dashboard/threshold")
    said = [f.message.split("the alert ")[1].replace("looks at this, and the panel ", "") for f in findings]
    assert said == ([missing] if missing else [])
    assert all(finding.severity == "note" and finding.place.file.endswith("d.json") for finding in findings)


def test_thresholds_need_rules_beside_them(found):
    assert found({"d.json": board({"refId": "A", "expr": HIGH})}, "dashboard/threshold") == []


def test_broken_json_is_reported_below_a_folder_where_it_looks_like_a_dashboard(found):
    files = {"d.json": '{"panels": [],}', "tsconfig.json": '{"a": 1, // b\n}', "package.json": '{"a": 1}'}
    (finding,) = found(files, named=())
    assert (finding.check, finding.place.file.rpartition("/")[2]) == ("json/parse", "d.json")
    assert [finding.check for finding in found(files)] == ["json/parse", "yaml/kind", "json/parse"]


def test_rules_in_json_are_read_as_the_yaml_that_they_are(found):
    rules = '{"groups": [{"name": "g", "rules": [{"record": "a:b", "expr": "sum("},]},]}  # YAML takes that'
    assert [finding.check for finding in found({"r.json": rules})] == ["promql/syntax"]
    assert [finding.check for finding in found({"r.json": rules}, named=())] == ["promql/syntax"]
    assert [finding.check for finding in found({"r.yaml": "{groups: [{name: g, rules: [{alert: }]}]}"})]


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: dashboard.grafana.app/v1\nkind: Dashboard\nmetadata: {name: x}\nspec: {panels: []}\n",
        "apiVersion: dashboard.grafana.app/v2beta1\nkind: Dashboard\nspec: {elements: {}}\n",
        "title: D\nschemaVersion: 39\npanels: []\n",
    ],
)
def test_a_dashboard_in_yaml_is_told_from_what_is_unknown(found, text):
    assert found({"d.yaml": text}, named=()) == []
    (finding,) = found({"d.yaml": text})
    assert (finding.check, finding.message) == ("yaml/kind", "a dashboard in YAML: nothing in it is looked at")


def test_twice_the_same_key(found):
    (finding,) = found({"d.json": '{"title": "D",\n"panels": [],\n"title": "E"}'})
    assert (finding.check, finding.severity, finding.place.line) == ("json/parse", "warning", 3)


def test_a_label_of_the_dashboard_that_a_recorded_series_lacks(found):
    rules = "groups: [{name: g, rules: [{record: 'job:x:sum', expr: 'sum by (job) (x)'}]}]"
    single = [{"expr": f'job:x:sum{{{matcher}, job="$job"}}'} for matcher in ('cluster="$cluster"', 'site=~"[[site]]"')]
    files = {"rules.yml": rules, "d.json": board(*single, variables=[query(name, "up") for name in ("cluster", "job")])}
    assert found(files, "promql/label") == []  # of one cluster, where $cluster is empty, and of many
    (finding,) = found({"rules.yml": rules, "d.json": board({"expr": 'job:x:sum{cluster="a"}'})}, "promql/label")
    assert (finding.severity, marked(finding)) == ("warning", "cluster")
