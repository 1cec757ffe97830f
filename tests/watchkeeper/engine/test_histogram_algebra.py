"""What must hold of arithmetic on histograms, whatever their layouts."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.engine.histogram import (
    GAUGE,
    NOT_RESET,
    RESET,
    UNKNOWN,
    HistogramMean,
    HistogramSum,
    MixedSchemasError,
    add,
    divide,
    multiply,
    negate,
    parse_histogram,
    subtract,
    to_schema,
)

from .histograms import custom, either, exponential, pairs, population

LISTS = st.lists(exponential(), min_size=1, max_size=5) | st.lists(custom(), min_size=1, max_size=5)


def layout(histogram):
    return histogram.schema, histogram.custom_values, histogram.zero_threshold


@settings(max_examples=40, deadline=None)
@given(pairs())
def test_a_sum_keeps_every_observation(pair):
    a, b = pair
    both = add(a, b).histogram
    assert both.count == a.count + b.count
    assert both.sum == a.sum + b.sum
    coarse = a.schema != b.schema and min(a.zero_threshold, b.zero_threshold) != both.zero_threshold
    if not coarse:  # a merged bucket may then reach into the zero bucket, and Prometheus counts it whole
        assert population(both) == population(a) + population(b)


@settings(max_examples=40, deadline=None)
@given(pairs())
def test_addition_commutes(pair):
    a, b = pair
    if a.schema == b.schema or a.zero_threshold == b.zero_threshold == add(a, b).histogram.zero_threshold:
        assert add(a, b).histogram.compact() == add(b, a).histogram.compact()


def test_addition_does_not_commute_where_a_merged_bucket_reaches_into_the_zero_bucket():
    # As a server of 3.5 answers: of the right side, what went into the zero bucket counts in the merged bucket, too.
    coarse = parse_histogram("{{schema:-1 count:20 sum:5 z_bucket:5 z_bucket_w:0.125 offset:1 buckets:[2 3]}}")
    fine = parse_histogram("{{count:20 sum:5 z_bucket:1 z_bucket_w:0.001 offset:-3 buckets:[8 3 4]}}")
    both = "{{schema:-1 count:40 sum:10 z_bucket:14 z_bucket_w:0.125 offset:-1 buckets:[%s 4 2 3]}}"
    assert add(coarse, fine).histogram == parse_histogram(both % 11)
    assert add(fine, coarse).histogram == parse_histogram(both % 3)


@settings(max_examples=40, deadline=None)
@given(pairs())
def test_what_is_added_can_be_taken_away(pair):
    a, b = pair
    both = add(a, b).histogram
    back = subtract(both, b).histogram.compact()
    nothing = multiply(b, 0.0)
    assert layout(back) == layout(both)
    assert back.counter_reset_hint == GAUGE
    if a.schema == b.schema and a.zero_threshold == both.zero_threshold:
        assert back == add(a, nothing).histogram.compact()


@given(either(), st.sampled_from([0.5, 2.0, -4.0]))
def test_scaling_and_back(histogram, factor):
    assert divide(multiply(histogram, factor), factor) == histogram
    assert negate(negate(histogram)) == histogram
    assert multiply(histogram, -1.0).counter_reset_hint == GAUGE
    assert multiply(histogram, 2.0).counter_reset_hint == UNKNOWN


@given(exponential(), st.integers(-4, 8))
def test_a_coarser_schema_keeps_every_observation(histogram, schema):
    if schema <= histogram.schema:
        coarse = to_schema(histogram, schema)
        assert population(coarse) == population(histogram)
        assert coarse == to_schema(to_schema(histogram, (schema + histogram.schema + 1) // 2), schema)


@settings(max_examples=40, deadline=None)
@given(LISTS)
def test_a_compensated_sum_is_the_sum(histograms):
    total = HistogramSum(histograms[0])
    plain = histograms[0]
    for histogram in histograms[1:]:
        total.add(histogram)
        plain = add(plain, histogram).histogram
    assert total.total() == plain.compact()  # whole numbers: nothing is rounded
    average = HistogramMean(histograms[0])
    for histogram in histograms[1:]:
        average.add(histogram)
    assert average.mean().count == plain.count / len(histograms)


def test_a_mean_does_not_overflow():
    huge = parse_histogram("{{sum:1 count:1e308 buckets:[1e308]}}")
    average = HistogramMean(huge)
    for _ in range(4):
        average.add(huge)
    assert average.mean().count == pytest.approx(1e308)
    assert average.mean().positive[0] == pytest.approx(1e308)


def test_a_sum_is_compensated():
    total = HistogramSum(parse_histogram("{{sum:1e100 count:1 buckets:[1e100]}}"))
    total.add(parse_histogram("{{sum:1 count:1 buckets:[1]}}"))
    total.add(parse_histogram("{{sum:-1e100 count:1 buckets:[-1e100]}}"))
    assert total.total() == parse_histogram("{{sum:1 count:3 buckets:[1]}}")


@pytest.mark.parametrize(
    ("a", "b", "hint", "collision"),
    [
        (UNKNOWN, UNKNOWN, UNKNOWN, False),
        (RESET, RESET, RESET, False),
        (RESET, NOT_RESET, UNKNOWN, True),
        (NOT_RESET, UNKNOWN, UNKNOWN, False),
        (UNKNOWN, RESET, UNKNOWN, False),
        (GAUGE, RESET, GAUGE, False),
        (NOT_RESET, GAUGE, GAUGE, False),
    ],
)
def test_hints_of_a_sum(a, b, hint, collision):
    histogram = parse_histogram("{{count:1 buckets:[1]}}")
    outcome = add(histogram.with_hint(a), histogram.with_hint(b))
    assert (outcome.histogram.counter_reset_hint, outcome.collision) == (hint, collision)


@settings(max_examples=40, deadline=None)
@given(exponential(), custom())
def test_kinds_do_not_mix(a, b):
    for operation in (add, subtract):
        with pytest.raises(MixedSchemasError):
            operation(a, b)
    with pytest.raises(MixedSchemasError):
        HistogramSum(b).add(a)


def test_custom_bounds_come_down_to_the_common_ones():
    a = parse_histogram("{{schema:-53 count:7 sum:5 custom_values:[1 5 10] buckets:[1 2 0 4]}}")
    b = parse_histogram("{{schema:-53 count:3 sum:1 custom_values:[5 20] buckets:[2 1 0]}}")
    outcome = add(a, b)
    assert outcome.reconciled
    assert outcome.histogram.compact() == parse_histogram(
        "{{schema:-53 count:10 sum:6 custom_values:[5] buckets:[5 5]}}"
    )
    assert not add(a, a).reconciled


# What a server of 3.5 answers for the same pairs.
@pytest.mark.parametrize(
    ("a", "b", "both"),
    [
        (
            "{{count:10 sum:5 z_bucket:2 z_bucket_w:0.75 buckets:[5 3]}}",
            "{{count:10 sum:5 z_bucket:2 z_bucket_w:0.1 buckets:[5 3] n_buckets:[4]}}",
            "{{count:20 sum:10 z_bucket:18 z_bucket_w:1 offset:1 buckets:[6]}}",
        ),
        (
            "{{count:10 sum:5 z_bucket:2 z_bucket_w:0.1 offset:1 buckets:[5 3] n_buckets:[4]}}",
            "{{count:10 sum:5 z_bucket:2 z_bucket_w:0.75 buckets:[5 3]}}",
            "{{count:20 sum:10 z_bucket:13 z_bucket_w:1 offset:1 buckets:[8 3]}}",
        ),
        (
            "{{schema:2 count:10 sum:5 z_bucket:2 z_bucket_w:1.189207115002721 offset:1 buckets:[0 5 3]}}",
            "{{count:10 sum:5 z_bucket:2 z_bucket_w:0.1 offset:2 buckets:[5 3]}}",
            "{{count:20 sum:10 z_bucket:4 z_bucket_w:1.189207115002721 offset:1 buckets:[8 5 3]}}",
        ),
        (
            "{{schema:2 count:10 sum:5 z_bucket:2 z_bucket_w:1.189207115002721 offset:1 buckets:[0 5 3]}}",
            "{{schema:2 count:10 sum:5 z_bucket:2 z_bucket_w:0.1 buckets:[1 5 3 7 9]}}",
            "{{schema:2 count:20 sum:10 z_bucket:10 z_bucket_w:1.189207115002721 offset:2 buckets:[8 10 9]}}",
        ),
    ],
)
def test_zero_buckets_of_different_widths(a, b, both):
    expected = parse_histogram(both)
    assert add(parse_histogram(a), parse_histogram(b)).histogram.compact() == expected
    assert add(parse_histogram(b), parse_histogram(a)).histogram.compact() == expected


def test_division_by_zero_leaves_no_buckets():
    result = divide(parse_histogram("{{count:3 sum:-2 z_bucket:0 z_bucket_w:1 offset:1 buckets:[3]}}"), 0.0)
    assert (result.count, result.sum) == (math.inf, -math.inf)
    assert math.isnan(result.zero_count)
    assert result.positive == {}
