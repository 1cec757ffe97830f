"""Groups that are evaluated so rarely that what they record is not there in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project

ID = "group/interval"

_LOOKBACK_MS = 300_000  # how long a sample counts: --query.lookback-delta


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each group with an interval over five minutes."""
    for group in project.groups:
        if group.interval is None or (group.interval_ms or 0) <= _LOOKBACK_MS:
            continue
        recorded = next((rule.name.value for rule in group.rules if not rule.is_alert), "")
        if recorded:
            why = (
                f"a sample counts for 5 minutes: between two evaluations {recorded} is not there, and alerts on it end"
            )
            severity = "warning"
        else:
            why = "a style point: an alert is seen that late, and its series ALERTS has gaps"
            severity = "note"
        what = f"group {group.name.value}: an interval of {group.interval.value} is longer than 5m"
        fix = "write 5m or less; for costly rules, a shorter range or fewer series"
        yield group.interval.finding(ID, what, why=why, fix=fix, severity=severity)
