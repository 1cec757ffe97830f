"""What the checks that follow labels say, how sure they are, and where."""

# ruff: noqa: E501 - messages as they are

from pathlib import Path

import pytest

from watchkeeper import Alert, Counter, Gauge, Group, Pack, Recording
from watchkeeper.checks import promql_empty, promql_join, promql_label
from watchkeeper.findings import Place
from watchkeeper.pack import Pack as AnyPack
from watchkeeper.project import Project
from watchkeeper.proof.catalogue import Catalogue
from watchkeeper.settings import Settings
from watchkeeper.subject import Expression, Written

METRICS = (
    Gauge("free_bytes", "Of the test.", labels=("gpu",), unit="bytes"),
    Counter("errors_total", "Of the test.", labels=("gpu", "code")),
)
GROUP = Group("g", [Recording("gpu:free:min", "min by (gpu) (free_bytes)")])
CHECKS = (promql_label, promql_join, promql_empty)


def told(text, catalogue, *, in_dashboard=False):
    expression = Expression(text, "alert A", Written(Place("f"), text), in_dashboard=in_dashboard)
    project = Project(AnyPack(place=Place("")), Settings(root=Path()), catalogue, expressions=(expression,))
    found = [finding for check in CHECKS for finding in check.check(project)]
    assert all(finding.why and finding.fix for finding in found)
    return found


def lines(found):
    return [
        (
            f"{f.check} {f.severity}",
            f.message.removeprefix("alert A: "),
            f.excerpt.text[f.excerpt.start : f.excerpt.end],
        )
        for f in found
    ]


@pytest.mark.parametrize(
    ("text", "check", "message", "part"),
    [
        ('free_bytes{rack="1"}', "label error", 'free_bytes has no label "rack"', "rack"),
        ('free_bytes{gpus="1"}', "label error", 'free_bytes has no label "gpus"; did you mean "gpu"?', "gpus"),
        ('gpu:free:min{job="a"}', "label error", 'gpu:free:min has no label "job"', "job"),
        ("sum by (rack) (free_bytes)", "label error", 'what is aggregated has no label "rack"', "rack"),
        ("sum by (gpu) (sum(x))", "label warning", 'what is aggregated has no label "gpu"', "gpu"),
        ("x * on (gpu) sum by (job) (y)", "label note", 'the right side has no label "gpu"', "gpu"),
        ("x * on (job) group_left (gpu) sum by (job) (y)", "label warning", 'the right side has no label "gpu"', "gpu"),
        (
            "free_bytes / sum by (instance) (errors_total)",
            *("join error", 'the sides of / never match: "job" is always there on the left side and never there on the right', "/"),
        ),
        (
            'x{job="a"} and on (job) sum(y)',
            *("join error", 'the sides of and never match: "job" is always there on the left side and never there on the right', "and on (job)"),
        ),
        ('x{code="500"} / x{code="200"}', "join error", 'the sides of / never match: "code" never has the same value on both sides', "/"),
        (
            'x{job="a"} unless sum(y)',
            *("join error", 'the sides of unless never match: "job" is always there on the left side and never there on the right', "unless"),
        ),
        ('x{a="1", a="2"}', "empty error", 'nothing can come of this: no value passes a="1" and a="2"', 'a="1", a="2"'),
        ('x{a="1", a!="1"}', "empty error", 'nothing can come of this: no value passes a="1" and a!="1"', 'a="1", a!="1"'),
        (
            'free_bytes{gpu=""} or y',
            *("empty warning", 'nothing can come of this: gpu="" asks for series without the label, but the contract of free_bytes declares it', 'gpu=""'),
        ),
        ("x unless x", "empty error", "nothing can come of this: what is taken away is the same as what is there", "unless"),
        ("x > 5 and x < 3", "empty error", "nothing can come of this: no number passes both comparisons", "and"),
    ],
)  # fmt: skip
def test_each_fault_is_told_once(text, check, message, part):
    catalogue = Catalogue.of_pack(Pack(metrics=METRICS, groups=(GROUP,)))
    assert lines(told(text, catalogue)) == [(f"promql/{check}", message, part)]


@pytest.mark.parametrize(
    "text",
    [
        "free_bytes / on (gpu, instance) errors_total", "free_bytes * on (gpu) group_left () gpu:free:min",
        'x{job="a"} > 1 or absent(x{job="a"})', "metric > 1 or absent(metric)", "count(x == 0) == 0",
        'label_replace(sum by (pod) (x) > 0, "cluster", "$1", "pod", "(.*)") > on (cluster) y',
        "abs(rate(x[1m]) - scalar(avg(rate(x[1m])))) / scalar(stddev(rate(x[1m])) + 100) > 2",
        'x{a="1"} / ignoring (a) x{a="2"}', "sum by (gpu) (free_bytes or vector(0))", 'x{a=~"1.*", a!="12"}',
        "x > 5 < 3", "vector(1) > 2",  # promql/constant tells of these
    ],
)  # fmt: skip
def test_what_is_fine(text):
    assert told(text, Catalogue.of_pack(Pack(metrics=METRICS, groups=(GROUP,)))) == []


@pytest.mark.parametrize(
    "text",
    ['x{gpu="$gpu", gpu="a"}', "sum by ($by) (free_bytes)", "free_bytes * on ($on) sum(free_bytes)", '$x{a="1"}'],
)
def test_dashboard_variables_may_be_anything(text):
    catalogue = Catalogue.of_pack(Pack(metrics=METRICS, groups=(GROUP,)))
    assert told(text, catalogue, in_dashboard=True) == []


def test_a_reason_is_told_where_it_is_not_the_contract():
    catalogue = Catalogue.of_pack(Pack(metrics=METRICS, groups=(GROUP,)))
    (finding,) = told('gpu:free:min{job="a"}', catalogue)
    assert finding.why.endswith(": in the rule that records gpu:free:min, min by (gpu) drops it")
    assert finding.fix == "the labels there are gpu"
    (finding,) = told('rate(x{job="a"}[5m]) / sum(rate(y[5m]))', catalogue)
    assert finding.why == "the result is always empty, and the rule never does anything: sum() keeps no label"
    (finding,) = told('x{job="a", a!=""} / x{a="b", job="c"}', catalogue)
    assert finding.fix == "say what is to match: on (a); with group_left if the left side has several series of each"


def test_an_alert_that_joins_what_never_meets_is_an_error(tmp_path):
    from watchkeeper.building import build

    alert = Alert("A", expr="free_bytes < vector(5)", severity="warning", team="sre", summary="S", runbook="a")
    _, found = build(Pack(metrics=METRICS, groups=(Group("g", [alert]),)), Settings(root=tmp_path))
    (finding,) = [finding for finding in found if finding.check == "promql/join"]
    assert finding.severity == "error"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("sum by (a) (x) / sum by (b) (y)", "a on the left and b on the right alone"),
        ("sum by (a, b) (x) > sum by (a) (y)", "b on the left alone"),
        ("sum by (a) (x) unless sum by (a, b, c) (y)", "b, c on the right alone"),
        ("sum by (a, b) (x) / ignoring (c) sum by (a, c) (y)", "b on the left alone"),
    ],
)
def test_sides_that_keep_different_labels_are_told_without_a_contract(text, what):
    (finding,) = told(text, Catalogue(closed=False))
    assert (finding.check, finding.severity) == ("promql/join", "warning")
    assert finding.message.endswith(f"keep different labels: {what}")
    assert "on (a)" in finding.fix or "(...)" in finding.fix


@pytest.mark.parametrize(
    "text",
    [
        "sum by (a) (x) / sum by (a) (y)",
        "sum by (a, b) (x) / on (a) group_left () sum by (a) (y)",
        "sum by (a, b) (x) / ignoring (b) group_left () sum by (a) (y)",
        "sum by (a) (x) or sum by (b) (y)",
        "sum by (a) (x) or vector(0)",
        "x / sum by (a) (y)",  # what x has is not known
        "sum by (a) (x) > 5",
    ],
)
def test_sides_that_may_match_are_left_alone(text):
    assert told(text, Catalogue(closed=False)) == []
