"""Expressions that are no PromQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project

ID = "promql/syntax"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each expression that does not parse."""
    for expression in project.expressions:
        if error := expression.error:
            why = "the panel shows an error" if expression.in_dashboard else "Prometheus refuses the file"
            yield expression.finding(ID, error.message, error.position, error.end, why=why)
