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

ID = "promql/nan"

# NaN among many is NaN for all of these; min and max pass it over.
_SPOILED = frozenset({"sum", "avg", "stddev", "stdvar"})
_SPOILED_OVER_TIME = frozenset({"avg_over_time", "sum_over_time", "stddev_over_time", "stdvar_over_time"})


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each division by a literal 0, and each ratio of rates that is 0/0 in an idle hour."""
    for expression in project.expressions:
        for node in expression.nodes:
            if type(node) is nodes.Binary:
                if node.op == "/" or node.op == "%":  # noqa: PLR1714 - this runs for every operator of every rule
                    if number(node.rhs) == 0:
                        why = "the result is NaN or infinite, whatever the data"
                        what = f"{node.op} by 0"
                        yield expression.finding(ID, what, node.op_start, node.end, why=why, fix="mend the number")
                elif node.op == "!=" and number(node.rhs) is not None:
                    ratio = _ratio(node.lhs)
                    if ratio is not None:
                        what = "a ratio that can be 0/0 is compared by !="
                        why = "while nothing happens the ratio is NaN, and NaN differs from every number: this holds"
                        fix = "compare by < or >, which NaN never passes"
                        yield expression.finding(ID, what, node.start, node.end, why=why, fix=fix, severity="warning")
                continue
            inside = None
            if type(node) is nodes.Aggregate:
                if node.op in _SPOILED:
                    inside = _ratio(node.expr)
            elif type(node) is nodes.Call and node.name in _SPOILED_OVER_TIME:
                subquery = node.args[0]
                inside = _ratio(subquery.expr) if isinstance(subquery, nodes.Subquery) else None
            if inside is not None and isinstance(node, (nodes.Aggregate, nodes.Call)):
                name = node.op if isinstance(node, nodes.Aggregate) else node.name
                what = f"{name} of a ratio that can be 0/0"
                why = f"one that is idle makes NaN, and with it the whole {name} NaN: an alert on it falls silent"
                fix = "divide the sums: sum(rate(a[5m])) / sum(rate(b[5m])); or leave idle ones out: a / (b > 0)"
                yield expression.finding(
                    ID, what, inside.op_start, inside.op_start + 1, why=why, fix=fix, severity="warning"
                )


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
