"""Where native histograms enter the step-wise evaluator.

Everything else in `steps/` computes on floats. A value is a histogram where its type is not float, and each such value
comes to one of the functions here, or to `histogram_ranges.over_range` for functions of a range vector.
"""

from __future__ import annotations

from watchkeeper.engine import annotations as texts
from watchkeeper.engine.histogram import (
    Histogram,
    HistogramMean,
    HistogramSum,
    MixedSchemasError,
    add,
    deviation,
    divide,
    estimates,
    mean,
    multiply,
    rates,
    subtract,
    trim_lower,
    trim_upper,
    variance,
)
from watchkeeper.engine.steps.histogram_ranges import over_range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from watchkeeper.engine.results import Value
    from watchkeeper.engine.steps.aggregations import Fold
    from watchkeeper.engine.steps.classic import Fraction, Quantiles
    from watchkeeper.engine.steps.idents import Ident
    from watchkeeper.engine.steps.nodes import Context, Instant, Node

__all__ = ["aggregate", "binary", "extract", "fractions", "map_value", "over_range", "quantiles", "smoothed"]

_EXTRACTIONS: dict[str, Callable[[Histogram], float]] = {
    "histogram_avg": mean,
    "histogram_count": lambda histogram: histogram.count,
    "histogram_stddev": deviation,
    "histogram_stdvar": variance,
    "histogram_sum": lambda histogram: histogram.sum,
}


def extract(name: str, histogram: Histogram) -> float:
    """histogram_count, _sum, _avg, _stddev, _stdvar of a histogram."""
    return _EXTRACTIONS[name](histogram)


def map_value(name: str, histogram: Histogram) -> Value | None:  # noqa: ARG001
    """What a formula on floats (abs, ln, hour, ...) makes of a histogram: nothing; it is left out silently."""
    return None


# Aggregations


def aggregate(node: Fold, group: Ident, values: list[Value], fold: Callable[[list[float]], float]) -> Value | None:
    """What an aggregation makes of a group in which histograms are. None where it gives nothing."""
    floats: list[float] = [value for value in values if type(value) is float]
    note = node.context.annotations.add
    place = node.argument.place
    if node.op not in {"sum", "avg"}:
        note(texts.ignored_in_aggregation(node.op), place)
        return fold(floats) if floats else None
    if floats:
        note(texts.mixed_floats_histograms_aggregation(), place)
        return None
    average = node.op == "avg"
    total = HistogramMean(values[0]) if average else HistogramSum(values[0])
    try:
        for value in values[1:]:
            total.add(value)
    except MixedSchemasError:
        # The name is that of the first series that does not fit those before.
        of = node.grouping.of
        members = [ident for ident, _ in node.argument.out if of(ident) is group]
        note(texts.mixed_schemas(members[total.terms - 1].get("__name__")), place)
        return None
    if total.collision:
        note(texts.counter_reset_collision("aggregation"), place)
    if total.reconciled:
        note(texts.mismatched_custom_buckets("aggregation"), place)
    return total.mean() if isinstance(total, HistogramMean) else total.total()


# Operators


def binary(  # noqa: PLR0917
    op: str,
    lhs: Value,
    rhs: Value,
    context: Context,
    place: int,
    return_bool: bool,  # noqa: ARG001
) -> tuple[Value, bool] | None:
    """An operator with a histogram on either side: the value, and whether a comparison holds. None: no result."""
    result: Value | None = None
    if isinstance(lhs, Histogram):
        if isinstance(rhs, Histogram):
            if op in {"+", "-"}:
                return _sum(op, lhs, rhs, context, place)
            if op in {"==", "!="}:
                return lhs, (lhs == rhs) is (op == "==")
        elif op == "*":
            result = multiply(lhs, rhs)
        elif op == "/":
            result = divide(lhs, rhs)
        elif op == "</":
            result = trim_upper(lhs, rhs)
        elif op == ">/":
            result = trim_lower(lhs, rhs)
    elif isinstance(rhs, Histogram) and op == "*":
        result = multiply(rhs, lhs)
    if result is None:
        message = texts.incompatible_types(_kind(lhs), op, _kind(rhs))
        context.annotations.add(message, place)
        return None
    return result, True


def _kind(value: Value) -> str:
    return "histogram" if isinstance(value, Histogram) else "float"


def _sum(op: str, lhs: Histogram, rhs: Histogram, context: Context, place: int) -> tuple[Value, bool] | None:
    note = context.annotations.add
    try:
        outcome = add(lhs, rhs) if op == "+" else subtract(lhs, rhs)
    except MixedSchemasError:
        note(texts.incompatible_buckets(op), place)
        return None
    operation = "addition" if op == "+" else "subtraction"
    if outcome.collision:
        note(texts.counter_reset_collision(operation), place)
    if outcome.reconciled:
        note(texts.mismatched_custom_buckets(operation), place)
    return outcome.histogram.compact(), True


# Quantiles and fractions


def quantiles(node: Quantiles, scalars: list[float], natives: Instant) -> Instant:
    """histogram_quantile and histogram_quantiles of native histograms."""
    out: Instant = []
    for ident, histogram in natives:
        for q in scalars:
            value, note = estimates.quantile(q, histogram)
            if note is not None:
                message = texts.nan_observations(note, ident.get("__name__"))
                node.context.annotations.add(message, node.argument.place)
            out.append((node.labelled(ident, q), value))
    return out


def fractions(node: Fraction, scalars: list[float], natives: Instant) -> Instant:
    """histogram_fraction of native histograms."""
    out: Instant = []
    for ident, histogram in natives:
        value, note = estimates.fraction(scalars[0], scalars[1], histogram)
        if note is not None:
            message = texts.nan_excluded(ident.get("__name__"))
            node.context.annotations.add(message, node.argument.place)
        out.append((node.context.drop(ident), value))
    return out


# Interpolation at an instant


def smoothed(first: Value, second: Value, share: float, node: Node, name: str) -> Value | None:
    """`metric smoothed` between two samples, one of them a histogram at least."""
    note = node.context.annotations.add
    place = node.place
    if not isinstance(first, Histogram) or not isinstance(second, Histogram):
        note(texts.mixed_floats_histograms(name), place)
        return None

    def tell(what: str) -> None:
        if what == rates.MIXED_SCHEMAS:
            note(texts.mixed_schemas(name), place)
        else:
            note(texts.mismatched_custom_buckets(what), place)

    result = rates.between(first, second, share, tell)
    return None if result is None else result.compact()
