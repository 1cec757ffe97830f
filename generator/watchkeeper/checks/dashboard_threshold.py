"""Panels that show what an alert looks at, without a line where it fires."""

from __future__ import annotations

from math import isclose, isfinite
from typing import TYPE_CHECKING

from watchkeeper.drawn import drawn
from watchkeeper.findings import Finding
from watchkeeper.promql.errors import ParseError
from watchkeeper.promql.nodes import Binary
from watchkeeper.promql.threshold import ThresholdError, threshold
from watchkeeper.proof.shape import COMPARISONS, bare, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.project import Project
    from watchkeeper.promql.nodes import Expr
    from watchkeeper.promql.threshold import Threshold
    from watchkeeper.render.grafana import Rendered
    from watchkeeper.subject import Group

ID = "dashboard/threshold"

_ORDERED = frozenset({"<", "<=", ">", ">="})
_WHY = "a point to look at: whoever is paged can't see on the panel how far it is past the threshold"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each alert that a panel shows and does not draw."""
    for rendered in project.dashboards:
        yield from _of_definitions(project, rendered)
    if any(board.graphs for board in project.boards) and project.groups:
        yield from _of_files(project)


def _of_definitions(project: Project, rendered: Rendered) -> Iterator[Finding]:
    """Look at the panels that name alerts: they draw their thresholds, unless the author gives others."""
    for panel in rendered.panels:
        values = drawn(rendered.panel(panel)) if panel.alerts else None
        for name in panel.alerts if values is not None else ():
            alert = project.pack.alerts.get(name)
            try:
                found = alert.threshold if alert else None
            except (ParseError, ThresholdError):
                continue
            if found and _is_missing(found, values or []):
                what = f'panel "{panel.title}" names the alert {name}, and draws no threshold at {found.value:g}'
                fix = "leave out `thresholds=` of the panel: those of its alerts are drawn then"
                yield Finding(ID, what, panel.place, why=_WHY, fix=fix, severity="note")


def _of_files(project: Project) -> Iterator[Finding]:
    """Look for the very expression that an alert compares with a number."""
    watched = _watched(project.groups)
    for board in project.boards:
        for expression, values in board.graphs:
            for name, found in watched.get(bare(expression.tree), ()) if watched and expression.tree else ():
                if _is_missing(found, values):
                    what = f"the alert {name} looks at this, and the panel draws no threshold at {found.value:g}"
                    fix = f"add a threshold at {found.value:g} to the panel, and show thresholds as lines"
                    at = 0, len(expression.text)
                    yield expression.finding(ID, what, *at, why=_WHY, fix=fix, severity="note")


def _watched(groups: tuple[Group, ...]) -> dict[Expr, list[tuple[str, Threshold]]]:
    """Return what alerts compare with one number, and the alerts."""
    watched: dict[Expr, list[tuple[str, Threshold]]] = {}
    for group in groups:
        for rule in group.rules:
            tree = rule.expression.tree
            if not rule.is_alert or tree is None:
                continue
            try:
                found = threshold(tree)
            except ThresholdError:
                continue
            watched.setdefault(_compared(tree), []).append((rule.name.value, found))
    return watched


def _compared(expr: Expr) -> Expr:
    """Return what the comparison that `threshold` found compares with its number."""
    while True:
        expr = bare(expr)
        if not isinstance(expr, Binary):
            return expr
        if expr.op in COMPARISONS:
            return bare(expr.rhs if number(expr.lhs) is not None else expr.lhs)
        expr = expr.lhs


def _is_missing(found: Threshold, values: list[float]) -> bool:
    if found.op not in _ORDERED or not isfinite(found.value):
        return False  # a line says nothing of what is equal
    return not any(isclose(value, found.value, rel_tol=1e-6, abs_tol=1e-6) for value in values)
