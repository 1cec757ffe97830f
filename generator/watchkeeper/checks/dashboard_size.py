"""Dashboards that are too large to be saved or loaded everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.project import Project

ID = "dashboard/size"

LARGE = 1_000_000  # nginx in front of Grafana refuses more by default, and it is the limit of a ConfigMap
TOO_LARGE = 10_000_000  # MySQL cuts off what is above 16 MB (grafana#101094)


def check(project: Project) -> Iterator[Finding]:
    """Yield a warning above 1 MB, an error above 10 MB."""
    for dashboard in project.dashboards:
        text = project.files[f"dashboards/{dashboard.uid}.json"]
        size = len(text.encode("utf-8", "surrogatepass")) if len(text) * 4 > LARGE else 0
        if size <= LARGE:
            continue
        yield Finding(
            ID,
            f'dashboard "{dashboard.title}" is {size / 1e6:.1f} MB, with {len(dashboard.panels)} panels',
            dashboard.place,
            why="proxies in front of Grafana and Kubernetes ConfigMaps take 1 MB; a browser takes long to draw it",
            fix="split it by topic, or repeat one panel over a variable instead of writing it out",
            severity="error" if size > TOO_LARGE else "warning",
        )
