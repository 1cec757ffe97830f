"""Alerts without a summary, the one line that everyone sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.project import Project

ID = "alert/summary"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each alert whose summary is empty or blank."""
    for alert in project.pack.alerts.values():
        if not alert.summary.strip():
            why = "it is the line that a page or a ticket begins with"
            fix = 'say what is wrong: summary="{{ $labels.instance }} is down"'
            yield Finding(ID, f"alert {alert.name} has no summary", alert.place, why=why, fix=fix)
