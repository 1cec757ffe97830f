"""The normaliser: what it makes of old and new models, and that it takes anything."""

import copy
import json

import pytest
from grafanalib import core
from hypothesis import given, settings
from hypothesis import strategies as st

import watchkeeper.dashboards as d
from watchkeeper import DefinitionError
from watchkeeper.render.grafana import read, to_text
from watchkeeper.schemas.dashboard import faults

DEFAULT = {"type": "prometheus", "uid": "${datasource}"}
DEAD_KEYS = {
    "__inputs", "__requires", "rows", "span", "minSpan", "error", "editable", "height", "gnetId", "iteration",
    "version", "hideControls", "sharedCrosshair", "style", "intervalFactor", "step", "metric", "target",
    "pluginVersion", "query",
    "time_options", "useTags", "tagsQuery", "tagValuesQuery", "fieldOptions", "cards", "dataFormat", "yBucketBound",
    "op", "yaxis", "line", "displayMode",
}  # fmt: skip


def walk(value, path=()):
    yield path, value
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, member in members:
        yield from walk(member, (*path, step))


def test_nothing_old_is_left(source, render):
    model = render(source)[0].model
    for path, value in walk(model):
        where = ".".join(map(str, path))
        name = path[-1] if path else ""
        if value is None:
            assert name == "value", where
        if name == "datasource":
            assert value.keys() == {"type", "uid"}, where
        if isinstance(name, str) and len(path) > 1 and path[0] == "panels" and "legend" not in path:
            allowed = (name == "query" and "options" in path) or (name == "displayMode" and "options" in path)
            assert name not in DEAD_KEYS or allowed, where
    assert not model.keys() & DEAD_KEYS - {"editable"}
    assert "watchkeeper" not in to_text(model).replace('"watchkeeper"\n', "")  # but for a tag


def test_our_own_schema_takes_what_we_render(source, render):
    assert list(faults(render(source)[0].model)) == []


@pytest.mark.parametrize(
    ("grafana", "version"),
    [((13, 2), 42), ((12, 2), 42), ((12, 1), 41), ((11, 6), 41), ((11, 5), 39), ((11, 2), 39)],
)
def test_schema_version(render, grafana, version):
    assert render({"title": "X", "schemaVersion": 12}, grafana)[0].model["schemaVersion"] == version


def test_rendering_twice_changes_nothing(source, render):
    once = render(source)[0]
    again = render(once.model)[0]
    assert to_text(again.model) == to_text(once.model)


def test_the_source_is_left_as_it_is(corpus, render):
    source = corpus.exported()
    before = copy.deepcopy(source)
    render(source)
    assert source == before


def test_what_is_known_of_panels(corpus, render):
    rendered, _ = render(corpus.helpers())
    assert (rendered.uid, rendered.title, rendered.folder) == ("helpers", "Every helper", "gpus")
    assert rendered.place.file.endswith("corpus.py")
    for panel in rendered.panels:
        part = rendered.panel(panel)
        assert (part["id"], part["title"], part["type"]) == (panel.id, panel.title, panel.type)
        assert panel.place.file.endswith("corpus.py")
        assert panel.place.line > rendered.place.line
    by_key = {panel.key: panel for panel in rendered.panels}
    assert by_key["words"].path == ("panels", 9, "panels", 1)
    assert by_key["lines"].alerts == ("Hot", "Unclear")
    assert {"row-first", "states", "stat"} <= by_key.keys()


def test_ids_come_from_keys_alone(render):
    def ids(*titles):
        panels = [d.stat(title, "up") for title in titles]
        return {p.title: p.id for p in render(d.dashboard(uid="x", title="X", panels=panels))[0].panels}

    few, more = ids("A", "B"), ids("new", "B", "another", "A")
    assert few.items() <= more.items()
    assert all(0 < number < 2**31 for number in more.values())
    assert few["A"] == ids("A")["A"]


def test_an_explicit_id_is_kept(corpus, render):
    assert [panel.id for panel in render(corpus.raw())[0].panels] == list(range(1, 18))


def test_keys_of_panels_with_ids_are_told_apart(render):
    panels = [{"type": "stat", "title": "Same", "id": number} for number in (4, 9)]
    assert [panel.key for panel in render({"uid": "x", "panels": panels})[0].panels] == ["same", "same-9"]


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (None, DEFAULT),
        ("", DEFAULT),
        ({}, DEFAULT),
        ("$ds", {"type": "loki", "uid": "${ds}"}),
        ("${other}", {"type": "prometheus", "uid": "${other}"}),
        ("[[ds]]", {"type": "loki", "uid": "${ds}"}),
        ("-- Mixed --", {"type": "datasource", "uid": "-- Mixed --"}),
        ("-- Grafana --", {"type": "grafana", "uid": "-- Grafana --"}),
        ({"uid": "${ds}"}, {"type": "loki", "uid": "${ds}"}),
        ({"type": "tempo", "uid": "abc"}, {"type": "tempo", "uid": "abc"}),
    ],
)
def test_data_sources(render, given, made):
    variable = {"name": "ds", "type": "datasource", "query": "loki"}
    panel = {"type": "stat", "title": "P", "datasource": given, "targets": [{"expr": "x"}]}
    model = render({"templating": {"list": [variable]}, "panels": [panel]})[0].model
    assert model["panels"][0]["datasource"] == made
    assert model["panels"][0]["targets"][0]["datasource"] == made
    names = [one["name"] for one in model["templating"]["list"]]
    assert names == (["datasource", "ds"] if made == DEFAULT else ["ds"])


def test_queries_of_prometheus(panel):
    queries = [
        {"expr": "a", "refId": "A", "hide": False, "interval": "", "legendFormat": "", "step": 10, "intervalFactor": 2},
        {"expr": "b", "refId": "B", "instant": True, "hide": True, "legendFormat": "{{x}}"},
        {"expr": "c", "refId": "C", "range": True, "instant": True, "editorMode": "builder"},
    ]
    common = {"datasource": DEFAULT}
    assert panel({"type": "timeseries", "targets": queries})["targets"] == [
        {**common, "expr": "a", "refId": "A", "legendFormat": "__auto", "editorMode": "code", "range": True,
         "instant": False},
        {**common, "expr": "b", "refId": "B", "legendFormat": "{{x}}", "editorMode": "code", "range": False,
         "instant": True, "hide": True},
        {**common, "expr": "c", "refId": "C", "legendFormat": "__auto", "editorMode": "builder", "range": True,
         "instant": True},
    ]  # fmt: skip


def test_queries_of_others_are_left_alone(panel):
    loki = {"type": "loki", "uid": "x"}
    query = {"expr": "{a=~'b'}", "refId": "A", "queryType": "range", "step": "1m"}
    assert panel({"type": "logs", "datasource": loki, "targets": [query]})["targets"] == [{**query, "datasource": loki}]


def test_max_data_points_of_grafanalib_go_and_an_authors_stay(panel):
    assert "maxDataPoints" not in panel(core.TimeSeries(title="P"))
    assert panel(core.TimeSeries(title="P", maxDataPoints=500))["maxDataPoints"] == 500
    assert panel({"type": "timeseries", "maxDataPoints": 100})["maxDataPoints"] == 100


@pytest.mark.parametrize(
    ("mode", "cell"),
    [
        ("auto", {"type": "auto"}),
        ("color-text", {"type": "color-text"}),
        ("gradient-gauge", {"type": "gauge", "mode": "gradient"}),
        ("lcd-gauge", {"type": "gauge", "mode": "lcd"}),
        ("basic", {"type": "gauge", "mode": "basic"}),
        ("color-background", {"type": "color-background", "mode": "gradient"}),
        ("color-background-solid", {"type": "color-background", "mode": "basic"}),
    ],
)
def test_table_cells(panel, mode, cell):
    made = panel(core.Table(title="T", displayMode=mode))
    assert made["fieldConfig"]["defaults"]["custom"]["cellOptions"] == cell
    assert not {"color", "columns", "fontSize", "mappings"} & made.keys()


def test_gauges_of_grafanalib(panel):
    made = panel(core.GaugePanel(title="G", calc="last", label="shown", limit=3, max=7, thresholdLabels=True))
    assert made["options"]["reduceOptions"] == {"calcs": ["last"], "fields": "", "limit": 3, "values": False}
    assert made["options"]["showThresholdLabels"] is True
    assert made["fieldConfig"]["defaults"]["displayName"] == "shown"
    assert made["fieldConfig"]["defaults"]["max"] == 7
    made = panel(core.BarGauge(title="B", calc="min", label="shown", max=7, format="bytes"))
    assert made["options"]["reduceOptions"]["calcs"] == ["min"]
    assert (
        made["fieldConfig"]["defaults"].items() >= {"displayName": "shown", "max": 7, "min": 0, "unit": "bytes"}.items()
    )


def test_heatmaps_of_grafanalib(panel):
    made = panel(core.Heatmap(title="H", xBucketSize="30s", yBucketNumber=10, yAxis=core.YAxis(format="s", logBase=2)))
    assert made["options"]["calculate"] is True
    assert made["options"]["calculation"] == {
        "xBuckets": {"mode": "size", "value": "30s"},
        "yBuckets": {"mode": "count", "value": "10", "scale": {"type": "log", "log": 2}},
    }
    assert made["options"]["yAxis"]["unit"] == "s"
    made = panel(core.Heatmap(title="H", dataFormat="tsbuckets", yBucketBound="upper", hideZeroBuckets=True))
    assert made["options"].items() >= {"calculate": False, "rowsFrame": {"layout": "le"}}.items()
    assert made["options"]["filterValues"] == {"le": 1e-9}


def test_value_mappings_of_before_grafana_8(panel):
    old = [
        {"type": 1, "value": "0", "text": "down", "id": 1, "op": "="},
        {"type": 1, "value": "null", "text": "gone"},
        {"type": 2, "from": "1", "to": "9", "text": "up"},
    ]
    made = panel({"type": "stat", "fieldConfig": {"defaults": {"mappings": old}}})
    assert made["fieldConfig"]["defaults"]["mappings"] == [
        {"type": "value", "options": {"0": {"index": 0, "text": "down"}}},
        {"type": "special", "options": {"match": "null", "result": {"index": 1, "text": "gone"}}},
        {"type": "range", "options": {"from": 1.0, "to": 9.0, "result": {"index": 2, "text": "up"}}},
    ]


def test_legends(panel):
    for legend, shown in (({"displayMode": "hidden"}, False), ({"displayMode": "table", "calcs": ["max"]}, True)):
        made = panel({"type": "timeseries", "options": {"legend": legend}})["options"]["legend"]
        assert made["showLegend"] is shown
        assert made["displayMode"] in ("list", "table")


def test_rows_of_before_grafana_5(corpus, render):
    model = render(corpus.rows())[0].model
    places = [(p["title"], *(p["gridPos"][side] for side in "xywh")) for p in model["panels"]]
    assert places == [
        ("One", 0, 0, 24, 1), ("a", 0, 1, 8, 7), ("b", 8, 1, 8, 7), ("c", 16, 1, 8, 7), ("d", 0, 8, 8, 7),
        ("Two", 0, 15, 24, 1), ("x", 0, 23, 12, 7), ("y", 12, 23, 12, 7),
    ]  # fmt: skip
    assert [p["title"] for p in model["panels"][5]["panels"]] == ["in"]


def test_rows_stand_below_the_panels_there_are(render):
    def text(title, **more):
        return {"type": "text", "title": title, **more}

    source = {"uid": "x", "title": "X", "panels": [text("a", gridPos={"x": 0, "y": 2, "w": 24, "h": 3})],
              "rows": [{"title": "R", "panels": [text("b")]}]}  # fmt: skip
    rendered, findings = render(source)
    assert [(p["title"], p["gridPos"]["y"]) for p in rendered.model["panels"]] == [("a", 2), ("R", 5), ("b", 6)]
    assert findings == []


@pytest.mark.parametrize("rows", [{"panels": []}, ["a"], [{"panels": ["a"]}], [{"panels": {"a": 1}}], 5])
def test_rows_of_which_something_would_be_lost(render, rows):
    for panels in ({}, {"panels": []}, {"panels": [{"type": "text", "title": "a"}]}):
        _, findings = render({"uid": "x", "title": "X", "rows": rows, **panels})
        assert [finding.message for finding in findings] == [
            "rows must be a list of objects, each with a list of objects at panels"
        ]


def test_an_old_mapping_of_one_value_twice(render):
    old = [{"value": value, "text": text} for value, text in ((1, "a"), ("1", "b"), (2, "c"))]
    panel = {"type": "stat", "title": "S", "fieldConfig": {"defaults": {"mappings": old}}}
    rendered, findings = render({"uid": "x", "title": "X", "panels": [panel]})
    assert [finding.message for finding in findings] == ['panel "S" maps the value 1 twice']
    options = rendered.model["panels"][0]["fieldConfig"]["defaults"]["mappings"][0]["options"]
    assert {value: result["text"] for value, result in options.items()} == {"1": "a", "2": "c"}


def test_an_open_row_lets_its_panels_out(corpus, render):
    model = render(corpus.exported())[0].model
    assert [p["title"] for p in model["panels"][:2]] == ["Open, with panels in it", "was inside $q"]
    assert model["panels"][0]["panels"] == []


def test_variables(corpus, render):
    model = render(corpus.raw())[0].model
    by_name = {one["name"]: one for one in model["templating"]["list"]}
    assert by_name["node"]["current"] == {"selected": True, "text": "a", "value": "a"}
    assert by_name["node"]["datasource"] == {"type": "prometheus", "uid": "${ds}"}
    assert by_name["custom"]["current"] == {"selected": True, "text": "b", "value": "b"}
    assert [one["selected"] for one in by_name["custom"]["options"]] == [False, True]
    everything = {one["name"]: one for one in render(corpus.helpers())[0].model["templating"]["list"]}
    assert everything["mode"]["current"] == {"selected": True, "text": ["All"], "value": ["$__all"]}
    assert everything["mode"]["options"][0] == {"selected": False, "text": "One", "value": "1"}
    assert everything["step"]["current"]["value"] == "1m"
    assert everything["prefix"]["hide"] == 2


def test_a_dashboard_without_anything(render):
    model = render({"title": "X", "refresh": False, "timezone": "", "sharedCrosshair": True})[0].model
    assert model["refresh"] == ""
    assert model["timezone"] == "browser"
    assert model["graphTooltip"] == 1
    assert model["panels"] == []
    assert [query["builtIn"] for query in model["annotations"]["list"]] == [1]


# Anything else in the place of any value: none of it may be a traceback.
ODD = (
    st.none()
    | st.booleans()
    | st.integers(-9, 99)
    | st.floats(-9, 9)
    | st.text(max_size=5)
    | st.lists(st.integers(0, 2) | st.text(max_size=3) | st.builds(dict), max_size=2)
    | st.dictionaries(
        st.sampled_from(["type", "list", "id", "options", "a"]), st.integers() | st.text(max_size=3), max_size=2
    )
)


@st.composite
def mutated(draw, documents):
    """A document in which a few values are replaced, taken out or put in."""
    document = copy.deepcopy(draw(st.sampled_from(documents)))
    for _ in range(draw(st.integers(1, 4))):
        containers = [value for _, value in walk(document) if isinstance(value, (dict, list)) and value]
        target = containers[draw(st.integers(0, len(containers) - 1))]
        if isinstance(target, dict):
            key = draw(st.sampled_from(sorted(target)))
            action = draw(st.sampled_from(["replace", "replace", "delete", "add"]))
            if action == "delete":
                del target[key]
            else:
                target[key if action == "replace" else draw(st.sampled_from(["bogus", "type", "value"]))] = draw(ODD)
        else:
            target[draw(st.integers(0, len(target) - 1))] = draw(ODD)
    return document


def test_nothing_makes_it_fail_but_a_definition_error(corpus, render, check):
    documents = [read(make()) for make in corpus.SOURCES.values()]

    @settings(max_examples=150, deadline=None)
    @given(mutated(documents))
    def run(document):
        try:
            model = render(document)[0].model
        except DefinitionError:
            return
        json.loads(to_text(model))
        for name in (
            "uid",
            "title",
            "panel-id",
            "ref-id",
            "layout",
            "variable",
            "unit",
            "datasource",
            "schema",
            "feature",
        ):
            check(name, document)

    run()
