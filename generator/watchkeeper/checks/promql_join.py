"""Operators whose sides can never match."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql import nodes
from watchkeeper.proof.flow import GUARANTEED, IMPOSSIBLE, never_match

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.proof.flow import Fate, Flow, Labels
    from watchkeeper.subject import Expression

ID = "promql/join"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each."""
    for expression in project.expressions:
        joins = [node for node in expression.of(nodes.Binary) if node.matching is not None]
        if not joins:
            continue
        never = set()
        for why, node, conflict in expression.flow(project.catalogue).causes:
            if why is never_match:
                assert isinstance(node, nodes.Binary)
                never.add(id(node))
                yield from _unmatched(expression, node, conflict.label, project)
        for node in joins:
            if node.op != "or" and id(node) not in never:
                yield from _differing(expression, node, expression.flow(project.catalogue))


def _differing(expression: Expression, node: nodes.Binary, flow: Flow) -> Iterator[Finding]:
    """Yield a finding where a label that aggregations keep on one side alone has to be empty for a match."""
    matching = node.matching
    if matching is None or matching.on or any(label.variables for label in matching.labels):
        return
    left, right = flow.of(node.lhs).names(), flow.of(node.rhs).names()
    if left is None or right is None or left == right:
        return
    apart = (left ^ right) - {label.name for label in matching.labels} - {"__name__"}
    if not apart or not (left and right):  # a side without labels, such as vector(0), is told of where it never matches
        return
    where = [
        f"{', '.join(sorted(apart & side))} on the {name}"
        for name, side in (("left", left), ("right", right))
        if apart & side
    ]
    what = f"the sides of {node.op} keep different labels: {' and '.join(where)} alone"
    why = "all labels have to agree: a series that has one of these never matches, and the result lacks it"
    shared = ", ".join(sorted(left & right - {"__name__"})) or "..."
    fix = f"say what is to match: on ({shared}), with group_left or group_right where a side has several series of each"
    end = max(node.op_start + len(node.op), matching.end)
    yield expression.finding(ID, what, node.op_start, end, why=why, fix=fix, severity="warning")


def _unmatched(expression: Expression, node: nodes.Binary, label: str, project: Project) -> Iterator[Finding]:
    flow = expression.flow(project.catalogue)
    left, right = flow.of(node.lhs), flow.of(node.rhs)
    fates = left.label(label), right.label(label)
    matching = node.matching
    assert matching is not None
    if matching.on and any(fate.status == IMPOSSIBLE and fate.by_contract for fate in fates):
        return  # promql/label tells of the label itself
    end = max(node.op_start + len(node.op), matching.end)
    if IMPOSSIBLE in (fates[0].status, fates[1].status):
        what = f'"{label}" is {_state(fates[0])} on the left side and {_state(fates[1])} on the right'
    else:
        what = f'"{label}" never has the same value on both sides'
    why = "the result is always empty"
    if node.op == "unless":
        why = "nothing is ever taken away"
    elif flow.of(expression.tree).empty and not expression.in_dashboard:  # type: ignore[arg-type]  # it is parsed
        why = "the result is always empty, and the rule never does anything"
    reasons = [fate.reason for fate in fates if fate.status == IMPOSSIBLE and not fate.by_contract]
    why = f"{why}: {reasons[0]}" if reasons else why
    what = f"the sides of {node.op} never match: {what}"
    fix = _fix(matching, label, left, right)
    yield expression.finding(ID, what, node.op_start, end, why=why, fix=fix)


def _state(fate: Fate) -> str:
    return "always there" if fate.status == GUARANTEED else "never there" if fate.status == IMPOSSIBLE else "there"


def _fix(matching: nodes.VectorMatching, label: str, left: Labels, right: Labels) -> str:
    shared = ", ".join(sorted(left.guaranteed() & right.guaranteed() - {label}))
    if matching.on:
        return f"both sides have {shared}: match on ({shared})" if shared else f'match on labels without "{label}"'
    if shared:
        return f"say what is to match: on ({shared}); with group_left if the left side has several series of each"
    return f"say what is to match: on (...), or ignoring ({label})"
