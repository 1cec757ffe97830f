"""Alerts that no route catches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.proof.carried import CERTAINLY, fixed
from watchkeeper.proof.survey import survey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.proof.carried import Alert
    from watchkeeper.proof.routing import Config

ID = "routing/unrouted"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each alert that is left to a root route that tells nobody, or a note where it tells one."""
    for config in project.alertmanagers:
        if not config.route.routes:
            continue
        found = survey(config, project.groups, project.catalogue)
        left = [
            alert
            for alert, ways in zip(found.alerts, found.ways, strict=True)
            if ways[config.route].reached == CERTAINLY and not any(alert.label("severity") == s for s in _SILENT)
        ]
        if not config.receivers[config.route.receiver.value].integrations:
            if len(left) > _FEW and len(left) * 2 > len(found.alerts):  # that is one thing to mend, not many
                yield _most_untold(config, left, len(found.alerts))
            else:
                yield from _untold(config, left)
        elif left and len(left) * 2 < len(found.alerts):  # where most are left, that is how it is meant
            yield config.route.receiver.finding(
                ID,
                f'{len(left)} of {len(found.alerts)} alerts are matched by no route and go to "'
                f'{config.route.receiver.value}": {_names(left)}',
                why="whoever reads the default receiver has to know whose they are",
                fix="a matter of style: add a route for them, or leave it",
                severity="note",
            )


# Alerts of these severities are there to be looked at, or to mute others.
_SILENT = tuple(fixed(severity) for severity in ("info", "none"))
_FEW = 5


def _names(left: list[Alert]) -> str:
    names = ", ".join(sorted({alert.name or "" for alert in left})[:_FEW])
    return f"{names}{', ...' if len(left) > _FEW else ''}"


def _most_untold(config: Config, left: list[Alert], of: int) -> Finding:
    receiver = config.route.receiver
    return receiver.finding(
        ID,
        f'{len(left)} of {of} alerts are matched by no route and go to "{receiver.value}", '
        f"which has no integration: {_names(left)}",
        why="when they fire, nobody is told",
        fix="give the receiver an integration, or add routes for them",
        severity="warning",
    )


def _untold(config: Config, left: list[Alert]) -> Iterator[Finding]:
    for alert in left:
        if alert.rule:
            yield alert.rule.finding(
                ID,
                f'no route matches it: it goes to the root route\'s receiver "{config.route.receiver.value}",'
                " which has no integration",
                why="when it fires, nobody is told",
                fix="give it the labels that a route matches, or add a route for it",
                severity="warning",
            )
