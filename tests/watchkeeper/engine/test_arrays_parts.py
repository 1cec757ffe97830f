"""What the vectorised evaluator is made of: blocks registered by hand, sharing, portions, limits, sums."""

import math
import random
import struct

import numpy as np
import pytest

from watchkeeper.engine import Data, Engine, EvalError, Series, arrays
from watchkeeper.engine.arrays import Evaluator, Settings, Store, Unsupported, memo, settled, strip, subquery
from watchkeeper.engine.data import STALE
from watchkeeper.engine.steps.numbers import average, compensated
from watchkeeper.promql import parse

TIMES = [index * 15_000 for index in range(241)]
HOUR = Settings(0, 3_600_000, 60_000)


def named(name, **labels):
    return tuple(sorted({"__name__": name, **labels}.items()))


def some(name="x_total", count=6, step=1.0, times=TIMES):
    return Data([Series(named(name, i=str(i)), times, [i + step * k for k in range(len(times))]) for i in range(count)])


def rows(frame):
    """Labels to the list of values, None where there is no sample."""
    return {
        labels: [value if there else None for value, there in zip(values, mask, strict=True)]
        for labels, values, mask in zip(frame.labels, frame.values.tolist(), frame.mask.tolist(), strict=True)
    }


# The interface that rules are evaluated by


def test_a_result_becomes_a_series():
    store = Store(some())
    evaluator = Evaluator(store, HOUR)
    value, notes = evaluator.evaluate(parse("sum(rate(x_total[5m]))"))
    assert not notes
    store.add([named("job:x:rate")], evaluator.grid.times, value.values, value.mask)
    again, _ = Evaluator(store, HOUR).evaluate(parse("job:x:rate"))
    assert again.labels == [named("job:x:rate")]
    assert again.values[0, 1:].tolist() == value.values[0, 1:].tolist()
    assert again.mask.tolist() == value.mask.tolist() == [[False] + [True] * 60]
    window, _ = Evaluator(store, HOUR).evaluate(parse("max_over_time(job:x:rate[10m])"))
    assert window.values[0, -1] == value.values[0, -10:].max()


def test_registered_series_stand_among_others_in_order_of_labels():
    store = Store(some("x", 2))
    values = np.array([[3.0, 4.0], [1.0, 2.0]])
    store.add([named("x", i="9"), named("x", i="00")], np.array([0, 15_000]), values)
    frame, _ = Evaluator(store, Settings(15_000, 15_000, 0)).evaluate(parse('{__name__="x", i!="1"}'))
    assert rows(frame) == {named("x", i="0"): [1.0], named("x", i="00"): [2.0], named("x", i="9"): [4.0]}
    assert frame.labels == sorted(frame.labels)


def test_registered_series_may_end_with_a_marker():
    store = Store(Data())
    store.add(
        [named("x")], np.array([0, 15_000, 30_000]), np.array([[1.0, STALE, math.nan]]), np.array([[1, 1, 1]], bool)
    )
    frame, _ = Evaluator(store, Settings(0, 30_000, 15_000)).evaluate(parse("x"))
    assert frame.mask.tolist() == [[True, False, True]]
    counted, _ = Evaluator(store, Settings(30_000, 30_000, 0)).evaluate(parse("count_over_time(x[1m])"))
    assert rows(counted) == {(): [2.0]}


def test_one_evaluator_sees_what_was_registered_before_it_was_asked():
    store = Store(some())
    evaluator = Evaluator(store, HOUR)
    value, _ = evaluator.evaluate(parse("count by (i) (x_total > 200)"))
    store.add([named("n", i=labels[0][1]) for labels in value.labels], evaluator.grid.times, value.values, value.mask)
    assert rows(settled(evaluator.evaluate(parse("count(n)"))[0]))[()][-1] == 6.0


def test_a_registered_series_ends_where_it_is_missing():
    mask = np.array([[True, False, True, True]])
    for ends, expected in ((False, [True] * 4), (True, mask[0].tolist())):
        store = Store(Data())
        store.add([named("x")], 60_000 * np.arange(4), np.array([[1.0, 0.0, 3.0, 4.0]]), mask, ends=ends)
        evaluator = Evaluator(store, Settings(0, 180_000, 60_000))
        assert evaluator.evaluate(parse("x"))[0].mask.tolist() == [expected]
        assert evaluator.evaluate(parse("count_over_time(x[3m])"))[0].values.tolist() == [[1.0, 1.0, 2.0, 2.0]]


def test_a_known_series_cannot_be_registered():
    store = Store(some("x", 1))
    for _ in range(2):
        with pytest.raises(ValueError, match="is known already"):
            store.add([named("x", i="0")], np.array([0]), np.array([[1.0]]))
    store.add([named("y")], np.array([0]), np.array([[1.0]]))
    with pytest.raises(ValueError, match="is known already"):
        store.add([named("y")], np.array([0]), np.array([[1.0]]))


def test_a_series_that_grew_is_seen():
    data = Data([Series(named("x", i=str(i)), list(TIMES[:4]), [i + 0.0, 1.0, 2.0, i + 3.0]) for i in range(2)])
    store = Store(data)
    at = Settings(60_000, 60_000, 0)
    assert Evaluator(store, at).evaluate(parse("sum(x)"))[0].values.tolist() == [[7.0]]
    for series in data.series:
        series.append(60_000, 10.0)
    assert Evaluator(store, at).evaluate(parse("sum(x)"))[0].values.tolist() == [[20.0]]


def test_equal_expressions_are_evaluated_once(monkeypatch):
    calls = []
    original = arrays.evaluate.__globals__["Evaluator"].select
    monkeypatch.setattr(Evaluator, "select", lambda self, node: calls.append(node) or original(self, node))
    evaluator = Evaluator(Store(some()), HOUR)
    for text in ("rate(x_total[5m]) > 1", "sum(rate(x_total[5m])) + sum( rate( x_total[5m] ) )"):
        evaluator.evaluate(parse(text))
    assert len(calls) == 1


def test_notes_of_a_shared_expression_tell_its_own_place():
    data = some("x")
    for expr in ("rate(x[5m])", "  rate(x[5m]) + rate(  x[5m])", "sum(max_over_time(rate(x[5m])[10m:1m]))"):
        left, right = (Engine(evaluator=name).range(data, expr, 0, 3600, 60) for name in ("steps", "arrays"))
        assert left.infos == right.infos != []
    evaluator = Evaluator(Store(data), HOUR)
    places = [evaluator.evaluate(parse(text))[1][0].node.start for text in ("rate(x[5m])", "1 - rate(x[5m])")]
    assert places == [5, 9]


def test_histograms_and_start_times_are_left_to_the_steps():
    data = Data([Series(named("x_total"), [0, 60_000], [0.0, 5.0], [0, 30_000])])
    with pytest.raises(Unsupported):
        Evaluator(Store(data), HOUR).evaluate(parse("rate(x_total[5m])"))
    assert Engine(evaluator="arrays").instant(data, "rate(x_total[5m])", 60.0).samples


# Portions and limits


@pytest.mark.parametrize("cells", [1, 50, 1000])
def test_portions_of_steps_give_the_same(monkeypatch, cells):
    data = some("x_total", step=0.1)
    expressions = (
        "rate(x_total[5m]) * 2",
        "sum(x_total)",
        "-x_total > -3",
        "time()",
        "max_over_time(sum(x_total)[9m:1m])",
    )
    whole = [Engine(evaluator="arrays").range(data, expr, 0, 3600, 37).series for expr in expressions]
    monkeypatch.setattr(arrays, "CELLS", cells)
    monkeypatch.setattr(subquery, "CELLS", cells)
    assert whole == [Engine(evaluator="arrays").range(data, expr, 0, 3600, 37).series for expr in expressions]


def test_a_subquery_of_mostly_nothing_is_kept_without_its_gaps(monkeypatch):
    monkeypatch.setattr(subquery, "CELLS", 100)
    data = some("x", 3, times=TIMES[:9])
    expr = "sum_over_time(abs(x)[1h:7s])"
    left, right = (Engine(evaluator=name).range(data, expr, 0, 7200, 600).series for name in ("steps", "arrays"))
    assert left == right != []


def test_little_memory_for_what_is_remembered(monkeypatch):
    monkeypatch.setattr(memo, "_BUDGET", 100)
    data = some("x")
    expr = "x + x * 2 - (x + x) / on () group_left () sum(x) + x * 2"
    left, right = (Engine(evaluator=name).range(data, expr, 0, 3600, 60).series for name in ("steps", "arrays"))
    assert left == right != []


def test_labels_that_differ_between_portions(monkeypatch):
    """2.42 compares the labels of all series that a call gives, at whatever time; since #18631 those of one time."""
    data = Data([Series(named("a_total"), TIMES[:9], [1.0] * 9), Series(named("b_total"), TIMES[200:], [1.0] * 41)])
    monkeypatch.setattr(arrays, "CELLS", 10)
    expr = 'rate({__name__=~"a_total|b_total"}[1m])'
    for name in ("steps", "arrays"):
        with pytest.raises(EvalError, match="same labelset"):
            Engine(compat="2", evaluator=name).range(data, expr, 0, 3600, 60)
    left, right = (Engine(evaluator=name).range(data, expr, 0, 3600, 60).series for name in ("steps", "arrays"))
    assert left == right != []


@pytest.mark.parametrize("expr", ["x", "sum(x) + 1", "sum_over_time(x[1h])", "max_over_time(x[1h:15s])", "vector(1)"])
def test_too_many_samples(expr):
    engine = Engine(evaluator="arrays", max_samples=50)
    with pytest.raises(EvalError, match="too many samples"):
        engine.range(some("x", 51), expr, 0, 3600, 60)


def test_a_time_limit():
    engine = Engine(evaluator="arrays", timeout=0.0)
    with pytest.raises(EvalError, match="timed out"):
        engine.range(some("x"), "sum_over_time(x[5m])", 0, 3600, 60)


def test_a_long_chain():
    data = some("x", 1)
    result = Engine(evaluator="arrays").range(data, " + ".join(["x"] * 2000), 0, 60, 60).series
    assert result == [((("i", "0"),), [0, 60_000], [0.0, 8000.0])]


# Sums, bit for bit


def bits(value):
    return struct.pack("<d", value)


@pytest.mark.parametrize("low", [-1.0, 0.0, 1e-3])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
@pytest.mark.parametrize("step", [15_000, 45_000, 40_000, 3_600_000])
def test_sums_and_means_of_windows(low, gaps, step):
    source = random.Random(f"{low} {gaps} {step}")
    count = 400
    values = np.array([[source.uniform(low, 10.0) for _ in range(count)] for _ in range(3)])
    present = np.array([[source.random() >= gaps for _ in range(count)] for _ in range(3)])
    store = Store(Data())
    times = 15_000 * np.arange(count)
    store.add([named("x", i=str(row)) for row in range(3)], times, values, present)
    evaluator = Evaluator(store, Settings(0, 15_000 * count, step))
    for name, function in (("sum", lambda found: compensated(0.0, found)), ("avg", average)):
        frame, _ = evaluator.evaluate(parse(f"{name}_over_time(x[20m])"))
        for row in range(3):
            for column, end in enumerate(evaluator.grid.times.tolist()):
                inside = present[row] & (times > end - 1_200_000) & (times <= end)
                assert bool(frame.mask[row, column]) == bool(inside.any())
                if inside.any():
                    assert bits(frame.values[row, column]) == bits(function(values[row][inside].tolist()))


def test_whole_numbers_are_summed_by_differences_and_others_are_not():
    from watchkeeper.engine.arrays.block import whole

    rows = np.array(
        [[1.0, 2.0, 3.0], [1.0, 2.5, 3.0], [0.0, -0.0, 1.0], [2.0**53, 1.0, 0.0], [math.nan, 1, 2], [math.inf, 1, 2]]
    )
    assert whole(rows).tolist() == [True, False, False, False, False, False]


def test_few_and_many_steps_are_laid_out_differently_and_alike_in_result(monkeypatch):
    data = some("x", 4, step=0.1)
    engine = Engine(evaluator="arrays")
    expected = engine.range(data, "sum_over_time(x[7m])", 0, 3600, 30).series
    for few in (0, 1000):
        monkeypatch.setattr(strip, "FEW_STEPS", few)
        assert engine.range(data, "sum_over_time(x[7m])", 0, 3600, 30).series == expected
