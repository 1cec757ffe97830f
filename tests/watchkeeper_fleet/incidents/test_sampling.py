"""Scrapes of curves, and the shapes that growth may have."""

import pytest

from watchkeeper.engine.data import is_stale
from watchkeeper_fleet.incidents import shapes
from watchkeeper_fleet.incidents.sampling import Scrapes, counter, rising, switch


def sampled(curve, *, first=0.0, last=60.0, **more):
    scrapes = Scrapes(1_000_000, first, last, **more)
    scrapes.add("x", {"a": "b"}, curve)
    return [
        (time - 1_000_000, "stale" if is_stale(value) else value)
        for one in scrapes.data.series
        for time, value in zip(one.times, one.values, strict=True)
    ]


def test_a_steady_value():
    assert sampled(2.0) == [(0, 2.0), (15_000, 2.0), (30_000, 2.0), (45_000, 2.0), (60_000, 2.0)]


def test_a_phase_and_another_distance():
    assert [time for time, _ in sampled(1.0, every=20.0, phase=5.0)] == [5_000, 25_000, 45_000]
    assert [time for time, _ in sampled(1.0, first=-30.0, last=0.0)] == [-30_000, -15_000, 0]


def test_a_series_that_comes_and_goes():
    curve = switch((20.0, 1.0), (40.0, None), before=None)
    assert sampled(curve) == [(30_000, 1.0), (45_000, "stale")]
    assert sampled(switch(before=None)) == []


def test_counters():
    assert [value for _, value in sampled(counter(15.0, 31.0))] == [0.0, 1.0, 1.0, 2.0, 2.0]
    assert sampled(counter(20.0, start=15.0, end=45.0)) == [(15_000, 0.0), (30_000, 1.0), (45_000, "stale")]
    assert [value for _, value in sampled(rising(0.5, 10.0, 40.0))] == [0.0, 2.0, 10.0, 15.0, 15.0]


@pytest.mark.parametrize("shape", [shapes.linear, shapes.exponential, shapes.stepped(0.3), shapes.stepped(0.25)])
def test_shapes_end_at_all_and_never_fall(shape):
    values = [shape(time, 141.0) for time in range(-10, 160)]
    assert values == sorted(values)
    assert 0 <= values[0] < 0.01
    assert shape(141.0, 141.0) == pytest.approx(1.0)
    assert values[-1] == pytest.approx(1.0)


def test_exponential_doubles():
    assert shapes.exponential(120.0, 141.0) / shapes.exponential(105.0, 141.0) == pytest.approx(2.0)


def test_steps_are_of_one_size_but_for_the_first():
    shape = shapes.stepped(0.3)
    levels = sorted({round(shape(time / 10, 100.0), 6) for time in range(1001)})
    assert levels == [0.0, 0.1, 0.4, 0.7, 1.0]
