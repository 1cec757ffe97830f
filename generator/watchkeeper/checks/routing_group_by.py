"""Labels in `group_by` that the alerts of the route never carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.proof.carried import ABSENT, NEVER
from watchkeeper.proof.survey import survey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.proof.carried import Alert
    from watchkeeper.proof.catalogue import Catalogue
    from watchkeeper.proof.routing import Config, Route
    from watchkeeper.proof.survey import Survey

ID = "routing/group-by"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each label by which a route groups, and that none of its alerts has."""
    for config in project.alertmanagers:
        found = survey(config, project.groups, project.catalogue)
        if not found.alerts:
            continue
        for route, alerts in _grouped(config, found).items():
            for label in route.group_by or ():
                if alerts and label.value != "..." and all(a.label(label.value) == ABSENT for a in alerts):
                    names = set().union(*(_labels(alert, project.catalogue) for alert in alerts))
                    from difflib import get_close_matches  # slow to load, and few routes come here

                    near = get_close_matches(label.value, sorted(names), 1, cutoff=0.8)
                    hint = f'; did you mean "{near[0]}"?' if near else ""
                    what = f'{route} groups by "{label.value}", which none of its {len(alerts)} alerts given carries'
                    yield label.finding(
                        ID,
                        what + hint,
                        why="a label that is missing is empty for all, so they are not parted by it",
                        fix="group by a label that they carry" + ("" if near else _UNLESS),
                        severity="warning" if near else "note",
                    )


_UNLESS = "; leave it where external_labels or alert relabelling add this one"


def _labels(alert: Alert, catalogue: Catalogue) -> set[str]:
    """Return labels that an alert may carry, as far as they can be listed."""
    names = {"alertname", *alert.own}
    expression = alert.rule.expression if alert.rule else None
    if expression is not None and expression.tree is not None:
        names |= expression.flow(catalogue).of(expression.tree).names() or frozenset()
    return names


def _grouped(config: Config, found: Survey) -> dict[Route, list[Alert]]:
    """Return, by the route whose `group_by` holds for them, the alerts that may be grouped by it."""
    ends: dict[Route, list[Route]] = {}
    for route in config.routes:
        ends.setdefault(route.grouping, []).append(route)
    return {
        owner: [
            alert
            for alert, ways in zip(found.alerts, found.ways, strict=True)
            if any(ways[route].reached != NEVER for route in routes)
        ]
        for owner, routes in ends.items()
        if owner.group_by
    }
