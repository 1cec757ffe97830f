"""How findings are told."""

from pathlib import Path
from time import process_time

import pytest

from watchkeeper.findings import Excerpt, Finding, Place, printable, sort, to_text


def test_a_finding_in_full():
    finding = Finding(
        "promql/metric",
        'alert X: no metric "upp"',
        Place(str(Path("rules.py").resolve()), 3),
        Excerpt("sum(upp)", 4, 7),
        "it matches nothing",
        "mend the name",
    )
    assert to_text(finding).splitlines() == [
        'rules.py:3: error[promql/metric] alert X: no metric "upp"',
        "    sum(upp)",
        "        ^^^",
        "  why: it matches nothing",
        "  fix: mend the name",
    ]


def test_colour_only_when_asked():
    finding = Finding("a/b", "wrong", severity="warning")
    assert to_text(finding) == "warning[a/b] wrong"
    assert to_text(finding, colour=True) == "\x1b[33mwarning[a/b]\x1b[0m wrong"


@pytest.mark.parametrize(
    ("text", "start", "end", "lines"),
    [
        ("a +\n  b *", 9, 9, ["  b *", "     ^"]),
        ("a\tb", 2, 3, ["a\tb", " \t^"]),
        ("sum(\nup", 0, 7, ["sum(", "^^^^"]),
        ("", 0, 0, ["", "^"]),
    ],
)
def test_carets(text, start, end, lines):
    assert Excerpt(text, start, end).lines() == lines


@pytest.mark.parametrize("at", [0, 5, 100, 499, 900, 999])
def test_a_long_line_is_cut_around_the_part(at):
    text = "".join(chr(ord("a") + i % 26) for i in range(1000))
    line, carets = Excerpt(text, at, at + 3).lines()
    assert len(line) <= 162
    start = carets.index("^")
    assert line[start : start + carets.count("^")] == text[at : at + 3]


def test_control_characters_do_not_reach_the_terminal():
    assert printable("a\x1b[31m\u202e\ud800\tb") == "a\\x1b[31m\\u202e\\ud800\tb"


def test_order_and_repetition():
    first, second = Finding("b/b", "m", Place("a.py", 1)), Finding("a/a", "m", Place("a.py", 2))
    nowhere = Finding("z/z", "m")
    assert sort([second, first, nowhere, first]) == [nowhere, first, second]


def test_an_excerpt_is_found_in_no_more_of_a_long_line_than_is_shown():
    text = f"first\n{'x' * 5_000_000}HERE{'y' * 5_000_000}\nlast"
    start = text.index("HERE")
    line, carets = Excerpt(text, start, start + 4).lines()
    assert (line[0], line[-1], len(line)) == ("…", "…", 162)
    assert line[carets.index("^") : carets.index("^") + 4] == "HERE"
    began = process_time()
    for _ in range(10_000):
        Excerpt(text, start, start + 4).lines()
    assert process_time() - began < 5  # to look for the ends of the line takes minutes
