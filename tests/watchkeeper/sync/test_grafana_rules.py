"""Grafana's own alert rules, by `watchkeeper sync`, at a Grafana on loopback."""

from __future__ import annotations

import copy
import shutil

import pytest
from standin_grafana import Fault, Grafana
from standin_grafana_rules import AlertRules
from sync_project import Project

from watchkeeper.sync.alert_groups import MARK

ALERTS = '\n[tool.watchkeeper.outputs]\ngrafana-alerts = {datasource = "prom", folder = "Fleet $"}\n'
GPU = ("watchkeeper-alerts", "gpu")


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("project"))
    project.settings(ALERTS)
    project.define()
    return project.path


@pytest.fixture
def grafana():
    with Grafana().running() as grafana:
        yield grafana


@pytest.fixture
def rules(grafana):
    return AlertRules(grafana)


@pytest.fixture
def project(generated, tmp_path, grafana):
    shutil.copytree(generated, tmp_path / "work")
    project = Project(tmp_path / "work")
    project.settings(f'grafana_url = "{grafana.url}"\n{ALERTS}')
    return project


def test_a_second_apply_writes_nothing(project, grafana, rules):
    assert '+ alert group watchkeeper-alerts/gpu "gpu": created' in project.sync("plan").splitlines()
    project.sync("apply")
    assert grafana.folders["watchkeeper-alerts"].title == "Fleet $"
    assert list(rules.groups) == [GPU]
    [rule] = rules.groups[GPU]["rules"]
    assert (rule["uid"], rule["title"], rule["for"]) == ("GpuDown", "GpuDown", "5m")
    assert rule["annotations"]["__dashboardUid__"] == "free"
    assert rule["annotations"][MARK].startswith("acme watchkeeper-alerts/gpu 1-")
    assert "provenance" not in rule
    assert rules.groups[GPU]["interval"] == 60
    writes = rules.writes
    project.sync("apply", "--prune")
    project.sync("drift")
    assert rules.writes == writes


def test_an_edit_by_hand_is_a_conflict(project, rules):
    project.sync("apply")
    rules.groups[GPU]["rules"][0]["for"] = "10m"
    said = project.sync("plan", code=1)
    assert '    rule "GpuDown", for: "10m" -> "5m"' in said.splitlines()
    project.sync("apply", code=1)
    assert rules.groups[GPU]["rules"][0]["for"] == "10m"
    project.sync("apply", "--overwrite", "*/gpu")
    assert rules.groups[GPU]["rules"][0]["for"] == "5m"


def test_what_changed_is_told_by_rule_and_query(project, rules):
    project.sync("apply")
    project.define(limit="3")
    said = project.sync("plan", "--only", "gpu")
    assert 'rule "GpuDown", query "C", model.conditions' in said
    project.sync("apply")
    assert rules.groups[GPU]["rules"][0]["data"][2]["model"]["conditions"][0]["evaluator"]["params"] == [3]


def test_groups_of_others_stay(project, rules):
    project.sync("apply")
    theirs = copy.deepcopy(rules.groups[GPU])
    # With our mark, as somebody's copy has it.
    theirs["rules"][0] |= {"uid": "theirs", "ruleGroup": "theirs"}
    rules.groups["watchkeeper-alerts", "theirs"] = theirs
    rules.groups["watchkeeper-alerts", "gone"] = copy.deepcopy(theirs)
    rules.groups["watchkeeper-alerts", "gone"]["rules"][0] |= {
        "uid": "gone",
        "ruleGroup": "gone",
        "annotations": {MARK: "acme watchkeeper-alerts/gone 1-0"},
    }
    said = project.sync("apply", "--prune", code=1)
    assert '! alert group watchkeeper-alerts/gone "gone": conflict' in said.splitlines()
    assert "theirs" not in said
    assert len(rules.groups) == 3


def test_a_group_that_is_gone_is_deleted(project, rules):
    project.sync("apply")
    text = (project.path / "defs.py").read_text()
    (project.path / "defs.py").write_text(text.replace('Group("gpu"', 'Group("renamed"'))
    assert project.run("generate").exit_code == 0
    assert "orphan" in project.sync("plan")
    project.sync("apply", "--prune")
    assert list(rules.groups) == [("watchkeeper-alerts", "renamed")]
    project.sync("drift")


def test_a_rule_that_is_in_another_group_is_not_taken_away(project, rules):
    project.sync("apply")
    held = rules.groups.pop(GPU)
    held["rules"][0] |= {"ruleGroup": "mine", "folderUID": "other", "annotations": {}}
    rules.groups["other", "mine"] = held
    for verb in ("plan", "apply", "drift"):
        said = project.sync(verb, code=1)
        assert 'gpu": conflict\n    rule GpuDown is in other/mine, which is not as we applied it: ' in said
    assert list(rules.groups) == [("other", "mine")]


def test_rules_from_files_are_a_conflict(project, rules):
    project.sync("apply")
    rules.groups[GPU]["rules"][0]["provenance"] = "file"
    project.define(limit="3")
    assert "it is provisioned from files" in project.sync("apply", code=1)


@pytest.mark.parametrize("kind", ["cut-before", "cut-after"])
def test_a_connection_that_is_cut(project, grafana, rules, kind):
    grafana.faults.append(Fault(kind, method="PUT", path="rule-groups"))
    project.sync("apply")
    assert rules.writes == 1
    project.sync("drift")


def test_rights_that_are_missing(project, grafana, rules):
    grafana.rights -= {"alert.provisioning:write"}
    project.sync("plan")
    assert "lacks alert.provisioning:write" in project.sync("apply", code=3)
    assert (grafana.writes, rules.writes) == (0, 0)
