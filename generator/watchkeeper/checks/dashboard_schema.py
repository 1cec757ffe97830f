"""What Grafana's classic model does not have: misspelt members, wrong types, values that are none of an option's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.findings import Finding
from watchkeeper.schemas.dashboard import faults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.project import Project
    from watchkeeper.render.grafana import Rendered
    from watchkeeper.schemas import Fault

ID = "dashboard/schema"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each fault under our schemas of the model."""
    for dashboard in project.dashboards:
        for fault in faults(dashboard.model):
            yield _finding(dashboard, fault)


def _finding(dashboard: Rendered, fault: Fault) -> Finding:
    owner, place = f"dashboard {dashboard.uid}", dashboard.place
    best = 0
    for panel in dashboard.panels:  # the innermost one that the path leads into
        size = len(panel.path)
        if best < size and fault.path[:size] == panel.path:
            owner, place, best = f'panel "{panel.title}" of dashboard {dashboard.uid}', panel.place, size
    why = "Grafana ignores what it does not know, and may fail on a value of the wrong type"
    return Finding(ID, f"{owner}: {fault.message}", place, why=why, fix=fault.fix)
