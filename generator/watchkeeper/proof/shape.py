"""Parts of expressions that several checks ask about: numbers, comparisons, and what decides whether an alert fires."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql.nodes import Aggregate, Binary, Call, MatrixSelector, NumberLiteral, Paren, Subquery, Unary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.promql.nodes import Expr

COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "^", "atan2"})
# What turns a counter into a gauge of how fast it goes: 0 or more, as long as the counter is one.
RATES = frozenset({"rate", "increase", "irate"})
# Aggregations that hand on one of the values, and those that hand on series with their labels.
PICKS = frozenset({"min", "max", "quantile", "topk", "bottomk", "limitk", "limit_ratio"})
SAMPLES = frozenset({"topk", "bottomk", "limitk", "limit_ratio"})
# Functions that hand on the value of their first argument, with other labels or in another order, or a part of it.
KEEPS = frozenset({
    "label_replace", "label_join", "sort", "sort_desc", "sort_by_label", "sort_by_label_desc", "info", "scalar",
    "last_over_time", "first_over_time", "min_over_time", "max_over_time",
    "abs", "ceil", "floor", "round", "clamp", "clamp_min", "clamp_max",
})  # fmt: skip


def bare(expr: Expr) -> Expr:
    """Return the expression without the parentheses around it."""
    while type(expr) is Paren:
        expr = expr.expr
    return expr


def number(expr: Expr) -> float | None:
    """Return the value of a number as it is written, with signs and parentheses; None for anything else."""
    sign = 1
    while type(expr) is Paren or type(expr) is Unary:
        if type(expr) is Unary and expr.op == "-":
            sign = -sign
        expr = expr.expr
    return sign * expr.value if type(expr) is NumberLiteral else None


def deciding(expr: Expr) -> Iterator[Expr]:
    """Yield the expressions whose results are the whole's: both sides of `or`, the left of `and` and `unless`."""
    stack = [expr]
    while stack:
        expr = bare(stack.pop())
        if type(expr) is Binary and expr.op == "or":
            stack += (expr.rhs, expr.lhs)
        elif type(expr) is Binary and expr.op in {"and", "unless"}:
            stack.append(expr.lhs)
        else:
            yield expr


def argument(call: Call) -> Expr | None:
    """Return the range vector or, without one, the vector that a function is of; None where it has neither."""
    for arg in call.args:
        if type(arg) is MatrixSelector or type(arg) is Subquery or arg.type == "vector":
            return arg
    return None


def is_rate(expr: Expr) -> bool:
    """Tell whether it is a rate, or sums, picks or multiples of rates: what is 0 whenever nothing happens."""
    while True:
        expr = bare(expr)
        if type(expr) is Aggregate and (expr.op in {"sum", "avg"} or expr.op in PICKS):
            expr = expr.expr
        elif type(expr) is Call and expr.name in KEEPS and expr.name not in _LIFTS and expr.args:
            expr = expr.args[0]
        elif type(expr) is Binary and (expr.op in {"*", "/"}) and number(expr.rhs) is not None:
            expr = expr.lhs
        elif type(expr) is Binary and expr.op == "*" and number(expr.lhs) is not None:
            expr = expr.rhs
        else:
            return type(expr) is Call and expr.name in RATES


# These can keep a value away from 0.
_LIFTS = frozenset({"clamp", "clamp_min", "first_over_time", "last_over_time", "min_over_time", "max_over_time"})
