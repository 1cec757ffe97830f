"""What the oldest Grafana in use does not have yet. What is gone from it is told when a dashboard is rendered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watchkeeper.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.project import Project

ID = "dashboard/feature"

_NEW_GAUGE = frozenset(
    {"barShape", "barWidthFactor", "effects", "endpointMarker", "neutral", "segmentCount", "segmentSpacing", "shape",
     "sparkline", "textMode"}
)  # fmt: skip


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each feature that is newer than the target."""
    target = project.settings.targets.grafana
    have = f"{target[0]}.{target[1]}"
    for dashboard in project.dashboards:
        uses = [(use, dashboard.place) for use in _of_variables(dashboard.model)]
        for panel in dashboard.panels:
            part = dashboard.panel(panel)
            uses += [((f'panel "{panel.title}" {what}', since), panel.place) for what, since in _of_panel(part)]
        for (what, since), place in uses:
            if target < since:
                need = f"{since[0]}.{since[1]}"
                yield Finding(
                    ID,
                    f"{what}, which needs Grafana {need}; the target is {have}",
                    place,
                    why="an older Grafana ignores it, or shows an error in its place",
                    fix=f'do without it, or set targets = {{grafana = "{need}"}} once no older one is in use',
                )


def _of_variables(model: dict[str, Any]) -> Iterator[tuple[str, tuple[int, int]]]:
    templating = model.get("templating")
    listed = templating.get("list") if isinstance(templating, dict) else None
    for variable in listed if isinstance(listed, list) else ():
        if not isinstance(variable, dict):
            continue
        name = variable.get("name")
        if variable.get("type") == "switch":
            yield f'the variable "{name}" is a switch', (12, 3)
        if variable.get("hide") == 3:  # grafana#111245
            yield f'the variable "{name}" is hidden in the controls menu (hide: 3)', (12, 3)


def _of_panel(panel: dict[str, Any]) -> Iterator[tuple[str, tuple[int, int]]]:
    if "timeCompare" in panel:  # grafana#113150
        yield "keeps a window to compare with (timeCompare)", (12, 3)
    options = panel.get("options")
    if panel.get("type") == "gauge" and isinstance(options, dict) and (new := sorted(_NEW_GAUGE & options.keys())):
        yield f"uses {', '.join(new)} of the new gauge", (13, 0)
