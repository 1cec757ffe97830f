"""Rules beside each other: duplicates, order, names; groups that are evaluated too seldom."""

import pytest

from watchkeeper import Counter, Group, Pack, Recording
from watchkeeper.building import build
from watchkeeper.settings import Settings


def alert(expr="up == 0", name="A", severity="warning", **more):
    return {"alert": name, "expr": expr, "labels": {"severity": severity}, **more}


def record(expr, name="job:up:sum", **labels):
    return {"record": name, "expr": expr, "labels": labels}


def shown(finding):
    return finding.excerpt.text[finding.excerpt.start : finding.excerpt.end]


# rule/duplicate


@pytest.mark.parametrize(
    ("one", "other", "severity", "said"),
    [
        (alert(), alert(), "warning", "there twice"),
        (alert("up  ==\n0"), alert("up == 0"), "warning", "there twice"),
        (alert("x > 5"), alert("x > 10"), "note", "> 10 says nothing that > 5 does not"),
        (alert("x < 5 and y"), alert("x < 10 and y"), "note", "< 5 says nothing that < 10 does not"),
        (record("sum(up)"), record("sum(up)"), "warning", "there twice"),
        (record("sum(up)"), record("count(up)"), "error", "by different expressions"),
        (record("sum by (job) (up)"), record("max by (job) (up)"), "error", "by different expressions"),
        (record("sum by (job) (a)"), record("sum by (job) (b)"), "note", "by different expressions"),
        (record('sum(up{job="a"})'), record('sum(up{job="b"})'), "error", "by different expressions"),
        (record("up"), record("up > 1"), "warning", "by different expressions"),
    ],
)
def test_rules_that_are_one(anyone, one, other, severity, said):
    (finding,) = anyone.findings("rule/duplicate", anyone.group(one, other))
    assert finding.severity == severity
    assert said in finding.message + finding.why
    assert finding.place.line == 2
    assert "the first on line 1" in finding.message


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (alert("x > 5"), alert("x > 10", severity="critical")),
        (alert("x > 5"), alert("y > 5")),
        (alert("x > 5"), alert("x < 2")),
        (alert("x > 5"), alert("x > 5", name="B")),
        (alert("x > 5"), alert("x > 10 and y")),
        (alert("up =="), alert("up ===")),
        (record("a", verb="read"), record("b", verb="write")),
        (record('sum by (job) (up{job="a"})'), record('sum by (job) (up{job="b"})')),
        (record('rate(x_total{job="a"}[5m])'), record('rate(x_total{job="b"}[5m])')),
        (record('sum by (job, code) (x{code=~"2.."})'), record('sum by (job, code) (x{code=~"3.."})')),
        (record('sum by (job, code) (x{code=~"2.."})'), record("sum by (job, code) (y)")),
        (
            record('label_replace(sum by (job) (up), "type", "a", "", "")'),
            record('label_replace(sum by (job) (up), "type", "b", "", "")'),
        ),
        (record("sum(up)"), {"alert": "job:up:sum", "expr": "sum(up)"}),
    ],
)
def test_rules_that_are_two(anyone, one, other):
    assert anyone.findings("rule/duplicate", anyone.group(one, other)) == []


def test_files_may_be_for_two_servers(anyone):
    groups = [anyone.group(record(expr), file=file) for expr, file in (("sum(up)", "a.yml"), ("count(up)", "b.yml"))]
    (finding,) = anyone.findings("rule/duplicate", *groups)
    assert finding.severity == "note"
    assert "the first at a.yml:1" in finding.message
    assert "style point" in finding.why
    assert finding.fix.startswith("if one Prometheus reads both files")


def test_files_may_be_copies(anyone):
    rules = [alert(name=name) for name in "ABC"]
    groups = [anyone.group(*rules, file=file) for file in ("a.yml", "b.yml")]
    (finding,) = anyone.findings("rule/duplicate", *groups)
    assert finding.severity == "note"
    assert finding.message == (
        "alert A is there twice, with the same labels and expression, the first at a.yml:1; so are 2 more of this file"
    )


def test_the_labels_of_a_group_tell_rules_apart(anyone):
    groups = [anyone.group(record("sum(up)"), labels={"site": site}) for site in "ab"]
    assert anyone.findings("rule/duplicate", *groups) == []
    groups = [anyone.group(record("sum(up)"), labels={"site": "a"}), anyone.group(record("sum(up)", site="a"))]
    assert len(anyone.findings("rule/duplicate", *groups)) == 1


# rule/order


def test_a_rule_that_reads_what_comes_later(anyone):
    group = anyone.group(alert("job:up:sum == 0"), record("sum by (job) (up)"), alert("job:up:sum == 1"))
    (finding,) = anyone.findings("rule/order", group)
    assert (finding.severity, finding.place.line, shown(finding)) == ("note", 1, "job:up:sum")
    fine = (
        anyone.group(record("job:up:sum + up"), record("sum by (job) (up)")),  # the first one records it too
        anyone.group(alert("job:up:sum offset 1h == 0"), record("sum by (job) (up)")),
        anyone.group(alert("job:up:sum == 0")),
    )
    assert anyone.findings("rule/order", *fine) == []


# rule/record-name


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (record("sum(up)", "up_sum"), "does not say that it is recorded"),
        (record("sum by (job) (up)", "instance:up:sum"), "no label instance: sum by (job) drops it"),
        (record("sum by (job) (up)", "job_pod:up:sum"), "no label pod: sum by (job) drops it"),
    ],
)
def test_names_of_recorded_series(anyone, rule, said):
    (finding,) = anyone.findings("rule/record-name", rule)
    assert finding.severity == "note"
    assert said in finding.message
    assert "style point" in finding.why


@pytest.mark.parametrize(
    "rule",
    [
        record("sum by (job) (up)"),
        record("sum(up)", "cluster:up:sum"),
        record("up", "instance:up"),
        record("sum(up)", "job:up:sum", job="x"),
        record("sum without (job) (up)", "instance:up:sum"),
        record("up +", "instance:up:sum"),
        record('{__name__=~"a.*"}', "pod:a:all"),
        alert(name="NoColon"),
    ],
)
def test_names_that_are_fine(anyone, rule):
    assert anyone.findings("rule/record-name", rule) == []


def test_a_group_of_old_names(anyone):
    (finding,) = anyone.findings("rule/record-name", anyone.group(*(record("sum(up)", f"up_{n}") for n in range(3))))
    assert finding.message.endswith(
        "recording rule up_0: the name does not say that it is recorded, nor do those of 2 more of the group"
    )


def test_the_name_of_a_metric_of_the_contract(tmp_path):
    metric = Counter("x_total", "X.")
    pack = Pack(metrics=(metric,), groups=(Group("g", [Recording("x_total", "sum(x_total)")]),))
    found = [one for one in build(pack, Settings(root=tmp_path))[1] if one.check == "rule/record-name"]
    assert [one.severity for one in found] == ["error"]
    assert "declares a counter of that name" in found[0].message


# group/interval and rule/feature


def test_groups_that_are_evaluated_too_seldom(anyone):
    def found(interval, *rules):
        return anyone.findings("group/interval", anyone.group(*rules, interval=interval))

    (finding,) = found("6m", alert(), record("sum by (job) (up)"))
    assert (finding.severity, shown(finding)) == ("warning", "6m")
    assert "job:up:sum is not there" in finding.why
    assert [one.severity for one in found("1h", alert())] == ["note"]
    for interval in ("5m", "1m", "no duration"):
        assert found(interval, record("sum by (job) (up)")) == []


def test_fields_that_are_newer_than_the_server(anyone):
    group = anyone.group(
        alert(keep_firing_for="5m"), labels={"a": "b", "c": "d"}, query_offset="1m", limit="5", interval="1m"
    )
    found = anyone.findings("rule/feature", group, prometheus=(2, 25))
    assert sorted((one.message.partition(": ")[2], shown(one)) for one in found) == [
        ("keep_firing_for needs Prometheus 2.42", "5m"),
        ("labels of a group needs Prometheus 3.0", "b"),
        ("limit needs Prometheus 2.31", "5"),
        ("query_offset needs Prometheus 2.53", "1m"),
    ]
    assert anyone.findings("rule/feature", group, prometheus=(3, 0)) == []
    assert anyone.findings("rule/feature", anyone.group(alert(), limit="0"), prometheus=(2, 25)) == []
