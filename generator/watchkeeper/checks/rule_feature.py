"""Fields of rules and groups that the oldest Prometheus in use does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.findings import Finding
from watchkeeper.model import Alert

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Place
    from watchkeeper.project import Project

ID = "rule/feature"

# The first version that reads the field; an older one refuses the whole file.
SINCE = {"limit": (2, 31), "keep_firing_for": (2, 42), "query_offset": (2, 53), "labels of a group": (3, 0)}


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each field newer than `targets.prometheus`."""
    target = project.settings.targets.prometheus
    for group in project.pack.groups:
        used = {"limit": group.limit, "query_offset": group.query_offset, "labels of a group": group.labels}
        yield from _check(f"group {group.name}", used, target, group.place)
        for rule in group.rules:
            if isinstance(rule, Alert):
                yield from _check(f"alert {rule.name}", {"keep_firing_for": rule.keep_firing_for}, target, rule.place)


def _check(owner: str, used: dict[str, object], target: tuple[int, int], place: Place) -> Iterator[Finding]:
    for field, value in used.items():
        if value and SINCE[field] > target:
            what = f"{owner}: {field} needs Prometheus {SINCE[field][0]}.{SINCE[field][1]}"
            why = f"the oldest in use is {target[0]}.{target[1]} (targets.prometheus), and it refuses the file"
            yield Finding(ID, what, place, why=why, fix="do without it, or upgrade and raise the target")
