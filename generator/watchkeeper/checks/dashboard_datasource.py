"""Data sources that are written in, or refer to a variable that is none of the dashboard's data source variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watchkeeper.findings import Finding, nearest
from watchkeeper.render.grafana.sources import variable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Place
    from watchkeeper.project import Project
    from watchkeeper.render.grafana import Rendered

ID = "dashboard/datasource"

# Those that every Grafana has.
_EVERYWHERE = frozenset({"-- Mixed --", "-- Dashboard --", "-- Grafana --", "grafana", "__expr__"})


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each data source that a panel or variable refers to in vain, or by a fixed uid."""
    for dashboard in project.dashboards:
        templating = dashboard.model.get("templating")
        listed = _items(templating.get("list")) if isinstance(templating, dict) else []
        chosen = sorted(str(one.get("name")) for one in listed if one.get("type") == "datasource")
        told: set[tuple[Place, str]] = set()
        for where, place, uid in _uids(dashboard, listed):
            if uid in _EVERYWHERE or (place, uid) in told:
                continue
            told.add((place, uid))
            name = variable(uid)
            if not name:
                yield Finding(
                    ID,
                    f'{where} has the data source with uid "{uid}" written in',
                    place,
                    why="in another Grafana, or once the data source is made anew, the uid is another one",
                    fix="leave the data source out, and have a variable for it: datasource()",
                    severity="warning",
                )
            elif name not in chosen:
                yield Finding(
                    ID,
                    f"{where} takes its data source from ${name}, which is no variable for data sources"
                    f"{nearest(name, chosen)}",
                    place,
                    why='every query fails with "Datasource not found"',
                    fix=f'add datasource("{name}") to the variables' if not chosen else f"use ${{{chosen[0]}}}",
                )


def _uids(dashboard: Rendered, variables: list[dict[str, Any]]) -> Iterator[tuple[str, Place, str]]:
    for panel in dashboard.panels:
        part = dashboard.panel(panel)
        for item in (part, *_items(part.get("targets"))):
            if uid := _uid(item):
                yield f'panel "{panel.title}"', panel.place, uid
    for one in variables:
        if uid := _uid(one):
            yield f'the variable "{one.get("name")}"', dashboard.place, uid
    annotations = dashboard.model.get("annotations")
    for one in _items(annotations.get("list")) if isinstance(annotations, dict) else ():
        if uid := _uid(one):
            yield f'the annotation "{one.get("name")}"', dashboard.place, uid


def _items(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _uid(item: dict[str, Any]) -> str:
    source = item.get("datasource")
    uid = source.get("uid") if isinstance(source, dict) else None
    return uid if isinstance(uid, str) else ""
