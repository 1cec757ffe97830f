"""Inhibitions that never mute anything, or more than is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.proof.carried import ABSENT, ANY, CERTAINLY, NEVER, Alert
from watchkeeper.proof.reach import passing
from watchkeeper.proof.survey import survey

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.proof.routing import InhibitRule, Matcher
    from watchkeeper.proof.survey import Survey

ID = "routing/inhibition"
_ANYONE = Alert(None, {}, lambda _: ANY)


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each inhibition that can't hold, and for each that holds by a label nobody has."""
    for config in project.alertmanagers:
        found = survey(config, project.groups, project.catalogue)
        for rule in config.inhibit_rules:
            if _implies(rule.source, rule.target) and _implies(rule.target, rule.source):
                yield rule.place.finding(
                    ID,
                    "the inhibition mutes nothing: an alert that passes one side passes the other too",
                    why="Alertmanager lets no alert that passes both sides be muted by another such",
                    fix="make the two sides differ, as in a source of severity critical and a target of warning",
                    severity="error",
                )
            elif found.alerts:
                yield from _of_alerts(rule, found)


def _implies(first: Sequence[Matcher], second: Sequence[Matcher]) -> bool:
    _, inside = passing(first, {}, _ANYONE)
    return inside is not None and passing(second, inside, _ANYONE)[0] == CERTAINLY


def _of_alerts(rule: InhibitRule, found: Survey) -> Iterator[Finding]:
    sides: list[list[Alert]] = []
    for name, matchers in (("source", rule.source), ("target", rule.target)):
        alerts = [alert for alert in found.alerts if passing(matchers, {}, alert)[0] != NEVER]
        if not alerts and not any(found.meant(matcher) for matcher in matchers):  # else routing/matcher says it
            failing = next((matcher for matcher in matchers if found.hopeless(matcher)), None)
            what = f"none of the {len(found.alerts)} alerts given is a {name} of the inhibition"
            fix = f"mend the matchers of the {name}, or check the rules of those alerts together with it"
            if failing is None:
                yield rule.place.finding(ID, what, why=_NOTHING, fix=fix, severity="warning")
            else:
                severity = "note" if failing.name == "alertname" else "warning"
                what += f": none passes {failing}"
                if not found.carry(failing.name):
                    what += ", unless external_labels or alert relabelling add that label"
                yield failing.finding(ID, what, why=_NOTHING, fix=fix, severity=severity)
        sides.append(alerts)
    sources, targets = sides
    if not sources or not targets:
        return
    for label in rule.equal:
        if not _can_equal(sources, targets, label.value):
            yield label.finding(
                ID,
                f'the inhibition mutes nothing: "{label.value}" never has the same value on both sides '
                f"({_told(sources, label.value)} in the source, {_told(targets, label.value)} in the target)",
                why=_NOTHING,
                fix="name labels in `equal` that both sides carry alike",
                # Alerts that share a name are often kept elsewhere, with the configuration that comes with them.
                severity="note" if label.value == "alertname" else "warning",
            )
        elif all(alert.label(label.value) == ABSENT for alert in (*sources, *targets)):
            yield label.finding(
                ID,
                f'neither side of the inhibition carries "{label.value}", unless external_labels add it',
                why="a label that is missing on both sides counts as equal: a source mutes targets everywhere",
                fix="name labels in `equal` that both sides carry",
                severity="warning",
            )


_NOTHING = "the alerts that it should mute are all sent"


def _can_equal(sources: Sequence[Alert], targets: Sequence[Alert], name: str) -> bool:
    """Tell whether any source and any target can have the same value of a label, be it none."""
    listed: list[set[str]] = []
    opened: list[set[bool]] = []  # for each side, whether labels whose values can't be listed may be absent
    for alerts in (sources, targets):
        known = {alert.label(name) for alert in alerts}
        listed.append({value for one in known if one.values is not None for value in one.values})
        opened.append({"" not in one.excluded for one in known if one.values is None})
    if listed[0] & listed[1] or (opened[0] and opened[1]):
        return True
    return any(
        bool(values - {""}) or ("" in values and True in other)
        for values, other in ((listed[0], opened[1]), (listed[1], opened[0]))
        if other
    )


def _told(alerts: Sequence[Alert], name: str) -> str:
    known = {alert.label(name) for alert in alerts}
    values = sorted({value for one in known for value in one.values or ()})
    if any(one.values is None for one in known):
        return "always there"
    shown = ", ".join(f'"{value}"' if value else "missing" for value in values[:4])
    return f"{shown}, ..." if len(values) > 4 else shown
