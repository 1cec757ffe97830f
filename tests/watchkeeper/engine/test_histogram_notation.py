"""Reading and writing native histograms."""

import contextlib
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.engine.histogram import (
    GAUGE,
    Histogram,
    HistogramError,
    from_classic,
    from_fields,
    parse_histogram,
    to_json,
    to_notation,
)

FULL = (
    "{{schema:1 sum:-0.3 count:3.1 z_bucket:7.1 z_bucket_w:0.05 buckets:[5.1 10 7] offset:-3 "
    "n_buckets:[4.1 5] n_offset:-5 counter_reset_hint:gauge}}"
)


def test_every_field():
    histogram = parse_histogram(FULL)
    assert histogram.schema == 1
    assert (histogram.sum, histogram.count) == (-0.3, 3.1)
    assert (histogram.zero_count, histogram.zero_threshold) == (7.1, 0.05)
    assert histogram.positive == {-3: 5.1, -2: 10.0, -1: 7.0}
    assert histogram.negative == {-5: 4.1, -4: 5.0}
    assert histogram.counter_reset_hint == GAUGE


def test_text_is_what_prometheus_prints():
    # From a server's count_values; negative buckets include their lower bound.
    assert str(parse_histogram(FULL)) == (
        "{count:3.1, sum:-0.3, [-0.25,-0.17677669529663687):5, [-0.17677669529663687,-0.125):4.1, "
        "[-0.05,0.05]:7.1, (0.25,0.35355339059327373]:5.1, (0.35355339059327373,0.5]:10, (0.5,0.7071067811865475]:7}"
    )
    custom = parse_histogram("{{schema:-53 sum:3 count:10 custom_values:[-7 2.5 10] buckets:[1 2 3 4]}}")
    assert str(custom) == "{count:10, sum:3, [-Inf,-7]:1, (-7,2.5]:2, (2.5,10]:3, (10,+Inf]:4}"


def test_notation_is_what_prometheus_prints():
    assert to_notation(parse_histogram(FULL)) == (
        "{{schema:1 count:3.1 sum:-0.3 z_bucket:7.1 z_bucket_w:0.05 counter_reset_hint:gauge "
        "offset:-3 buckets:[5.1 10 7] n_offset:-5 n_buckets:[4.1 5]}}"
    )
    assert to_notation(parse_histogram("{{count:10 sum:3 buckets:[1 0 0 3 0]}}")) == (
        "{{count:10 sum:3 buckets:[1 0 0 3]}}"
    )
    assert to_notation(Histogram()) == "{{}}"


def test_json_names_which_bounds_belong():
    answer = to_json(parse_histogram("{{sum:1 count:6 z_bucket:1 z_bucket_w:0.5 buckets:[2] n_buckets:[3]}}"))
    assert answer == {
        "count": "6",
        "sum": "1",
        "buckets": [[1, "-1", "-0.5", "3"], [3, "-0.5", "0.5", "1"], [0, "0.5", "1", "2"]],
    }


def test_json_writes_numbers_as_the_api_does():
    answer = to_json(parse_histogram("{{sum:123456789.5 count:1e20 buckets:[1e20] offset:70}}"))
    assert answer == {
        "count": "100000000000000000000",
        "sum": "123456789.5",
        "buckets": [[0, "590295810358705700000", "1.1805916207174113e+21", "100000000000000000000"]],
    }
    answer = to_json(parse_histogram("{{sum:-1e-7 count:0.000001}}"))
    assert answer == {"count": "0.000001", "sum": "-1e-07"}
    assert to_json(parse_histogram("{{sum:NaN count:0}}")) == {"count": "0", "sum": "NaN"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{schema:1}", "written"),
        ("{{schema}}", "field:value"),
        ("{{schema:1 schema:2}}", "twice"),
        ("{{schema:9}}", "unknown schema 9"),
        ("{{schema:1.5}}", "whole number"),
        ("{{bukets:[1]}}", "unknown field"),
        ("{{buckets:1}}", "list"),
        ("{{buckets:[1 x]}}", "must be a number"),
        ("{{count:1_0}}", "must be a number"),
        ("{{counter_reset_hint:maybe}}", "one of"),
        ("{{schema:-53 custom_values:[2 1] buckets:[1]}}", "rise"),
        ("{{schema:-53 custom_values:[1] buckets:[1 2 3]}}", "more buckets"),
        ("{{schema:-53 custom_values:[1] n_buckets:[1]}}", "no negative"),
        ("{{schema:0 custom_values:[1]}}", "schema -53"),
        ("{{offset:99999999999999999999 buckets:[1]}}", "whole number"),
        ("{{offset:999999999 buckets:[1]}}", "no float lies beyond"),
    ],
)
def test_what_cannot_be_is_refused(text, says):
    with pytest.raises(HistogramError, match=says):
        parse_histogram(text)


@given(st.text(alphabet="{}[]:. -0123456789abcdefnosuzqt_wkhImNaP", max_size=60))
def test_any_text_is_read_or_refused(text):
    for candidate in (text, "{{" + text + "}}"):
        with contextlib.suppress(HistogramError):
            parse_histogram(candidate)


def test_dictionary_of_the_cases():
    histogram = from_fields({"schema": 0, "sum": "NaN", "count": "+Inf", "buckets": [1, "2"], "offset": -1})
    assert math.isnan(histogram.sum)
    assert histogram.count == math.inf
    assert histogram.positive == {-1: 1.0, 0: 2.0}


def test_pickles():
    histogram = parse_histogram(FULL)
    assert pickle.loads(pickle.dumps(histogram)) == histogram


def test_classic_buckets_become_custom_ones():
    histogram = from_classic({0.1: 5, 0.2: 5, 1.0: 8, math.inf: 10}, count=10, total=4.5)
    assert (
        histogram
        == parse_histogram("{{schema:-53 sum:4.5 count:10 custom_values:[0.1 0.2 1] buckets:[5 0 3 2]}}").compact()
    )
    assert from_classic({0.1: 5, 0.2: 4, math.inf: 10}) is None
    assert from_classic({}) is None
    assert from_classic({0.1: 5}, count=7).count == 7
