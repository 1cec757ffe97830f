"""Alerts without a condition: they fire as soon as the series exists, whatever its value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql import nodes
from watchkeeper.promql.functions import SCALAR
from watchkeeper.proof.kinds import INFO
from watchkeeper.proof.kinds import kind as kind_of
from watchkeeper.proof.shape import COMPARISONS, argument, bare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.promql.nodes import Expr
    from watchkeeper.proof.catalogue import Catalogue

ID = "alert/comparison"

# Series and functions that are there only when there is something to tell.
_BY_EXISTENCE = frozenset({"ALERTS", "ALERTS_FOR_STATE"})
_DRESSED = frozenset({"vector", "label_replace", "label_join"})
_ABSENCE = frozenset({"absent", "absent_over_time", "present_over_time"})


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each part of an alert that decides that it fires, and compares nothing."""
    for group in project.groups:
        for rule in group.rules:
            tree = rule.expression.tree
            if not rule.is_alert or tree is None or _is_watchdog(tree):
                continue
            for part in _unconditional(tree, project.catalogue):
                what = "nothing is compared here"
                why = "the alert fires for each series that there is, whatever its value, 0 included"
                if part is not tree:
                    why = f"{why}; the other side of the operator does not change that"
                fix = (
                    "compare it, such as `> 0`; to tell that a series is there or not, use present_over_time or absent"
                )
                severity = "warning"
                if _may_be_there_only_if_wrong(part, project.catalogue):
                    severity, why = "note", f"a point to look at: {why}"
                yield rule.expression.finding(ID, what, part.start, part.end, why=why, fix=fix, severity=severity)


def _is_watchdog(tree: Expr) -> bool:
    """Tell whether it is a constant, as in alerts that fire always and on purpose."""
    tree = bare(tree)
    while isinstance(tree, nodes.Call) and tree.name in _DRESSED:
        tree = bare(tree.args[0])
    return tree.type == SCALAR


def _may_be_there_only_if_wrong(expr: Expr, catalogue: Catalogue) -> bool:
    """Tell whether it is a series of which nothing is known, with matchers that may say what is wrong."""
    while isinstance(expr, (nodes.Paren, nodes.Aggregate)):
        expr = expr.expr
    return (
        isinstance(expr, nodes.VectorSelector) and bool(expr.matchers) and catalogue.get(expr.metric_name or "") is None
    )


def _unconditional(tree: Expr, catalogue: Catalogue) -> Iterator[Expr]:
    """Yield the sides of the top's `or` that let everything pass."""
    stack = [tree]
    while stack:
        expr = bare(stack.pop())
        if isinstance(expr, nodes.Binary) and expr.op == "or":
            stack += (expr.rhs, expr.lhs)
        elif not _filters(expr, catalogue):
            yield expr


def _filters(expr: Expr, catalogue: Catalogue) -> bool:
    """Tell whether the expression can be without a result although its series are there.

    Operands of arithmetic are looked at in turn: one that is left out leaves the result out.
    """
    stack, seen = [expr], set[str]()
    while stack:
        node = stack.pop()
        if isinstance(node, nodes.Binary):
            if node.op in COMPARISONS and not node.return_bool:
                return True
            # Where both sides exist is a condition too: of series that come and go, or of labels.
            if node.op in ("and", "unless"):
                return True
            stack += (node.rhs, node.lhs)
        elif isinstance(node, nodes.Call):
            if node.name in _ABSENCE or node.function is None:
                return True
            inner = argument(node)
            if inner is not None and node.name != "scalar":
                stack.append(inner)
        elif isinstance(node, (nodes.Paren, nodes.Unary, nodes.Aggregate, nodes.Subquery)):
            stack.append(node.expr)
        elif isinstance(node, nodes.MatrixSelector):
            stack.append(node.selector)
        elif isinstance(node, nodes.VectorSelector):
            name = node.metric_name
            if name is None or name in _BY_EXISTENCE or kind_of(node, catalogue).kind == INFO:
                return True
            rules = catalogue.recorded(name)
            if ":" in name and not rules:  # recorded elsewhere, perhaps by a rule that compares
                return True
            if name not in seen:
                seen.add(name)
                stack += rules
        elif not isinstance(node, nodes.NumberLiteral):
            return True
    return False
