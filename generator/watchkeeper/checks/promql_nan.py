"""Divisions by 0 whose NaN spoils what is made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql import nodes
from watchkeeper.proof.shape import KEEPS, bare, is_rate, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.promql.nodes import Expr
    from watchkeeper.subject import Expression

ID = "promql/nan"

# NaN among many is NaN for all of these; min and max pass it over.
_SPOILED = frozenset({"sum", "avg", "stddev", "stdvar"})
_SPOILED_OVER_TIME = frozenset({"avg_over_time", "sum_over_time", "stddev_over_time", "stdvar_over_time"})


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each division by a literal 0, and each ratio of rates that is 0/0 in an idle hour."""
    for expression in project.expressions:
        divides = False
        for node in expression.of(nodes.Binary):
            if node.op == "/" or node.op == "%":  # noqa: PLR1714 - this runs for every operator of every rule
                divides = True
                if number(node.rhs) == 0:
                    why = "the result is NaN or infinite, whatever the data"
                    yield expression.finding(
                        ID, f"{node.op} by 0", node.op_start, node.end, why=why, fix="mend the number"
                    )
            elif node.op == "!=" and number(node.rhs) is not None and _ratio(node.lhs) is not None:
                what = "a ratio that can be 0/0 is compared by !="
                why = "while nothing happens the ratio is NaN, and NaN differs from every number: this holds"
                fix = "compare by < or >, which NaN never passes"
                yield expression.finding(ID, what, node.start, node.end, why=why, fix=fix, severity="warning")
        if not divides:
            continue
        # Whether anything is ever idle, only those know who know the metrics.
        severity = "warning" if project.catalogue.closed else "note"
        for aggregate in expression.of(nodes.Aggregate):
            if aggregate.op in _SPOILED:
                yield from _spoiled(expression, aggregate.op, aggregate.expr, severity)
        for call in expression.of(nodes.Call):
            if call.name in _SPOILED_OVER_TIME and isinstance(call.args[0], nodes.Subquery):
                yield from _spoiled(expression, call.name, call.args[0].expr, severity)


def _spoiled(expression: Expression, name: str, expr: Expr, severity: str) -> Iterator[Finding]:
    inside = _ratio(expr)
    if inside is not None:
        what = f"{name} of a ratio that can be 0/0"
        why = f"one that is idle makes NaN, and with it the whole {name} NaN: an alert on it falls silent"
        fix = "divide the sums: sum(rate(a[5m])) / sum(rate(b[5m])); or leave idle ones out: a / (b > 0)"
        yield expression.finding(ID, what, inside.op_start, inside.op_start + 1, why=why, fix=fix, severity=severity)


def _ratio(expr: Expr) -> nodes.Binary | None:
    """Return the division of two rates that the value comes from, if nothing on the way leaves NaN out."""
    while True:
        expr = bare(expr)
        if isinstance(expr, nodes.Aggregate) and (expr.op in _SPOILED or expr.op in ("topk", "quantile")):
            expr = expr.expr
        elif isinstance(expr, nodes.Call) and expr.name in KEEPS and expr.args:
            expr = expr.args[0]
        elif isinstance(expr, nodes.Binary) and expr.op in ("+", "-", "*", "/"):
            if expr.op == "/" and _is_idle(expr.rhs):
                return expr if _is_idle(expr.lhs) else None
            if number(expr.rhs) is not None:
                expr = expr.lhs
            elif number(expr.lhs) is not None:
                expr = expr.rhs
            else:
                return None
        else:
            return None


def _is_idle(expr: Expr) -> bool:
    """Tell whether it is 0 where nothing happens: a rate, or a sum or difference of two."""
    expr = bare(expr)
    if isinstance(expr, nodes.Binary) and expr.op in ("+", "-"):
        return is_rate(expr.lhs) and is_rate(expr.rhs)
    return is_rate(expr)
