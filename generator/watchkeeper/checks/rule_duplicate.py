"""Two rules that are one: alerts of one name, series recorded twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.findings import Finding
from watchkeeper.model import Alert

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.model import Rule
    from watchkeeper.project import Project

ID = "rule/duplicate"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each rule that another one of its name shadows."""
    first: dict[object, Rule] = {}
    for group in project.pack.groups:
        for rule in group.rules:
            # Rules may record one series in parts, told apart by labels; an alert is known by its name alone, in
            # overrides, on panels and to people.
            labels = None if isinstance(rule, Alert) else frozenset({**group.labels, **rule.labels}.items())
            other = first.setdefault((type(rule), rule.name, labels), rule)
            if other is rule:
                continue
            kind = "alerts are called" if isinstance(rule, Alert) else "rules record"
            what = f"two {kind} {rule.name}, the first at {other.place}"
            why = (
                "a page could not say which, and an override would change both"
                if labels is None
                else "each overwrites the other"
            )
            fix = "rename one" if labels is None else "rename one, or give each a label of its own"
            yield Finding(ID, what, rule.place, why=why, fix=fix)
