"""JSON texts: where each value stands, and what is said of those that are no JSON."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.read.json_places import spans
from watchkeeper.read.json_values import value_of
from watchkeeper.read.source import File

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


def at(value, path):
    for step in path:
        value = value[step]
    return value


@given(VALUES, st.sampled_from([None, 0, 2]), st.booleans())
def test_each_value_is_where_it_is_said_to_be(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found = spans(text)
    assert () in found
    for path, (start, end) in found.items():
        assert json.loads(text[start:end]) == at(value, path)


def test_of_a_key_that_is_twice_the_last_counts():
    text = '{"a": [1], "b": 2, "a": {"c": 3}}'
    start, end = spans(text)["a", "c"]
    assert text[start:end] == "3"


def fault(text):
    value, (finding,) = value_of(File("x.json", text))
    assert value is None
    assert finding.check == "json/parse"
    assert finding.severity == "error"
    return finding.message.removeprefix("not JSON: "), finding.place.line, finding.place.column


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("", "the file is empty", 1, 1),
        (" \n ", "the file is empty", 1, 1),
        ('{"a": 1,}', 'a comma before the closing "}"', 1, 8),
        ('{"a": [1,\n2,\n]}', 'a comma before the closing "]"', 2, 2),
        ('{"a": 1, // one\n"b": 2}', "a comment", 1, 10),
        ('/* a */ {"a": 1}', "a comment", 1, 1),
        ('# a\n{"a": 1}', "a comment", 1, 1),
        ('{"a": 1', "it ends before all brackets are closed", 1, 7),
        ('{\n"a": "b}\n', "a line break or a control character inside a string", 2, 9),
        ('{"a": "b', "a string without a closing quote", 1, 7),
        ("{a: 1}", "a key or a string without double quotes", 1, 2),
        ("{'a': 1}", "a key or a string without double quotes", 1, 2),
        ('{"a": 1} {"b": 2}', "something follows the end of the value", 1, 10),
        (r'{"a": "\d"}', "a backslash that begins no escape sequence", 1, 8),
        ('{"a" 1}', 'expected ":" behind the key', 1, 6),
        ('{"a": 1 "b": 2}', 'expected "," or a closing bracket', 1, 9),
        ('{"a": tru}', "expected a value", 1, 7),
        ('{"a": "NaN",\n"b": NaN}', "NaN is no number in JSON", 2, 6),
        ("[-Infinity]", "-Infinity is no number in JSON", 1, 2),
        ('{"a": 1' + "0" * 5000 + "}", "a number of 5001 digits", 1, 7),
        ('{"a":' * 100_000, "it is nested too deeply to be read", 1, 499_996),
        ("[\x00]", "expected a value", 1, 2),
    ],
)
def test_what_is_no_json_is_told_in_one_line_at_its_place(text, message, line, column):
    assert fault(text) == (message, line, column)


def test_a_key_that_is_twice_is_a_warning_at_the_second():
    value, (finding,) = value_of(File("x.json", '{"a": {"b": 1,\n  "c": 1,\n  "b": 2}, "b": 3}'))
    assert value == {"a": {"b": 2, "c": 1}, "b": 3}
    assert (finding.severity, str(finding.place)) == ("warning", "x.json:3:3")


@given(VALUES, st.integers(), st.integers(0, 3))
def test_no_text_raises(value, seed, cuts):
    dice = random.Random(seed)
    text = json.dumps({"panels": value}, indent=1)
    for _ in range(cuts + 1):
        start = dice.randrange(len(text) + 1)
        text = (
            text[:start]
            + dice.choice(["", "{", "]", '"', "\\", ",", "NaN", "\n", "\ud800", "\x01"])
            + (text[start + dice.randrange(4) :])
        )
    value, findings = value_of(File("x.json", text))
    try:
        assert value == json.loads(text)
    except ValueError:
        assert value is None
        assert findings[0].place.line
    except AssertionError:  # NaN, which the json module takes
        assert "NaN" in text
