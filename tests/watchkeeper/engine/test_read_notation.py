"""Series notation: what promtool's unit tests write."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.engine.data import is_stale
from watchkeeper.engine.labels import make
from watchkeeper.engine.read import ReadError
from watchkeeper.engine.read.notation import load


def one(text, **options):
    (series,) = load(text, **options).series
    return series


def values(text):
    return list(one(f"x {text}").values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", [1]),
        ("1 2 -3.5 +4", [1, 2, -3.5, 4]),
        ("1e3 1.5E-3 .5 5.", [1000, 0.0015, 0.5, 5]),
        ("7x3", [7, 7, 7, 7]),
        ("7x0", [7]),
        ("0+30x3", [0, 30, 60, 90]),
        ("5-1x3", [5, 4, 3, 2]),
        ("-5+1x2", [-5, -4, -3]),
        ("1+Infx1", [1, math.inf]),
        ("0x3", [0, 0, 0, 0]),  # no hexadecimal
        ("Inf -Inf +inf", [math.inf, -math.inf, math.inf]),
        ("1 _ 2", [1, 2]),
        ("_x3 1", [1]),
    ],
)
def test_values(text, expected):
    assert values(text) == expected


def test_additions_are_repeated():
    assert values("0+0.1x3")[-1] == 0.30000000000000004


def test_nan_is_not_stale():
    nan, stale, stale2, stale3 = values("NaN stale stalex1")
    assert math.isnan(nan)
    assert not is_stale(nan)
    assert is_stale(stale)
    assert is_stale(stale2)
    assert is_stale(stale3)


def test_blanks_shift_the_times():
    series = one("x 1 _ 2 _x2 3 4x1 _", interval="30s")
    assert list(series.times) == [0, 60_000, 150_000, 180_000, 210_000]


def test_interval_as_seconds():
    assert list(one("x 1 2", interval=0.5).times) == [0, 500]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("x 1", {"__name__": "x"}),
        ('x{gpu="0", job="a b"} 1', {"__name__": "x", "gpu": "0", "job": "a b"}),
        ('{__name__="x",a="}"} 1', {"__name__": "x", "a": "}"}),
        ('{"a.b", "c.d"="e"} 1', {"__name__": "a.b", "c.d": "e"}),
        (r'x{a="q\"}{"} 1', {"__name__": "x", "a": 'q"}{'}),
        ("a:b:c 1", {"__name__": "a:b:c"}),
        ("sum 1", {"__name__": "sum"}),
        ('x{a=""} 1', {"__name__": "x"}),
        ("{} 1", {}),
    ],
)
def test_labels(text, labels):
    assert one(text).labels == make(labels)


def test_a_block():
    data = load('\n# comment\nx{a="1"} 1 2\r\n\n  x{a="2"}\t3\nload 1m\ny 4 5\n')
    assert [(series.labels[-1][1], list(series.times)) for series in data.series] == [
        ("1", [0, 15_000]),
        ("2", [0]),
        ("y", [0, 60_000]),
    ]


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("x", 1, 2, "no values"),
        ("x 1\ny 1 foo 2", 2, 5, "foo is no value"),
        ('x{a="b" 1', 1, 2, "never closed"),
        ('x{a!="b"} 1', 1, 3, "is for queries"),
        ('x{a="b"}1', 1, 9, "a space belongs"),
        ('x{a="b",a="c"} 1', 1, 9, "twice"),
        ("x{a=b} 1", 1, 5, ""),
        ("sum(x) 1", 1, 1, "begins with its name"),
        ("x 1x", 1, 3, "no value"),
        ("x 1++2x3", 1, 3, "no value"),
        ("x 1_000", 1, 3, "no value"),
        ("x 1 {{schema:0", 1, 5, "histogram"),
        ("x 1x99999999999999999999", 1, 5, "too many"),
        ("x 1x99999999", 1, 3, "more than"),
        ("x _x99999999999", 1, 3, "more than"),
        ("load 1q\nx 1", 1, 6, "not a duration"),
        ("", 0, 0, "no series"),
    ],
)
def test_errors(text, line, column, words):
    with pytest.raises(ReadError) as caught:
        load(text, path="f")
    assert (caught.value.line, caught.value.column) == (line, column)
    assert words in caught.value.message
    assert str(caught.value).startswith(f"f:{line}:{column}: " if line else "f: ")


def test_the_limit_counts_all_series():
    assert len(load("x 1x4\ny 1x4", max_samples=10)) == 2
    with pytest.raises(ReadError, match="more than 5 samples"):
        load("x 1x4\ny 1x5", max_samples=10)


def test_a_snippet_of_a_long_line():
    with pytest.raises(ReadError) as caught:
        load(f"x {'1 ' * 1000}oops {'1 ' * 1000}")
    source, carets = caught.value.snippet().split("\n")
    assert source[carets.index("^") :].startswith("oops")
    assert len(source) <= 120


@pytest.mark.parametrize("interval", ["", "x", "0s", 0, -1, float("nan"), float("inf")])
def test_bad_intervals(interval):
    with pytest.raises(ReadError):
        load("x 1", interval)


@given(st.text(alphabet="x{}a=\"\\_ 1+-.eNInfstale{{schema:0}}`'\n\t#load", max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        data = load(text)
    except ReadError:
        return
    assert all(len(series.times) == len(series.values) for series in data.series)


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=20))
def test_numbers_come_back(numbers):
    assert values(" ".join(map(repr, numbers))) == numbers
