"""Group names: there, a file name, each once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.model import Group
    from watchkeeper.project import Project

ID = "group/name"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each group whose name is missing, no file name, or taken, and for each without rules."""
    first: dict[str, Group] = {}
    for group in project.pack.groups:
        # The case is folded, since two files that differ in case alone are one on some file systems.
        other = first.setdefault(group.name.casefold(), group)
        if other is not group:
            what = f'two groups are called "{group.name}", the first at {other.place}'
            yield Finding(
                ID,
                what,
                group.place,
                why="Prometheus refuses the file, and one would overwrite the other",
                fix="rename one",
            )
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", group.name):
            what = f'group "{group.name}": the name is a file name too'
            yield Finding(ID, what, group.place, fix="use letters, digits, underscores, dots and dashes, at most 100")
        if not group.rules:
            yield Finding(ID, f"group {group.name} has no rules", group.place, fix="drop it")
