"""Checks, one a file: `ID`, and `check(project)`, which yields findings.

The file `promql_metric.py` has the check `promql/metric`, explained in `docs/checks/promql-metric.md`. To add a check,
add the file, its page with two examples (which run as its test), and its name here.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project

# Look at single rules for what the settings' `policy` asks of them, where there is one.
POLICY = (
    "policy_label",
    "policy_annotation",
    "policy_aggregation",
    "policy_for",
    "policy_name",
    "policy_reject",
    "policy_report",
)

# Look at one group's rules and expressions, or at one dashboard's, at a time.
RULES = (
    "promql_syntax",
    "promql_feature",
    "promql_metric",
    "promql_label",
    "promql_join",
    "promql_empty",
    "promql_counter",
    "promql_raw_counter",
    "promql_histogram",
    "promql_unit",
    "promql_nan",
    "promql_constant",
    "promql_regexp",
    "promql_selector",
    "promql_fragile",
    "rule_type",
    "alert_threshold",
    "alert_comparison",
    "alert_for",
    "alert_flapping",
    "alert_identity",
    "alert_template",
    "template_label",
    "template_value",
    "template_query",
    "template_humanize",
    "group_interval",
    *POLICY,
)

# Look at one dashboard that definitions made.
BOARDS = (
    "dashboard_panel_id",
    "dashboard_ref_id",
    "dashboard_layout",
    "dashboard_variable",
    "dashboard_legend",
    "dashboard_threshold",
    "dashboard_unit",
    "dashboard_datasource",
    "dashboard_schema",
    "dashboard_size",
    "dashboard_feature",
    "text_unicode",
)

# Look at the dashboards of files, and at the rules that are read with them.
FILES = (
    "dashboard_variable",
    "dashboard_legend",
    "dashboard_threshold",
)

# Compare rules of all groups.
ACROSS = (
    "rule_duplicate",
    "rule_feature",
    "rule_record_name",
    "rule_order",
    "promql_rate_window",
    "alert_severity",
    "alert_summary",
)

# Compare routes with the alerts of all groups.
ROUTES = (
    "routing_unrouted",
    "routing_unreachable",
    "routing_matcher",
    "routing_group_by",
    "routing_inhibition",
    "routing_receiver",
)

# Look at definitions, across the whole pack; of a dashboard they see all but its model.
PACK = (
    "metric_name",
    "metric_label",
    "group_name",
    "rule_name",
    "rule_group",
    "rule_duration",
    "rule_label",
    "rule_schema",
    "alert_runbook",
    "runbook_page",
    "alert_panel",
    "dashboard_uid",
    "dashboard_title",
    "dashboard_folder",
    "routing_feature",
    "routing_template",
    "text_unicode",
)

# Of definitions: what is given a project that holds no more than one group or dashboard, and what sees all of it. Files
# have RULES, FILES, ACROSS and ROUTES alone, and of these what there is something for: loading takes a while.
PARTS = (*RULES, *BOARDS)
WHOLE = (*ACROSS, *ROUTES, *PACK)

# Ids of findings that no check yields, but the reading of files or of waivers; and what they are about.
OTHERS = {
    "alertmanager/config": "An Alertmanager configuration that names what is not there.",
    "json/parse": "A file that is not JSON.",
    "waiver/expired": "Waivers whose time is over.",
    "waiver/syntax": "Waivers that can't be read.",
    "waiver/unused": "Waivers of nothing.",
    "yaml/key": "Keys that a file may not have.",
    "yaml/kind": "A file in which nothing is known.",
    "yaml/parse": "A file that is not YAML.",
    "yaml/value": "Values that a key may not have.",
}

# Ids of what keeps a command from its work, or is about a change. They can't be waived.
COMMANDS = {
    "import/exists": "A file that importing would write over.",
    "import/lost": "Keys of a rule file that definitions have no field for.",
    "import/rules": "A file to import in which there are no rules.",
    "load/definition": "Definitions that can't be made.",
    "load/import": "Definitions that can't be imported.",
    "load/name": "Definitions that are not named, or not there.",
    "load/syntax": "Definitions that are no Python.",
    "metrics/scrape": "A scrape or a server that tells of no metrics.",
    "output/edited": "Generated files that were edited by hand.",
    "output/feature": "Outputs that the oldest version in use does not have.",
    "output/folder": "Folders that Grafana can't make of provisioned files.",
    "output/foreign": "Files of others where generated ones would go.",
    "output/grafana-alert": "Alerts that Grafana's own alerting has no words for.",
    "output/manifest": "A list of generated files that can't be read.",
    "output/size": "Outputs with more in them than what takes them does.",
    "rule/dependency": "Queries of a series that a change takes away.",
    "settings/file": "Settings that can't be read.",
    "settings/key": "Settings that there are not.",
    "settings/value": "Settings with a value that they can't have.",
}

NAMES = tuple(dict.fromkeys((*PARTS, *WHOLE)))  # one that looks at rules and at models is in both


def run(project: Project, names: tuple[str, ...]) -> Iterator[Finding]:
    """Yield what the checks of these names find."""
    for check in _checks(names, has_policy=project.settings.policy is not None):
        yield from check(project)


@lru_cache(maxsize=None)  # noqa: UP033 - as many as there are tuples above
def _checks(names: tuple[str, ...], *, has_policy: bool) -> list[Callable[[Project], Iterator[Finding]]]:
    # Without a policy its checks are not even loaded, for start-up's sake.
    return [import_module(f"{__name__}.{name}").check for name in names if has_policy or name not in POLICY]


def ids() -> list[str]:
    """Return the ids of all findings that checking can have."""
    return [*(name.replace("_", "/", 1).replace("_", "-") for name in NAMES), *OTHERS]
