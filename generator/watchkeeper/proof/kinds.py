"""Kinds of values: a counter, a gauge or buckets, by contract, by name or by what an expression makes of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.promql import nodes
from watchkeeper.proof.shape import COMPARISONS, KEEPS, PICKS

if TYPE_CHECKING:
    from watchkeeper.promql.nodes import Expr
    from watchkeeper.proof.catalogue import Catalogue

COUNTER = "counter"
GAUGE = "gauge"
BUCKET = "bucket"  # the cumulative counters of a classic histogram
INFO = "info"
UNKNOWN = "unknown"

# Functions whose result moves up and down whatever they are of.
_GAUGES = frozenset({
    "rate", "increase", "irate", "delta", "idelta", "deriv", "changes", "resets", "absent", "absent_over_time",
    "count_over_time", "present_over_time", "stddev_over_time", "stdvar_over_time", "mad_over_time",
    "histogram_quantile", "histogram_fraction", "histogram_avg", "histogram_stddev", "histogram_stdvar",
    "sgn", "day_of_month", "day_of_week", "day_of_year", "days_in_month", "hour", "minute", "month",
})  # fmt: skip
_COUNTS = frozenset({"count", "group", "stddev", "stdvar", "count_values"})
# How recorded rates are called: https://prometheus.io/docs/practices/rules/
_RATED = re.compile(r":(?:\w+_)?(?:rate|irate|increase|deriv|delta)_?\d+(?:ms|[smhdwy])$")


class Kind:
    """The kind of an expression's value, and where that comes from.

    `selector` is the series that it is handed on from, in the expression asked about; `name` the metric at the end of
    the way, which recording rules can make another one. `maker` is the call, aggregation or comparison that made it.
    `summed`: several series were added up on the way. `sure`: by more than the name.
    """

    __slots__ = ("kind", "maker", "name", "selector", "summed", "sure")

    def __init__(
        self,
        kind: str,
        *,
        sure: bool = True,
        selector: nodes.VectorSelector | None = None,
        name: str = "",
        summed: bool = False,
        maker: nodes.Call | nodes.Aggregate | nodes.Binary | None = None,
    ) -> None:
        self.kind = kind
        self.sure = sure
        self.selector = selector
        self.name = name
        self.summed = summed
        self.maker = maker

    @property
    def because(self) -> str:
        """Why it is of that kind, as a clause."""
        series = self.selector.metric_name if self.selector else ""
        if isinstance(self.maker, nodes.Binary):
            made = f"{self.maker.op} bool gives 0 or 1"
        elif self.maker is not None:
            word = self.maker.name if isinstance(self.maker, nodes.Call) else self.maker.op
            made = f"{word}() gives a gauge"
        elif self.sure:
            made = f"the contract declares {self.name} a {'counter' if self.kind == BUCKET else self.kind}"
        else:
            return f"{self.name} is named as a {'counter' if self.kind == COUNTER else 'gauge, a recorded rate'}"
        return f"{series} is recorded, and {made}" if series and series != self.name else made


def kind(expr: Expr, catalogue: Catalogue) -> Kind:
    """Return the kind of the expression's value: follows the one way that a value can be handed on by."""
    selector: nodes.VectorSelector | None = None
    summed = False
    seen: set[str] = set()
    while True:
        following: Expr | None = None
        if type(expr) is nodes.VectorSelector:
            selector = selector or expr
            name = expr.metric_name
            if name is None or expr.variables:
                return Kind(UNKNOWN, selector=selector)
            rules = catalogue.recorded(name)
            if len(rules) != 1 or name in seen:
                return _named(name, catalogue, selector, summed=summed)
            seen.add(name)
            following = rules[0]
        elif type(expr) is nodes.Call:
            if expr.name in _GAUGES:
                return Kind(GAUGE, selector=selector, maker=expr)
            if expr.name in KEEPS and expr.args:
                following = expr.args[0]
        elif type(expr) is nodes.Binary:
            if expr.return_bool:
                return Kind(GAUGE, selector=selector, maker=expr)
            following = _handed_on(expr)
        elif type(expr) is nodes.Aggregate:
            if expr.op in _COUNTS:
                return Kind(GAUGE, selector=selector, maker=expr)
            if not expr.variables:
                summed = summed or expr.op not in PICKS
                following = expr.expr
        elif type(expr) is nodes.Paren or type(expr) is nodes.Subquery:
            following = expr.expr
        elif type(expr) is nodes.MatrixSelector:
            following = expr.selector
        if following is None:
            return Kind(UNKNOWN, selector=selector)
        expr = following


def _handed_on(binary: nodes.Binary) -> Expr | None:
    """Return the side whose values, perhaps fewer or scaled, are the result; None where there is no such side."""
    left, right, op = binary.lhs.type == "scalar", binary.rhs.type == "scalar", binary.op
    if op in COMPARISONS:
        return binary.rhs if left else binary.lhs
    if left:
        return binary.rhs if op in {"*", "+"} else None
    return binary.lhs if op in {"and", "unless"} or (right and op in {"*", "/", "+", "-"}) else None


def _named(name: str, catalogue: Catalogue, selector: nodes.VectorSelector, *, summed: bool) -> Kind:
    known = catalogue.get(name)
    if known is not None and known.kind != UNKNOWN:
        found = known.kind
        if known.metric is not None and known.metric.type == "info":
            found = INFO
        elif known.metric is not None and known.metric.type == "histogram" and name.endswith("_bucket"):
            found = BUCKET
        return Kind(found, selector=selector, name=name, summed=summed)
    if name.endswith("_total"):
        found = COUNTER
    elif name.endswith("_bucket"):
        found = BUCKET
    elif name.endswith("_info"):
        found = INFO
    elif ":" in name and _RATED.search(name):
        found = GAUGE
    else:
        return Kind(UNKNOWN, selector=selector, name=name)
    return Kind(found, sure=False, selector=selector, name=name, summed=summed)
