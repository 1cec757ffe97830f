"""What may be a dashboard, and the bytes that come out."""

import json
import math
import os
import subprocess
import sys
from enum import Enum
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from watchkeeper import DefinitionError, Gauge, Severity
from watchkeeper.findings import Place
from watchkeeper.render.grafana import read, to_text
from watchkeeper.render.grafana.text import number

PLACE = Place("dashboards.py", 3)


class Sdk:
    def to_json(self):
        return {"title": "X", "panels": [Inner()], "absent": None}


class Inner:
    def to_json_data(self):
        return {"type": "stat"}


class Text:
    def to_json(self):
        return '{"title": "X"}'


class Broken:
    def to_json(self):
        return "{"


class Colour(Enum):
    RED = "red"


class Twice:
    def to_json(self):
        return '{"title": "X", "a": {"b": 1, "b": 2}}'


@pytest.mark.parametrize("members", [{1: {}, "1": {}}, {"1": {}, 1: {}}, {1: 5, "1": None}])
def test_keys_that_are_one_in_json(members):
    with pytest.raises(DefinitionError, match=r'dashboard\.panels\[0\]\.options: the key "1" is there twice'):
        read({"panels": [{"options": members}]})


def test_json_text_with_a_key_twice():
    with pytest.raises(DefinitionError, match='the key "b" is there twice'):
        read(Twice())


def test_what_is_read():
    assert read(Sdk()) == {"title": "X", "panels": [{"type": "stat"}]}
    assert read(Text()) == {"title": "X"}
    source = {
        "tuple": (1, 2.5),
        "metric": Gauge("up_ratio", "Up."),
        "enum": Colour.RED,
        "severity": Severity.INFO,
        "proxy": MappingProxyType({"a": 1}),
        1: "a number for a key",
        "steps": [{"value": None, "color": None}],
        "nothing": None,
    }
    assert read(source) == {
        "tuple": [1, 2.5],
        "metric": "up_ratio",
        "enum": "red",
        "severity": "info",
        "proxy": {"a": 1},
        "1": "a number for a key",
        "steps": [{"value": None}],
    }


def test_reading_leaves_the_source_as_it_is():
    source = {"panels": [{"targets": [{"expr": "x"}]}]}
    plain = read(source)
    plain["panels"][0]["targets"][0]["expr"] = "y"
    assert source["panels"][0]["targets"][0]["expr"] == "x"


@pytest.mark.parametrize(
    ("source", "part"),
    [
        (7, "a dashboard can't be made of int"),
        (None, "a dashboard can't be made of NoneType"),
        ("{}", "a dashboard can't be made of str"),
        ([], "a dashboard can't be made of list"),
        (object(), "a dashboard can't be made of object"),
        (Broken(), "dashboard: to_json() is not JSON: Expecting"),
        (Sdk, "a dashboard can't be made of type"),
        ({"panels": [{"max": math.nan}]}, "dashboard.panels[0].max: nan is not a number that JSON can say"),
        ({"panels": [{"max": [math.inf]}]}, "dashboard.panels[0].max[0]: inf is not"),
        ({"tags": {"a", "b"}}, "dashboard.tags: a set has no order"),
        ({"x": {(1, 2): 3}}, "dashboard.x: the key (1, 2) is not a string"),
        ({"x": {True: 3}}, "dashboard.x: the key True is not a string"),
        ({"x": b"bytes"}, "dashboard.x: bytes is not JSON"),
    ],
)
def test_anything_else_is_one_clear_line(source, part):
    with pytest.raises(DefinitionError) as caught:
        read(source, PLACE)
    assert caught.value.message.startswith(part)
    assert "\n" not in caught.value.message
    assert caught.value.place == PLACE


@pytest.mark.parametrize("depth", [101, 5_000, 100_000])
def test_what_nests_too_deep_is_told(depth):
    source = inner = {}
    for _ in range(depth):
        inner["a"] = inner = {}
    with pytest.raises(DefinitionError, match="nested more than 100 levels deep") as caught:
        read(source, PLACE)
    assert len(caught.value.message) < 200


def test_what_holds_itself_is_told():
    source = {}
    source["self"] = [source]
    with pytest.raises(DefinitionError, match="nested"):
        read(source, PLACE)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"), (-0.0, "0"), (0.1, "0.1"), (1e15, "1000000000000000"), (1e21, "1e+21"), (1.5e300, "1.5e+300"),
        (1e-5, "0.00001"), (1.25e-6, "0.00000125"), (1e-7, "1e-7"), (-2.5e-6, "-0.0000025"), (5e-324, "5e-324"),
        (0.0001, "0.0001"), (123456.789, "123456.789"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_javascript_writes_them(value, text):
    assert number(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(1e22)
def test_numbers_come_back(value):
    assert json.loads(number(value)) == value


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@given(JSON)
def test_text_is_json_with_sorted_keys(value):
    text = to_text(value)
    assert json.loads(text) == value
    assert text.endswith("\n")
    text.encode()
    without_floats = json.loads(text, parse_float=str, parse_int=str)
    assert json.loads(json.dumps(without_floats, sort_keys=True)) == without_floats


def test_text_looks_as_it_should():
    model = {"b": [1, {"ü": "a\n"}], "a": {}, "c": [], "d": True, "e": None}
    assert to_text(model) == (
        '{\n  "a": {},\n  "b": [\n    1,\n    {\n      "ü": "a\\n"\n    }\n  ],\n'
        '  "c": [],\n  "d": true,\n  "e": null\n}\n'
    )
    assert to_text({"half": "\ud83d"}) == '{\n  "half": "\\ud83d"\n}\n'
    with pytest.raises(TypeError, match="set is not JSON"):
        to_text({"a": {1}})


def test_the_same_dashboards_give_the_same_bytes_everywhere(tmp_path):
    script = Path(__file__).with_name("corpus.py")
    runs = [
        {"PYTHONHASHSEED": "0", "LC_ALL": "C"},
        {"PYTHONHASHSEED": "1", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"},
        {"PYTHONHASHSEED": "4242", "LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Tokyo"},
    ]
    started = [
        subprocess.Popen(
            [sys.executable, script],
            cwd=tmp_path,
            env={**os.environ, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for more in runs
    ]
    outputs = [run.communicate() for run in started]
    assert [run.returncode for run in started] == [0, 0, 0], outputs[0][1].decode()
    assert len(outputs[0][0]) > 50_000
    assert outputs[0][0] == outputs[1][0] == outputs[2][0]
    assert os.fsencode(tmp_path) not in outputs[0][0]
    assert b"corpus.py" not in outputs[0][0]  # places stay out of what is written


def test_rendering_imports_neither_grafanalib_nor_a_validator():
    program = (
        "import sys, watchkeeper.render.grafana, watchkeeper.schemas.dashboard\n"
        "print([name for name in ('grafanalib', 'attr', 'jsonschema', 'fastjsonschema') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
