"""Where the characters of scalars are written, for all styles."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from watchkeeper.read.source import File, Scalar, Span

TEXT = st.text(st.sampled_from("ab'\"\\ \t\n:#-é😀\x85\u2028|>{}%\x07"), max_size=30) | st.text(max_size=20)
STYLES = st.sampled_from(["", "'", '"', "|", ">"])


def scalars(file):
    """The scalars of a YAML text, as Scalar."""
    todo, found = [yaml.compose(file.text, Loader=yaml.CSafeLoader)], []
    while todo:
        node = todo.pop()
        if isinstance(node, yaml.ScalarNode):
            found.append(Scalar(file, node.start_mark.index, node.end_mark.index, node.value, node.style))
        else:
            todo += [part for item in node.value for part in (item if isinstance(item, tuple) else (item,))][::-1]
    return found


def shown(scalar, start, end):
    place, excerpt = scalar.at(start, end)
    lines = excerpt.text.split("\n")
    assert sum(len(line) + 1 for line in lines[: place.line - 1]) + place.column - 1 == excerpt.start
    return excerpt.text[excerpt.start : excerpt.end]


def holds(scalar):
    """Each character is written where it is said to be, and everything outside of escapes is written as it is."""
    assert scalar._positions is None
    last = scalar.start
    for n, character in enumerate(scalar.value):
        written = shown(scalar, n, n + 1)
        start = scalar.at(n, n + 1)[1].start
        assert last <= start < scalar.end
        last = start
        if written == character:
            continue
        if scalar.style in ('"', "json") and written.startswith("\\"):
            assert json.loads(f'"{written}"') == character if scalar.style == "json" else len(written) > 1
        elif scalar.style == "'" and character == "'":
            assert written == "''"
        else:  # a line break that was folded, or one of the others that YAML knows
            assert (character, written) in {(" ", "\n"), ("\n", "\x85"), (" ", "\x85")}


@given(value=TEXT, style=STYLES, width=st.sampled_from([2, 20, 200]), unicode=st.booleans(), indent=st.integers(2, 6))
@example(value=" a", style="|", width=20, unicode=True, indent=2)
@example(value="\n a\n", style=">", width=20, unicode=True, indent=4)
@example(value="a b c d e f\n\ng", style='"', width=2, unicode=True, indent=2)
def test_each_character_is_where_it_is_written(value, style, width, unicode, indent):
    data = {"k": [value, {"x": value}], "l": value}
    text = yaml.dump(data, default_style=style, allow_unicode=unicode, width=width, indent=indent)
    file = File("f.yaml", text)
    for scalar in scalars(file):  # their values may differ a little: PyYAML folds U+0085
        holds(scalar)
        assert not scalar.value or scalar._positions


@given(TEXT, st.booleans())
def test_strings_of_json(value, ascii_only):
    text = json.dumps({"k": value}, ensure_ascii=ascii_only)
    file = File("f.json", text)
    scalar = Scalar(file, 6, len(text) - 1, value, "json")
    holds(scalar)
    assert not value or scalar._positions


@pytest.mark.parametrize(
    ("text", "part", "line", "column"),
    [
        ("k: a boo c", "boo", 1, 6),
        ("k: &x !!str a boo c", "boo", 1, 15),
        ("k: &x # why\n  a boo c", "boo", 2, 5),
        ("k: it''s a boo", "boo", 1, 12),
        ("k: a\n  c\n\n  boo", "boo", 4, 3),
        ("k: 'it''s\n  boo'", "boo", 2, 3),
        ('k: "\\u00e9\\t\\\n   boo"', "boo", 2, 4),
        ('k: "a\\\n\n   boo"', "boo", 3, 4),
        ('k: "a\\ \n   boo"', "boo", 2, 4),
        ("k: |\n  a\n\n    boo", "boo", 4, 5),
        ("k: |2-\n    a\n  boo\n", "boo", 3, 3),
        ("k: |+ # c\n\n\n  a\n  boo\n\n", "boo", 5, 3),
        ("k: >\n\n   a\n   c\n\n   boo\n   c\n", "boo", 6, 4),
        ("k: >1\n   a\n  c\n boo\n c\n", "boo", 4, 2),
        ("- - |\n    boo", "boo", 2, 5),
        ("k: |\r\n  a\r\n  boo\r\n", "boo", 3, 3),
    ],
)
def test_places(text, part, line, column):
    file = File("f.yaml", text)
    scalar = scalars(file)[-1]
    at = scalar.value.index(part)
    place, excerpt = scalar.at(at, at + len(part))
    assert (place.file, place.line, place.column) == ("f.yaml", line, column)
    assert excerpt.text[excerpt.start : excerpt.end] == part


def test_behind_the_end_is_behind_the_last_word():
    file = File("f.yaml", "k: |\n  up ==\n\nl: x\n")
    scalar = scalars(file)[1]
    place, excerpt = scalar.at(len(scalar.value), len(scalar.value))
    assert (place.line, place.column) == (2, 8)
    assert excerpt.lines() == ["  up ==", "       ^"]


def test_what_cannot_be_followed_is_shown_whole():
    file = File("f.yaml", "k: value")
    place, excerpt = Scalar(file, 3, 8, "something else", "").at(4, 6)
    assert (place.column, excerpt.text[excerpt.start : excerpt.end]) == (4, "value")
    empty = Scalar(File("f.yaml", "k: ''"), 3, 5, "", "'")
    assert empty.at(0, 0)[0].column == 4


def test_a_span_is_shown_whole():
    place, excerpt = Span(File("f.yaml", "a:\n- b: c\n"), 5, 9).at(1, 2)
    assert (place.line, place.column, excerpt.lines()) == (2, 3, ["- b: c", "  ^^^^"])


def test_a_long_text_is_a_few_runs():
    text = "k: |\n  " + "a " * 500_000 + "boo\n"
    scalar = scalars(File("f.yaml", text))[1]
    at = scalar.value.index("boo")
    assert shown(scalar, at, at + 3) == "boo"
    assert len(scalar._positions) == 2
