"""Label sets, Go's floats, annotations and regular expressions: what the evaluators stand on."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.engine import gofloat, labels, regex
from watchkeeper.engine.annotations import INFO, WARNING, Annotations

FLOATS = {
    0.0: ("0", "0", "0.0"),
    1.0: ("1", "1", "1.0"),
    -1.5: ("-1.5", "-1.5", "-1.5"),
    0.1 + 0.2: ("0.30000000000000004",) * 3,
    100000.0: ("100000", "100000", "100000.0"),
    1e6: ("1000000", "1e+06", "1e+06"),
    123456789.0: ("123456789", "1.23456789e+08", "1.23456789e+08"),
    1e21: ("1000000000000000000000", "1e+21", "1e+21"),
    0.0001: ("0.0001",) * 3,
    1.5e-7: ("0.00000015", "1.5e-07", "1.5e-07"),
    math.inf: ("+Inf",) * 3,
    -math.inf: ("-Inf",) * 3,
}


@pytest.mark.parametrize(("value", "texts"), FLOATS.items())
def test_floats_as_go_writes_them(value, texts):
    assert (gofloat.format_f(value), gofloat.format_g(value), gofloat.format_openmetrics(value)) == texts


def test_nan_and_minus_zero():
    assert gofloat.format_f(math.nan) == gofloat.format_g(math.nan) == gofloat.format_openmetrics(math.nan) == "NaN"
    assert gofloat.format_f(-0.0) == "-0"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_read_back(value):
    assert float(gofloat.format_f(value)) == value
    assert float(gofloat.format_g(value)) == value
    assert "e" not in gofloat.format_f(value)


def test_labels():
    made = labels.make({"b": "2", "a": "1", "__name__": "up", "gone": ""})
    assert made == (("__name__", "up"), ("a", "1"), ("b", "2"))
    assert labels.get(made, "a") == "1"
    assert labels.get(made, "c") == ""
    assert labels.without(made, {"a", "c"}) == (("__name__", "up"), ("b", "2"))
    assert labels.only(made, ["a", "c"]) == (("a", "1"),)
    assert labels.set_(made, "a", "") == labels.without(made, ["a"])
    assert labels.set_(made, "aa", "x") == (("__name__", "up"), ("a", "1"), ("aa", "x"), ("b", "2"))
    assert labels.format_(made) == '{__name__="up", a="1", b="2"}'
    assert labels.format_series(made) == 'up{a="1", b="2"}'
    assert labels.format_series(labels.make({"__name__": "up"})) == "up"
    assert labels.format_((("a.b", 'x"\n\\'),)) == '{"a.b"="x\\"\\n\\\\"}'
    assert labels.format_(()) == "{}"


def test_quoting_as_go():
    assert labels.quote("é\t\x00\udcff") == '"é\\t\\x00\\xff"'


# From xxHash's own test suite and documentation.
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"as", 0x1C330FB2D66BE179),
        (b"Call me Ishmael. Some years ago--never mind how long precisely-", 0x02A2E85470D6FD96),
    ],
)
def test_xxhash64(data, expected):
    assert labels.xxhash64(data) == expected


def test_hash_of_long_values():
    assert labels.hash64((("a", "x" * 300),)) != labels.hash64((("a", "x" * 301),))


def test_annotations_tell_each_text_once_and_where_it_was_seen_last():
    found = Annotations("a +\n  é + b")
    found.add(f"{WARNING}one", 0)
    found.add(f"{WARNING}one", 10)
    found.add(f"{INFO}two", None)
    assert found.warnings == ["PromQL warning: one (2:8)"]  # columns count bytes
    assert found.infos == ["PromQL info: two"]
    assert len(found) == 2
    other = Annotations(None)
    other.add(f"{INFO}three", 4)
    assert other.infos == ["PromQL info: three (1:5)"]
    found.merge(other)
    assert len(found.infos) == 2


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        (".*", ["", "a\nb"], []),
        (".+", ["a", "\n"], [""]),
        ("a|b", ["a", "b"], ["ab", "", "A"]),
        ("a||b", ["", "a"], ["c"]),
        (r"a\.b|c", ["a.b", "c"], ["axb"]),
        ("(x|y)", ["x"], ["(x|y)"]),
        ("api-.*", ["api-", "api-1"], ["ap"]),
        ("api-.+", ["api-1"], ["api-"]),
        ("v[0-9]+", ["v1"], ["v", "v1x"]),
        ("(?i)up", ["UP"], ["down"]),
        (r"\d{2}", ["12"], ["1"]),
        ("[[:alpha:]]+", ["ab"], ["1"]),
        (r"\pL", ["é"], ["1"]),
    ],
)
def test_matching_is_anchored(pattern, matching, other):
    matches = regex.predicate(pattern)
    assert all(map(matches, matching))
    assert not any(map(matches, other))


@pytest.mark.parametrize("pattern", ["(", "a**", "[z-a]", r"\8"])
def test_what_go_refuses(pattern):
    with pytest.raises(regex.RegexError):
        regex.fullmatch(pattern)


PIECES = ["a", "b", ".", "*", "+", "?", "|", "(", ")", "[ab]", "[^a]", r"\.", r"\d", r"\w", "-", "(?:", "^", "$", "\n"]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=7).map("".join), st.text("ab.1-\n é|", max_size=5))
def test_as_re2_matches(pattern, text):
    re2 = pytest.importorskip("re2")
    options = re2.Options()
    options.log_errors = False
    options.dot_nl = True
    try:
        expected = re2.compile(pattern, options).fullmatch(text) is not None
    except re2.error:
        return
    assert regex.predicate(pattern)(text) == expected


def test_no_backtracking():
    matches = regex.predicate("(x+x+)+y")
    assert not matches("x" * 5000)
