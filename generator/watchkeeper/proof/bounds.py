"""Bounds that a value can't leave whatever the data: a count is 1 or more, a rate 0 or more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from watchkeeper.promql import nodes, walk
from watchkeeper.proof.shape import COMPARISONS, KEEPS, MIRRORED, PICKS, RATES, bare, number

if TYPE_CHECKING:
    from watchkeeper.promql.nodes import Expr

INF = math.inf
Bounds = tuple[float, float]
NONE: Bounds = (-INF, INF)
_NEVER_NEGATIVE: Bounds = (0, INF)

_CALLS: dict[str, Bounds] = {
    **dict.fromkeys(RATES, _NEVER_NEGATIVE),
    **dict.fromkeys(("changes", "resets", "abs", "exp", "sqrt", "time"), _NEVER_NEGATIVE),
    **dict.fromkeys(("stddev_over_time", "stdvar_over_time", "mad_over_time"), _NEVER_NEGATIVE),
    "count_over_time": (1, INF),
    "present_over_time": (1, 1),
    "absent": (1, 1),
    "absent_over_time": (1, 1),
    "sgn": (-1, 1),
    "hour": (0, 23),
    "minute": (0, 59),
    "day_of_week": (0, 6),
    "day_of_month": (1, 31),
    "day_of_year": (1, 366),
    "days_in_month": (28, 31),
    "month": (1, 12),
}
_AGGREGATES: dict[str, Bounds] = {
    "count": (1, INF),
    "group": (1, 1),
    "stddev": _NEVER_NEGATIVE,
    "stdvar": _NEVER_NEGATIVE,
    "count_values": (1, INF),
}
_SAME = (KEEPS - {"abs", "ceil", "floor", "round", "clamp", "clamp_min", "clamp_max", "scalar"}) | {
    "avg_over_time",
    "quantile_over_time",
    "vector",
}
# What Prometheus itself writes.
_SERIES: dict[str, Bounds] = {"up": (0, 1), "ALERTS": (1, 1)}


def may_be_bounded(expr: Expr) -> bool:
    """Tell, cheaply, whether `bounds` has a chance to know more than nothing."""
    while True:
        if isinstance(expr, (nodes.Paren, nodes.Unary, nodes.Subquery)):
            expr = expr.expr
        elif isinstance(expr, nodes.Aggregate):
            if expr.op in _AGGREGATES:
                return True
            expr = expr.expr
        elif isinstance(expr, nodes.Call):
            if expr.name in _CALLS or expr.name.startswith("clamp"):
                return True
            if expr.name not in _SAME or not expr.args:
                return False
            expr = expr.args[-1] if expr.name == "quantile_over_time" else expr.args[0]
        elif isinstance(expr, nodes.MatrixSelector):
            expr = expr.selector
        elif isinstance(expr, nodes.VectorSelector):
            return expr.name in _SERIES
        else:
            return isinstance(expr, (nodes.Binary, nodes.NumberLiteral))


def bounds(expr: Expr) -> Bounds:
    """Return the least and the greatest value that the expression can have, NaN aside."""
    found: dict[int, Bounds] = {}
    for node in reversed(tuple(walk(expr))):
        if isinstance(node, nodes.Binary):
            found[id(node)] = _binary(node, found)
        elif isinstance(node, nodes.Call):
            found[id(node)] = _call(node, found)
        elif isinstance(node, nodes.Aggregate):
            found[id(node)] = _aggregate(node, found)
        elif isinstance(node, nodes.NumberLiteral):
            found[id(node)] = (node.value, node.value) if not math.isnan(node.value) else NONE
        elif isinstance(node, nodes.VectorSelector):
            found[id(node)] = _SERIES.get(node.name or "", NONE)
        elif isinstance(node, (nodes.Paren, nodes.Subquery)):
            found[id(node)] = found[id(node.expr)]
        elif isinstance(node, nodes.Unary):
            low, high = found[id(node.expr)]
            found[id(node)] = (-high, -low) if node.op == "-" else (low, high)
        elif isinstance(node, nodes.MatrixSelector):
            found[id(node)] = found[id(node.selector)]
        elif isinstance(node, nodes.Expr):
            found[id(node)] = NONE
    return found[id(expr)]


def _aggregate(node: nodes.Aggregate, found: dict[int, Bounds]) -> Bounds:
    if node.variables:
        return NONE
    if node.op in _AGGREGATES:
        return _AGGREGATES[node.op]
    low, high = found[id(node.expr)]
    if node.op == "quantile":
        share = number(node.param) if node.param is not None else None
        return (low, high) if share is not None and 0 <= share <= 1 else NONE
    if node.op == "avg" or node.op in PICKS:
        return low, high
    return (low, INF if high > 0 else high) if low >= 0 else NONE  # a sum of one or more


def _call(node: nodes.Call, found: dict[int, Bounds]) -> Bounds:
    if node.name in _CALLS:
        return _CALLS[node.name]
    if not node.args:
        return NONE
    low, high = found[id(node.args[0])]
    if node.name == "clamp_min":
        return max(low, found[id(node.args[1])][0]), max(high, found[id(node.args[1])][1])
    if node.name == "clamp_max":
        return min(low, found[id(node.args[1])][0]), min(high, found[id(node.args[1])][1])
    if node.name == "quantile_over_time":
        share = number(node.args[0])
        return found[id(node.args[1])] if share is not None and 0 <= share <= 1 else NONE
    return (low, high) if node.name in _SAME else NONE


def _binary(node: nodes.Binary, found: dict[int, Bounds]) -> Bounds:
    left, right = found[id(node.lhs)], found[id(node.rhs)]
    if node.matching is not None and (node.matching.fill_left is not None or node.matching.fill_right is not None):
        return NONE
    if node.op in COMPARISONS:
        if node.return_bool:
            return (0, 1)
        if node.lhs.type == "scalar":
            return _narrowed(right, MIRRORED[node.op], left)
        return _narrowed(left, node.op, right)
    if node.op in ("and", "unless"):
        return left
    if node.op == "or":
        return min(left[0], right[0]), max(left[1], right[1])
    if INF in map(abs, (*left, *right)) and min(left[0], right[0]) < 0:
        return NONE  # half-open and signed: nothing is worth the trouble
    if node.op == "+":
        return left[0] + right[0], left[1] + right[1]
    if node.op == "-" and INF not in (*left, *right):
        return left[0] - right[1], left[1] - right[0]
    if node.op in ("*", "/") and left[0] >= 0 and right[0] >= 0:
        return _scaled(node.op, left, right)
    return NONE


def _scaled(op: str, left: Bounds, right: Bounds) -> Bounds:
    """Return the bounds of a product or quotient of two that are 0 or more."""
    if op == "*":
        low = left[0] * right[0] if INF not in (left[0], right[0]) else 0
        return low, INF if INF in (left[1], right[1]) else left[1] * right[1]
    if right[0] == right[1] and 0 < right[0] < INF:
        return left[0] / right[0], left[1] / right[0]
    return _NEVER_NEGATIVE


def _narrowed(kept: Bounds, op: str, other: Bounds) -> Bounds:
    """Return the bounds of what a filter lets pass."""
    low, high = kept
    if op in (">", ">="):
        return max(low, other[0]), high
    if op in ("<", "<="):
        return low, min(high, other[1])
    return (max(low, other[0]), min(high, other[1])) if op == "==" else kept


def can_hold(left: Bounds, op: str, right: Bounds) -> bool:
    """Tell whether a comparison of values within the bounds can be true."""
    if left[0] > left[1] or right[0] > right[1]:
        return False
    if op == ">":
        return left[1] > right[0]
    if op == ">=":
        return left[1] >= right[0]
    if op in ("<", "<="):
        return can_hold(right, MIRRORED[op], left)
    if op == "==":
        return left[0] <= right[1] and right[0] <= left[1]
    return not left[0] == left[1] == right[0] == right[1]


def must_hold(left: Bounds, op: str, right: Bounds) -> bool:
    """Tell whether it is true of all values within the bounds, NaN aside."""
    opposite = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}[op]
    return not can_hold(left, opposite, right)


def is_constant(expr: Expr) -> bool:
    """Tell whether it has no data in it: numbers alone, or `vector` of them."""
    expr = bare(expr)
    if isinstance(expr, nodes.NumberLiteral):
        return True
    return all(
        isinstance(node, (nodes.NumberLiteral, nodes.Paren, nodes.Unary, nodes.Binary, nodes.VectorMatching))
        or (isinstance(node, nodes.Call) and node.name in ("vector", "pi"))
        for node in walk(expr)
    )
