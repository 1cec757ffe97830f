"""The summary, the one line that everyone sees, and what else an alert says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.subject import Rule, Text

ID = "alert/summary"

_LONGEST = 200
# Annotations that tell a person what is wrong: older rule files have `message` alone.
_TELLING = ("description", "message")
_WHY = "it is the line that a page or a ticket begins with"
_FIX = 'say what is wrong: "{{ $labels.instance }} is down"'


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each alert that says nothing, or says it in a form that no list can show."""
    for group in project.groups:
        lacking: list[Rule] = []
        for rule in group.rules:
            if rule.is_alert:
                summary = rule.annotations.get("summary")
                if summary is not None and summary.value.strip():
                    yield from _of(rule, summary)
                elif rule.definition is None and any(text.value.strip() for text in rule.annotations.values()):
                    lacking.append(rule)
                else:
                    yield _missing(rule)
        if lacking:
            yield _lacking(lacking[0], len(lacking) - 1)


def _of(rule: Rule, summary: Text) -> Iterator[Finding]:
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


def _missing(rule: Rule) -> Finding:
    if rule.definition is not None:
        return rule.name.finding(ID, f"{rule.owner} has no summary", why=_WHY, fix=_FIX)
    what = f"{rule.owner} says nothing: there is neither a summary nor a description"
    why = "a style point: whoever is paged sees a name and labels alone"
    return rule.name.finding(ID, what, why=why, fix=_FIX, severity="note")


def _lacking(rule: Rule, more: int) -> Finding:
    """Tell of the first alert of a group that has other annotations: files that do without it do so everywhere."""
    has = next((name for name in _TELLING if name in rule.annotations), "")
    fix = f"{_FIX}; {has} may tell more" if has else _FIX
    what = f"{rule.owner} has no summary"
    if more:
        what += f", nor {'have' if more > 1 else 'has'} {more} more of the group"
    return rule.name.finding(ID, what, why=f"a style point: {_WHY}", fix=fix, severity="note")
