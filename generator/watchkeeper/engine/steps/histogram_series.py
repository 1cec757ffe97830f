"""The histograms of a series as a query sees them: with the counter-reset hints of a server's storage."""

from __future__ import annotations

from bisect import bisect_left

from watchkeeper.engine.histogram import Histogram, resolved_hint
from watchkeeper.promql.nodes import Binary, Call, Subquery, VectorSelector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from watchkeeper.engine.data import Series
    from watchkeeper.engine.results import Value
    from watchkeeper.promql.nodes import Expr, Node

# Functions that need no buckets. For their selectors Prometheus reads schemas, counts and sums only, and on the way
# makes sure of each hint by comparing with the sample before (detectHistogramStatsDecoding).
_WITHOUT_BUCKETS = frozenset({"histogram_avg", "histogram_count", "histogram_sum"})
_WITH_BUCKETS = frozenset({"histogram_fraction", "histogram_quantile", "histogram_quantiles"})
_TRIMS = frozenset({"</", ">/"})


def without_buckets(root: Expr) -> frozenset[int]:
    """The ids of the selectors in an expression of whose histograms no buckets are read."""
    found = set()
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, stats = stack.pop()
        if isinstance(node, VectorSelector):
            if stats:
                found.add(id(node))
            continue
        if isinstance(node, Call):
            stats = (stats or node.name in _WITHOUT_BUCKETS) and node.name not in _WITH_BUCKETS
        elif isinstance(node, Subquery) or (isinstance(node, Binary) and node.op in _TRIMS):
            stats = False
        stack += [(child, stats) for child in node.children()]
    return frozenset(found)


def values_of(series: Series, first: int, *, stats: bool) -> Sequence[Value]:
    """The values of a series that holds histograms; what is before the time `first` (ms) is not looked at."""
    values = series.stored
    if not stats:
        return values
    lo = bisect_left(series.times, first)
    found = list(values)
    previous: Histogram | None = None
    for index in range(lo, len(found)):
        value = found[index]
        # A marker of staleness and floats between do not come into it.
        if isinstance(value, Histogram):
            hint = resolved_hint(value, previous).counter_reset_hint
            found[index] = Histogram(value.schema, count=value.count, sum=value.sum, counter_reset_hint=hint)
            previous = value
    return found
