"""Labels that the team's policy asks of each rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.engine.regex import predicate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project

ID = "policy/label"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each rule without a label, or with another value; a group's labels are its rules' too."""
    policy = project.settings.policy
    if policy is None or not (policy.alert_labels or policy.recording_labels):
        return
    for group in project.groups:
        for rule in group.rules:
            key = "alert_labels" if rule.is_alert else "recording_labels"
            why = f"{key} in [tool.watchkeeper.policy] asks for it"
            for name, pattern in (policy.alert_labels if rule.is_alert else policy.recording_labels).items():
                text = rule.labels.get(name) or group.labels.get(name)
                if text is None or not text.value:
                    fix = f'write {name} below labels, with a value that matches "{pattern}"'
                    yield rule.finding(ID, f"there is no label {name}", why=why, fix=fix)
                elif "{{" not in text.value and not predicate(pattern)(text.value):  # a template's value is not known
                    what = f'{rule.owner}: the label {name} may not be "{text.value}"'
                    yield text.finding(ID, what, why=why, fix=f'write a value that matches "{pattern}"')
