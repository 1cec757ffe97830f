"""Prometheus' text format and OpenMetrics."""

import gzip
import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.engine.labels import format_series
from watchkeeper.engine.read import ReadError, openmetrics, read


def load(text, path="", **options):
    data = read(io.BytesIO(text if isinstance(text, bytes) else text.encode()), path=path, **options)
    return {format_series(one.labels): list(zip(one.times, one.values, strict=True)) for one in data.series}


def test_prometheus_text():
    text = """# HELP up Whether it is up.
# TYPE up gauge
up{job="a b",x="\\"\\\\\\n"} 1 1600000000123
up{job="a b",x="\\"\\\\\\n"} 0 1600000015123
up 1
	spaced{a="1" , b = "2",}   2.5e-3	7
"""
    assert load(text) == {
        'up{job="a b", x="\\"\\\\\\n"}': [(1600000000123, 1.0), (1600000015123, 0.0)],
        "up": [(0, 1.0)],
        'spaced{a="1", b="2"}': [(7, 0.0025)],
    }


def test_openmetrics_text():
    text = """# TYPE x counter
# UNIT x seconds
x_total{a="1"} 1 1600000000.5 # {trace="t"} 0.5 1600000000
x_total{a="1"} 2 1600000015.5
x_created{a="1"} 1.6e9 1600000000.5
{"my.metric","a.b"="c"} 3 1600000000
# EOF
"""
    assert load(text) == {
        'x_total{a="1"}': [(1600000000500, 1.0), (1600000015500, 2.0)],
        'x_created{a="1"}': [(1600000000500, 1.6e9)],
        '{__name__="my.metric", "a.b"="c"}': [(1600000000000, 3.0)],
    }


def test_exemplars_behind_series_that_are_known():
    text = '# TYPE x counter\nx{a="1"} 1 1.0\nx{a="1"} 2 2.0 # {t="x y"} 1 1.0\nx{a="1"} 3 # {} 1\n# EOF\n'
    assert load(text) == {'x{a="1"}': [(0, 3.0), (1000, 1.0), (2000, 2.0)]}


def test_order_and_duplicates():
    assert load("# TYPE a gauge\na 3 3000\na 1 1000\na 4 3000\na 2 2000\na 5 1000\n") == {
        "a": [(1000, 5.0), (2000, 2.0), (3000, 4.0)]
    }


def test_one_series_written_in_two_ways():
    assert load('# TYPE a gauge\na{x="1",y="2"} 1 1\na{y="2",x="1"} 2 2\n') == {'a{x="1", y="2"}': [(1, 1.0), (2, 2.0)]}


def test_special_values():
    text = "# TYPE a gauge\n" + "".join(f"a {value} {at}\n" for at, value in enumerate(["NaN", "+Inf", "-Inf", "inf"]))
    (points,) = load(text).values()
    assert math.isnan(points[0][1])
    assert [value for _, value in points[1:]] == [math.inf, -math.inf, math.inf]


@pytest.mark.parametrize("size", [10, 100_000])
def test_gzip(size):
    text = "# TYPE a gauge\n" + "".join(f"a {number} {number}\n" for number in range(size))
    assert len(load(gzip.compress(text.encode()))["a"]) == size


@pytest.mark.parametrize("cut", [1, 9, 30])
def test_damaged_gzip(cut):
    packed = gzip.compress(b"# TYPE a gauge\n" + b"".join(b"a %d %d\n" % (n * 7919 % 1000, n) for n in range(1000)))
    with pytest.raises(ReadError, match="gzip"):
        load(packed[:-cut])
    with pytest.raises(ReadError, match="gzip"):
        load(packed[:50] + b"\0\0\0\0" + packed[54:])


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ('a{x="1} 1', 2, 5, "double quotes"),
        ('a{x="1"', 2, 8, "never closed"),
        ('a{x="1";} 1', 2, 8, ", or }"),
        ("a{x=1} 1", 2, 5, "double quotes"),
        ("a{x} 1", 2, 4, "= belongs"),
        ("a{1x} 1", 2, 3, "label's name"),
        ('a{x="1",x="2"} 1', 2, 9, "twice"),
        ('a{__name__="b"} 1', 2, 3, "second name"),
        ('{x="1"} 1', 2, 1, "without a name"),
        ("1a 1", 2, 1, "begins with"),
        ("a", 2, 2, "no value"),
        ("a x", 2, 3, "x is no value"),
        ("a 1_000", 2, 3, "no value"),
        ("a 0x10", 2, 3, "no value"),
        ("a 1 1.5", 2, 5, "seconds belong to OpenMetrics"),
        ("a 1 x", 2, 5, "no timestamp"),
        ("a 1 99999999999999999999", 2, 5, "no timestamp"),
        ("a 1 1 1", 2, 7, "nothing may follow"),
        ('a{x="1"}1', 2, 9, "a space belongs"),
        ("a \u0661", 2, 3, "no value"),
    ],
)
def test_errors(text, line, column, words):
    with pytest.raises(ReadError) as caught:
        load(f"# TYPE a gauge\n{text}\n")
    assert words in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)


def test_errors_in_known_series_have_their_place():
    with pytest.raises(ReadError) as caught:
        load('# TYPE a gauge\na{x="1"} 1 1\na{x="1"} 1 1 1\n')
    assert (caught.value.line, caught.value.column) == (3, 14)
    with pytest.raises(ReadError) as caught:
        load('# TYPE a gauge\na{x="1"} 1 1\na{x="1"} 1_0 1\n')
    assert (caught.value.line, caught.value.column) == (3, 10)


def test_eof_ends_openmetrics():
    with pytest.raises(ReadError, match="cut short"):
        load("a 1\n", path="x.om")
    with pytest.raises(ReadError, match="nothing may follow # EOF"):
        load("a 1\n# EOF\na 2\n# EOF\n")


def test_bytes_that_are_not_utf8():
    with pytest.raises(ReadError) as caught:
        load(b"# TYPE a gauge\na 1\nab\xff 1\n")
    assert (caught.value.line, caught.value.column) == (3, 3)


def test_a_line_without_end_is_not_kept():
    with pytest.raises(ReadError, match="longer than"):
        load(b"# TYPE a gauge\n" + b"a" * (5 << 20))


def test_too_many_samples():
    with pytest.raises(ReadError, match="more than 5 samples"):
        openmetrics.load(b"a 1 1\n" * 9, openmetrics=False, max_samples=5)


def test_blocks_of_any_size(monkeypatch):
    text = "# TYPE é gauge\n" + "".join(f'a{{x="é{n % 3}"}} {n} {n}\n' for n in range(100))
    expected = load(text)
    for size in (1, 7, 100):
        monkeypatch.setattr(openmetrics, "BLOCK", size)
        assert load(text) == expected


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("a 5", "", {"a": [(0, 5.0)]}),
        ("a 5 7", "", {"a": [(0, 5.0), (15_000, 7.0)]}),
        ("a 5 7", "x.prom", {"a": [(7, 5.0)]}),
        ("a 5 7", "x.series", {"a": [(0, 5.0), (15_000, 7.0)]}),
        ("a 5 7\n# EOF", "", {"a": [(7000, 5.0)]}),
        ("a 5 7\n# EOF", "x.prom", {"a": [(7000, 5.0)]}),
        ("a 5 1600000000000", "", {"a": [(1600000000000, 5.0)]}),
        ('a{x="1 2"} 5 1600000000000', "", {'a{x="1 2"}': [(1600000000000, 5.0)]}),
        ("# a comment\na 0+1x2", "", {"a": [(0, 0.0), (15_000, 1.0), (30_000, 2.0)]}),
        ("", "x.prom", {}),
    ],
)
def test_what_a_file_holds(text, path, expected):
    assert load(text, path=path) == expected
    assert load(gzip.compress(text.encode()), path=f"{path}.gz" if path else "") == expected


@given(st.text(alphabet='ab_{}="\\, \t\n#0123.+-eEOFNaInf', max_size=60), st.booleans())
def test_any_text_is_read_or_refused(text, is_openmetrics):
    try:
        data = openmetrics.load(text.encode(), openmetrics=is_openmetrics)
    except ReadError:
        return
    assert all(list(one.times) == sorted(set(one.times)) for one in data.series)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(content):
    try:
        read(io.BytesIO(content))
    except ReadError:
        return
