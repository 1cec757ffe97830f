"""Our schemas: what they refuse and how it is told; and that the two validators, the fast and the plain one, agree."""

import copy
import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator

import watchkeeper.schemas
from watchkeeper.schemas import path_text, schema, validate
from watchkeeper.schemas.dashboard import TYPES, faults

NAMES = sorted(
    f"grafana/{path.stem}"
    for path in (Path(watchkeeper.schemas.__file__).parent / "grafana").glob("*.json")
    if path.stem != "common"
)


@pytest.fixture
def model(corpus, render):
    return copy.deepcopy(render(corpus.helpers())[0].model)


def told(model):
    return [(path_text(fault.path), fault.message, fault.fix) for fault in faults(model)]


@pytest.mark.parametrize("name", NAMES)
def test_each_schema_is_one(name):
    Draft7Validator.check_schema(schema(name))
    for reference in re.findall(r'"\$ref": "#/definitions/(\w+)"', json.dumps(schema(name))):
        assert reference in schema(name)["definitions"]


def test_each_panel_type_has_one():
    assert {name.removeprefix("grafana/panel.") for name in NAMES if "panel." in name} == set(TYPES)


@pytest.mark.parametrize(
    ("path", "value", "message", "fix"),
    [
        (
            ("panels", 1, "fieldConfig", "defaults", "units"),
            "bytes",
            'has no member "units"; did you mean "unit"?',
            "take",
        ),
        (("panels", 1, "options", "colorMode"), "valu", 'is "valu"; did you mean "value"?', 'use "background"'),
        (("panels", 1, "options", "wideLayout"), 1, "is 1, not true or false", "make it true or false"),
        (("panels", 1, "gridPos", "w"), "4", 'is "4", not a whole number', "make it a whole number"),
        (("panels", 1, "gridPos", "w"), True, "is true, not a whole number", "make it a whole number"),
        (("panels", 1, "targets", 0, "editorMode"), "codes", 'did you mean "code"?', 'use "builder", "code"'),
        (("panels", 1, "targets", 0, "expr"), None, "is null, not text", "make it text"),
        (("panels", 1, "type"), "", "is empty", "give at least 1"),
        (("graphTooltip",), 3, "graphTooltip is 3", "use 0, 1, 2"),
        (("refresh",), "often", 'refresh is "often"', "it must match"),
        (("time", "from"), "yesterday", 'time.from is "yesterday"', "it must match"),
        (("templating", "list", 1, "type"), "querry", 'did you mean "query"?', "use"),
        (("templating", "list", 1, "sort"), 9, "is 9", "use 0, 1"),
        (
            ("panels", 2, "fieldConfig", "defaults", "mappings", 0, "options", "0", "colour"),
            "red",
            "did you mean",
            "take",
        ),
        (("panels", 9, "panels", 0, "options", "rowHeight"), 2, "is 2", "use at most 1"),
        (("panels", 9, "collapsed"), "yes", 'is "yes", not true or false', "make it"),
        (("editable",), {"a": 1}, "editable is an object, not true or false", "make it"),
    ],
)
def test_one_fault_is_told_once(model, path, value, message, fix):
    target = model
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    ((where, said, advice),) = told(model)
    assert where == path_text(path)
    assert message in said
    assert advice.startswith(fix)
    assert len(said) + len(advice) < 600


def test_all_faults_in_one_run(model):
    model["bogus"] = 1
    del model["time"]
    model["panels"][1]["options"].update(colorMode="x", graphMode="y")
    model["panels"][5]["options"]["legend"]["calcs"] = ["lastNotNul", "p95"]
    model["panels"][8]["targets"][0]["exprs"] = "up"
    where = [path for path, *_ in told(model)]
    assert where == [
        "bogus",
        "time",
        "panels[1].options.colorMode",
        "panels[1].options.graphMode",
        "panels[5].options.legend.calcs[0]",
        "panels[8].targets[0].exprs",
    ]


def test_a_table_cell_in_an_override(model):
    (override,) = [
        one for one in model["panels"][6]["fieldConfig"]["overrides"] if one["properties"][0]["id"] != "unit"
    ]
    override["properties"][0]["value"] = {"type": "color-backgroun"}
    ((where, said, _),) = told(model)
    assert where.endswith("properties[0].value.type")
    assert 'did you mean "color-background"?' in said


@pytest.mark.parametrize("depth", [101, 5_000])
def test_what_nests_deep_is_told_and_does_not_hide_the_rest(model, depth):
    inner = model["panels"][1]["options"]["bogus"] = {}
    for number in range(depth):
        child = {} if number % 2 else []
        if isinstance(inner, dict):
            inner["a"] = child
        else:
            inner.append(child)
        inner = child
    model["panels"][1]["options"]["colorMode"] = "x"
    messages = [said for _, said, _ in told(model)]
    assert any("nested more than 100 levels deep" in said for said in messages)
    assert any("colorMode" in said for said in messages)
    assert all(len(said) < 300 for said in messages)


def test_ten_megabytes(model):
    panel = model["panels"][1]
    panel["description"] = "x" * 2_000
    size = len(json.dumps(panel))
    model["panels"] = [copy.deepcopy(panel) for _ in range(10_000_000 // size)]
    started = time.process_time()
    assert not told(model)
    assert time.process_time() - started < 20  # takes half a second; a slow machine is none of ours
    model["panels"][-1]["options"]["colorMode"] = "x"
    model["huge"] = "y" * 1_000_000
    assert [where for where, *_ in told(model)] == ["huge", f"panels[{len(model['panels']) - 1}].options.colorMode"]


@pytest.mark.parametrize("odd", [None, 1, "x", [], {}, {"panels": {}}, {"panels": [1, None]}, {"templating": []}])
def test_anything_may_be_held_to_it(odd):
    assert all(fault.message and fault.fix for fault in validate("grafana/dashboard", odd))
    assert validate("grafana/dashboard", odd)
    if isinstance(odd, dict):
        assert list(faults(odd))


VALUES = st.none() | st.booleans() | st.integers(-2, 101) | st.floats(-2, 101) | st.sampled_from(
    ["", "value", "auto", "link", "p95", "p100", "now", "now-6h\n", "utc", "x", "red", 1.0, 0.0, True]
) | st.builds(list) | st.builds(dict) | st.lists(st.sampled_from(["max", "p9", 1, None]), max_size=2)  # fmt: skip


def pieces(model):
    """Every part of a model that has a schema of its own."""
    yield "grafana/dashboard", model
    for variable in model["templating"]["list"]:
        yield "grafana/variable", variable
    for panel in [*model["panels"], *(inner for row in model["panels"] for inner in row.get("panels", ()))]:
        if panel["type"] == "row":
            yield "grafana/row", panel
            continue
        yield "grafana/panel", panel
        if panel["type"] in TYPES:
            yield f"grafana/panel.{panel['type']}", panel
        for query in panel.get("targets", ()):
            yield "grafana/query.prometheus", query


def containers(value):
    if isinstance(value, (dict, list)):
        yield value
        for member in value.values() if isinstance(value, dict) else value:
            yield from containers(member)


def test_the_fast_validator_and_the_plain_one_agree(corpus, render):
    parts = [part for make in corpus.SOURCES.values() for part in pieces(render(make())[0].model)]
    plain = {name: Draft7Validator(schema(name)) for name in NAMES}
    assert {name for name, _ in parts} == set(NAMES)
    members = sorted(
        {key for _, part in parts for value in containers(part) if isinstance(value, dict) for key in value}
    )
    refused = []

    @settings(max_examples=400, deadline=None)
    @given(st.data())
    def run(data):
        name, part = data.draw(st.sampled_from(parts))
        part = copy.deepcopy(part)
        for _ in range(data.draw(st.integers(0, 3))):
            inside = list(containers(part))
            target = inside[data.draw(st.integers(0, len(inside) - 1))]
            if isinstance(target, list):
                target.append(data.draw(VALUES))
                continue
            key = data.draw(st.sampled_from(sorted(target) if target and data.draw(st.booleans()) else members))
            if data.draw(st.booleans()):
                target[key] = data.draw(VALUES)
            else:
                target.pop(key, None)
        explained = validate(name, part)
        assert bool(explained) is not plain[name].is_valid(part)
        assert watchkeeper.schemas._accepts(name)(part) is plain[name].is_valid(part)
        refused.append(bool(explained))

    run()
    assert {True, False} <= set(refused)


@given(st.text(max_size=12))
@example("now\n")
@example("now-6h\n")
@example("utc\n")
def test_they_agree_on_every_text(text):
    for name, document in (
        ("grafana/variable", {"name": text, "type": "adhoc"}),
        ("grafana/dashboard", {"time": {"from": text, "to": text}}),
        ("grafana/dashboard", {"refresh": text, "timezone": text}),
    ):
        plain = [error.json_path for error in Draft7Validator(schema(name)).iter_errors(document)]
        assert bool(validate(name, document)) is bool(plain)
        assert watchkeeper.schemas._accepts(name)(document) is not bool(plain)
