"""Annotations that the team's policy asks of each alert."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.engine.regex import predicate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project

ID = "policy/annotation"

_WHY = "annotations in [tool.watchkeeper.policy] asks for it"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each alert without an annotation, or whose text, templates and all, does not match."""
    policy = project.settings.policy
    if policy is None or not policy.annotations:
        return
    for group in project.groups:
        for rule in group.rules:
            for name, pattern in policy.annotations.items() if rule.is_alert else ():
                text = rule.annotations.get(name)
                if text is None or not text.value:
                    fix = f'write {name} below annotations, with a text that matches "{pattern}"'
                    yield rule.finding(ID, f"there is no annotation {name}", why=_WHY, fix=fix)
                elif not predicate(pattern)(text.value):
                    what = f"{rule.owner}: the annotation {name} is not as it has to be"
                    yield text.finding(ID, what, why=_WHY, fix=f'write a text that matches "{pattern}"')
