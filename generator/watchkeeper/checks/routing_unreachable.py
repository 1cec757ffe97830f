"""Routes that no alert gets to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.proof.carried import NEVER
from watchkeeper.proof.routing import Matcher, Route
from watchkeeper.proof.survey import survey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.proof.survey import Survey

ID = "routing/unreachable"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each route that nothing enters, and whose parent something does."""
    for config in project.alertmanagers:
        found = survey(config, project.groups, project.catalogue)
        for route in config.routes:
            if route.parent is None or found.anyway[route.parent].entered == NEVER:
                continue
            if found.anyway[route].entered == NEVER:
                yield _whatever_comes(route, found.anyway[route].obstacle)
            elif found.alerts and found.enters(route.parent) and not found.enters(route):
                yield from _none_here(route, found)


def _whatever_comes(route: Route, obstacle: Matcher | Route | None) -> Finding:
    what = f"{route} never gets an alert"
    if isinstance(obstacle, Matcher):
        return obstacle.finding(
            ID,
            f"{what}: no alert that gets here passes {obstacle}",
            why=f'nothing is ever sent to "{route.receiver.value}" from here',
            fix="mend the matchers of the route, or of the routes above it, which ask for something else",
            severity="error",
        )
    if obstacle is None:
        return route.place.finding(
            ID,
            f"{what}: the routes before it take all that is left for it, between them",
            why=f'others are told instead of "{route.receiver.value}"',
            fix="put it before them, or write `continue: true` where it is meant to go on",
            severity="error",
        )
    place, _ = obstacle.place.source.at(0, 0)
    same = obstacle.receiver.value == route.receiver.value
    return route.place.finding(
        ID,
        f"{what}: {obstacle}, on line {place.line}, takes what is left for it",
        why=f'"{obstacle.receiver.value}" is told instead of "{route.receiver.value}"'
        if not same
        else "it does nothing",
        fix="put it before that one, or write `continue: true` there",
        severity="warning" if same else "error",
    )


def _none_here(route: Route, found: Survey) -> Iterator[Finding]:
    if any(found.meant(matcher) for matcher in route.matchers):
        return  # routing/matcher says it better
    failing = next((matcher for matcher in route.matchers if found.hopeless(matcher)), None)
    count = len(found.alerts)
    why = f'"{route.receiver.value}" is not told of any of them'
    if failing is None:
        what = f"none of the {count} alerts given gets to {route}: each fails a matcher of it, or is taken before"
        yield route.place.finding(ID, what, why=why, fix=_FIX, severity="warning")
    elif not found.carry(failing.name):
        what = (
            f'none of the {count} alerts given carries the label "{failing.name}": {route} gets none, '
            "unless external_labels or alert relabelling add it"
        )
        yield failing.finding(ID, what, why=why, fix=_FIX)
    else:
        values = found.values(failing.name)
        listed = f": there it is {_listed(sorted(values))}" if values and failing.name != "alertname" else ""
        what = f"none of the {count} alerts given passes {failing}{listed}"
        # Rules of well-known names are often kept elsewhere.
        yield failing.finding(ID, what, why=why, fix=_FIX, severity=_severity(failing))


def _severity(matcher: Matcher) -> str:
    return "note" if matcher.name == "alertname" else "warning"


def _listed(values: list[str]) -> str:
    shown = ", ".join(values[:5])
    return f"{shown} and {len(values) - 5} more" if len(values) > 5 else shown


_FIX = "mend the matcher, remove the route, or check the rules of those alerts together with it"
