"""Expressions, and parts of them, that can only be empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql import nodes
from watchkeeper.proof.facts import place
from watchkeeper.proof.flow import never_match
from watchkeeper.proof.matchers import always_there, contradictory, not_there
from watchkeeper.proof.shape import COMPARISONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project

ID = "promql/empty"

# Others tell of sides that never match, and of labels that are not there.
_OF_OTHERS = frozenset({never_match, not_there})


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each place where nothing can come through."""
    for expression in project.expressions:
        if expression.tree is None:
            continue
        flow = expression.flow(project.catalogue)
        for why, node, detail in flow.causes:
            if why in _OF_OTHERS or (isinstance(node, nodes.Binary) and node.op in COMPARISONS):
                continue  # of numbers promql/constant tells
            start, end = place(node)
            if why is contradictory:
                start = detail[0].start
            empty = flow.of(expression.tree).empty is not None
            result = "this part of the expression is always empty"
            if empty:
                result = "the panel stays empty" if expression.in_dashboard else "the rule never does anything"
            what = f"nothing can come of this: {why(detail, node, '')}"
            # That a label is on all series is the contract's word for it: no matcher of the expression's own.
            severity = "warning" if why is always_there else "error"
            fix = "mend it, or drop this part"
            yield expression.finding(ID, what, start, end, why=result, fix=fix, severity=severity)
