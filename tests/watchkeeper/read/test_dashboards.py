"""Dashboards of every age: which of their queries are looked at, and where those stand."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.files import check, read
from watchkeeper.findings import to_text
from watchkeeper.read.dashboards import dashboards
from watchkeeper.read.source import File
from watchkeeper.settings import Settings, Targets

PROMETHEUS = {"type": "prometheus", "uid": "main"}


def boards(value):
    text = json.dumps(value, indent=1)
    return dashboards(json.loads(text), File("board.json", text))


def queries(value):
    """The expressions of the dashboards in a value, each held to its place in the file."""
    found = []
    for board in boards(value):
        for expression in board.expressions:
            place, excerpt = expression.source.at(0, len(expression.text))
            assert json.loads(f'"{excerpt.text[excerpt.start : excerpt.end]}"') == expression.text
            assert place.line == excerpt.text.count("\n", 0, excerpt.start) + 1
            found.append(expression.text)
    return found


def panel(*exprs, **members):
    targets = [{"refId": chr(65 + number), "expr": expr} for number, expr in enumerate(exprs)]
    return {"title": "P", "type": "timeseries", "datasource": PROMETHEUS, "targets": targets, **members}


def classic(*panels, **members):
    return {"title": "D", "schemaVersion": 39, "panels": list(panels), **members}


V2_PANEL = {
    "kind": "Panel",
    "spec": {
        "id": 1,
        "title": "P",
        "data": {
            "kind": "QueryGroup",
            "spec": {
                "queries": [
                    {
                        "kind": "PanelQuery",
                        "spec": {
                            "refId": "A",
                            "hidden": False,
                            "query": {
                                "kind": "DataQuery",
                                "group": "prometheus",
                                "version": "v0",
                                "datasource": {"name": "main"},
                                "spec": {"expr": 'up{a=~"$job"}', "legendFormat": "{{ job }}"},
                            },
                        },
                    }
                ]
            },
        },
        "vizConfig": {"kind": "VizConfig", "group": "timeseries", "spec": {"fieldConfig": {"defaults": {}}}},
    },
}
V2 = {
    "apiVersion": "dashboard.grafana.app/v2beta1",
    "kind": "Dashboard",
    "metadata": {"name": "d"},
    "spec": {
        "title": "D",
        "elements": {"panel-1": V2_PANEL, "panel-2": {"kind": "LibraryPanel", "spec": {"libraryPanel": {"uid": "x"}}}},
        "layout": {"kind": "GridLayout", "spec": {"items": []}},
        "annotations": [
            {
                "kind": "AnnotationQuery",
                "spec": {
                    "name": "N",
                    "query": {"kind": "DataQuery", "group": "prometheus", "spec": {"expr": "ALERTS"}},
                },
            }
        ],
        "variables": [
            {
                "kind": "QueryVariable",
                "spec": {
                    "name": "job",
                    "query": {"kind": "DataQuery", "group": "prometheus", "spec": {"query": "label_values(up, job)"}},
                },
            },
            {"kind": "DatasourceVariable", "spec": {"name": "ds", "pluginId": "prometheus"}},
        ],
    },
}
ROWS = {
    "title": "D",
    "schemaVersion": 6,
    "rows": [{"panels": [{"type": "graph", "datasource": "Prometheus", "targets": [{"expr": "a"}]}]}, {"panels": None}],
}
IN_ROWS = classic({"type": "row", "panels": [panel("b")]}, panel("c"))


@pytest.mark.parametrize(
    ("value", "exprs"),
    [
        (classic(panel("up", "down")), ["up", "down"]),
        (ROWS, ["a"]),
        (IN_ROWS, ["c", "b"]),
        ({"dashboard": classic(panel("up")), "overwrite": True}, ["up"]),
        ({"dashboard": classic(panel("up")), "meta": {"slug": "d"}}, ["up"]),
        ({"apiVersion": "dashboard.grafana.app/v1", "kind": "Dashboard", "spec": classic(panel("up"))}, ["up"]),
        (V2, ['up{a=~"$job"}', "up", "ALERTS"]),
        ([classic(panel("a")), {"no": "dashboard"}, classic(panel("b"))], ["a", "b"]),
        ({"kind": "List", "items": [{"kind": "Dashboard", "spec": classic(panel("a"))}, {"kind": "Pod"}]}, ["a"]),
        (classic(__elements={"x": {"name": "L", "uid": "x", "kind": 1, "model": panel("up")}}), ["up"]),
        (classic(annotations={"list": [{"name": "N", "datasource": PROMETHEUS, "expr": "ALERTS"}]}), ["ALERTS"]),
        (classic(annotations={"list": [{"datasource": PROMETHEUS, "target": {"expr": "ALERTS"}}]}), ["ALERTS"]),
    ],
)  # fmt: skip
def test_models(value, exprs):
    assert queries(value) == exprs


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "panels",
        {"name": "package", "version": "1"},
        {"dashboard": {"port": 80}},
        {"kind": "Pod", "spec": {"panels": []}},
        {"kind": "Dashboard", "spec": "panels"},
        {"groups": [{"name": "g", "rules": []}]},
    ],
)
def test_what_is_no_dashboard(value):
    assert boards(value) == []


@pytest.mark.parametrize(
    ("source", "members", "looked_at"),
    [
        (PROMETHEUS, {}, True),
        ({"type": "grafana-amazonprometheus-datasource", "uid": "x"}, {}, True),
        ({"type": "loki", "uid": "x"}, {}, False),
        ({"type": "victoriametrics-logs-datasource", "uid": "x"}, {}, False),
        ({"type": "__expr__", "uid": "__expr__"}, {}, False),
        ({"uid": "__expr__"}, {}, False),
        ("__expr__", {}, False),
        ("-- Dashboard --", {}, False),
        ("-- Grafana --", {}, False),
        ({"type": "datasource", "uid": "grafana"}, {}, False),
        ("Prometheus", {}, True),
        ("Loki in Berlin", {}, False),
        ("$ds", {"templating": {"list": [{"name": "ds", "type": "datasource", "query": "prometheus"}]}}, True),
        ("[[ds]]", {"templating": {"list": [{"name": "ds", "type": "datasource", "query": "prometheus"}]}}, True),
        ({"uid": "${ds}"}, {"templating": {"list": [{"name": "ds", "type": "datasource", "query": "loki"}]}}, False),
        ("${DS_P}", {"__inputs": [{"name": "DS_P", "type": "datasource", "pluginId": "prometheus"}]}, True),
        ("${DS_L}", {"__inputs": [{"name": "DS_L", "type": "datasource", "pluginId": "loki"}]}, False),
    ],
)
def test_data_sources(source, members, looked_at):
    """Of Prometheus, what does not parse is there too; of others, nothing is."""
    value = classic(panel("up", "sum(", datasource=source), **members)
    assert queries(value) == (["up", "sum("] if looked_at else [])


@pytest.mark.parametrize(
    "source", [None, "main", "$ds", "default", {"uid": "x"}, {}, 1, "-- Mixed --", {"uid": "${d}"}]
)
def test_where_nothing_says_what_is_asked_what_parses_is_promql(source):
    assert queries(classic(panel("up", '{app="x"} |= "error"', "sum(", datasource=source))) == ["up"]


def test_each_query_of_a_mixed_panel_has_its_own_source():
    value = panel("a(", "b(", datasource={"type": "datasource", "uid": "-- Mixed --"})
    value["targets"][0]["datasource"] = {"type": "loki", "uid": "l"}
    value["targets"][1]["datasource"] = PROMETHEUS
    assert queries(classic(value)) == ["b("]


def test_a_query_may_leave_the_type_of_the_source_to_its_panel():
    value = panel("a(", "b(", datasource={"type": "prometheus", "uid": "$ds"})
    value["targets"][0]["datasource"] = {"uid": "$ds"}
    value["targets"][1]["datasource"] = {"uid": "$other"}
    assert queries(classic(value)) == ["a("]


def test_a_hidden_query_counts_where_something_needs_it():
    hidden = panel("a", "b")
    hidden["targets"][0]["hide"] = True
    assert queries(classic(hidden)) == ["b"]
    needed = copy.deepcopy(hidden)
    needed["targets"].append({"refId": "C", "datasource": {"type": "__expr__", "uid": "__expr__"}, "expression": "$A"})
    assert queries(classic(needed)) == ["a", "b"]
    assert queries(classic({**hidden, "alert": {"conditions": []}})) == ["a", "b"]


def test_an_empty_query_is_none():
    assert (
        queries(classic(panel("", "  ", "\n"), {"type": "text"}, panel(libraryPanel={"uid": "x", "name": "L"}))) == []
    )


def test_names_of_variables():
    model = classic(templating={"list": [{"name": "a"}, {"name": 1}, 2]}, __inputs=[{"name": "VAR_B"}])
    assert boards(model)[0].variables == {"a", "VAR_B"}
    assert boards(V2)[0].variables == {"job", "ds"}


def test_legends_and_labels_have_places():
    variable = {"name": "a", "type": "query", "datasource": PROMETHEUS, "query": 'label_values(up{a="\\\\"}, job)'}
    (board,) = boards(classic(panel("up", targets=[{"expr": "up", "legendFormat": "é {{ job }}"}]),
                              templating={"list": [variable]}))  # fmt: skip
    first, second = board.expressions
    place, excerpt = first.legend.source.at(2, 11)
    assert excerpt.text[excerpt.start : excerpt.end] == "{{ job }}"
    place, excerpt = second.label.source.at(0, 3)
    assert excerpt.text[excerpt.start : excerpt.end] == "job"
    assert place.line == excerpt.text[: excerpt.start].count("\n") + 1


def test_a_table_has_no_legend():
    targets = [{"expr": "up", "legendFormat": "{{ job }}", "format": "table"}]
    assert boards(classic(panel("up", targets=targets)))[0].expressions[0].legend is None


# A variable of the dashboard's own may stand for any part of an expression, those of Grafana for a duration.
@pytest.mark.parametrize(
    ("expr", "refused"),
    [
        ("rate(x[$interval:$resolution])", False),
        ("sum_over_time(x[$__range_s:30s])", False),
        ("rate(x[${__range_s}s])", False),
        ("${metric}_total", False),
        ("x$suffix{a='b'}", False),
        ("topk($limit, x)", False),
        ("x > $__from/1000", False),
        ("x @ ${__to:date:seconds}", False),
        ("x offset $offset", False),
        ("x{$labels}", False),
        ("x{a='b', ${labels:raw}}", False),
        ("x{a='b' $labels}", False),
        ("sum(x) by ($by)", False),
        ("sum(x) $by", False),
        ("sum ${by} (x)", False),
        ("$op(x) by (a)", False),
        ("x $op y", False),
        ("$a $op $b", False),
        ("x{a='b'}[5m] $offset", False),
        ("rate(x{a='b'}$more[5m])", False),
        ("histogram_quantile(0.$q, x)", False),
        ("histogram_quantile(.${q}, x)", False),
        ("x{a=~'${a:regex}|${b:csv}|[[c]]'}", False),
        ('label_replace(x, "a", "$1", "b", "(.*)")', False),
        ("up{namespace={{ .Release.Namespace | quote }}}", False),
        ("sum(rate(x[$i])", True),
        ("x > $t)", True),
        ("rate(x[[$interval]])", True),
        ("x{a=~'($a'}", True),
        ("x{a='$a' b='c'}", True),
        ("rate(x[$i]) by (a)", True),
        ("rate(x[$__interval $__range])", True),
        ("x @ ($__to / 1000)", True),
        ("sum(x) by ($a) ;", True),
    ],
)
def test_what_no_value_of_a_variable_mends_is_refused(expr, refused):
    found = boards(classic(panel(expr)))[0].expressions
    assert any(one.error for one in found) == refused


BASES = [
    classic(
        panel('sum by (a) (rate(x_total{a=~"$a"}[$__rate_interval]))', "sum(x", fieldConfig={
            "defaults": {"thresholds": {"mode": "absolute", "steps": [{"color": "green", "value": None}]},
                         "custom": {"thresholdsStyle": {"mode": "line"}}},
            "overrides": [{"properties": [{"id": "thresholds", "value": {"steps": [{"value": 1}]}}]}]}),
        {"type": "graph", "thresholds": [{"value": 1}], "alert": {"conditions": [{"evaluator": {"params": [1]}}]},
         "targets": [{"expr": "$x", "hide": True, "legendFormat": "{{ a }} {{ $labels.a }}"}]},
        {"type": "singlestat", "thresholds": "1,2", "datasource": "$ds", "targets": [{"expr": "a:b"}]},
        templating={"list": [{"name": "a", "type": "query", "query": "label_values(a:b, c)"},
                             {"name": "ds", "type": "datasource", "query": "prometheus"}]},
        annotations={"list": [{"name": "N", "expr": "y", "datasource": None, "target": {"expr": "z"}}]},
        __inputs=[{"name": "DS", "pluginId": "prometheus"}],
        __elements={"x": {"model": panel("up")}},
    ),
    ROWS,
    V2,
    {"dashboard": classic(panel("up"))},
    [classic(panel("up"))],
]  # fmt: skip
RULES = """
groups:
  - name: g
    rules:
      - {record: "a:b", expr: sum by (a) (y)}
      - {alert: A, expr: up > 5}
"""
STRANGE = st.recursive(
    st.sampled_from(
        [None, True, 0, -1, 1.5, 10**400, float("1e999"), "", "a", "$", "${x", "{{", "\ud800", "\0", "sum("]
    ),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["expr", "type", "name", "spec"]), inner)
    ),
    max_leaves=4,
)


def paths(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        yield from paths(one, (*path, key))


@given(st.data())
@settings(max_examples=150, deadline=None)  # the first loads the checks
def test_any_value_at_any_place_is_no_exception(tmp_path_factory, data):
    value = copy.deepcopy(data.draw(st.sampled_from(BASES)))
    for _ in range(data.draw(st.integers(1, 2))):
        *way, last = data.draw(st.sampled_from([path for path in paths(value) if path]))
        holder = value
        for step in way:
            holder = holder[step]
        holder[last] = data.draw(STRANGE)
    folder = tmp_path_factory.getbasetemp() / "strange"
    folder.mkdir(exist_ok=True)
    (folder / "rules.yaml").write_text(RULES)
    (folder / "board.json").write_text(json.dumps(value).replace("Infinity", "1e999"))
    contents = read([str(folder / "board.json"), str(folder / "rules.yaml")], lambda items, *_: items)
    _, findings = check(contents, Settings(root=folder, targets=Targets.newest()))
    for finding in findings:
        assert finding.place.line
        to_text(finding).encode()
