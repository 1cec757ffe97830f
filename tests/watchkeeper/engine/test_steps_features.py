"""What no server at hand has yet, 3.6 to 3.14: extended ranges, fill, start timestamps, info; by numbers worked out."""

import math

import pytest

from watchkeeper.engine import Data, Engine, EvalError, Series
from watchkeeper.engine.data import STALE
from watchkeeper.engine.steps import buckets

MINUTE = 60_000


def series(name, values, gap=MINUTE, starts=None, **labels):
    """A series with a value each minute from 0 on; None where there is none. `starts` are times, 0 unknown."""
    kept = [index for index, value in enumerate(values) if value is not None]
    return Series(
        {"__name__": name, **labels},
        [index * gap for index in kept],
        [float(values[index]) for index in kept],
        None if starts is None else [starts[index] for index in kept],
    )


def ask(data, expr, at, **settings):
    """{labels: value}, labels as a plain dictionary's items."""
    result = Engine(evaluator="steps", **settings).instant(Data(data), expr, at)
    return {sample.labels: sample.value for sample in result.samples}


COUNTER = [series("c", [1, 2, 4, 7, 2, 3])]


@pytest.mark.parametrize(
    ("expr", "at", "expected"),
    [
        ("increase(c[2m] anchored)", 180, 5.0),  # from 2 at the start to 7
        ("increase(c[2m] anchored)", 240, 5.0),  # 4 to 7, and 2 after a reset
        ("delta(c[2m] anchored)", 240, -2.0),
        ("rate(c[2m] anchored)", 180, 5 / 120),
        ("increase(c[2m] anchored)", 210, 5.0),  # the anchor is the sample before the start
        ("increase(c[1m] smoothed)", 90, 1.5),  # 3 half way less 1.5 half way
        ("increase(c[1m] smoothed)", 210, 2.5),  # 5.5 to 7, and a reset to 1 on the way to 2
        ("changes(c[2m] anchored)", 180, 2.0),
        ("resets(c[1m] anchored)", 240, 1.0),
        ("c smoothed", 90, 3.0),
        ("c smoothed", 330, 3.0),  # nothing behind: as it is
    ],
)
def test_extended_ranges(expr, at, expected):
    ((_, value),) = ask(COUNTER, expr, at).items()
    assert value == pytest.approx(expected)


def test_extended_ranges_without_samples():
    late = [series("c", [None, None, None, 5, 6])]
    assert ask(late, "increase(c[1m] smoothed)", 120) == {}  # all of it behind the range
    assert ask(late, "c smoothed", 120) == {}
    assert ask(late, "increase(c[1m] anchored)", 400) == {}  # all of it before
    assert ask([], "rate(c[1m] anchored)", 0) == {}
    with pytest.raises(EvalError, match="can only be used with: delta, increase, rate - not with changes"):
        ask(COUNTER, "changes(c[1m] smoothed)", 0)


def test_points_of_an_extended_range():
    result = Engine(evaluator="steps").instant(Data(COUNTER), "c[90s] smoothed", 210.0)
    ((_, times, values),) = result.series
    assert times == [120_000, 180_000, 210_000]
    assert values == [4.0, 7.0, 4.5]
    result = Engine(evaluator="steps").instant(Data(COUNTER), "c[90s] anchored", 225.0)
    ((_, times, values),) = result.series
    assert times == [135_000, 180_000, 225_000]
    assert values == [4.0, 7.0, 7.0]


LEFT = [series("l", [10], i="a"), series("l", [20], i="b")]
RIGHT = [series("r", [1], i="b"), series("r", [2], i="c")]


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("l + r", {"b": 21}),
        ("l + fill(0) r", {"a": 10, "b": 21, "c": 2}),
        ("l + fill_left(5) r", {"b": 21, "c": 7}),
        ("l + fill_right(5) r", {"a": 15, "b": 21}),
        ("l - on(i) group_left fill(1) r", {"a": 9, "b": 19, "c": -1}),
        ("l - on(i) group_right fill_left(1) r", {"a": 9, "b": 19}),  # fills are not swapped with the sides
        ("l > bool fill(0) r", {"a": 1, "b": 1, "c": 0}),
        ("l + fill(0) nope", {"a": 10, "b": 20}),
        ("nope + fill_right(0) l", {}),
    ],
)
def test_fill(expr, expected):
    found = ask(LEFT + RIGHT, expr, 0)
    assert {dict(labels)["i"]: value for labels, value in found.items()} == expected


def test_a_filled_side_has_no_name():
    found = ask(LEFT + RIGHT, "l >= fill(0) r", 0)
    assert found == {(("__name__", "l"), ("i", "a")): 10.0, (("__name__", "l"), ("i", "b")): 20.0}
    assert ask(LEFT + RIGHT, "l <= fill(0) r", 0) == {(("i", "c"),): 0.0}


@pytest.mark.parametrize(
    ("values", "starts", "expected"),
    [
        ([None, 1, 1], [0, MINUTE, MINUTE], 0.0),  # an unknown start, marked by the first sample's own time
        ([None, 1, 1], [0, 30_000, 90_000], 1.5),  # a new start behind the sample before: counted from 0
        ([None, 1, 1], [0, 0, 90_000], 1.5),
        ([None, 3, 4], [0, 0, 0], 1.5),
    ],
)
def test_start_timestamps(values, starts, expected):
    data = [series("c_total", values, starts=starts)]
    ((_, value),) = ask(data, "increase(c_total[90s])", 120).items()
    assert value == pytest.approx(expected)


def test_one_sample_that_began_in_the_range():
    data = [series("c_total", [None, 4], starts=[0, 20_000])]
    assert ask(data, "increase(c_total[90s])", 60) == {(): 4.0}
    assert ask(data, "increase(c_total[30s])", 60) == {}
    assert ask(data, "delta(c_total[90s])", 60) == {}
    assert ask(data, "start_timestamp(c_total)", 60) == {(): 20.0}
    assert ask(COUNTER, "start_timestamp(c)", 60) == {(): 0.0}
    assert ask(data, "start_timestamp(c_total + 0)", 60) == {}


def test_overlapping_start_times_warn():
    data = Data([series("c_total", [None, 60, 120], starts=[0, 1, 2])])
    result = Engine(evaluator="steps").instant(data, "sum(rate(c_total[3m]))", 120.0)
    assert result.warnings == [
        'PromQL warning: sample has start time that overlaps with previous sample timestamp for metric "c_total" (1:10)'
    ]


BASE = [series("m", [1, 2, 3], instance="i", job="j", own="x"), series("m", [5], job="other")]
INFO = [
    series("target_info", [1, 1], instance="i", job="j", version="1", own="y"),
    series("build_info", [1, 1, 1], instance="i", job="j", build="b"),
]


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("info(m)", [{"version": "1"}, {}]),
        ('info(m, {version=~".+"})', [{"version": "1"}]),
        ('info(m, {version="2"})', []),
        ('info(m, {nope=~".*"})', [{}, {}]),
        ('info(m, {__name__=~".+_info"})', [{"version": "1", "build": "b"}, {}]),
        ('info(m, {__name__!="target_info"})', [{"build": "b"}, {}]),
        ('info(m, {own="y"})', [{}]),
    ],
)
def test_info(expr, expected):
    found = [dict(labels) for labels in ask(BASE + INFO, expr, 0)]
    for labels in found:
        assert labels.pop("__name__") == "m"
        labels.pop("own", None)
        labels.pop("instance", None)
        labels.pop("job")
    assert sorted(found, key=len) == sorted(expected, key=len)


def test_info_conflicts():
    twice = [*BASE, *INFO, series("target_info", [1, 1], instance="i", job="j", version="2")]
    with pytest.raises(EvalError, match="found duplicate series for info metric: existing"):
        ask(twice, "info(m)", 0)
    newer = [*BASE, *INFO, series("target_info", [None, 1, 1], instance="i", job="j", version="2")]
    found = ask(newer, 'info(m{own="x"})', 120)
    assert [dict(labels)["version"] for labels in found] == ["2"]
    clash = [*BASE, *INFO, series("other_info", [1], instance="i", job="j", version="3")]
    with pytest.raises(EvalError, match="conflicting label: version"):
        ask(clash, 'info(m, {__name__=~".+_info"})', 0)


def test_stale_series_end_at_once():
    data = [Series({"__name__": "x"}, [0, MINUTE, 2 * MINUTE, 5 * MINUTE], [1.0, 2.0, STALE, math.nan])]
    assert ask(data, "x", 90) == {(("__name__", "x"),): 2.0}
    assert ask(data, "x", 120) == {}
    assert ask(data, "count_over_time(x[5m])", 240) == {(): 2.0}
    assert ask(data, "count_over_time(x[10m])", 300) == {(): 3.0}
    assert math.isnan(ask(data, "x", 300)[("__name__", "x"),])


def test_names_are_dropped_with_what_tells_of_the_metric():
    data = [series("x", [1], __type__="gauge", __unit__="bytes", a="b")]
    assert ask(data, "x + 1", 0) == {(("a", "b"),): 2.0}
    assert ask(data, "x + 1", 0, delayed_name_removal=True) == {(("a", "b"),): 2.0}
    kept = (("__type__", "gauge"), ("__unit__", "bytes"), ("a", "b"))
    assert ask(data, "x + 1", 0, compat="2") == {kept: 2.0}


def test_nan_counts_in_classic_histograms():
    found = [(1.0, 5.0), (2.0, math.nan), (3.0, 3.0), (4.0, 3.0), (math.inf, 10.0)]
    assert buckets.quantile(0.4, found) == (4.0, False)
    assert math.isnan(buckets.quantile(0.4, found, two=True)[0])


def test_equal_parts_are_evaluated_once():
    data = Data(COUNTER)
    calls = []
    select = Data.select

    class Counting(Data):
        __slots__ = ()

        def select(self, matchers):
            calls.append(1)
            return select(self, matchers)

    engine = Engine(evaluator="steps")
    engine.range(
        Counting(data.series), "rate(c[5m]) / rate(c[5m]) + sum(rate(c[5m])) + c @ 60 - c @ 60", 0.0, 300.0, 60.0
    )
    assert len(calls) == 2
