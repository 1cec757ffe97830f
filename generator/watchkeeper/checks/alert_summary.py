"""The summary, the one line that everyone sees, and what else an alert says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.subject import Rule

ID = "alert/summary"

_LONGEST = 200
# Annotations that tell a person what is wrong: older rule files have `message` alone.
_TELLING = ("description", "message")
_FIX = 'say what is wrong: "{{ $labels.instance }} is down"'


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each alert that says nothing, or says it in a form that no list can show."""
    for group in project.groups:
        for rule in group.rules:
            if rule.is_alert:
                yield from _of(rule)


def _of(rule: Rule) -> Iterator[Finding]:
    summary = rule.annotations.get("summary")
    if summary is None or not summary.value.strip():
        yield from _missing(rule)
        return
    text = summary.value.strip()
    other = rule.annotations.get("description")
    for wrong, how, fix in (
        (len(text) > _LONGEST, f"is {len(text)} characters long", "keep what is wrong, and move the rest"),
        ("\n" in text, "has several lines", "keep the first one, and move the rest"),
        (other is not None and other.value.strip() == text, "is the description again", "tell more there, or less"),
    ):
        if wrong:
            why = "a style point: the summary is the line of a page or a list, and the description is what it opens to"
            what = f"{rule.owner}: the summary {how}"
            end = len(summary.value.rstrip()) or None
            yield summary.finding(ID, what, 0, end, why=why, fix=f"{fix} into the description", severity="note")
            return


def _missing(rule: Rule) -> Iterator[Finding]:
    why = "it is the line that a page or a ticket begins with"
    if rule.definition is not None:
        yield rule.name.finding(ID, f"{rule.owner} has no summary", why=why, fix=_FIX)
    elif not any(text.value.strip() for text in rule.annotations.values()):
        what = f"{rule.owner} says nothing: there is neither a summary nor a description"
        why = "a style point: whoever is paged sees a name and labels alone"
        yield rule.name.finding(ID, what, why=why, fix=_FIX, severity="note")
    else:
        has = next((name for name in _TELLING if name in rule.annotations), "")
        fix = f"{_FIX}; {has} may tell more" if has else _FIX
        what = f"{rule.owner} has no summary"
        yield rule.name.finding(ID, what, why=f"a style point: {why}", fix=fix, severity="note")
