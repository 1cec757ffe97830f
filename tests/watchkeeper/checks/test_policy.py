"""What a team's policy asks, of definitions and of files."""

import subprocess
import sys
from datetime import date

import pytest

from watchkeeper import Alert, Gauge, Group, Pack, Recording, Waiver, checks
from watchkeeper.building import build
from watchkeeper.checks import run
from watchkeeper.files import check, read, waivers
from watchkeeper.findings import Place, sort
from watchkeeper.policy import Limits, Policy
from watchkeeper.project import Project
from watchkeeper.proof.catalogue import Catalogue
from watchkeeper.settings import Settings, Targets
from watchkeeper.waivers.held import apply, of_definitions

GOOD = {
    "alert": "Down",
    "expr": "up == 0",
    "for": "5m",
    "labels": {"severity": "critical", "team": "sre"},
    "annotations": {"summary": "{{ $labels.instance }} is down"},
}
UNASKED = """
import sys
from types import SimpleNamespace
from watchkeeper.checks import POLICY, run
from watchkeeper.policy import Policy

for policy in (None, Policy()):
    list(run(SimpleNamespace(settings=SimpleNamespace(policy=policy), groups=()), POLICY))
    print("watchkeeper.checks.policy_label" in sys.modules, end=" " if policy is None else "\\n")
"""
SUM = {"record": "job:up:sum", "expr": "sum by (job) (up)"}


@pytest.fixture
def told(anyone, tmp_path):
    """Return message, value and line of what a policy finds in rules, or in a group of them."""

    def told(policy, *rules, **fields):
        groups = (anyone.group(*rules, **fields),)
        project = Project(
            Pack(place=Place("")),
            Settings(root=tmp_path, policy=policy),
            Catalogue(closed=False),
            expressions=tuple(rule.expression for rule in groups[0].rules),
            groups=groups,
        )
        found = sort(list(run(project, checks.POLICY)))
        assert all(finding.why for finding in found)
        return [(finding.check, finding.place.line, finding.message) for finding in found]

    return told


def marked(finding):
    """Return the part of the text that carets would be under."""
    return finding.excerpt.text[finding.excerpt.start : finding.excerpt.end]


def test_nothing_is_asked_by_itself(told):
    bad = {"alert": "x y", "expr": "sum(up)"}
    assert told(None, GOOD, SUM, bad) == []
    assert told(Policy(), GOOD, SUM, bad) == []


def test_without_a_policy_its_checks_are_not_loaded():
    done = subprocess.run([sys.executable, "-c", UNASKED], check=True, capture_output=True, text=True)
    assert done.stdout == "False True\n"


def test_labels(told):
    policy = Policy(alert_labels={"severity": "critical|warning", "team": ".+"}, recording_labels={"team": ".+"})
    assert told(policy, GOOD) == []
    assert told(policy, {**GOOD, "labels": {"severity": "critical!", "team": ""}}, SUM) == [
        ("policy/label", 1, 'alert Down: the label severity may not be "critical!"'),
        ("policy/label", 1, "alert Down: there is no label team"),
        ("policy/label", 2, "recording rule job:up:sum: there is no label team"),
    ]


def test_labels_of_the_group_count_and_its_rules_go_before_them(told):
    policy = Policy(alert_labels={"team": "sre"}, recording_labels={"team": "sre"})
    bare = {**GOOD, "labels": {}}
    assert told(policy, bare, SUM, labels={"team": "sre"}) == []
    other = {**GOOD, "labels": {"team": "ml"}}
    assert told(policy, other, labels={"team": "sre"}) == [
        ("policy/label", 1, 'alert Down: the label team may not be "ml"')
    ]


def test_a_label_that_is_a_template_may_become_anything(told):
    labels = {"severity": "{{ if gt $value 9.0 }}critical{{ else }}warning{{ end }}"}
    assert told(Policy(alert_labels={"severity": "critical|warning"}), {**GOOD, "labels": labels}) == []


def test_annotations(told):
    policy = Policy(annotations={"summary": ".+ is down", "runbook_url": "https://.+"})
    right = {"summary": "{{ $labels.instance }} is down", "runbook_url": "https://x/{{ $labels.job }}"}
    assert told(policy, {**GOOD, "annotations": right}, SUM) == []
    assert told(policy, {**GOOD, "annotations": {"summary": "it is down!"}}) == [
        ("policy/annotation", 1, "alert Down: the annotation summary is not as it has to be"),
        ("policy/annotation", 1, "alert Down: there is no annotation runbook_url"),
    ]


@pytest.mark.parametrize(
    ("expr", "keep", "strip"),
    [
        ("sum by (job) (up)", [], []),
        ("sum(up)", ["sum"], []),
        ("sum without (instance) (up)", [], []),
        ("sum without (job, cluster) (up)", ["sum"], ["sum"]),
        ("sum by (job, instance) (up)", [], ["sum"]),
        # The outer one decides what is kept, and the one that dropped it is told.
        ("sum by (job) (max by (job, instance) (up))", [], []),
        ("sum by (job) (max by (instance) (up))", ["max"], []),
        ("sum(max(up))", ["max"], []),
        ("sum(max by (job) (up))", ["sum"], []),
        ("topk(3, sum by (job, instance) (up))", [], ["sum"]),
        ("topk(3, up)", [], []),
        ("topk by (job) (3, up)", [], []),
        # What is not there can't be dropped.
        ("sum(vector(1))", [], []),
        ('sum(up{job=""})', [], []),
        ('count(absent(up{instance="a"}))', [], []),
        # The other side gives no label to the result.
        ("up and on () sum(up)", [], []),
        ("up unless sum by (instance) (up)", [], []),
        ("up / on (job) group_left () sum by (job, instance) (up)", [], []),
        ("sum by (job, instance) (up) * on (job) group_right () up", [], []),
        ("up * scalar(sum(up))", [], []),
        ("vector(scalar(count(up)))", [], []),
        # Both sides of `or` do.
        ("sum by (job) (up) or sum by (job, instance) (down) or count(up)", ["count"], ["sum"]),
        ("sum by (job) (up) / sum(up)", [], []),
        ("sum(up) / sum(down)", ["sum"], []),
        ("histogram_quantile(0.9, sum by (le, job, instance) (rate(b[5m])))", [], ["sum"]),
        ("histogram_quantile(0.9, sum by (le) (rate(b[5m])))", ["sum"], []),
        ("max_over_time(sum by (instance) (up)[1h:1m]) > 3", ["sum"], ["sum"]),
        ('label_replace(sum by (job) (up), "instance", "a", "", "")', [], []),
        ('label_replace(sum(up), "job", "a", "", "")', [], []),
        ("-sum(up)", ["sum"], []),
        ("1 - (sum(up))", ["sum"], []),
        ('count_values("instance", up)', ["count_values"], ["count_values"]),
    ],
)
def test_aggregations(told, expr, keep, strip):
    policy = Policy(aggregations_keep=("job",), aggregations_strip=("instance",))
    messages = [message for _, _, message in told(policy, {**GOOD, "expr": expr})]
    drops = [message.split()[2] for message in messages if "drops the label job" in message]
    keeps = [message.split()[2] for message in messages if "keeps the label instance" in message]
    assert (drops, keeps) == (keep, strip)
    assert len(messages) == len(drops) + len(keeps)


def test_the_place_of_an_aggregation(anyone, tmp_path):
    def places(expr):
        group = anyone.group({**GOOD, "expr": expr})
        policy = Policy(aggregations_keep=("job",), aggregations_strip=("instance",))
        project = Project(
            Pack(place=Place("")), Settings(root=tmp_path, policy=policy), Catalogue(closed=False), groups=(group,)
        )
        return [marked(finding) for finding in run(project, ("policy_aggregation",))]

    assert places("sum(up)") == ["sum"]
    assert places("sum by (cluster, node) (up)") == ["cluster, node"]
    assert places("sum by (job, instance) (up)") == ["instance"]
    assert places("sum without (job) (up)") == ["job", "job"]


def test_long_chains_are_followed(told):
    policy = Policy(aggregations_keep=("job",), aggregations_strip=("instance",))
    expr = " or ".join(["sum by (instance) (up)"] * 3000)
    assert {message for _, _, message in told(policy, {**GOOD, "expr": expr})} == {
        "alert Down: sum drops the label job",
        "alert Down: sum keeps the label instance",
    }


def test_waiting_times(told):
    policy = Policy(for_=Limits("1m", "1h"), keep_firing_for=Limits(max="10m"))
    assert told(policy, GOOD, {**GOOD, "for": "1m"}, {**GOOD, "for": "60m", "keep_firing_for": "10m"}, SUM) == []
    assert told(policy, {**GOOD, "for": "59s"}, {**GOOD, "for": "61m", "keep_firing_for": "11m"}) == [
        ("policy/for", 1, "alert Down: for: 59s is less than 1m"),
        ("policy/for", 2, "alert Down: for: 61m is more than 1h"),
        ("policy/for", 2, "alert Down: keep_firing_for: 11m is more than 10m"),
    ]
    without = {key: value for key, value in GOOD.items() if key != "for"}
    assert told(policy, without) == [("policy/for", 1, "alert Down: without for it is 0, less than 1m")]
    assert told(Policy(for_=Limits(max="1h")), without) == []
    assert told(policy, {**GOOD, "for": "5 m"}) == []  # which is no duration: another check tells


def test_names(told):
    policy = Policy(alert_names="[A-Z][A-Za-z]+", recording_names="[a-z]+:.+:.+")
    assert told(policy, GOOD, SUM) == []
    assert told(policy, {**GOOD, "alert": "GPU down"}, {**SUM, "record": "up_sum"}) == [
        ("policy/name", 1, "alert GPU down: the name is not as it has to be"),
        ("policy/name", 2, "recording rule up_sum: the name is not as it has to be"),
    ]
    assert told(Policy(alert_names="X.*"), SUM) == []


def test_what_is_rejected(told):
    policy = Policy(
        reject={
            "label_names": "host|node",
            "label_values": ".*prod.*",
            "annotation_names": "dashboard",
            "annotation_values": ".*password=.*",
        }
    )
    assert told(policy, GOOD, SUM) == []
    bad = {
        **GOOD,
        "labels": {"host": "a", "env": "a-prod-b"},
        "annotations": {"dashboard": "x", "link": "http://x/?password=1"},
    }
    assert told(policy, bad, labels={"node": "prod"}) == [
        ("policy/reject", 0, "group g: the label node has a forbidden name"),
        ("policy/reject", 0, "group g: the label node has a forbidden value"),
        ("policy/reject", 1, "alert Down: the annotation dashboard has a forbidden name"),
        ("policy/reject", 1, "alert Down: the annotation link has a forbidden value"),
        ("policy/reject", 1, "alert Down: the label env has a forbidden value"),
        ("policy/reject", 1, "alert Down: the label host has a forbidden name"),
    ]


def test_what_is_always_reported(told):
    policy = Policy(report={"Down": "ask first", "job:.*": "ask the SREs"})
    assert told(policy, GOOD, {**GOOD, "alert": "DownToo"}, SUM) == [
        ("policy/report", 1, "alert Down: ask first"),
        ("policy/report", 3, "recording rule job:up:sum: ask the SREs"),
    ]


def test_definitions_are_held_against_it_with_their_contract(tmp_path):
    policy = Policy(
        alert_labels={"tier": "[0-9]"}, aggregations_keep=("job",), aggregations_strip=("gpu",), alert_names="GPU.+"
    )
    used = Gauge("gpu_memory_used_bytes", "Device memory in use.", labels=("gpu",), unit="bytes")
    group = Group(
        "gpu",
        [
            Recording("instance:gpu_memory_used_bytes:sum", f"sum without (gpu) ({used})"),
            Recording("gpu:gpu_memory_used_bytes:sum", f"sum by (gpu) ({used})"),
            Alert(
                "Full",
                expr=f"{used} > 1e9",
                for_="5m",
                severity="info",
                team="sre",
                runbook="full",
                summary="Full",
                waivers=(Waiver("policy/name", reason="it is known by that name"),),
            ),
        ],
    )
    pack = Pack(metrics=(used,), groups=(group,))
    _, found = build(pack, Settings(root=tmp_path, policy=policy))
    held, faults = of_definitions(pack, checks.ids())
    kept, waived = apply([*found, *faults], held, date(2026, 12, 1))
    assert sorted((finding.check, finding.message) for finding in kept if finding.check.startswith("policy/")) == [
        ("policy/aggregation", "recording rule gpu:gpu_memory_used_bytes:sum: sum drops the label job"),
        ("policy/aggregation", "recording rule gpu:gpu_memory_used_bytes:sum: sum keeps the label gpu"),
        ("policy/label", "alert Full: there is no label tier"),
    ]
    assert [one.finding.check for one in waived] == ["policy/name"]


RULES = """\
groups:
- name: g
  rules:
  - alert: Down  # watchkeeper: allow policy/annotation because its page says it all
    expr: |
      sum by (instance) (up)
        == 0
    for: 30s
    labels:
      team: ml
"""


def test_files_are_held_against_it_at_their_lines_and_columns(tmp_path):
    name = str(tmp_path / "rules.yml")
    (tmp_path / "rules.yml").write_text(RULES)
    policy = Policy(
        alert_labels={"team": "sre"},
        annotations={"summary": ".+"},
        aggregations_strip=("instance",),
        for_=Limits("1m"),
        alert_names="GPU.*",
    )
    contents = read([name], lambda items, *_: items)
    _, found = check(contents, Settings(root=tmp_path, targets=Targets.newest(), policy=policy))
    held, faults = waivers(contents)
    kept, waived = apply([*found, *faults], held, date(2026, 12, 1))
    places = [(f.check, f.place.line, f.place.column, f.severity) for f in kept if f.check.startswith("policy/")]
    assert places == [
        ("policy/name", 4, 12, "error"),
        ("policy/aggregation", 6, 15, "error"),
        ("policy/for", 8, 10, "error"),
        ("policy/label", 10, 13, "error"),
    ]
    assert [one.finding.check for one in waived] == ["policy/annotation"]
