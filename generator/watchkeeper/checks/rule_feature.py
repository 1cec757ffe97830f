"""Fields of rules and groups that the oldest Prometheus in use does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.subject import Text

    Version = tuple[int, int]

ID = "rule/feature"

# The first version that reads the field; an older one refuses the whole file.
SINCE = {"limit": (2, 31), "keep_firing_for": (2, 42), "query_offset": (2, 53), "labels of a group": (3, 0)}


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each field newer than `targets.prometheus`."""
    target = project.settings.targets.prometheus
    new = frozenset(field for field, since in SINCE.items() if since > target)
    for group in project.groups:
        owner = f"group {group.name.value}"
        labels = next(iter(group.labels.values()), None)
        used = {"limit": group.limit, "query_offset": group.query_offset, "labels of a group": labels}
        for field, text in used.items():
            if field in new and text is not None and text.value != "0":
                yield _finding(owner, field, text, target)
        for rule in group.rules if "keep_firing_for" in new else ():
            if rule.keep_firing_for is not None:
                yield _finding(rule.owner, "keep_firing_for", rule.keep_firing_for, target)


def _finding(owner: str, field: str, text: Text, target: Version) -> Finding:
    what = f"{owner}: {field} needs Prometheus {SINCE[field][0]}.{SINCE[field][1]}"
    why = f"the oldest in use is {target[0]}.{target[1]} (targets.prometheus), and it refuses the file"
    return text.finding(ID, what, why=why, fix="do without it, or upgrade and raise the target")
