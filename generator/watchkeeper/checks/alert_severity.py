"""Severity and team: who is told, and how loudly."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from watchkeeper.findings import Finding, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.project import Project
    from watchkeeper.subject import Group, Rule

ID = "alert/severity"

_NOBODY = "no route matches it, and nobody is told"
# What rule files of all kinds call their severities: each has its own routes, so none of them is wrong.
_IN_USE = frozenset({
    "critical", "warning", "info", "none", "page", "pager", "ticket", "error", "warn", "crit", "major", "minor",
    "high", "medium", "low", "emergency", "alert", "notice", "debug", "fatal", "severe", "urgent", "notify", "email",
    "information", "informational", "disaster", "average", "slack", "chat", "normal", "moderate", "ok", "log",
})  # fmt: skip
_USUAL = ("critical", "warning", "emergency", "information")


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each alert whose severity or team routing would not know."""
    if project.pack.alerts:
        yield from _of_definitions(project)
    for group in project.groups:
        if group.definition is None:
            yield from _of_file(group)


def _of_definitions(project: Project) -> Iterator[Finding]:
    from watchkeeper.model import Severity  # which anyone's files do without

    severities, teams = [str(s) for s in Severity], project.settings.teams
    for alert in project.pack.alerts.values():
        if alert.severity not in severities:
            what = f'alert {alert.name}: unknown severity "{alert.severity}"{nearest(str(alert.severity), severities)}'
            fix = f"one of {', '.join(severities)}"
            yield Finding(ID, what, alert.place, why=_NOBODY, fix=fix)
        if not alert.team.strip():
            what = f"alert {alert.name} has no team"
            yield Finding(ID, what, alert.place, why="nobody owns it", fix="say who acts on it")
        elif teams and alert.team not in teams:
            what = f'alert {alert.name}: unknown team "{alert.team}"{nearest(alert.team, teams)}'
            fix = f"one of {', '.join(teams)}, or add it to teams in [tool.watchkeeper]"
            yield Finding(ID, what, alert.place, why=_NOBODY, fix=fix)


def _of_file(group: Group) -> Iterator[Finding]:
    """What can be said where nobody knows the routes: one is missing, or is a slip of the pen."""
    lacking: list[Rule] = []
    for rule in group.rules:
        if not rule.is_alert:
            continue
        severity = rule.labels.get("severity") or group.labels.get("severity")
        if severity is None:
            lacking.append(rule)
        elif meant := _meant(severity.value):
            what = f'{rule.owner}: unknown severity "{severity.value}"; did you mean "{meant}"?'
            yield severity.finding(ID, what, why=_NOBODY, fix=f"write {meant}", severity="warning")
    if lacking:  # told of the first: some files have another label for it throughout
        more = len(lacking) - 1
        what = f"{lacking[0].owner} has no severity"
        if more:
            what += f", nor {'have' if more > 1 else 'has'} {more} more of the group"
        why = "a style point: most routes choose by it how loudly an alert is told"
        fix = "write labels: {severity: warning}, or what your routes look for"
        yield lacking[0].name.finding(ID, what, why=why, fix=fix, severity="note")


@lru_cache(maxsize=256)  # a handful of values in thousands of rules
def _meant(severity: str) -> str:
    """Return the usual word that this one is by a letter or two, empty where there is none."""
    word = severity.strip().lower()
    if word in _IN_USE or "{{" in word or len(word) < len("warnin"):
        return ""
    import difflib  # only for a word that is none of the usual ones

    return next(iter(difflib.get_close_matches(word, _USUAL, n=1, cutoff=0.85)), "")
