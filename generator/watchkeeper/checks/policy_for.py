"""Waiting times shorter or longer than the team's policy lets them be."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from watchkeeper.names import milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.policy import Limits
    from watchkeeper.project import Project
    from watchkeeper.subject import Rule, Text

ID = "policy/for"

_length = lru_cache(maxsize=1024)(milliseconds)  # a handful of durations in thousands of rules


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each alert's `for` and `keep_firing_for` out of bounds; one that is not there is 0."""
    policy = project.settings.policy
    if policy is None:
        return
    limits = {key: one for key, one in (("for", policy.for_), ("keep_firing_for", policy.keep_firing_for)) if str(one)}
    if not limits:
        return
    for group in project.groups:
        for rule in group.rules:
            for key, one in limits.items() if rule.is_alert else ():
                yield from _of(rule, key, rule.for_ if key == "for" else rule.keep_firing_for, one)


def _of(rule: Rule, key: str, text: Text | None, limits: Limits) -> Iterator[Finding]:
    length = _length(text.value) if text else 0
    if length is None:  # another check tells
        return
    if limits.min and length < (_length(limits.min) or 0):
        told, fix = f"less than {limits.min}", f"write {key}: {limits.min} or more"
    elif limits.max and length > (_length(limits.max) or 0):
        told, fix = f"more than {limits.max}", f"write {key}: {limits.max} or less"
    else:
        return
    why = f"{key} in [tool.watchkeeper.policy] lets it be {limits}"
    if text:
        yield text.finding(ID, f"{rule.owner}: {key}: {text.value} is {told}", why=why, fix=fix)
    else:
        yield rule.finding(ID, f"without {key} it is 0, {told}", why=why, fix=fix)
