"""Panels of one dashboard that share an id or a key, or have an id that Grafana does not take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.project import Project
    from watchkeeper.render.grafana import Panel

ID = "dashboard/panel-id"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each panel whose id or key is taken, and each id below 1."""
    for dashboard in project.dashboards:
        ids: dict[int, Panel] = {}
        keys: dict[str, Panel] = {}
        for panel in dashboard.panels:
            if panel.id < 1:
                yield Finding(
                    ID,
                    f'panel "{panel.title}" has an id that is no whole number above 0',
                    panel.place,
                    why="Grafana gives it another one at each load, so that links to the panel break",
                    fix="leave the id out: it is then made from the panel's key",
                )
            elif panel.key in keys:
                other = keys[panel.key]
                yield Finding(
                    ID,
                    f'panel "{panel.title}" has the key "{panel.key}", which is that of the panel at {other.place}',
                    panel.place,
                    why="the id of a panel is made from its key: Grafana can't tell them apart",
                    fix=f'give one of them a key of its own, such as key="{panel.key}-2"',
                )
            elif panel.id in ids:
                other = ids[panel.id]
                yield Finding(
                    ID,
                    f'panel "{panel.title}" has the id {panel.id}, which is that of "{other.title}" at {other.place}',
                    panel.place,
                    why="links, alerts and the full-screen view of one would show the other",
                    fix="leave the id out, or give another one",
                )
            ids.setdefault(panel.id, panel)
            keys.setdefault(panel.key, panel)
