"""Regular expressions: what Go takes. Each row was put to promtool 3.5."""

import sys

import pytest

from watchkeeper.promql import regex

TAKEN = [
    "",
    "a",
    "a|b|",
    ".*",
    ".+",
    "a.b",
    "a-b_c:/ d",
    "(a|b)+",
    "(?:a)",
    "a+?",
    "[a-z]",
    "[^]a]",
    "[]a]",
    r"\d\w\s\b",
    r"\.",
    r"\_",
    r"\-",
    r"\pN",
    r"\p{Greek}",
    r"\p{^L}",
    "[[:alpha:]]",
    "[[:^digit:]]",
    r"\Qa.b\E",
    r"\Q**",
    "(?P<n>x)",
    "(?<n>x)",
    "(?P<n>x)(?P<n>y)",
    "(?i)x",
    "(?i:x)",
    "(?im-s)x",
    "(?U)a",
    "(?s:.)",
    r"\z",
    r"\A",
    "a{,5}",
    "{",
    "}",
    "a{1",
    "x{1000}",
    "(x{2}){500}",
    "^*",
    "(|a)*",
    r"\07",
    r"\x41",
    r"\x{10FFFF}",
    "é",
    "a b",
    "[a&&b]",
    r"\Q\C\E",
    "x{2}?",
    "[.]",
    "$^",
]
REFUSED = [
    "a**",
    "a++",
    "*",
    "+a",
    "|*",
    "(",
    ")",
    "a)",
    ")(",
    "(?",
    "(?i",
    "[",
    "[a",
    "[b-a]",
    "[[:foo:]]",
    "\\",
    r"\1",
    r"\8",
    r"\Z",
    r"\C",
    r"a\C",
    r"[\C]",
    r"\y",
    r"\e",
    r"\pX",
    r"\p{Nope}",
    r"\x{110000}",
    "(?=x)",
    "(?!x)",
    "(?<=x)",
    "(?<!x)",
    "(?>x)",
    "(?x)a",
    "(?P=n)",
    "(?P<n",
    "(?P<>x)",
    "(?P<é>x)",
    "(?#c)",
    "x{1001}",
    "x{2}{3}",
    "x{2,1}",
    "(x{1000}){1000}",
    "(x{2}){501}",
    "x{99999999999}",
    "\udcff",
    r"[a-\d]",
    "(" * 1000 + "a" + ")" * 1000,
]


@pytest.mark.parametrize("pattern", TAKEN)
def test_taken(pattern):
    regex.check(pattern)


@pytest.mark.parametrize("pattern", REFUSED, ids=lambda pattern: ascii(pattern)[:20])
def test_refused(pattern):
    with pytest.raises(regex.RegexError):
        regex.check(pattern)


@pytest.fixture
def no_re2(monkeypatch):
    monkeypatch.setitem(sys.modules, "re2", None)


# What Python's re can't tell: its own idea of classes, of flags, and of nested counts.
BEYOND_PYTHON = {
    "^*",
    r"[a-\d]",
    r"\p{Nope}",
    "[[:foo:]]",
    r"\x{110000}",
    "(?x)a",
    "(x{1000}){1000}",
    "(x{2}){501}",
    "x{2}{3}",
    "(?P<n>x)(?P<n>y)",
    r"\pX",
}


@pytest.mark.usefixtures("no_re2")
@pytest.mark.parametrize("pattern", [pattern for pattern in TAKEN if pattern not in BEYOND_PYTHON])
def test_taken_without_re2(pattern):
    regex.check(pattern)


@pytest.mark.usefixtures("no_re2")
@pytest.mark.parametrize(
    "pattern", [pattern for pattern in REFUSED if pattern not in BEYOND_PYTHON], ids=lambda pattern: ascii(pattern)[:20]
)
def test_refused_without_re2(pattern):
    with pytest.raises(regex.RegexError):
        regex.check(pattern)


@pytest.mark.parametrize(
    ("pattern", "empty"),
    [
        ("", True),
        ("a", False),
        (".*", True),
        (".+", False),
        ("a?", True),
        ("a|", True),
        ("a|b", False),
        ("^$", True),
        ("(a*)+", True),
        (r"\z", True),
        ("(?i)a*", True),
        (r"\Q\E", True),
        ("[[:alpha:]]*", True),
    ],
)
def test_matches_empty(pattern, empty, monkeypatch):
    assert regex.matches_empty(pattern) is empty
    monkeypatch.setitem(sys.modules, "re2", None)
    assert regex.matches_empty(pattern) is empty


def test_plain_patterns_need_no_library(monkeypatch):
    def never(_pattern):
        raise AssertionError

    monkeypatch.setattr(regex, "_fault", never)
    for pattern in ("a", "a|b", ".*", "a.+b", "(a|b)", "(?:a|b)+c*", r"n1\.x|n2\.x", r"/dev/sd.\d+"):
        regex.check(pattern)


def test_huge_pattern():
    regex.check("|".join(f"n{index}\\.example\\.com" for index in range(20_000)))
    regex.check("(a)" * 20_000)
    with pytest.raises(regex.RegexError):
        regex.check("(a)" * 20_000 + "(")
