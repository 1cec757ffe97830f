"""Comparisons that come out the same whatever the data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from watchkeeper.promql import nodes
from watchkeeper.promql.functions import SCALAR
from watchkeeper.proof.bounds import NONE, bounds, can_hold, constant, must_hold
from watchkeeper.proof.shape import COMPARISONS, MIRRORED, bare, deciding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.promql.nodes import Expr
    from watchkeeper.subject import Expression

ID = "promql/constant"

# Ways to say "where it exists".
_EXISTS = {(">", 0), (">=", 1), ("!=", 0), ("==", 1)}


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each comparison that can't hold, that must hold, or that decides nothing."""
    for expression in project.expressions:
        for node in expression.of(nodes.Binary):
            if node.op in COMPARISONS:
                if SCALAR in (node.lhs.type, node.rhs.type):
                    yield from _with_number(expression, node)
                elif node.op in _NEVER_OF_ITSELF and not node.return_bool:
                    yield from _with_itself(expression, node)
    for group in project.groups:
        for rule in group.rules:
            if rule.is_alert and rule.expression.tree is not None:
                yield from _of_alert(rule.expression, rule.expression.tree)


_NEVER_OF_ITSELF = frozenset({"<", ">", "!="})


def _with_number(expression: Expression, node: nodes.Binary) -> Iterator[Finding]:
    limit, other, op = constant(node.rhs), node.lhs, node.op
    if limit is None:
        limit, other, op = constant(node.lhs), node.rhs, MIRRORED[node.op]
        if limit is None:
            return
    found = bounds(other)
    if found == NONE and not math.isinf(limit):
        return
    at = node.start, node.end
    if not can_hold(found, op, (limit, limit)):
        what = "this is always 0" if node.return_bool else "this is never true"
        why = _outcome(expression)
        yield expression.finding(ID, f"{what}: {_reason(other, found)}", *at, why=why, fix=_fix(other, node.op))
    elif node is not expression.tree and constant(other) is not None and must_hold(found, op, (limit, limit)):
        what = "this compares numbers with numbers and is always true"
        why = "nothing that happens can change it; comparisons bind tighter than `and`, `or` and `unless`"
        fix = "compare a series, or put parentheses around what is to be compared"
        yield expression.finding(ID, what, *at, why=why, fix=fix, severity="warning")


def _outcome(expression: Expression) -> str:
    """Return what becomes of an expression with a part that is empty: another part may give something all the same."""
    if any(getattr(node, "op", "") in _ELSE or getattr(node, "name", "") in _ELSE for node in expression.nodes):
        return "this part of the expression decides nothing"
    return "the panel stays empty" if expression.in_dashboard else "the rule never does anything"


# Where nothing on one side leaves something.
_ELSE = frozenset({"or", "unless", "absent", "absent_over_time", "scalar"})


def _reason(other: Expr, found: tuple[float, float]) -> str:
    other = bare(other)
    if isinstance(other, nodes.Aggregate) and other.op in ("count", "group", "count_values"):
        return f"{other.op}() of nothing is no 0 but nothing at all, and of anything else it is 1 or more"
    if isinstance(other, nodes.Call) and other.name in ("absent", "absent_over_time"):
        return f"{other.name}() is 1 or nothing at all"
    low, high = found
    if low == -math.inf and high == math.inf:
        return "no value is beyond infinity"
    if low == high:
        return f"the other side is always {low:g}"
    if high == math.inf:
        return f"the other side is never below {low:g}"
    return (
        f"the other side is from {low:g} to {high:g}" if low > -math.inf else f"the other side is never above {high:g}"
    )


def _fix(other: Expr, op: str) -> str:
    other = bare(other)
    if isinstance(other, nodes.Aggregate) and other.op in ("count", "group", "count_values"):
        return "write absent(...) to hear that there is none, or (count(...) or vector(0)) to count none as 0"
    if isinstance(other, nodes.Call) and other.name in ("absent", "absent_over_time"):
        return f"leave `{op} ...` out: {other.name}() alone says that there is none"
    return "mend the number, or the direction of the comparison"


def _with_itself(expression: Expression, node: nodes.Binary) -> Iterator[Finding]:
    """`x != x` tells NaN from numbers, and `x == x` numbers from NaN: those are meant."""
    left, right, text = bare(node.lhs), bare(node.rhs), expression.text
    if node.op == "!=" or text[left.start : left.end] != text[right.start : right.end]:
        return
    what = f"this is never true: both sides of {node.op} are the same"
    why = _outcome(expression)
    fix = "compare with the other series, or with an earlier time by `offset`"
    yield expression.finding(ID, what, node.start, node.end, why=why, fix=fix)


def _of_alert(expression: Expression, tree: Expr) -> Iterator[Finding]:
    for node in deciding(tree):
        if not isinstance(node, nodes.Binary) or node.op not in COMPARISONS or constant(node.lhs) is not None:
            continue
        if node.return_bool:
            if any(isinstance(n, nodes.Binary) and n.op in COMPARISONS and not n.return_bool for n in nodes.walk(node)):
                continue
            alone = not any(isinstance(n, nodes.Binary) and n.op in ("and", "unless") for n in expression.nodes)
            what = f"{node.op} bool gives 0 or 1 and leaves nothing out"
            why = "an alert fires on 0 as on any value: " + ("it always fires" if alone else "this decides nothing")
            at = node.op_start, node.op_start + len(node.op)
            severity = "error" if alone else "warning"
            yield expression.finding(ID, what, *at, why=why, fix="leave bool out", severity=severity)
        elif node.rhs.type == SCALAR:
            yield from _always(expression, node)


def _always(expression: Expression, node: nodes.Binary) -> Iterator[Finding]:
    limit = constant(node.rhs)
    # What is always above, is above 0 or 1: no need to look at all the thresholds that are higher.
    if limit is None or (node.op, limit) in _EXISTS or (limit > 1 and node.op[0] == ">"):
        return
    if must_hold(bounds(node.lhs), node.op, (limit, limit)):
        what = "this is true of whatever there is"
        why = "the alert fires as long as the series exist"
        fix = "mend the number, or the direction of the comparison"
        yield expression.finding(ID, what, node.start, node.end, why=why, fix=fix, severity="warning")
