"""Checks, one a file: `ID`, and `check(project)`, which yields findings.

The file `promql_metric.py` has the check `promql/metric`, explained in `docs/checks/promql-metric.md`. To add a check,
add the three files (the third is its test) and its name here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project

NAMES = (
    "metric_name",
    "metric_label",
    "group_name",
    "rule_name",
    "rule_duplicate",
    "rule_group",
    "rule_duration",
    "rule_label",
    "rule_feature",
    "rule_schema",
    "alert_severity",
    "alert_runbook",
    "runbook_page",
    "alert_threshold",
    "alert_panel",
    "promql_syntax",
    "promql_feature",
    "promql_metric",
    "promql_label",
    "promql_counter",
    "dashboard_uid",
    "dashboard_title",
    "dashboard_panel_id",
    "dashboard_ref_id",
    "dashboard_layout",
    "dashboard_variable",
    "dashboard_unit",
    "dashboard_datasource",
    "dashboard_schema",
    "dashboard_size",
    "dashboard_feature",
)


def run(project: Project, track: Callable[[Iterable[Any], str], Iterable[Any]] | None = None) -> list[Finding]:
    """Return what all checks find. A schema's word about a place is left out where another check has a plainer one."""
    names: Iterable[str] = track(NAMES, "checks") if track else NAMES
    found = [finding for name in names for finding in import_module(f"{__name__}.{name}").check(project)]
    told = {finding.place for finding in found if not finding.check.endswith("/schema")}
    return [finding for finding in found if not finding.check.endswith("/schema") or finding.place not in told]
