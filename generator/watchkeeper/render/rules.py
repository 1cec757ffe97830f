"""Prometheus rule files (https://prometheus.io/docs/prometheus/latest/configuration/recording_rules/)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watchkeeper.model import Alert, Group, Rule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from watchkeeper.settings import Settings

    # Where an alert is drawn: dashboard uid and panel id.
    PanelOf = Mapping[str, tuple[str, int]]


def rule_file(group: Group, settings: Settings, panel_of: PanelOf) -> dict[str, Any]:
    """Return the rule file of one group as plain data, in the order of Prometheus' documentation."""
    head: dict[str, Any] = {"name": group.name}
    if group.interval:
        head["interval"] = group.interval
    if group.query_offset:
        head["query_offset"] = group.query_offset
    if group.limit:
        head["limit"] = group.limit
    if group.labels:
        head["labels"] = dict(group.labels)
    return {"groups": [{**head, "rules": [rule_data(rule, settings, panel_of) for rule in group.rules]}]}


def rule_data(rule: Rule, settings: Settings, panel_of: PanelOf) -> dict[str, Any]:
    """Return one rule as plain data; an alert with links to its runbook and to its panel, where addresses are known.

    A field that is empty makes no label and no annotation: an empty label would hide the group's.
    """
    if not isinstance(rule, Alert):
        data: dict[str, Any] = {"record": rule.name, "expr": rule.expr}
        return {**data, "labels": dict(rule.labels)} if rule.labels else data
    data = {"alert": rule.name, "expr": rule.expr}
    if rule.for_:
        data["for"] = rule.for_
    if rule.keep_firing_for:
        data["keep_firing_for"] = rule.keep_firing_for
    made = {"severity": str(rule.severity), "team": rule.team, "priority": rule.priority}
    labels = {**{name: value for name, value in made.items() if value}, **rule.labels}
    if labels:
        data["labels"] = labels
    made = {
        "summary": rule.summary,
        "description": rule.description,
        "reason": rule.reason,
        "runbook_url": settings.runbook(rule.runbook),
        "dashboard_url": settings.panel(*panel_of[rule.name]) if rule.name in panel_of else "",
    }
    annotations = {**{name: value for name, value in made.items() if value}, **rule.annotations}
    if annotations:
        data["annotations"] = annotations
    return data
