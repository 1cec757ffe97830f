"""Rule files under their JSON Schema: the net below the other checks of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watchkeeper.findings import Finding
from watchkeeper.schemas import validate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Place
    from watchkeeper.model import Group
    from watchkeeper.project import Project

ID = "rule/schema"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each fault of a rule file, at the rule that it is about."""
    for group, document in project.documents:
        for fault in validate("rules", document):
            owner, place = _owner(group, fault.path)
            yield Finding(ID, f"{owner}: {fault.message}", place, why="Prometheus refuses the file", fix=fault.fix)


def _owner(group: Group, path: tuple[Any, ...]) -> tuple[str, Place]:
    if path[:3] == ("groups", 0, "rules") and len(path) > 3:
        rule = group.rules[path[3]]
        return rule.name, rule.place
    return f"group {group.name}", group.place
