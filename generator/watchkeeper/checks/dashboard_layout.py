"""Panels that overlap, leave the grid, or have no size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watchkeeper.findings import Finding
from watchkeeper.render.grafana.layout import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.project import Project
    from watchkeeper.render.grafana import Panel

ID = "dashboard/layout"

_Box = tuple[int, int, int, int]  # x, y, width, height


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each panel out of the grid or without a size, and for each two that overlap."""
    for dashboard in project.dashboards:
        # Panels of a collapsed row stand where they will once it is opened: only in each other's way.
        spaces: dict[tuple[str | int, ...], list[tuple[Panel, _Box]]] = {}
        for panel in dashboard.panels:
            box = _box(dashboard.panel(panel).get("gridPos"))
            fault = _fault(box)
            if box and not fault:
                spaces.setdefault(panel.path[:-1], []).append((panel, box))
                continue
            yield Finding(
                ID,
                f'panel "{panel.title}" {fault}',
                panel.place,
                why="Grafana would put it somewhere else, or not show it at all",
                fix=f"the grid has {COLUMNS} columns: x + w at most {COLUMNS}, w and h at least 1, x and y at least 0",
            )
        for space in spaces.values():
            yield from _overlaps(space)


def _box(grid: Any) -> _Box | None:
    if not isinstance(grid, dict):
        return None
    numbers = [grid.get(name) for name in ("x", "y", "w", "h")]
    x, y, w, h = (number if type(number) is int else None for number in numbers)
    return None if x is None or y is None or w is None or h is None else (x, y, w, h)


def _fault(box: _Box | None) -> str:
    if box is None:
        return "has no place and size in whole numbers"
    x, y, w, h = box
    if w < 1 or h < 1:
        return f"has no size: w={w}, h={h}"
    if x < 0 or y < 0 or x + w > COLUMNS:
        return f"leaves the grid: x={x}, y={y}, w={w}"
    return ""


def _overlaps(space: list[tuple[Panel, _Box]]) -> Iterator[Finding]:
    """Sweep downwards: only panels that reach below the top of the next one can be in its way."""
    open_: list[tuple[Panel, _Box]] = []
    for two, box in sorted(space, key=lambda item: (item[1][1], item[1][0])):
        x, y, w, _ = box
        open_ = [(one, other) for one, other in open_ if other[1] + other[3] > y]
        for one, (x1, y1, w1, _) in open_:
            if x1 < x + w and x < x1 + w1:
                yield Finding(
                    ID,
                    f'panel "{two.title}" at x={x}, y={y} overlaps "{one.title}" at x={x1}, y={y1} ({one.place})',
                    two.place,
                    why="Grafana pushes one of them down, so that the page looks different from what is written here",
                    fix="leave the place of both out to have them placed one after the other, or move one",
                )
        open_.append((two, box))
