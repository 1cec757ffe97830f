"""A threshold that can't be crossed: NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project

ID = "alert/threshold"

_COMPARISONS = {"==", "!=", "<", "<=", ">", ">="}


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each comparison with NaN."""
    for expression in project.expressions:
        for node in expression.nodes:
            if isinstance(node, nodes.Binary) and node.op in _COMPARISONS:
                for side in (node.lhs, node.rhs):
                    if isinstance(side, nodes.NumberLiteral) and side.value != side.value:  # NaN
                        what = f"{node.op} NaN is {'always' if node.op == '!=' else 'never'} true"
                        why = "NaN compares with nothing, itself included"
                        yield expression.finding(ID, what, side.start, side.end, why=why, fix="give a number")
