"""Names of alerts and recorded series that are not as the team's policy has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.engine.regex import predicate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project

ID = "policy/name"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each rule whose name does not match."""
    policy = project.settings.policy
    if policy is None or not (policy.alert_names or policy.recording_names):
        return
    for group in project.groups:
        for rule in group.rules:
            pattern = policy.alert_names if rule.is_alert else policy.recording_names
            if pattern and not predicate(pattern)(rule.name.value):
                why = f"{'alert' if rule.is_alert else 'recording'}_names in [tool.watchkeeper.policy] asks for it"
                yield rule.finding(
                    ID, "the name is not as it has to be", why=why, fix=f'write one that matches "{pattern}"'
                )
