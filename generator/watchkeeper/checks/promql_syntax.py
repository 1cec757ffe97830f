"""Expressions that are no PromQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql.errors import LimitError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project

ID = "promql/syntax"

_LIMIT = "this is a limit of ours, not one of Prometheus': what can't be read can't be checked"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each expression that does not parse, or is too large to."""
    for expression in project.expressions:
        if error := expression.error:
            if isinstance(error, LimitError):
                why, fix = _LIMIT, "have recording rules compute the parts of it"
                yield expression.finding(ID, error.message, error.position, error.end, why=why, fix=fix)
                continue
            why = "the panel shows an error" if expression.in_dashboard else "Prometheus refuses the file"
            yield expression.finding(ID, error.message, error.position, error.end, why=why)
