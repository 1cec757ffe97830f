"""Rules whose expression gives what no rule can use: a range vector, or a string."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql.functions import MATRIX, STRING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project

ID = "rule/type"

_MENDS = {
    MATRIX: ("a range vector", "put a function around it, such as rate() or max_over_time(), or drop the range"),
    STRING: ("a string", "give an expression that selects series"),
}


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each rule whose expression is neither an instant vector nor a scalar."""
    for expression in project.expressions:
        tree = expression.tree
        if tree is not None and not expression.in_dashboard and tree.type in _MENDS:
            what, fix = _MENDS[tree.type]
            why = "promtool takes the file, and every evaluation of the rule fails"
            message = f"the expression is {what}: a rule needs an instant vector or a scalar"
            yield expression.finding(ID, message, tree.start, tree.end, why=why, fix=fix)
