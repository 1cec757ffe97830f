"""Every alert is drawn on one panel, so that a page can lead to a picture of what it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.findings import Finding
from watchkeeper.project import panels_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.project import Project

ID = "alert/panel"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each alert on no panel, or on several without saying which; none without dashboards."""
    pack, alerts = project.pack, project.pack.alerts
    if not project.dashboards:
        return
    for name, places in panels_of(pack, project.dashboards).items():
        alert = alerts[name]
        panels = [f"{uid}/{key}" for uid, key, _ in places]
        if not panels and alert.panel:
            what = f'alert {name}: panel "{alert.panel}" does not name the alert, or does not exist'
            fix = f'add alerts=["{name}"] to that panel, or leave panel= out'
            yield Finding(ID, what, alert.place, why="the page would carry no link to a panel", fix=fix)
        elif not panels:
            fix = f'add alerts=["{name}"] to the panel that shows it'
            yield Finding(
                ID, f"alert {name} is on no panel", alert.place, why="whoever is paged sees no picture", fix=fix
            )
        elif len(panels) > 1:
            what = f"alert {name} is on {len(panels)} panels: {', '.join(panels)}"
            why = "the page links to one panel, and can't tell which"
            yield Finding(ID, what, alert.place, why=why, fix=f'say which: panel="{panels[0]}"')
