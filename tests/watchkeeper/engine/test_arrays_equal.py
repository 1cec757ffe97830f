"""The vectorised evaluator gives what the step-wise one gives: the same bits, the same annotations, the same errors."""

import math
import struct
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.engine import Data, Engine, EvalError, Series, arrays
from watchkeeper.engine.data import STALE
from watchkeeper.engine.engine import Query
from watchkeeper.promql import parse

HOUR = 3600
VALUES = {
    "counter": lambda random: random.choice((1.0, 7.0, 0.1, 1e-3)),
    "fraction": lambda random: random.uniform(-50, 100),
    "whole": lambda random: float(random.randrange(-3, 12)),
    "few": lambda random: random.choice((0.0, -0.0, 1.0, 2.0)),
    "wild": lambda random: random.choice(
        (math.nan, math.inf, -math.inf, 0.0, -0.0, 1e308, -1e308, 5e-324, 1e16, 1.0, -1.0, 0.1, 3.0)
    ),
}
TIMES = ("grid", "gaps", "holes", "jitter", "short", "phase", "single")


def series(random, labels, kind, pattern):
    """One series over two hours."""
    count = 481
    times = [index * 15_000 for index in range(count)]
    if pattern == "gaps":
        times = [time for time in times if random.random() > 0.2]
    elif pattern == "holes":
        start = random.randrange(count)
        del times[start : start + random.randrange(1, 200)]
    elif pattern == "jitter":
        times = sorted({time + random.randrange(-6000, 6000) for time in times})
    elif pattern == "short":
        start = random.randrange(count)
        times = times[start : start + random.randrange(1, 60)]
    elif pattern == "phase":
        phase = random.choice((1, 4_000, 7_500))
        times = [time + phase for time in times[:: random.choice((1, 2, 4))]]
    elif pattern == "single":
        times = [random.choice(times)]
    draw = VALUES[kind]
    values = []
    total = 0.0
    for _ in times:
        if kind == "counter":
            total = 0.0 if random.random() < 0.02 else total + draw(random)
            values.append(total)
        else:
            values.append(draw(random))
    if random.random() < 0.4:
        for _ in range(random.randrange(1, 4)):
            values[random.randrange(len(values))] = STALE
    return Series(labels, times, values)


def some_data(random, kind, patterns):
    """Four metrics over the same few targets, some of them missing."""
    found = []
    for name in ("a", "b_total", "c", "h_bucket"):
        for job in ("x", "y"):
            for gpu in ("0", "1", "2"):
                if random.random() < 0.15:
                    continue
                labels = {"__name__": name, "job": job, "gpu": gpu}
                own = "counter" if name == "b_total" and kind != "wild" else kind
                if name == "h_bucket":
                    for bound in ("0.1", "1", "5", "+Inf"):
                        bucket = {**labels, "le": bound}
                        found.append(series(random, bucket, own, random.choice(patterns)))
                    continue
                found.append(series(random, labels, own, random.choice(patterns)))
    random.shuffle(found)
    return Data(found)


def bits(value):
    return "NaN" if math.isnan(value) else struct.pack("<d", value)


def outcome(evaluator, data, expr, times, **options):
    engine = Engine(evaluator=evaluator, **options)
    try:
        result = engine.instant(data, expr, *times) if len(times) == 1 else engine.range(data, expr, *times)
    except EvalError as error:
        return str(error)
    notes = result.warnings, result.infos
    if result.type == "vector":
        return [(sample.labels, bits(sample.value)) for sample in result.samples], notes
    if result.type == "scalar":
        return bits(result.value), notes
    return [(labels, at, [bits(value) for value in values]) for labels, at, values in result.series], notes


def native(data, expr, times, **options):
    """Whether the vectorised evaluator answers by itself."""
    start, end, step = times if len(times) == 3 else (times[0], times[0], 0)
    query = Query(
        Engine(**options),
        data,
        parse(expr),
        expr,
        round(start * 1000),
        round(end * 1000),
        round(step * 1000),
        step == 0,
    )
    return arrays.evaluate(query) is not None


def check(data, expr, times, **options):
    left = outcome("steps", data, expr, times, **options)
    right = outcome("arrays", data, expr, times, **options)
    assert left == right, (expr, times, options)


RANGE_FUNCTIONS = (
    *("rate", "increase", "delta", "irate", "idelta", "changes", "resets", "deriv"),
    *("sum_over_time", "avg_over_time", "min_over_time", "max_over_time", "count_over_time", "last_over_time"),
    *("first_over_time", "present_over_time", "absent_over_time", "stddev_over_time", "stdvar_over_time"),
    *("mad_over_time", "ts_of_first_over_time", "ts_of_last_over_time", "ts_of_max_over_time", "ts_of_min_over_time"),
)
RANGE_CALLS = (
    *(f"{name}(#)" for name in RANGE_FUNCTIONS),
    *("quantile_over_time(0.3, #)", "quantile_over_time(2, #)", "predict_linear(#, 60)"),
    "double_exponential_smoothing(#, 0.4, 0.3)",
)
MAPS = (
    *(
        "abs(#)",
        "ceil(#)",
        "floor(# + 0.25)",
        "sgn(#)",
        "sqrt(#)",
        "exp(#)",
        "ln(#)",
        "log2(#)",
        "log10(#)",
        "deg(#)",
        "rad(#)",
    ),
    *("sin(#)", "tanh(#)", "acosh(#)", "minute(#)", "month(#)", "day_of_week(#)", "year(#)", "days_in_month(#)"),
    *("clamp(#, 0, 5)", "clamp_min(#, 1)", "clamp_max(#, NaN)", "round(#)", "round(#, 0.3)", "timestamp(#)", "-#"),
    *("absent(#)", "sort(#)", "sort_desc(#)", 'sort_by_label(#, "gpu")', "vector(scalar(#))", "# > 1", "1 < bool #"),
    *("# + 1", "2 ^ #", "# % 3", "# / 0", "# * scalar(#)", "# atan2 2", "(#)"),
    'label_replace(#, "job", "$1-$1", "gpu", "(.).*")',
    'label_join(#, "both", "-", "job", "gpu")',
    'label_replace(#, "__name__", "n", "gpu", "0")',
)
AGGREGATIONS = (
    *("sum", "avg", "min", "max", "count", "group", "stdvar", "topk(2,", "bottomk(1,", "quantile(0.7,"),
    *("quantile(-1,", "limitk(2,", "limit_ratio(0.5,", "limit_ratio(-0.3,", 'count_values("v",', "topk(scalar(#) % 4,"),
)
BINARY = (
    *("# + #", "# / #", "# - on(job, gpu) #", "# * ignoring(gpu) #", "# > #", "# <= bool #", "# and #", "# or #"),
    *("# unless on(gpu) #", "# and on(job) #", "# or on(gpu) #", "# * on(job) group_left() sum by (job) (#)"),
    "sum by (job) (#) - on(job) group_right() #",
    "# + on(gpu) group_left(job) max by (gpu) (#)",
    "# == on(job, gpu) #",
    "# + fill(3) #",
    "# - on(gpu) group_left() fill_right(-1) sum by (gpu) (#)",
    "sum by (job) (#) / on(job) group_right() fill_left(0) fill_right(7) #",
    "# > on(job, gpu) fill_left(1) #",
)


def vector(random, depth):
    """A random vector expression."""
    if depth <= 0:
        name = random.choice(("a", "b_total", "c"))
        matchers = random.choice(("", "", "", '{gpu="1"}', '{gpu=~"0|2"}', '{job!="x"}'))
        modifier = random.choice(("", "", "", "", " offset 90s", " offset -20s", " @ 3000", " @ end()"))
        return name + matchers + modifier
    roll = random.random()
    if roll < 0.4:
        window = random.choice(("15s", "1m", "1m", "90s", "5m", "5m", "20m"))
        if depth > 1 and random.random() < 0.3:
            step = random.choice(("15s", "1m", "37s", ""))
            inner = f"({vector(random, depth - 1)})[{window}:{step}]" + random.choice(("", "", " offset 1m", " @ 2000"))
        else:
            name, _, modifier = vector(random, 0).partition(" ")
            inner = f"{name}[{window}] {modifier}"
        return random.choice(RANGE_CALLS).replace("#", inner)
    if roll < 0.55:
        return filled(random, random.choice(MAPS), depth)
    if roll < 0.8:
        op, _, parameter = random.choice(AGGREGATIONS).partition("(")
        by = random.choice(("", " by (job)", " by (gpu)", " without (gpu)", " by (__name__, job)"))
        return filled(random, f"{op}{by}({parameter} #)", depth)
    return filled(random, random.choice(BINARY), depth)


def filled(random, template, depth):
    parts = template.split("#")
    text = parts[0]
    for part in parts[1:]:
        inner = vector(random, depth - 1)
        text += (f"({inner})" if " " in inner else inner) + part
    return text


TIMINGS = (
    (0, 7200, 60),
    (600, 4000, 15),
    (0, 7000, 37),
    (1000, 3000, 300),
    (100, 100, 1),
    (3600,),
    (1805.5,),
    (8000, 9000, 60),
)


@given(
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(sorted(VALUES)),
    patterns=st.sampled_from((("grid",), ("grid", "gaps"), ("gaps", "holes", "short"), TIMES)),
    times=st.sampled_from(TIMINGS),
    compat=st.sampled_from(("3", "3", "2")),
    delayed=st.booleans(),
    depth=st.integers(1, 3),
)
@settings(max_examples=60, deadline=None)
def test_random_expressions(seed, kind, patterns, times, compat, delayed, depth):
    random = Random(seed)
    data = some_data(random, kind, patterns)
    check(data, vector(random, depth), times, compat=compat, delayed_name_removal=delayed and compat == "3")


@pytest.mark.parametrize("call", RANGE_CALLS)
@pytest.mark.parametrize("patterns", [("grid",), ("gaps", "grid", "holes"), TIMES], ids=("grid", "gaps", "all"))
def test_functions_of_ranges(call, patterns):
    random = Random(call)
    for kind in random.sample(sorted(VALUES), 3):
        data = some_data(random, kind, patterns)
        for times in random.sample(TIMINGS, 1):
            expr = call.replace("#", random.choice(('b_total{gpu="1"}[5m]', 'a{job="x"}[90s]', "c[1m:20s]")))
            check(data, expr, times)
            assert native(data, expr, times), expr


@pytest.mark.parametrize("op", AGGREGATIONS)
def test_aggregations(op):
    random = Random(op)
    op, _, parameter = op.replace("#", "a").partition("(")
    for kind in random.sample(sorted(VALUES), 3):
        data = some_data(random, kind, ("grid", "gaps", "holes", "short"))
        for times in ((0, 7200, 400), (3600,)):
            for by in ("", " by (job)", " without (gpu)"):
                check(data, f"{op}{by}({parameter} c)", times)
                check(data, f"sum({op}{by}({parameter} c))", times)


@pytest.mark.parametrize("kind", sorted(VALUES.keys() - {"wild"}))  # squares that overflow are not compared
def test_standard_deviations(kind):
    data = some_data(Random(kind), kind, ("grid", "gaps", "short"))
    for compat in ("2", "3"):
        check(data, "stddev by (job) (c)", (0, 7200, 400), compat=compat)


@pytest.mark.parametrize("expr", [*MAPS, *BINARY])
def test_functions_and_operators(expr):
    random = Random(expr)
    for kind in random.sample(sorted(VALUES), 3):
        data = some_data(random, kind, ("grid", "gaps", "holes", "short"))
        for times in ((0, 7200, 400), (3600,)):
            filled_in = expr
            for name in ("a", "c", "b_total"):
                filled_in = filled_in.replace("#", name, 1)
            check(data, filled_in.replace("#", "a"), times)


@given(seed=st.integers(0, 2**32), kind=st.sampled_from(sorted(VALUES)), compat=st.sampled_from(("2", "3")))
@settings(max_examples=15, deadline=None)
def test_classic_histograms(seed, kind, compat):
    random = Random(seed)
    data = some_data(random, kind, random.choice((("grid",), ("grid", "gaps"), TIMES)))
    q = random.choice(("0.9", "0", "1", "0.5", "2", "-1", "NaN"))
    inner = random.choice(
        ("h_bucket", "rate(h_bucket[5m])", "sum by (le) (h_bucket)", "sum by (le, job) (rate(h_bucket[2m]))")
    )
    check(data, f"histogram_quantile({q}, {inner})", random.choice(TIMINGS), compat=compat)
