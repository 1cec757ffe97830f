"""Thresholds that can't be crossed: NaN, and percent where the series is a ratio."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from watchkeeper.promql import nodes
from watchkeeper.promql.functions import SCALAR
from watchkeeper.proof.shape import COMPARISONS, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.promql.nodes import Expr
    from watchkeeper.proof.catalogue import Catalogue
    from watchkeeper.subject import Expression

ID = "alert/threshold"

# A ratio may pass 1 a little, and 2 in odd cases; above it is percent that was meant.
_PERCENT = (5, 100)


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each such comparison."""
    for expression in project.expressions:
        for node in expression.of(nodes.Binary):
            if node.op in COMPARISONS:
                for side, other in ((node.lhs, node.rhs), (node.rhs, node.lhs)):
                    value = number(side) if side.type == SCALAR else None
                    if value is None:
                        continue
                    if math.isnan(value):
                        what = f"{node.op} NaN is {'always' if node.op == '!=' else 'never'} true"
                        why = "NaN compares with nothing, itself included"
                        yield expression.finding(ID, what, side.start, side.end, why=why, fix="give a number")
                    elif _PERCENT[0] <= value <= _PERCENT[1]:
                        yield from _percent(expression, side, other, value, project.catalogue)


def _percent(expression: Expression, side: Expr, other: Expr, value: float, catalogue: Catalogue) -> Iterator[Finding]:
    name = _ratio(other, catalogue)
    if name:
        what = f"{name} is a ratio, and {value:g} looks like percent"
        why = "the contract says that it is a ratio, about 0 to 1: it never comes near that number"
        fix = f"write {value / 100:g}, or multiply the series by 100"
        yield expression.finding(ID, what, side.start, side.end, why=why, fix=fix, severity="warning")


def _ratio(expr: Expr, catalogue: Catalogue) -> str:
    """Return the name of the series that the value is of, aggregated at most, if the contract's unit is a ratio."""
    while isinstance(expr, (nodes.Paren, nodes.Aggregate)):
        if isinstance(expr, nodes.Aggregate) and expr.op not in ("avg", "min", "max", "quantile", "topk", "bottomk"):
            return ""
        expr = expr.expr
    name = expr.metric_name if isinstance(expr, nodes.VectorSelector) else None
    known = catalogue.get(name) if name else None
    return name if name and known and known.metric and known.metric.unit == "ratio" else ""
