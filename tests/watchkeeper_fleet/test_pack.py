"""What holds for all that we watch."""

import re

import pytest

from watchkeeper.project import panels_of
from watchkeeper.promql import parse, walk
from watchkeeper.proof.flow import Flow
from watchkeeper_fleet.pack import PACK

ALERTS = list(PACK.alerts.values())


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_what_an_alert_says_it_names_its_series_can_have(alert, project):
    """The alert rules written after the incident named a label that their own sum() threw away."""
    tree = parse(alert.expr)
    labels = Flow(tuple(walk(tree)), project.catalogue).of(tree).names()
    named = set(re.findall(r"\$labels\.(\w+)", alert.summary + alert.description))
    assert named or alert.name == "Watchdog"
    assert labels is not None
    assert named <= labels


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_links_to_its_runbook_and_its_one_panel(alert, project):
    ((uid, _, panel_id),) = panels_of(project.pack, project.dashboards)[alert.name]
    text = "\n".join(text for path, text in project.files.items() if path.startswith("rules/"))
    assert f"https://runbooks.example.com/{alert.runbook}" in text
    assert f"https://grafana.example.com/d/{uid}?viewPanel=panel-{panel_id}" in text


def test_every_runbook_page_is_some_alerts():
    assert {alert.runbook for alert in ALERTS} == {page.name for page in PACK.runbooks}
