"""Labels and annotations that the team's policy forbids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.engine.regex import predicate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.subject import Text

    Test = tuple[str, str, str, Callable[[str], bool]]

ID = "policy/reject"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each name and each value that matches what is rejected."""
    policy = project.settings.policy
    if policy is None or not policy.reject:
        return
    labels, annotations = _tests("label", policy.reject), _tests("annotation", policy.reject)
    for group in project.groups:
        yield from _of(f"group {group.name.value}", group.labels, labels)
        for rule in group.rules:
            yield from _of(rule.owner, rule.labels, labels)
            yield from _of(rule.owner, rule.annotations, annotations)


def _tests(kind: str, reject: Mapping[str, str]) -> list[Test]:
    found = ((kind, key, reject.get(f"{kind}_{key}s", "")) for key in ("name", "value"))
    return [(*one, predicate(one[-1])) for one in found if one[-1]]


def _of(owner: str, texts: Mapping[str, Text], tests: list[Test]) -> Iterator[Finding]:
    for kind, key, pattern, matches in tests:
        for name, text in texts.items():
            if matches(name if key == "name" else text.value):
                what = f"{owner}: the {kind} {name} has a forbidden {key}"
                why = f"reject in [tool.watchkeeper.policy] has {kind}_{key}s = {pattern!r}"
                yield text.finding(ID, what, why=why, fix=f"write a {key} that does not match, or leave the {kind} out")
