"""Quantiles, fractions, variance and the trim operators."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.engine.histogram import (
    Histogram,
    deviation,
    fraction,
    mean,
    parse_histogram,
    quantile,
    trim_lower,
    trim_upper,
    variance,
)

from .histograms import custom, either, exponential, population

SHARES = st.floats(0, 1)
VALUES = st.floats(-1e6, 1e6)


@given(either(), SHARES, SHARES)
def test_a_quantile_rises_with_q(histogram, a, b):
    low, high = (quantile(q, histogram)[0] for q in sorted((a, b)))
    if histogram.custom and not histogram.custom_values:
        assert low != low or low in (0, math.inf)  # one bucket for everything tells nothing
    elif histogram.count:
        assert low <= high or math.isclose(low, high, rel_tol=1e-9)
    else:
        assert math.isnan(low)


@given(either())
def test_quantiles_outside_0_and_1(histogram):
    assert quantile(-0.1, histogram)[0] == -math.inf
    assert quantile(1.1, histogram)[0] == math.inf
    assert math.isnan(quantile(math.nan, histogram)[0])


@given(either())
def test_all_observations_are_somewhere(histogram):
    share = fraction(-math.inf, math.inf, histogram)[0]
    assert share == 1 if histogram.count else math.isnan(share)


@given(either(), VALUES, VALUES, VALUES)
def test_fractions_add_up(histogram, a, b, c):
    if histogram.count:
        low, middle, high = sorted((a, b, c))
        parts = fraction(low, middle, histogram)[0] + fraction(middle, high, histogram)[0]
        assert parts == pytest.approx(fraction(low, high, histogram)[0], abs=1e-9)


@given(exponential(), SHARES)
def test_quantile_and_fraction_are_inverse(histogram, q):
    if histogram.count:
        value = quantile(q, histogram)[0]
        exclusive = fraction(-math.inf, math.nextafter(value, -math.inf), histogram)[0]
        inclusive = fraction(-math.inf, math.nextafter(value, math.inf), histogram)[0]
        assert exclusive - 1e-6 <= q <= inclusive + 1e-6


@given(exponential(), VALUES)
def test_trimming_parts_a_histogram(histogram, limit):
    if limit == 0 == histogram.zero_threshold:
        limit = 1.0  # a zero bucket of no width belongs to both sides of 0
    below = trim_upper(histogram, limit)
    above = trim_lower(histogram, limit)
    assert population(below) + population(above) == pytest.approx(population(histogram))
    if histogram.count:
        assert below.count / histogram.count == pytest.approx(fraction(-math.inf, limit, histogram)[0], abs=1e-9)


@given(either())
def test_trimming_nothing_changes_nothing(histogram):
    assert trim_upper(histogram, math.inf) is histogram
    assert trim_lower(histogram, -math.inf) is histogram
    assert population(trim_lower(histogram, math.inf)) == 0
    assert population(trim_upper(histogram, -math.inf)) == 0


@given(custom(), VALUES)
def test_trimming_never_makes_observations(histogram, limit):
    for trimmed in (trim_upper(histogram, limit), trim_lower(histogram, limit)):
        assert trimmed.count <= histogram.count
        assert math.isfinite(trimmed.sum)


def test_a_bucket_of_infinite_width_cannot_be_cut():
    histogram = parse_histogram("{{schema:-53 sum:3 count:7 custom_values:[4] buckets:[2 5]}}")
    assert trim_lower(histogram, -1).count == 5
    assert trim_upper(histogram, -1).count == 0
    assert trim_upper(histogram, 9).count == 2
    assert trim_lower(histogram, 9).count == 5
    assert trim_lower(histogram, 1) == parse_histogram(
        "{{schema:-53 sum:23.75 count:6.5 custom_values:[4] buckets:[1.5 5]}}"
    )
    negative = parse_histogram("{{schema:-53 sum:3 count:7 custom_values:[-4] buckets:[2 5]}}")
    assert trim_upper(negative, -9).count == 2
    assert trim_lower(negative, -9).count == 5
    only = parse_histogram("{{schema:-53 sum:3 count:7 buckets:[7]}}")
    assert trim_upper(only, 1).count == trim_lower(only, 1).count == 0


def test_observations_of_nan():
    histogram = parse_histogram("{{sum:NaN count:10 buckets:[1 7]}}")
    assert quantile(0.8, histogram) == (2.0, "result is skewed higher")
    value, note = quantile(0.81, histogram)
    assert math.isnan(value)
    assert note == "result is NaN"
    assert fraction(-math.inf, math.inf, histogram) == (0.8, "excluded")
    infinite = parse_histogram("{{sum:NaN count:8 buckets:[1 7]}}")  # +Inf and -Inf were seen, NaN was not
    assert quantile(0.125, infinite) == (1.0, None)


def test_custom_buckets_are_linear():
    histogram = parse_histogram("{{schema:-53 sum:3 count:10 custom_values:[1 2.5 10] buckets:[1 2 3 4]}}")
    assert quantile(0.05, histogram)[0] == 0.5
    assert quantile(0.9, histogram)[0] == 10
    assert fraction(0.5, 1, histogram)[0] == 0.05
    assert fraction(-5, 1, histogram)[0] == 0.1
    negative = parse_histogram("{{schema:-53 sum:3 count:10 custom_values:[-7 2.5 10] buckets:[1 2 3 4]}}")
    assert quantile(0.05, negative)[0] == -7


def test_mean_and_variance():
    histogram = parse_histogram("{{sum:6 count:4 z_bucket:1 offset:1 buckets:[3]}}")
    assert mean(histogram) == 1.5
    assert variance(histogram) == pytest.approx((1.5**2 + 3 * (math.sqrt(2) - 1.5) ** 2) / 4)
    assert deviation(histogram) == math.sqrt(variance(histogram))
    assert math.isnan(mean(parse_histogram("{{}}")))
    assert math.isnan(deviation(parse_histogram("{{}}")))


def test_the_zero_bucket_leans_to_where_the_rest_is():
    positive = parse_histogram("{{sum:1 count:2 z_bucket:1 z_bucket_w:0.5 buckets:[1]}}")
    negative = parse_histogram("{{sum:1 count:2 z_bucket:1 z_bucket_w:0.5 n_buckets:[1]}}")
    assert quantile(0.25, positive)[0] == 0.25
    assert quantile(0.75, negative)[0] == -0.25
    assert quantile(0.5, parse_histogram("{{sum:1 count:2 z_bucket:2 z_bucket_w:0.5}}"))[0] == 0


# As Prometheus 3.5 answered. The last bucket counts even if it is empty, and a zero bucket only above zero.
@pytest.mark.parametrize(
    ("factor", "q", "expected"),
    [
        *[(1, 0, 0.5), (1, 0.1, 0.7071067811865475), (1, 0.6, -0.5), (1, 1, 1.0)],
        *[(-1, 0, 8.0), (-1, 0.1, 8.0), (-1, 0.6, 1.0), (-1, 1, -0.5)],
    ],
)
def test_more_observations_than_buckets_hold(factor, q, expected):
    histogram = Histogram(
        0, count=5.0 * factor, sum=3.0 * factor, positive={0: 1.0 * factor, 3: 0.0}, negative={0: 0.0}
    )
    assert quantile(q, histogram) == (expected, None)


def test_a_zero_bucket_below_zero():
    histogram = parse_histogram("{{count:-3 sum:-2 z_bucket:-1 z_bucket_w:0.001 buckets:[-2]}}")
    assert list(histogram.buckets()) == [(0.5, 1.0, -2.0)]
    assert quantile(1, histogram) == (1.0, None)
