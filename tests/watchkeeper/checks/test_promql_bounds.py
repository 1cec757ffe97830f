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
