"""Severity and team: who is told, and how loudly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.findings import Finding, nearest
from watchkeeper.model import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.project import Project

ID = "alert/severity"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each alert whose severity or team routing would not know."""
    severities, teams = [str(s) for s in Severity], project.settings.teams
    for alert in project.pack.alerts.values():
        if alert.severity not in severities:
            what = f'alert {alert.name}: unknown severity "{alert.severity}"{nearest(str(alert.severity), severities)}'
            yield Finding(
                ID,
                what,
                alert.place,
                why="no route matches it, and nobody is told",
                fix=f"one of {', '.join(severities)}",
            )
        if not alert.team.strip():
            yield Finding(
                ID, f"alert {alert.name} has no team", alert.place, why="nobody owns it", fix="say who acts on it"
            )
        elif teams and alert.team not in teams:
            what = f'alert {alert.name}: unknown team "{alert.team}"{nearest(alert.team, teams)}'
            fix = f"one of {', '.join(teams)}, or add it to teams in [tool.watchkeeper]"
            yield Finding(ID, what, alert.place, why="no route matches it, and nobody is told", fix=fix)
