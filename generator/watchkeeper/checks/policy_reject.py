"""Labels and annotations that the team's policy forbids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.engine.regex import predicate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.subject import Text

ID = "policy/reject"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each name and each value that matches what is rejected."""
    policy = project.settings.policy
    if policy is None or not policy.reject:
        return
    for group in project.groups:
        yield from _of(f"group {group.name.value}", "label", group.labels, policy.reject)
        for rule in group.rules:
            yield from _of(rule.owner, "label", rule.labels, policy.reject)
            yield from _of(rule.owner, "annotation", rule.annotations, policy.reject)


def _of(owner: str, kind: str, texts: Mapping[str, Text], reject: Mapping[str, str]) -> Iterator[Finding]:
    for name, text in texts.items():
        for key, value in (("name", name), ("value", text.value)):
            pattern = reject.get(f"{kind}_{key}s")
            if pattern and predicate(pattern)(value):
                what = f"{owner}: the {kind} {name} has a forbidden {key}"
                why = f"reject in [tool.watchkeeper.policy] has {kind}_{key}s = {pattern!r}"
                yield text.finding(ID, what, why=why, fix=f"write a {key} that does not match, or leave the {kind} out")
