"""Receivers to which no route leads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project

ID = "routing/receiver"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each receiver that no route names."""
    for config in project.alertmanagers:
        used = {route.receiver.value for route in config.routes}
        for name, receiver in config.receivers.items():
            if name not in used:
                yield receiver.name.finding(
                    ID,
                    f'no route leads to receiver "{name}"',
                    why="it is never told anything; a matter of style where it waits for a route",
                    fix="name it in a route, or remove it",
                    severity="note",
                )
