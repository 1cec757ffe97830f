"""A rule that a module made and put in no group, so that nobody evaluates it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.project import Project

ID = "rule/group"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each rule in no group."""
    for rule in project.pack.loose:
        why = "it would be in no rule file, and never fire"
        yield Finding(ID, f"{rule.name} is in no Group", rule.place, why=why, fix="add it to one, or delete it")
