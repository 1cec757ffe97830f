"""Rules of which the team's policy has something to say, whatever they are like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.engine.regex import predicate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project

ID = "policy/report"

_WHY = "report in [tool.watchkeeper.policy] says so of each rule of this name"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each rule whose name matches, with what is to be said."""
    policy = project.settings.policy
    if policy is None or not policy.report:
        return
    for group in project.groups:
        for rule in group.rules:
            for pattern, comment in policy.report.items():
                if predicate(pattern)(rule.name.value):
                    yield rule.finding(ID, comment, why=_WHY, severity="warning")
