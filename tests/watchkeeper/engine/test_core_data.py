"""Series, data and results."""

import math

import pytest

from watchkeeper.engine import Data, Sample, Series
from watchkeeper.engine.data import STALE, is_stale
from watchkeeper.promql import parse


def selected(data, selector):
    return [series.labels for series in data.select(parse(selector).matchers)]


def test_stale_is_a_nan_of_its_own():
    assert STALE != STALE
    assert is_stale(STALE)
    assert not is_stale(math.nan)
    assert not is_stale(1.0)
    assert not is_stale(float("nan"))


def test_series_checks_what_it_is_given():
    with pytest.raises(ValueError, match="one value for each time"):
        Series({"__name__": "x"}, [0, 1], [1.0])
    with pytest.raises(ValueError, match=r'x\{a="1"\}: times must rise'):
        Series({"__name__": "x", "a": "1"}, [1, 1], [1.0, 2.0])
    with pytest.raises(ValueError, match="one value"):
        Series({}, [0], [1.0], [0, 0])
    series = Series({}, [0, 1], [1, 2.5])
    assert series.values == [1.0, 2.5]
    assert all(type(value) is float for value in series.values)
    assert series.floats_only


def test_numbers_of_other_types():
    numpy = pytest.importorskip("numpy")
    series = Series({}, [0, 1], [numpy.float64(1.5), True])
    assert series.values == [1.5, 1.0]
    assert series.floats_only
    assert all(type(value) is float for value in series.values)


def test_load():
    data = Series.load('x_total{gpu="0"} 0+30x3', interval="15s")
    (series,) = data.series
    assert series.labels == (("__name__", "x_total"), ("gpu", "0"))
    assert list(series.times) == [0, 15_000, 30_000, 45_000]
    assert list(series.values) == [0.0, 30.0, 60.0, 90.0]


def test_append():
    series = Series({"__name__": "x"}, [0], [1.0], [0])
    series.append(5, 2.0)
    assert (series.times, series.values, series.starts) == ([0, 5], [1.0, 2.0], [0, 0])
    with pytest.raises(ValueError, match="rise"):
        series.append(5, 2.0)


def test_equal_labels_become_one_series_and_the_later_value_wins():
    data = Data([Series({"a": "1", "b": ""}, [0, 10], [1.0, 2.0]), Series({"a": "1"}, [10, 20], [3.0, 4.0], [5, 6])])
    (series,) = data.series
    assert series.times == [0, 10, 20]
    assert series.values == [1.0, 3.0, 4.0]
    assert series.starts == [0, 5, 6]
    assert data.get((("a", "1"),)) is series
    assert len(data) == 1
    assert data.floats_only


def test_select():
    names = [{"__name__": "x", "a": "1"}, {"__name__": "x"}, {"__name__": "y", "a": "2"}, {"a": "3"}]
    data = Data([Series(labels, [0], [1.0]) for labels in names])
    one, two, three, nameless = [series.labels for series in data.series]
    assert selected(data, '{__name__="x"}') == [two, one]
    assert selected(data, '{__name__=~"x|y", a!=""}') == [one, three]
    assert selected(data, '{a=~"[23]"}') == [three, nameless]
    assert selected(data, '{a!~"1|2", a=~".+"}') == [nameless]
    assert selected(data, '{__name__=~".+", a=""}') == [two]
    assert selected(data, '{__name__!~".+", a=~".+"}') == [nameless]
    assert selected(data, '{__name__="x", __name__=~"y"}') == []
    assert selected(data, '{__name__="nope"}') == []
    assert data.count("x") == 2
    assert data.count(None) == 4


def test_samples_compare():
    assert Sample((), 1.0) == Sample((), 1.0)
    assert Sample((), 1.0) != Sample((("a", "b"),), 1.0)
    assert Sample((), math.nan) != Sample((), math.nan)
