"""Dashboards without a title, or with one that another dashboard in the same folder has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Place
    from watchkeeper.project import Project

ID = "dashboard/title"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each title that is missing or taken."""
    taken: dict[tuple[str, str], Place] = {}
    for dashboard in project.dashboards:
        title = dashboard.title.strip()
        if not title:
            what = f'dashboard "{dashboard.uid}" has no title'
            yield Finding(
                ID, what, dashboard.place, why="Grafana refuses a dashboard without one", fix="give it a title"
            )
            continue
        where = (dashboard.folder, title.casefold())  # Grafana compares without case
        if where in taken:
            folder = f' in folder "{dashboard.folder}"' if dashboard.folder else ""
            yield Finding(
                ID,
                f'the title "{title}" is already that of the dashboard at {taken[where]}{folder}',
                dashboard.place,
                why="a folder with two dashboards of one title stops being updated by file provisioning",
                fix="give one of them another title or folder",
            )
        taken.setdefault(where, dashboard.place)
