"""Any expression on any small data: both evaluators give the same, bit for bit but for libm, or both an EvalError."""

import importlib.util
import math
import os
import re
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from watchkeeper.engine import Data, Engine, EvalError, Series
from watchkeeper.engine.data import STALE
from watchkeeper.promql import ParseError

FOLDER = Path(__file__).parents[1] / "promql"
# NumPy's and the C library's versions of these may differ in the last digit.
LIBM = ("sin", "cos", "tan", "exp", "ln", "log", "^")


def _load(name):
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


diff_data = _load("diff_data")
diff_expressions = _load("diff_expressions")

_PLACE = re.compile(r" \(\d+:\d+\)$")
STEPS = Engine(evaluator="steps", max_samples=1_000_000)
ARRAYS = Engine(evaluator="arrays", max_samples=1_000_000)

values = st.one_of(
    st.sampled_from([STALE, math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, 1e308, -1e308, 5e-324]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-5, 100).map(float),
)


@st.composite
def some_series(draw):
    name = draw(st.sampled_from(sorted(diff_data.METRICS)))
    labels = {"__name__": name, "job": draw(st.sampled_from(diff_data.JOBS))}
    for label in diff_data.METRICS[name][1]:
        pool = diff_data.BOUNDS if label == "le" else ("a:1", "b:2", "200", "500", "")
        labels[label] = draw(st.sampled_from(pool))
    gaps = draw(st.lists(st.sampled_from([1, 1, 1, 2, 25]), max_size=12))
    times, at = [], draw(st.integers(0, 100_000))
    for gap in gaps:
        at += gap * 15_000
        times.append(at)
    return Series(labels, times, [draw(values) for _ in times])


def outcome(engine, data, expr, times):
    try:
        result = engine.instant(data, expr, *times) if len(times) == 1 else engine.range(data, expr, *times)
    except (EvalError, ParseError) as error:
        return type(error).__name__, str(error)
    if result.type == "string":
        return {(): [(0, result.value)]}, ()
    # Of several places for one text the one that is told depends on the order of evaluation.
    notes = [sorted({_PLACE.sub("", text) for text in texts}) for texts in (result.warnings, result.infos)]
    if result.type == "vector":
        return {sample.labels: [(0, sample.value)] for sample in result.samples}, notes
    if result.type == "scalar":
        return {(): [(0, result.value)]}, notes
    return {row[0]: list(zip(row[1], row[2], strict=True)) for row in result.series}, notes


def alike(left, right, *, exact):
    if left == right or (left != left and right != right):
        return True
    return not exact and math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)


def disagreement(expr, left, right):
    """Where two outcomes differ first; None if they do not."""
    if isinstance(left[0], str) or isinstance(right[0], str):
        return None if left == right else f"{str(left)[:500]}\n  and {str(right)[:500]}"
    if left[1] != right[1]:
        return f"annotations {left[1]}\n  and {right[1]}"
    if left[0].keys() != right[0].keys():
        return f"series {sorted(left[0].keys() - right[0].keys())}\n  and {sorted(right[0].keys() - left[0].keys())}"
    exact = not any(word in expr for word in LIBM)
    for labels, points in left[0].items():
        others = right[0][labels]
        if [at for at, _ in points] != [at for at, _ in others]:
            return f"times of {labels}: {points[:5]}\n  and {others[:5]}"
        for (at, a), (_, b) in zip(points, others, strict=True):
            if not alike(a, b, exact=exact):
                return f"{labels} at {at}: {a!r} and {b!r}"
    return None


def check(data, expr, times):
    found = disagreement(expr, *(outcome(engine, data, expr, times) for engine in (STEPS, ARRAYS)))
    assert found is None, f"{expr} at {times}: by steps and by arrays\n  {found}"


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32), st.lists(some_series(), max_size=8), st.integers(0, 600_000), st.booleans())
def test_both_evaluators_agree(seed, series, at, instant):
    random = Random(seed)
    version = random.choice([(3, 14), (3, 5)])
    expr = diff_expressions.Expressions(random, version, 0).any()
    times = (at / 1000,) if instant else (at / 1000, at / 1000 + random.randrange(300), random.choice([15, 7, 60]))
    check(Data(series), expr, times)


@pytest.mark.parametrize("seed", range(int(os.environ.get("WATCHKEEPER_FUZZ", "3"))))
def test_both_evaluators_agree_on_much(seed):
    random = Random(seed)
    data = Data(diff_data.make_series(random, 0))
    expressions = diff_expressions.Expressions(random, (3, 14), 0)
    for _ in range(60):
        check(data, expressions.any(), (random.randrange(3000), 3100, random.choice([60, 17])))


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet='x{}[]()"=~!,+-*/ 5mby@offsetsum_totalrate:0.e', max_size=40))
def test_any_text_is_answered_or_refused(text):
    data = Data([Series({"__name__": "x"}, [0, 15_000], [1.0, 2.0])])
    for engine in (STEPS, ARRAYS):
        outcome(engine, data, text, (15.0,))
