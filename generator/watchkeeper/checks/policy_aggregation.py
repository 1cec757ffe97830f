"""Aggregations that drop labels which the team's policy keeps, or keep those which it strips."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql import nodes
from watchkeeper.proof.facts import IMPOSSIBLE, NEVER, aggregated
from watchkeeper.proof.shape import SAMPLES, argument

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.promql.nodes import Aggregate, Expr
    from watchkeeper.proof.flow import Flow
    from watchkeeper.subject import Rule

ID = "policy/aggregation"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each aggregation that decides what labels a rule's result has, and decides wrongly."""
    policy = project.settings.policy
    if policy is None or not (policy.aggregations_keep or policy.aggregations_strip):
        return
    for group in project.groups:
        for rule in group.rules:
            tree = rule.expression.tree
            if tree is None or not rule.expression.of(nodes.Aggregate):
                continue
            flow = rule.expression.flow(project.catalogue)
            for label in policy.aggregations_keep:
                for node in _dropping(tree, flow, label):
                    yield _drops(rule, node, label)
            for label in policy.aggregations_strip:
                for node in _keeping(tree, flow, label):
                    yield _keeps(rule, node, label)


def _dropping(tree: Expr, flow: Flow, label: str) -> Iterator[Aggregate]:
    """Yield the aggregations but for which a result might have the label: what they aggregate may have it."""
    todo, seen = [tree], set()
    while todo:
        for branch in flow.of(todo.pop()).branches:
            status, reason, node, owner = branch.fact(label)
            node = owner or node
            if status != NEVER or reason is not aggregated or not isinstance(node, nodes.Aggregate) or id(node) in seen:
                continue
            seen.add(id(node))
            if flow.of(node.expr).label(label).status != IMPOSSIBLE:
                yield node
            else:  # it was gone before, perhaps by another aggregation
                todo.append(node.expr)


def _keeping(tree: Expr, flow: Flow, label: str) -> Iterator[Aggregate]:
    """Yield the outermost aggregations from which a result may have the label."""
    todo = [tree]
    while todo:
        node = todo.pop()
        if flow.of(node).label(label).status == IMPOSSIBLE:
            continue
        if isinstance(node, nodes.Aggregate):
            if node.op in SAMPLES:
                todo.append(node.expr)
            else:
                yield node
        elif isinstance(node, (nodes.Paren, nodes.Unary, nodes.Subquery)):
            todo.append(node.expr)
        elif isinstance(node, nodes.Call):
            inner = argument(node)
            todo += [inner] if inner else []
        elif isinstance(node, nodes.Binary):
            matching = node.matching
            if node.op == "or":
                todo += [node.rhs, node.lhs]
            elif node.lhs.type == "scalar" or (matching and matching.card == nodes.ONE_TO_MANY):
                todo.append(node.rhs)
            else:
                todo.append(node.lhs)


def _drops(rule: Rule, node: Aggregate, label: str) -> Finding:
    fix = f"take {label} out of without ()" if node.without else f"add {label} to by ()"
    if not node.grouping:
        fix = f"write {node.op} by ({label}) (...)"
    why = "aggregations_keep in [tool.watchkeeper.policy] asks for it"
    start, end = _place(node)
    return rule.expression.finding(ID, f"{node.op} drops the label {label}", start, end, why=why, fix=fix)


def _keeps(rule: Rule, node: Aggregate, label: str) -> Finding:
    fix = f"add {label} to without ()" if node.without else f"take {label} out of by ()"
    named = next((one for one in node.grouping if one.name == label), None)
    why = "aggregations_strip in [tool.watchkeeper.policy] forbids it"
    start, end = (named.start, named.end) if named else _place(node)
    return rule.expression.finding(ID, f"{node.op} keeps the label {label}", start, end, why=why, fix=fix)


def _place(node: Aggregate) -> tuple[int, int]:
    if node.grouping:
        return node.grouping[0].start, node.grouping[-1].end
    return node.start, node.start + len(node.op)
