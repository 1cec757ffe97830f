"""Bounds that a value can't leave whatever the data: a count is 1 or more, a rate 0 or more."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

from watchkeeper.promql import nodes, walk
from watchkeeper.proof.shape import COMPARISONS, KEEPS, MIRRORED, RATES, bare, number

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
    "vector",
}
# What Prometheus itself writes.
_SERIES: dict[str, Bounds] = {"up": (0, 1), "ALERTS": (1, 1)}


def bounds(expr: Expr) -> Bounds:
    """Return the least and the greatest value that the expression can have, NaN aside.

    Follows the one way that a value comes by; where two series meet, nothing is known.
    """
    steps: list[nodes.Expr] = []
    while True:
        if type(expr) is nodes.VectorSelector:
            found = _SERIES.get(expr.name or "", NONE)
            return _up(steps, found) if steps else found
        following: Expr | None = None
        if isinstance(expr, (nodes.Paren, nodes.Subquery)):
            following = expr.expr
        elif isinstance(expr, nodes.Aggregate):
            if expr.variables or expr.op in _AGGREGATES:
                return _up(steps, _AGGREGATES.get(expr.op, NONE))
            if expr.op == "sum":
                steps.append(expr)
            following = expr.expr if expr.op != "quantile" or _is_share(expr.param) else None
        elif isinstance(expr, nodes.Call):
            if expr.name in _CALLS:
                return _up(steps, _CALLS[expr.name])
            if expr.name in ("clamp_min", "clamp_max"):
                steps.append(expr)
                following = expr.args[0]
            elif expr.name in _SAME and expr.args:
                following = expr.args[0]
            elif expr.name == "quantile_over_time" and _is_share(expr.args[0]):
                following = expr.args[1]
        elif isinstance(expr, nodes.Binary):
            if expr.return_bool:
                return _up(steps, (0, 1))
            following = _one_side(expr)
            if following is not None:
                steps.append(expr)
            else:
                return _up(steps, NONE)
        elif isinstance(expr, nodes.Unary):
            steps.append(expr)
            following = expr.expr
        elif isinstance(expr, nodes.MatrixSelector):
            following = expr.selector
        elif isinstance(expr, nodes.NumberLiteral):
            return _up(steps, (expr.value, expr.value) if not math.isnan(expr.value) else NONE)
        if following is None:
            return _up(steps, NONE)
        expr = following


def _is_share(expr: Expr | None) -> bool:
    share = number(expr) if expr is not None else None
    return share is not None and 0 <= share <= 1


def _one_side(node: nodes.Binary) -> Expr | None:
    """Return the side that the values come from, the other one a number; None where there is no such side."""
    if node.op in ("and", "unless"):
        return node.lhs
    if node.op in COMPARISONS:
        return node.rhs if node.lhs.type == "scalar" else node.lhs
    if node.op == "or":
        return None
    if constant(node.rhs) is not None:
        return node.lhs
    return node.rhs if constant(node.lhs) is not None else None


def _up(steps: list[nodes.Expr], found: Bounds) -> Bounds:
    """Return what the steps, the innermost last, make of the bounds."""
    for step in reversed(steps):
        low, high = found
        if isinstance(step, nodes.Binary):
            found = _binary(step, found)
        elif isinstance(step, nodes.Aggregate):  # a sum of one or more
            found = (low, INF if high > 0 else high) if low >= 0 else NONE
        elif isinstance(step, nodes.Unary):
            found = (-high, -low) if step.op == "-" else found
        elif isinstance(step, nodes.Call):
            limit = number(step.args[1])
            found = NONE if limit is None else found
            if limit is not None and step.name == "clamp_min":
                found = max(low, limit), max(high, limit)
            elif limit is not None:
                found = min(low, limit), min(high, limit)
        if math.isnan(found[0] + found[1]) and found != NONE:  # infinity less infinity
            found = NONE
    return found


def _binary(node: nodes.Binary, found: Bounds) -> Bounds:
    if node.op in ("and", "unless"):
        return found
    if node.op in COMPARISONS and node.matching is not None:
        return found if node.matching.fill_left is None else NONE
    left, right = constant(node.lhs), constant(node.rhs)
    if node.op in COMPARISONS:
        if right is not None:
            return _narrowed(found, node.op, right)
        return _narrowed(found, MIRRORED[node.op], left) if left is not None else found
    low, high = found
    if right is not None:
        return _arithmetic(node.op, low, high, right)
    if left is not None and node.op in ("+", "*"):
        return _arithmetic(node.op, low, high, left)
    return (left - high, left - low) if left is not None and node.op == "-" else NONE


def _arithmetic(op: str, low: float, high: float, by: float) -> Bounds:
    if not math.isfinite(by):
        return NONE
    if op == "+":
        return low + by, high + by
    if op == "-":
        return low - by, high - by
    if op in ("*", "/") and by > 0:
        return (low * by, high * by) if op == "*" else (low / by, high / by)
    return NONE


def _narrowed(kept: Bounds, op: str, limit: float) -> Bounds:
    """Return the bounds of what a filter lets pass."""
    low, high = kept
    if op in (">", ">=", "=="):
        low = max(low, limit)
    if op in ("<", "<=", "=="):
        high = min(high, limit)
    return low, high


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


def constant(expr: Expr) -> float | None:
    """Return the number that the expression is, be it a `vector` of it; None if there is data in it, or NaN."""
    if type(expr) is nodes.NumberLiteral:
        return expr.value if not math.isnan(expr.value) else None
    if type(expr) in _OF_DATA:
        return None
    expr = bare(expr)
    if isinstance(expr, nodes.Call):
        return _folded(expr.args[0]) if expr.name == "vector" else None
    return _folded(expr) if expr.type == "scalar" else None


_OF_DATA = frozenset({nodes.VectorSelector, nodes.Aggregate, nodes.MatrixSelector, nodes.Subquery})


def _folded(expr: Expr) -> float | None:
    """Return the value of arithmetic on numbers alone, such as `24 * 60 * 60`."""
    found: dict[int, float] = {}
    for node in reversed(tuple(walk(expr))):
        if isinstance(node, nodes.NumberLiteral):
            found[id(node)] = node.value
        elif isinstance(node, (nodes.Paren, nodes.Unary)) and id(node.expr) in found:
            value = found[id(node.expr)]
            found[id(node)] = -value if isinstance(node, nodes.Unary) and node.op == "-" else value
        elif isinstance(node, nodes.Binary) and id(node.lhs) in found and id(node.rhs) in found:
            left, right = found[id(node.lhs)], found[id(node.rhs)]
            try:
                value = _OPERATORS[node.op](left, right)
            except (KeyError, ArithmeticError, ValueError):
                return None
            found[id(node)] = value
    value = found.get(id(expr), math.nan)
    return value if not math.isnan(value) else None


_OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "^": math.pow}
