"""Bucket bounds, counter resets, and the hints of storage."""

import math
import struct
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.engine.histogram import (
    GAUGE,
    NOT_RESET,
    RESET,
    UNKNOWN,
    add,
    bound,
    detect_reset,
    parse_histogram,
    resolved_hints,
    stored_hints,
    to_schema,
)

from .histograms import either, exponential, pairs


def test_bounds_are_those_of_a_server():
    # Printed by count_values on a server; the exact roots end otherwise.
    assert bound(1, 1) == 1.414213562373095
    assert bound(-2, 1) == 0.5
    assert [bound(index, 8) for index in (1, 2, 3)] == [1.0027112750502025, 1.0054299011128027, 1.0081558981184175]
    assert bound(63, -4) == 2.7430620343968443e303
    assert bound(64, -4) == sys.float_info.max
    assert bound(65, -4) == math.inf
    assert bound(1024, 0) == sys.float_info.max


@given(st.integers(-4, 8), st.integers(-2000, 2000))
def test_bounds_rise(schema, index):
    lower, upper = bound(index, schema), bound(index + 1, schema)
    assert lower < upper or lower in (0, math.inf)
    if index % 2 == 0 and schema > -4:
        assert lower == bound(index // 2, schema - 1)


@given(pairs())
def test_growing_is_no_reset(pair):
    a, b = pair
    both = add(a, b).histogram.with_hint(UNKNOWN)
    if a.schema != -53 and both.zero_threshold > a.zero_threshold and a.schema != both.schema:
        return  # a merged bucket may reach into the zero bucket
    assert not detect_reset(both, a)
    if b.count > 0 and a.schema == both.schema and a.zero_threshold == both.zero_threshold:
        assert detect_reset(a, both)


@given(either())
def test_hints_are_believed(histogram):
    assert detect_reset(histogram.with_hint(RESET), histogram)
    assert not detect_reset(histogram.with_hint(NOT_RESET), histogram)
    assert not detect_reset(histogram, histogram)


@given(exponential(), st.integers(-4, 8))
def test_a_finer_schema_is_a_reset_and_a_coarser_is_not(histogram, schema):
    if schema < histogram.schema:
        coarse = to_schema(histogram, schema)
        assert detect_reset(histogram, coarse)
        if histogram.zero_threshold == 0:
            assert not detect_reset(coarse, histogram)


@pytest.mark.parametrize(
    ("previous", "histogram", "reset"),
    [
        ("{{count:2 sum:9 buckets:[2]}}", "{{count:2 sum:1 buckets:[2]}}", False),
        ("{{count:2 buckets:[2 0]}}", "{{count:3 buckets:[1 2]}}", True),
        ("{{count:2 buckets:[0 2]}}", "{{count:3 buckets:[3]}}", True),
        ("{{count:2 z_bucket:2}}", "{{count:3 z_bucket:1 buckets:[2]}}", True),
        ("{{count:2 z_bucket_w:0.5 z_bucket:2}}", "{{count:3 z_bucket_w:0.25 z_bucket:3}}", True),
        ("{{count:2 offset:-1 buckets:[2]}}", "{{count:3 z_bucket_w:0.5 z_bucket:3}}", False),
        ("{{count:2 buckets:[2]}}", "{{count:3 z_bucket_w:0.75 z_bucket:3}}", True),
        ("{{count:2 buckets:[2]}}", "{{schema:-53 count:3 custom_values:[1] buckets:[3]}}", True),
        (
            "{{schema:-53 count:2 custom_values:[1 2] buckets:[1 1]}}",
            "{{schema:-53 count:2 custom_values:[2] buckets:[2]}}",
            False,
        ),
        (
            "{{schema:-53 count:2 custom_values:[1 2] buckets:[2]}}",
            "{{schema:-53 count:2 custom_values:[1] buckets:[1 1]}}",
            True,
        ),
    ],
)
def test_resets(previous, histogram, reset):
    assert detect_reset(parse_histogram(histogram), parse_histogram(previous)) is reset


def growing(count):
    return f"{{{{count:{count} buckets:[{count}]}}}}"


def hints(*texts):
    samples = [parse_histogram(text) if isinstance(text, str) else text for text in texts]
    return [one if isinstance(one, float) else one.counter_reset_hint for one in stored_hints(samples)]


def test_hints_of_storage():
    grown = [growing(count) for count in range(1, 5)]
    assert hints(*grown) == [UNKNOWN, NOT_RESET, NOT_RESET, NOT_RESET]
    assert hints(grown[1], grown[0], grown[1]) == [UNKNOWN, UNKNOWN, NOT_RESET]
    assert hints(grown[0], 1.0, grown[1]) == [UNKNOWN, 1.0, UNKNOWN]
    stated = "{{count:9 buckets:[9] counter_reset_hint:reset}}"
    assert hints(grown[0], stated, stated.replace("reset}}", "not_reset}}")) == [UNKNOWN, UNKNOWN, NOT_RESET]
    gauge = "{{count:9 buckets:[9] counter_reset_hint:gauge}}"
    assert hints(gauge, gauge, grown[0]) == [GAUGE, GAUGE, UNKNOWN]
    assert hints(grown[0], "{{schema:-1 count:5 buckets:[5]}}") == [UNKNOWN, UNKNOWN]


def test_nothing_follows_a_stale_marker():
    stale = parse_histogram("{{}}")
    stale.sum = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
    after = stored_hints([parse_histogram("{{}}"), stale, parse_histogram("{{}}")])
    assert after[2].counter_reset_hint == UNKNOWN


def test_hints_made_sure():
    samples = stored_hints([parse_histogram(growing(count)) for count in (3, 2, 4)])
    assert [one.counter_reset_hint for one in resolved_hints(samples)] == [UNKNOWN, RESET, NOT_RESET]
