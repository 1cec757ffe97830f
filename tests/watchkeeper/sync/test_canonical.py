import json
import random
from pathlib import Path

import pytest

from watchkeeper.sync.canonical import canonical, digest, simplified
from watchkeeper.sync.objects import Dashboard, Folder

ROOT = Path(__file__).parents[3]
MODELS = {path.stem: json.loads(path.read_text()) for path in sorted((ROOT / "dashboards").glob("*.json"))}
BUILT_IN = {
    "builtIn": 1, "datasource": {"type": "grafana", "uid": "-- Grafana --"}, "enable": True, "hide": True,
    "iconColor": "rgba(0, 211, 255, 1)", "name": "Annotations & Alerts", "type": "dashboard",
}  # fmt: skip


def with_panel(**members):
    return {"title": "T", "panels": [{"id": 1, "type": "stat", **members}]}


def with_variable(**members):
    return {"title": "T", "templating": {"list": [{"name": "node", "type": "query", **members}]}}


# What Grafana makes of a model, none of which anybody meant: frontend_defaults.go and schemaversion/v*.go say so.
SAME = {
    "numbers of the server": ({"title": "T"}, {"title": "T", "id": 7, "version": 12, "iteration": 17, "uid": "u"}),
    "schema": ({"title": "T", "schemaVersion": 42}, {"title": "T", "schemaVersion": 43}),
    "gnetId": ({"title": "T", "gnetId": None}, {"title": "T"}),
    "defaults": (
        {"title": "T"},
        {
            "title": "T", "editable": True, "fiscalYearStartMonth": 0, "graphTooltip": 0, "liveNow": False, "links": [],
            "panels": [], "preload": False, "refresh": "", "style": "dark", "tags": [], "timezone": "", "weekStart": "",
            "time": {"from": "now-6h", "to": "now"}, "timepicker": {}, "templating": {"list": []},
            "annotations": {"list": [BUILT_IN]}, "hideControls": False, "meta": {"canSave": True},
        },
    ),
    "refresh, v40": ({"title": "T", "refresh": False}, {"title": "T", "refresh": ""}),
    "time_options, v41": ({"title": "T", "timepicker": {"time_options": ["5m"]}}, {"title": "T", "timepicker": {}}),
    "the built-in query before Grafana 10": (
        {"title": "T", "annotations": {"list": []}},
        {
            "title": "T",
            "annotations": {
                "list": [
                    {**BUILT_IN, "target": {"limit": 100, "matchAny": False, "tags": [], "type": "dashboard"}},
                ]
            },
        },
    ),
    "whole numbers": (with_panel(options={"rowHeight": 1.0}), with_panel(options={"rowHeight": 1})),
    "order of members": ({"title": "T", "refresh": "1m"}, {"refresh": "1m", "title": "T"}),
    "the base of thresholds": (
        with_panel(fieldConfig={"defaults": {"thresholds": {"steps": [{"color": "green", "value": None}]}}}),
        with_panel(fieldConfig={"defaults": {"thresholds": {"steps": [{"color": "green"}]}}}),
    ),
    "defaults of a panel": (
        with_panel(),
        with_panel(
            title="", transparent=False, links=[], options={}, fieldConfig={"defaults": {}, "overrides": []},
            targets=[{"refId": "A"}], pluginVersion="13.1.0", cachedPluginOptions={"x": 1}, description=None,
            gridPos={"x": 0, "y": 0, "w": 6, "h": 3},
        ),
    ),
    "defaults of links": (
        {"links": [{"title": "a"}], **with_panel(links=[{"title": "b"}])},
        {
            "links": [{"title": "a", "asDropdown": False, "icon": "external link", "includeVars": False, "tags": []}],
            **with_panel(links=[{"title": "b", "targetBlank": False, "keepTime": False}]),
        },
    ),
    "hideFrom, v42": (
        with_panel(fieldConfig={"overrides": [{"properties": [{"id": "custom.hideFrom", "value": {"viz": True}}]}]}),
        with_panel(
            fieldConfig={
                "overrides": [{"properties": [{"id": "custom.hideFrom", "value": {"viz": True, "tooltip": True}}]}]
            }
        ),
    ),
    "formatTime, v43": (
        with_panel(transformations=[{"id": "formatTime", "options": {"timeField": "t", "outputFormat": "YYYY"}}]),
        with_panel(
            transformations=[
                {
                    "id": "convertFieldType",
                    "options": {
                        "conversions": [{"targetField": "t", "dateFormat": "YYYY", "destinationType": "string"}]
                    },
                }
            ]
        ),
    ),
    "a library panel": (
        with_panel(libraryPanel={"uid": "l"}),
        with_panel(libraryPanel={"uid": "l"}, options={"x": 1}, targets=[{"refId": "A", "expr": "up"}]),
    ),
    "places": (
        {"panels": [{"id": 1, "gridPos": {"x": 0, "y": 8}}, {"id": 2, "gridPos": {"x": 0, "y": 0}}]},
        {"panels": [{"id": 2, "gridPos": {"x": 0, "y": 0}}, {"id": 1, "gridPos": {"x": 0, "y": 8}}]},
    ),
    "copies of a repeated panel": (
        {"panels": [{"id": 1, "repeat": "node"}]},
        {"panels": [{"id": 1, "repeat": "node"}, {"id": 2, "repeatPanelId": 1}, {"id": 3, "repeatedByRow": True}]},
    ),
    "a collapsed row": (
        {"panels": [{"id": 1, "type": "row", "collapsed": True, "panels": [{"id": 2}]}]},
        {"panels": [{"id": 1, "type": "row", "collapsed": True, "panels": [{"id": 2, "pluginVersion": "1"}]}]},
    ),
    "what a variable was asked for": (
        with_variable(current={"text": "a", "value": "a"}),
        with_variable(
            current={"text": "a", "value": "a", "selected": True}, options=[{"text": "a"}], hide=0, multi=False,
            definition="label_values(node)", index=-1, error=None, skipUrlSync=False,
        ),
    ),
    "our own tag": ({"title": "T", "tags": ["b", "a"]}, {"title": "T", "tags": ["a", "b", "watchkeeper:acme"]}),
}  # fmt: skip

# What somebody meant.
OTHER = {
    "title": ({"title": "T"}, {"title": "U"}),
    "tag": ({"tags": ["a"]}, {"tags": ["a", "b"]}),
    "refresh": ({"refresh": "1m"}, {"refresh": "5m"}),
    "timezone": ({"timezone": "browser"}, {"timezone": ""}),
    "editable": ({"editable": False}, {"editable": True}),
    "expression": (with_panel(targets=[{"expr": "up"}]), with_panel(targets=[{"expr": "up > 1"}])),
    "a query that is hidden": (
        with_panel(targets=[{"expr": "up"}]),
        with_panel(targets=[{"expr": "up", "hide": True}]),
    ),
    "order of queries": (
        with_panel(targets=[{"expr": "a"}, {"expr": "b"}]),
        with_panel(targets=[{"expr": "b"}, {"expr": "a"}]),
    ),
    "place": (with_panel(gridPos={"x": 0, "y": 0}), with_panel(gridPos={"x": 6, "y": 0})),
    "threshold of 0": (
        with_panel(fieldConfig={"defaults": {"thresholds": {"steps": [{"value": None}]}}}),
        with_panel(fieldConfig={"defaults": {"thresholds": {"steps": [{"value": 0}]}}}),
    ),
    "true is not 1": (with_panel(options={"x": True}), with_panel(options={"x": 1})),
    "text is not number": (with_panel(options={"x": "1"}), with_panel(options={"x": 1})),
    "fraction": (with_panel(options={"x": 0.5}), with_panel(options={"x": 0.25})),
    "id of a panel": ({"panels": [{"id": 1}]}, {"panels": [{"id": 2}]}),
    "what is chosen": (with_variable(current={"value": "a"}), with_variable(current={"value": "b"})),
    "the built-in query switched off": (
        {"annotations": {"list": [BUILT_IN]}},
        {"annotations": {"list": [{**BUILT_IN, "enable": False}]}},
    ),
    "a panel that is no copy": (
        {"panels": [{"id": 1}]},
        {"panels": [{"id": 1}, {"id": 2, "repeatPanelId": None, "repeatedByRow": None}]},
    ),
    "a panel more": ({"panels": [{"id": 1}]}, {"panels": [{"id": 1}, {"id": 2}]}),
    "a member called id below": (with_panel(options={"id": 1}), with_panel(options={"id": 2})),
}


@pytest.mark.parametrize("name", SAME)
def test_what_grafana_rewrites_is_no_difference(name):
    one, other = SAME[name]
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize("name", OTHER)
def test_what_somebody_changes_is_one(name):
    one, other = OTHER[name]
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize("name", MODELS)
def test_our_own_dashboards_as_grafana_saves_them(name):
    model = MODELS[name]
    live = json.loads(json.dumps(model), parse_int=float)
    live |= {"id": 3, "version": 9, "schemaVersion": 43, "weekStart": "", "liveNow": False, "gnetId": None}
    random.Random(name).shuffle(live["panels"])
    for panel in live["panels"]:
        panel |= {"pluginVersion": "13.0.1", "transparent": False, "cachedPluginOptions": {}, "libraryPanel": None}
        for query in panel.get("targets", []):
            query["hide"] = False
    for variable in live["templating"]["list"]:
        variable |= {"index": -1, "error": None}
    assert canonical(live) == canonical(model)
    live["panels"][-1]["title"] += "!"
    assert canonical(live) != canonical(model)


@pytest.mark.parametrize("name", MODELS)
def test_simple_is_simple_and_the_model_stays_as_it_is(name):
    before = json.dumps(MODELS[name])
    once = simplified(MODELS[name])
    assert simplified(once) == once
    assert json.dumps(MODELS[name]) == before


WILD = [
    {}, {"panels": None}, {"panels": [None, 1, "x", [], {}]}, {"panels": {"a": 1}}, {"tags": [1, None, "a"]},
    {"tags": "a"}, {"templating": [], "annotations": "x", "links": {"a": 1}, "timepicker": 3, "refresh": 30},
    {"templating": {"list": [1, {"current": "x", "options": [3]}]}}, {"annotations": {"list": [{"builtIn": 1}, 2]}},
    {"panels": [{"gridPos": {"x": "a", "y": None}}, {"gridPos": 1, "targets": 4, "panels": 3, "fieldConfig": []}]},
    {"panels": [{"fieldConfig": {"overrides": [{"properties": [{"id": "custom.hideFrom", "value": 1}]}]}}]},
    {"title": "\ud800", "big": 10**400, "huge": 2**70, "inf": float("inf")},
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(WILD)))
def test_what_is_no_dashboard_is_compared_too(number):
    model = WILD[number]
    assert canonical(model) == canonical(json.loads(json.dumps(model)))


def test_very_deep():
    def nested(depth, value):
        for _ in range(depth):
            value = {"x": [value]}
        return value

    assert canonical(nested(120, 1)) != canonical(nested(120, 2))
    assert canonical(nested(400, 1)) != canonical(nested(120, 1))


def test_the_digest_is_of_the_place_and_the_uid_too():
    model = {"title": "T"}
    digests = {
        digest(Dashboard("a", "T", "", model)),
        digest(Dashboard("b", "T", "", model)),
        digest(Dashboard("a", "T", "gpu", model)),
        digest(Dashboard("a", "T", "", {"title": "U"})),
        digest(Folder("a", "T")),
        digest(Folder("a", "T", "gpu")),
    }
    assert len(digests) == 6
    assert digest(Dashboard("a", "T", "", {**model, "tags": ["watchkeeper:acme"]})) in digests


def test_the_form_is_that_of_the_scheme():
    """This digest stands at servers. Where it changes, raise SCHEME, so that nobody is told of edits that were none."""
    model = with_panel(targets=[{"refId": "A", "expr": "up"}], gridPos={"x": 0, "y": 0, "w": 12, "h": 8})
    assert (
        digest(Dashboard("a", "T", "gpu", model))
        == "1-5a93a73a812be653298ad54f55f8cda1a11b92e111c00fbaa9ddccdaad8f713c"
    )
