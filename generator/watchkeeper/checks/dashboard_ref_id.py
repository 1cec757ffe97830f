"""Queries of a panel without a refId, or two with the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.project import Project

ID = "dashboard/ref-id"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each query whose refId is missing or taken within its panel."""
    for dashboard in project.dashboards:
        for panel in dashboard.panels:
            queries = dashboard.panel(panel).get("targets")
            taken: set[str] = set()
            for number, query in enumerate(queries if isinstance(queries, list) else ()):
                name = query.get("refId") if isinstance(query, dict) else ""
                if not isinstance(name, str) or not name:
                    what, why = "no refId", "Grafana can't tell its result from that of other queries"
                elif name in taken:
                    what, why = f'the refId "{name}", which another query has', "Grafana runs only one of them"
                else:
                    taken.add(name)
                    continue
                yield Finding(
                    ID,
                    f'query {number + 1} of panel "{panel.title}" has {what}',
                    panel.place,
                    why=why,
                    fix='give each query its own: "A", "B", ...',
                )
