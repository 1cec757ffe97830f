"""Rule files."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper import Alert, Group, Recording, Severity
from watchkeeper.render.rules import rule_file
from watchkeeper.render.yaml_text import to_yaml
from watchkeeper.settings import Settings

TEXTS = (
    st.text(st.characters(exclude_categories=["Cs"]))
    | st.text("ab:#'\"-\n \t{}[]|>&*!%@`,?x1.0~=", max_size=12)
    | st.sampled_from(
        [
            "No",
            "on",
            "1.0",
            "~",
            "null",
            "0x10",
            "1e3",
            "12:30:00",
            "2001-01-01",
            "",
            " ",
            "a\n",
            "a\n\n",
            "\na",
            "=",
            "<<",
        ]
    )
)
VALUES = st.recursive(
    TEXTS | st.integers() | st.booleans(), lambda v: st.lists(v, max_size=3) | st.dictionaries(TEXTS, v, max_size=3)
)


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_yaml_reads_back_as_it_was(document):
    text = to_yaml(document, "a header\nof two lines")
    assert (yaml.load(text, yaml.CSafeLoader) or {}) == document
    assert (yaml.safe_load(text) or {}) == document


def test_a_rule_file(tmp_path):
    group = Group(
        "targets",
        [
            Recording("job:up:sum", "sum by (job) (up)", labels={"a": "no"}),
            Alert(
                "TargetDown",
                expr='up{job="x"} == 0\n  and on () vector(1)',
                for_="5m",
                keep_firing_for="10m",
                severity=Severity.CRITICAL,
                team="sre",
                priority="P1",
                summary="{{ $labels.instance }} is down",
                description="It's: down",
                reason="up={{ $value }}",
                runbook="target-down",
                labels={"extra": "1"},
                annotations={"more": "text"},
            ),
        ],
        interval="30s",
        limit=10,
        labels={"cluster": "eu"},
    )
    settings = Settings(
        root=tmp_path, runbook_url="https://wiki.example.com", grafana_url="https://grafana.example.com"
    )
    text = to_yaml(rule_file(group, settings, {"TargetDown": ("targets", 42)}), "Generated.")
    assert (
        text
        == """\
# Generated.
groups:
- name: targets
  interval: 30s
  limit: 10
  labels:
    cluster: eu
  rules:
  - record: job:up:sum
    expr: sum by (job) (up)
    labels:
      a: 'no'
  - alert: TargetDown
    expr: |-
      up{job="x"} == 0
        and on () vector(1)
    for: 5m
    keep_firing_for: 10m
    labels:
      severity: critical
      team: sre
      priority: P1
      extra: '1'
    annotations:
      summary: '{{ $labels.instance }} is down'
      description: 'It''s: down'
      reason: up={{ $value }}
      runbook_url: https://wiki.example.com/target-down
      dashboard_url: https://grafana.example.com/d/targets?viewPanel=panel-42
      more: text
"""
    )


@pytest.mark.parametrize("field", ["for", "keep_firing_for", "labels", "interval", "limit", "query_offset"])
def test_what_is_not_said_is_not_written(tmp_path, field):
    group = Group("targets", [Recording("job:up:sum", "sum by (job) (up)")])
    assert field not in to_yaml(rule_file(group, Settings(root=tmp_path), {}), "")


def test_what_an_alert_leaves_empty_is_not_written(tmp_path):
    bare = Alert("X", expr="up == 0", severity="", team="", summary="")
    known = Alert("Y", expr="up == 0", severity="", team="sre", summary="", annotations={"runbook_url": "https://w/y"})
    document = rule_file(Group("g", [bare, known]), Settings(root=tmp_path, runbook_url="https://wiki"), {})
    assert document["groups"][0]["rules"] == [
        {"alert": "X", "expr": "up == 0"},
        {"alert": "Y", "expr": "up == 0", "labels": {"team": "sre"}, "annotations": {"runbook_url": "https://w/y"}},
    ]


def test_a_label_that_is_empty_on_purpose_stays(tmp_path):
    empty = {"labels": {"team": ""}, "annotations": {"summary": ""}}
    bare = Alert("X", expr="up == 0", severity="", team="", summary="", **empty)
    (rule,) = rule_file(Group("g", [bare], labels={"team": "sre"}), Settings(root=tmp_path), {})["groups"][0]["rules"]
    assert rule == {"alert": "X", "expr": "up == 0", **empty}
