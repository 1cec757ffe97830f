"""Checks of very many rules: a part of them at a time, over the processor's cores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from watchkeeper.checks import run
from watchkeeper.findings import Excerpt
from watchkeeper.spread import FEW, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.subject import Group, Rule

_PART = 20  # rules


class _Told(NamedTuple):
    """A finding on its way from a child, without the whole file that its excerpt is of: the parent has that."""

    finding: Finding
    text: int  # the number of the text among those that both have, -1 for another
    start: int
    end: int


def run_on_rules(project: Project, names: tuple[str, ...], texts: Sequence[str]) -> list[Finding]:
    """Return what the checks of these names find in the rules of a project, each of which looks at single rules.

    `texts` are those of the files, which excerpts are of.
    """
    parts: list[tuple[Group, list[Rule]]] = [
        (group, group.rules[start : start + _PART])
        for group in project.groups
        for start in range(0, len(group.rules), _PART)
    ]
    if len(parts) < FEW:
        return list(run(project, names))
    numbers = {id(text): number for number, text in enumerate(texts)}

    def look(part: tuple[Group, list[Rule]]) -> list[_Told]:
        group, rules = part
        expressions = tuple(rule.expression for rule in rules)
        found = run(replace(project, groups=(group.part(rules),), expressions=expressions), names)
        return [_told(finding, numbers) for finding in found]

    return [_whole(told, texts) for findings in spread(look, parts) for told in findings]


def _told(finding: Finding, numbers: dict[int, int]) -> _Told:
    excerpt = finding.excerpt
    number = numbers.get(id(excerpt.text), -1) if excerpt else -1
    if excerpt is None or number < 0:
        return _Told(finding, -1, 0, 0)
    return _Told(replace(finding, excerpt=None), number, excerpt.start, excerpt.end)


def _whole(told: _Told, texts: Sequence[str]) -> Finding:
    if told.text < 0:
        return told.finding
    return replace(told.finding, excerpt=Excerpt(texts[told.text], told.start, told.end))
