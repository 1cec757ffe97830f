"""Seconds compared with bytes, added to them, or recorded as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql import nodes
from watchkeeper.promql.functions import SCALAR
from watchkeeper.proof.shape import COMPARISONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.proof.catalogue import Catalogue
    from watchkeeper.subject import Expression

ID = "promql/unit"

_OPERATORS = COMPARISONS | {"+", "-"}


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each operation whose sides, and each rule whose result, are known to be in other units."""
    for expression in project.expressions:
        for node in expression.of(nodes.Binary):
            if node.op in _OPERATORS and not _has_number(node):
                yield from _mismatches(expression, project.catalogue)
                break

    for group in project.groups:
        for rule in group.rules:
            unit = getattr(rule.definition, "unit", "")  # an alert has none
            if unit:
                yield from _recorded(rule.expression, unit, project.catalogue)


def _recorded(expression: Expression, unit: str, catalogue: Catalogue) -> Iterator[Finding]:
    """Tell of a recording rule whose unit is not what its expression is in."""
    from watchkeeper.proof.units import named_unit, units

    tree = expression.tree
    found = units(expression.nodes, catalogue).get(id(tree)) if tree is not None else None
    wanted = named_unit(unit, sure=True)
    if tree is not None and found is not None and wanted.differs(found):
        what = f"it is declared to be in {wanted}, and the expression is in {found}"
        why = "panels show it in the wrong unit, and a threshold on it is set in the wrong unit"
        severity = "error" if found.sure else "warning"
        fix = "mend the unit, or convert in the expression"
        yield expression.finding(ID, what, tree.start, tree.end, why=why, fix=fix, severity=severity)


def _has_number(node: nodes.Binary) -> bool:
    """Tell whether one side is written as numbers alone: it is in the unit of the other."""
    left, right = node.lhs, node.rhs
    return (right.type == SCALAR and type(right) is not nodes.Call) or (
        left.type == SCALAR and type(left) is not nodes.Call
    )


def _mismatches(expression: Expression, catalogue: Catalogue) -> Iterator[Finding]:
    from watchkeeper.proof.units import units

    found = units(expression.nodes, catalogue)
    for node in expression.of(nodes.Binary):
        if node.op not in _OPERATORS:
            continue
        left, right = found.get(id(node.lhs)), found.get(id(node.rhs))
        if left is None or right is None or not left.differs(right):
            continue
        sure = left.sure and right.sure
        what = f"the left side of {node.op} is in {left}, the right side in {right}"
        why = "the result means nothing, and an alert on it fires at no sensible value"
        if not sure:
            why = f"by their names: {why}"
        fix = "compare like with like; convert one side if that is meant, such as x_milliseconds / 1000"
        yield expression.finding(
            ID, what, node.start, node.end, why=why, fix=fix, severity="error" if sure else "warning"
        )
