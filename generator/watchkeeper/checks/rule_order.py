"""Rules that read what a later rule of their group records: they see the value of the evaluation before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project

ID = "rule/order"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each such selector."""
    for group in project.groups:
        first: dict[str, int] = {}
        for number, rule in enumerate(group.rules):
            if not rule.is_alert:
                first.setdefault(rule.name.value, number)
        if not first:
            continue
        for number, rule in enumerate(group.rules):
            for node in rule.expression.of(nodes.VectorSelector) if rule.expression.may_read(first) else ():
                if first.get(node.name or "", 0) > number and not node.offset:
                    start, end = (node.name_start, node.name_end) if node.name_end else (node.start, node.end)
                    what = f"{node.name} is recorded further down in the group {group.name.value}"
                    why = "a style point: rules run in order, so this one sees the value of the evaluation before"
                    fix = "move the recording rule above this one"
                    yield rule.expression.finding(ID, what, start, end, why=why, fix=fix, severity="note")
