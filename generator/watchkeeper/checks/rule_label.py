"""Label and annotation names of rules and groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.checks.metric_label import mend
from watchkeeper.findings import Finding
from watchkeeper.model import Alert
from watchkeeper.names import LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from watchkeeper.findings import Place
    from watchkeeper.project import Project

ID = "rule/label"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each label or annotation that Prometheus refuses or sets itself."""
    drawn = {name for dashboard in project.dashboards for panel in dashboard.panels for name in panel.alerts}
    for group in project.pack.groups:
        yield from _check(f"group {group.name}", "label", group.labels, group.place, ("alertname",))
        for rule in group.rules:
            if isinstance(rule, Alert):
                yield from _check(f"alert {rule.name}", "label", rule.labels, rule.place, _labels(rule))
                made = _annotations(rule, is_drawn=rule.name in drawn)
                yield from _check(f"alert {rule.name}", "annotation", rule.annotations, rule.place, made)
            else:
                yield from _check(f"recording rule {rule.name}", "label", rule.labels, rule.place, ())


def _labels(alert: Alert) -> tuple[str, ...]:
    """Return the labels that the alert's fields make: one that is empty makes none."""
    return ("alertname", *(name for name in ("severity", "team", "priority") if getattr(alert, name)))


def _annotations(alert: Alert, *, is_drawn: bool) -> tuple[str, ...]:
    """Return the annotations that the alert's fields, and a panel that names it, make."""
    made = {
        "summary": alert.summary,
        "description": alert.description,
        "reason": alert.reason,
        "runbook_url": alert.runbook,
        "dashboard_url": is_drawn,
    }
    return tuple(name for name, value in made.items() if value)


def _check(owner: str, kind: str, names: Mapping[str, str], place: Place, own: tuple[str, ...]) -> Iterator[Finding]:
    for name in names:
        if not LABEL.match(name):
            what, fix = f"is no {kind} name: letters, digits and underscores, no digit first", f"call it {mend(name)}"
        elif name == "__name__":
            what, fix = "can't be set", "drop it"
        elif name in own:
            field = {"runbook_url": "the field runbook", "dashboard_url": "the panel that names the alert"}
            what, fix = "is made from the definition", f"say it by {field.get(name, f'the field {name}')}"
            if name == "alertname":
                fix = "say it by the alert's name"
        else:
            continue
        yield Finding(
            ID,
            f'{owner}: {kind} "{name}" {what}',
            place,
            why="Prometheus refuses the file, or two sources disagree",
            fix=fix,
        )
