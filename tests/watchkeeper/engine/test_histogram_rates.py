"""Rises along a series: rate, increase, delta and the like."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.engine.histogram import GAUGE, RESET, add, multiply, parse_histogram, rates

from .histograms import custom, exponential, pairs


def counts(*values, hint=None):
    histograms = [parse_histogram(f"{{{{count:{value} sum:{value} buckets:[{value}]}}}}") for value in values]
    return [one.with_hint(hint) if hint else one for one in histograms]


def rise(samples, **options):
    told = []
    result = rates.increase(samples, told.append, **options)
    return (result and result.count), told


def test_a_counter_counts_what_it_had_at_each_reset():
    assert rise(counts(1, 4, 2, 3, 1), counter=True) == (7, [])
    assert rise(counts(1, 4, 5), counter=True, started=lambda index: index == 2) == (8, [])
    samples = counts(1, 4, 6)
    samples[2] = samples[2].with_hint(RESET)
    assert rise(samples, counter=True) == (9, [])


def test_a_gauge_may_fall():
    assert rise(counts(4, 9, 1, hint=GAUGE), counter=False) == (-3, [])
    assert rise(counts(4, 9, 1), counter=False) == (-3, [rates.NOT_A_GAUGE])
    assert rise(counts(4, 9, hint=GAUGE), counter=True) == (5, [rates.NOT_A_COUNTER])


def test_only_a_first_sample_behind_a_reset_may_have_other_buckets():
    odd = parse_histogram("{{schema:-53 count:9 custom_values:[1] buckets:[9]}}")
    assert rise([odd, *counts(1, 3)], counter=True) == (3, [])
    assert rise([*counts(1, 3), odd], counter=True) == (None, [rates.MIXED_SCHEMAS])
    assert rise([*counts(1), odd, *counts(1, 3)], counter=True) == (None, [rates.MIXED_SCHEMAS])
    assert rise([*counts(1), odd, *counts(2)], counter=False) == (1, [rates.NOT_A_GAUGE])


def test_custom_bounds_are_reconciled_and_told():
    wide = parse_histogram("{{schema:-53 count:3 custom_values:[1 5] buckets:[1 2]}}")
    narrow = parse_histogram("{{schema:-53 count:5 custom_values:[5] buckets:[5]}}")
    told = []
    result = rates.increase([wide, narrow], told.append, counter=True)
    assert result.custom_values == (5.0,)
    assert told == [rates.RECONCILED_SUBTRACTION]


def test_neighbours():
    previous, last = counts(3, 5)
    told = []
    assert rates.step(previous, last, told.append, counter=True).count == 2
    assert rates.step(last, previous, told.append, counter=True).count == 3
    assert told == []
    assert rates.step(last, previous, told.append, counter=False).count == -2
    assert told == [rates.NOT_A_GAUGE]
    assert rates.step(previous, last, told.append, counter=True, started=True).count == 5


@given(pairs(), st.sampled_from([0.25, 0.5]))
def test_between_two(pair, share):
    first, second = pair
    told = []
    result = rates.between(first, second, share, told.append)
    assert result.count == pytest.approx(first.count + (second.count - first.count) * share)
    assert result.sum == pytest.approx(first.sum + (second.sum - first.sum) * share)


def test_between_two_with_a_reset():
    first, second = counts(8, 4)
    told = []
    assert rates.between(first, second, 0.5, told.append, counter=True).count == 2
    assert rates.between(first, second, 0.5, told.append).count == 6


@given(exponential(), custom())
def test_kinds_do_not_mix(a, b):
    told = []
    assert rates.between(a, b, 0.5, told.append) is None
    assert told == [rates.MIXED_SCHEMAS]


@given(st.lists(exponential(widths=(0.0,)), min_size=2, max_size=5))
def test_an_ever_growing_counter_rises_by_what_was_added(parts):
    samples = [parts[0]]
    for part in parts[1:]:
        samples.append(add(samples[-1], part).histogram)
    told = []
    result = rates.increase(samples, told.append, counter=True)
    assert result.count == sum(part.count for part in parts[1:])
    assert told == []


def test_scaling_keeps_what_a_rise_is():
    result = rates.increase(counts(1, 3), lambda _: None, counter=True)
    assert multiply(result, 0.5).counter_reset_hint == GAUGE
