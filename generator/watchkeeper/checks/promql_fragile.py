"""Alerts on samples such as topk: which series it takes changes, and each change is a new alert."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql import nodes
from watchkeeper.promql.functions import SCALAR
from watchkeeper.proof.shape import COMPARISONS, SAMPLES, bare, deciding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.promql.nodes import Expr

ID = "promql/fragile"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each alert whose series are picked by topk, bottomk, limitk or limit_ratio."""
    for group in project.groups:
        for rule in group.rules:
            tree = rule.expression.tree
            if not rule.is_alert or tree is None:
                continue
            for part in deciding(tree):
                picked = _picked(part)
                if picked is not None:
                    what = f"{picked.op} decides which series the alert is about"
                    why = "when another series takes the place the alert resolves, and fires anew with other labels"
                    if rule.for_ is not None:
                        why = "when another series takes the place, `for` starts again: it may never get there"
                    fix = f"leave {picked.op} out and let the comparison choose, or aggregate: max by (...) (...)"
                    at = picked.start, picked.start + len(picked.op)
                    severity = "warning" if rule.for_ is not None else "note"
                    yield rule.expression.finding(ID, what, *at, why=why, fix=fix, severity=severity)


def _picked(expr: Expr) -> nodes.Aggregate | None:
    """Return the topk that the value comes from, by way of comparisons and arithmetic with numbers alone."""
    while True:
        expr = bare(expr)
        if isinstance(expr, nodes.Aggregate):
            return expr if expr.op in SAMPLES else None
        if not isinstance(expr, nodes.Binary):
            return None
        if expr.rhs.type == SCALAR or expr.op in COMPARISONS:
            expr = expr.rhs if expr.lhs.type == SCALAR else expr.lhs
        elif expr.lhs.type == SCALAR:
            expr = expr.rhs
        else:
            return None
