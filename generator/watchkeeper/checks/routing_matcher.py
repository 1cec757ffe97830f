"""Matchers for a value or a label that no alert has, and that is nearly one that they have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.proof.survey import survey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.proof.routing import Config, Matcher

ID = "routing/matcher"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each matcher that is surely mistyped."""
    for config in project.alertmanagers:
        found = survey(config, project.groups, project.catalogue)
        for matcher in _matchers(config):
            meant = found.meant(matcher)
            if meant:
                why = "it passes every alert" if matcher.is_negative else "it matches nothing, and nobody is told"
                if matcher.alternatives and len(matcher.alternatives) > 1:
                    why = "that part of it matches nothing"
                what = f"no alert has what {matcher} asks for; did you mean {meant}?"
                yield matcher.finding(ID, what, why=why, fix=f"write {meant}")


def _matchers(config: Config) -> Iterator[Matcher]:
    for route in config.routes:
        yield from route.matchers
    for rule in config.inhibit_rules:
        yield from rule.source
        yield from rule.target
