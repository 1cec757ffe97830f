"""Bounds of values hold of what the engine makes of random data."""

import math
import random

import pytest

from watchkeeper.engine import Engine, Series
from watchkeeper.engine.results import EvalError
from watchkeeper.promql import parse
from watchkeeper.proof.bounds import bounds

SERIES = ("x", "y_total", "up", 'z{a="b"}')
CALLS = (
    "rate({m})", "increase({m})", "changes({m})", "resets({m})", "count_over_time({m})", "present_over_time({m})",
    "stddev_over_time({m})", "avg_over_time({m})", "max_over_time({m})", "last_over_time({m})", "sum_over_time({m})",
    "quantile_over_time(0.3, {m})", "abs({v})", "sgn({v})", "exp({v})", "sqrt({v})", "hour({v})", "month({v})",
    "days_in_month({v})", "absent({v})", "clamp_min({v}, {n})", "clamp_max({v}, {n})", "clamp({v}, -1, {n})",
    "ceil({v})", "label_replace({v}, 'q', 'r', '', '')", "vector({n})", "sort({v})",
    "sum({v})", "avg({v})", "min by (a) ({v})", "count({v})", "group({v})", "stddev({v})", "topk(2, {v})",
    "quantile(0.5, {v})", "quantile(7, {v})", "count_values('q', {v})", "-{v}", "({v})",
    "({v}) + {n}", "({v}) - {n}", "{n} - ({v})", "({v}) * {n}", "({v}) / {n}", "{n} / ({v})", "({v}) % {n}",
    "({v}) > {n}", "({v}) <= {n}", "({v}) == {n}", "({v}) != {n}", "{n} < ({v})", "({v}) > bool {n}",
    "({v}) and ({v})", "({v}) or ({v})", "({v}) unless ({v})", "({v}) > ({v})", "({v}) * ({v})", "({v}) - ({v})",
)  # fmt: skip
NUMBERS = ("0", "1", "-2", "0.5", "3 * 2", "100", "-0.0", "Inf", "NaN", "1e300")
DATA = """
x{{a="1"}} {0}
x{{a="2"}} {1}
y_total{{a="1"}} 0+{2}x20
y_total{{a="2"}} {2}+1x20
up{{a="1"}} 1 0 1x18
z{{a="b"}} {3}
"""


def vector(rng, depth):
    if depth == 0:
        return rng.choice(SERIES)
    shape = rng.choice(CALLS)
    while "{v}" in shape or "{m}" in shape or "{n}" in shape:
        shape = shape.replace("{n}", rng.choice(NUMBERS), 1).replace("{v}", vector(rng, depth - 1), 1)
        if "{m}" in shape:
            counters = shape.startswith(("rate", "increase"))
            inner = "y_total[5m]" if counters else f"({vector(rng, depth - 1)})[5m:1m]"
            shape = shape.replace("{m}", inner, 1)
    return shape


def values(rng):
    return " ".join(str(rng.choice((-3, -1, 0, 0.5, 1, 2, 7, 1000))) for _ in range(20))


@pytest.mark.parametrize("seed", range(10))
def test_no_value_leaves_its_bounds(seed):
    rng = random.Random(seed)
    engine, narrowed, seen = Engine(), 0, 0
    for _ in range(60):
        data = Series.load(DATA.format(values(rng), values(rng), rng.randint(0, 3), values(rng)), interval="30s")
        tree = parse(vector(rng, rng.randint(1, 4)))
        try:
            result = engine.instant(data, tree, at=570.0)
        except EvalError:  # two series match one
            continue
        low, high = bounds(tree)
        for sample in result.samples:
            seen += 1
            assert math.isnan(sample.value) or low <= sample.value <= high
        narrowed += (low, high) != (-math.inf, math.inf)
    assert narrowed > 10
    assert seen > 20


@pytest.mark.parametrize(
    "expr",
    [
        "histogram_quantile(0.9, sum(rate(x_bucket[5m])))",
        "histogram_quantile(0.9, sum without (le) (rate(x_bucket[5m])))",
        "histogram_quantile(0.9, rate(x_count[5m]))",
        "count(x_count) == 0",
        "absent(x_count) == 0",
        "x_count > x_count",
        "x_count > NaN",
        "rate(x_count[1m:2m])",
        'x_count{job!~".*"}',
    ],
)
def test_what_is_said_to_be_empty_is_empty(expr):
    data = Series.load('x_bucket{le="1"} 0+1x20\nx_bucket{le="+Inf"} 0+2x20\nx_count 0+2x20', interval="30s")
    assert Engine().instant(data, parse(expr), at=570.0).samples == []


@pytest.mark.parametrize(
    ("expr", "value"),
    [("histogram_quantile(99, rate(x_bucket[5m]))", math.inf), ("quantile(-0.5, x_count)", -math.inf)],
)
def test_what_is_said_of_quantiles_outside_0_to_1_is_so(expr, value):
    data = Series.load('x_bucket{le="1"} 0+1x20\nx_bucket{le="+Inf"} 0+2x20\nx_count 0+2x20', interval="30s")
    assert [sample.value for sample in Engine().instant(data, parse(expr), at=570.0).samples] == [value]


def test_the_rate_of_a_sum_spikes_when_one_restarts():
    data = Series.load('x_total{i="1"} 1000+1x20\nx_total{i="2"} 1000+1x9 0+1x9', interval="30s")

    def value(expr):
        (sample,) = Engine().instant(data, parse(expr), at=450.0).samples
        return sample.value

    assert value("sum(increase(x_total[5m]))") < 30
    assert value("increase(sum(x_total)[5m:30s])") > 1000
