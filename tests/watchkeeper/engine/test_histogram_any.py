"""Whatever is asked of histograms, floats and markers mixed: an answer or an EvalError, for one time and for many."""

import math

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from watchkeeper.engine import Data, Engine, EvalError, Series
from watchkeeper.engine.data import STALE
from watchkeeper.engine.histogram import Histogram, divide, multiply
from watchkeeper.promql import ParseError, parse

from .histograms import custom, exponential

RANGE_FUNCTIONS = [
    *("rate", "increase", "delta", "irate", "idelta", "resets", "changes", "deriv"),
    *(f"{name}_over_time" for name in ("sum", "avg", "min", "max", "count", "last", "first", "present", "absent")),
    *(f"{name}_over_time" for name in ("stddev", "stdvar", "mad", "ts_of_max", "ts_of_last", "quantile")),
]
MAPS = [
    *(f"histogram_{name}" for name in ("count", "sum", "avg", "stddev", "stdvar")),
    *("abs", "-", "sum", "avg", "max", "group", "count", "stddev by (i)", "sort", "absent", "timestamp", "scalar"),
]
OPERATORS = ["+", "-", "*", "/", "%", "^", "==", "!= bool", ">", "</", ">/", "and", "or", "unless", "atan2"]


def ranges(selectors):
    return st.tuples(
        st.sampled_from(RANGE_FUNCTIONS), selectors, st.sampled_from(["[3m]", "[90s]", "[5m:1m]", "[2m] offset 1m"])
    ).map(lambda parts: f"{parts[0]}({'0.3, ' if parts[0].startswith('quantile') else ''}{parts[1]}{parts[2]})")


SELECTORS = st.sampled_from(["h", 'h{i="1"}', 'h{i!="2"}'])
EXTENDED = st.tuples(
    st.sampled_from(["rate", "increase", "delta"]), SELECTORS, st.sampled_from(["anchored", "smoothed"])
).map(lambda parts: f"{parts[0]}({parts[1]}[2m] {parts[2]})")
LEAVES = SELECTORS | ranges(SELECTORS) | EXTENDED | st.just("h smoothed")
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: (
        st.tuples(st.sampled_from(MAPS), inner).map(lambda parts: f"{parts[0]}({parts[1]})")
        | st.tuples(inner, st.sampled_from(OPERATORS), inner | st.sampled_from(["2", "0", "-1", "NaN", "Inf"])).map(
            lambda parts: (
                f"vector(0) or {parts[0]}"
                if parts[1] in {"and", "or", "unless"} and parts[2][-1] in "0123456789fN"
                else f"({parts[0]}) {parts[1]} ({parts[2]})"
            )
        )
        | st.tuples(st.sampled_from(["0", "0.5", "1", "2", "NaN"]), inner).map(
            lambda parts: f"histogram_quantile({parts[0]}, {parts[1]})"
        )
        | inner.map(lambda text: f"histogram_fraction(-1, 3, {text})")
        | inner.map(lambda text: f'count_values("v", {text})')
    ),
    max_leaves=3,
)


@st.composite
def histograms(draw):
    histogram = draw(exponential() | custom())
    if draw(st.integers(0, 9)) == 0:
        histogram = draw(
            st.sampled_from([multiply(histogram, math.nan), divide(histogram, 0.0), multiply(histogram, -1e308)])
        )
    return histogram.with_hint(draw(st.sampled_from(["unknown", "unknown", "gauge", "reset"])))


VALUES = st.one_of(histograms(), histograms(), st.sampled_from([0.0, 1.0, math.nan, math.inf, -3.0, STALE]), st.none())


@st.composite
def data(draw):
    series = []
    for number in "12":
        values = draw(st.lists(VALUES, min_size=2, max_size=7))
        kept = [index for index, value in enumerate(values) if value is not None]
        series.append(
            Series(
                {"__name__": "h", "i": number}, [index * 60_000 for index in kept], [values[index] for index in kept]
            )
        )
    return Data(series)


def known(values):
    return [str(value) if isinstance(value, Histogram) else repr(value) for value in values]


@settings(deadline=None)
@given(data(), EXPRESSIONS, st.sampled_from(["2", "3"]), st.booleans())
def test_any_expression_has_an_answer_or_an_error(found, expr, compat, delayed):
    try:
        tree = parse(expr)
    except ParseError:
        assume(False)
    engine = Engine(compat=compat, delayed_name_removal=delayed, evaluator="steps")
    at = 240.0
    try:
        result = engine.instant(found, tree, at)
        row = engine.range(found, tree, at, at, 1.0)
    except EvalError:
        return
    if result.type != "scalar":
        now = {sample.labels: known([sample.value]) for sample in result.samples}
        assert {labels: known(values) for labels, _, values in row.series} == now
