"""What is said of templates: that they parse is not enough."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from watchkeeper import Alert, Gauge, Group, Pack, Recording
from watchkeeper.building import build
from watchkeeper.checks._templates import uses
from watchkeeper.ruler.template import Template, TemplateError, fields
from watchkeeper.settings import Settings

SUMS = "(sum(a_bytes) - sum(b_bytes)) / sum(a_bytes) > 0.3"


def alert(expr="up == 0", summary="Down", **more):
    return {"alert": "A", "expr": expr, "annotations": {"summary": summary}, **more}


def shown(finding):
    return finding.excerpt.text[finding.excerpt.start : finding.excerpt.end]


# Which parts of a text are templates


@settings(deadline=None)  # loading the parser is in the first one
@given(
    st.lists(
        st.sampled_from((
            "{{", "}}", "{", "}", " ", "-", "$labels", "$labels.a", ".b1", "$value", " | ", "humanize", "humanize1024",
            "\n", "é", "{{ $labels.a }}", "{{ $value | humanize }}", "_", "$externalLabels.x",
        )),
        max_size=9,
    ).map("".join)
)  # fmt: skip
@example("{{-$labels.a}}")
@example("{{{ $value }}")
def test_the_quick_way_says_what_the_parser_says(text):
    def outcome(find):
        try:
            return find()
        except TemplateError as error:
            return error.message

    assert outcome(lambda: uses(text)) == outcome(lambda: fields(Template(text)))


# alert/template


@pytest.mark.parametrize(
    ("summary", "said", "at"),
    [
        ("{{ $foo }}", 'undefined variable "$foo"', "$"),
        ("{{ $labels.x ", "unclosed action", ""),
        ("{{ nofunc 1 }}", 'function "nofunc" not defined', "n"),
        ("{{ .Foo }}", "there is no field .Foo", "Foo"),
        ("{{ .Lables.instance }}", 'there is no field .Lables; did you mean "Labels"?', "Lables"),
        ("{{ $labels.app.kubernetes.io }}", "there is no field .kubernetes", "kubernetes"),
        ("é {{ now | toTime }}", "now needs Prometheus 3.6", "now"),
    ],
)
def test_what_does_not_parse_or_is_not_there(anyone, summary, said, at):
    (finding,) = anyone.findings("alert/template", alert(summary=summary))
    assert finding.message == f"alert A, annotation summary: {said}"
    assert shown(finding) == at
    assert finding.severity == "error"


@pytest.mark.parametrize(
    ("text", "said", "at"),
    [
        ("{{ if gt $value 1 }}x{{ end }}", "error calling gt: incompatible types for comparison: float64 and int", 6),
        ("{{ if eq $labels.a 1 }}{{ end }}", "error calling eq: incompatible types for comparison: string and int", 6),
        ('{{ match "a" }}', "wrong number of args for match: want 2 got 1", 3),
        ('{{ parseDuration "5 m" }}', 'error calling parseDuration: unknown unit " m" in duration "5 m"', 3),
    ],
)  # fmt: skip
def test_what_fails_whatever_the_alert(anyone, text, said, at):
    (finding,) = anyone.findings("alert/template", alert(summary=text))
    assert finding.message == f"alert A, annotation summary: {said}"
    assert finding.excerpt.start == at
    assert "error message" in finding.why
    assert Template(text).syntax  # it parses: only the alert that fires tells


@pytest.mark.parametrize(
    "text",
    [
        "{{ if gt $value 1.0 }}high{{ end }}", "{{ parseDuration $labels.window }}", "{{ toTime $labels.since }}",
        '{{ if eq $labels.job "a" }}a{{ else }}{{ match "a" }}{{ end }}', "{{ and $labels.job (gt $value 1) }}",
        '{{ match "a" (query "up" | first | label "job") }}', "costs $values", "{{/* $value */}}",
    ],
)  # fmt: skip
def test_what_may_come_out_well(anyone, text):
    assert anyone.findings("alert/template", alert(summary=text)) == []


@pytest.mark.parametrize("text", ["$labels.job is down", "{{ $value }}: { $labels.job }"])
def test_what_stands_outside_of_braces(anyone, text):
    (finding,) = anyone.findings("alert/template", alert(summary=text))
    assert finding.message == "alert A, annotation summary: $labels.job stands outside of braces"
    assert (shown(finding), finding.severity) == ("$labels.job", "warning")
    mended = text.replace("{ $labels.job }", "$labels.job").replace("$labels.job", "{{ $labels.job }}")
    assert anyone.findings("alert/template", alert(summary=mended)) == []


def test_labels_of_a_group_are_templates_of_its_alerts(anyone):
    group = anyone.group(alert(), alert(), labels={"x": "{{ "})
    (finding,) = anyone.findings("alert/template", group)
    assert finding.message.startswith("group g, label x: ")
    assert finding.why.startswith("each alert of the group")


@pytest.mark.parametrize(
    "text", ["{{ $labels.instance }}", "{{ .Labels.a }} {{ $.Value }}", '{{ index $labels "a.b" }}', "}} {", "{{ . }}"]
)
def test_templates_that_are_fine(anyone, text):
    assert anyone.findings("alert/template", alert(summary=text)) == []


# template/label


def test_the_label_that_a_sum_throws_away(anyone):
    (finding,) = anyone.findings("template/label", alert(SUMS, "Too high on {{ $labels.instance }}"))
    assert finding.message == "alert A, annotation summary: $labels.instance is always empty: sum() keeps no label"
    assert shown(finding) == "instance"
    assert finding.why.startswith("in `(sum(a_bytes) - ")
    assert "sum by (instance) (...)" in finding.fix
    assert finding.severity == "error"


@pytest.mark.parametrize(
    ("expr", "template", "reason"),
    [
        ("sum by (job) (up) < 3", "{{ .Labels.instance }}", "sum by (job) drops it"),
        ("sum without (instance) (up) < 3", "{{ $labels.instance }}", "sum without (instance) drops it"),
        ("count(up == 0) > 3", '{{ index $labels "instance" }}', "count() keeps no label"),
        ("vector(1)", "{{ with $labels }}{{ .job }}{{ end }}", "vector() has no labels"),
        (
            "absent(up{job='a'})",
            "{{ $labels.instance }}",
            'absent() has only the labels that its selector gives by "="',
        ),
        ("up{instance=''} == 0", "{{ $labels.instance }}", 'the matcher instance="" makes it empty'),
        ("sum(a) > 1 or sum by (job) (b) > 1", "{{ $labels.instance }}", "sum() keeps no label"),
    ],
)
def test_labels_that_can_not_be(anyone, expr, template, reason):
    (finding,) = anyone.findings("template/label", alert(expr, template))
    assert finding.message.endswith(f"is always empty: {reason}")


def test_a_label_is_told_once_for_each_text_be_it_ever_so_long(anyone):
    text = "{{ $labels.node }}" + "{{ $labels.instance }}, {{ if $labels.job }}{{ $labels.job }}{{ end }} " * 5000
    found = anyone.findings("template/label", alert("sum(up) < 3", text))
    assert sorted(shown(finding) for finding in found) == ["instance", "node"]


@pytest.mark.parametrize(
    ("expr", "template", "fix"),
    [
        ("a * ignoring (job) b > 1", "{{ $labels.job }}", "keep it, or leave it out of the text"),
        ("sum by (job) (up) < 3", "{{ $labels.Job }}", 'leave it out of the text; did you mean "job"?'),
        ("sum by (job) (up) < 3", "{{ $labels.__name__ }}", "write the metric's name itself"),
    ],
)
def test_what_mends_a_label_that_is_not_there(anyone, expr, template, fix):
    (finding,) = anyone.findings("template/label", alert(expr, template))
    assert finding.fix.endswith(fix)


def test_a_label_in_a_label(anyone):
    rule = alert("sum(up) < 3", labels={"team": "{{ $labels.team }}"})
    assert anyone.findings("template/label", rule)[0].message.startswith("alert A, label team: $labels.team is always")


@pytest.mark.parametrize(
    ("expr", "template"),
    [
        ("up == 0", "{{ $labels.anything }}"),
        ("sum by (job) (up) == 0", "{{ $labels.job }}{{ $externalLabels.cluster }}"),
        ("absent(up{job='a'})", "{{ $labels.job }}"),
        # cloudflare/pint#681
        ("count by (job) (up) < scalar(max(x))", "{{ $labels.job }}"),
        ("up * scalar(sum(x)) > 1", "{{ $labels.instance }}"),
        # cloudflare/pint#568
        ('label_replace(sum by (pod) (x), "app", "$1", "pod", "(.*)-.*") > 1', "{{ $labels.app }} {{ $labels.pod }}"),
        # cloudflare/pint#531
        ("up > 1 or absent(up)", "{{ $labels.instance }}"),
        ("up == 0 or absent_over_time(up{job='a'}[5m])", "{{ $labels.instance }} {{ $labels.job }}"),
        ("sum by (a) (x) > 0 or vector(0)", "{{ $labels.a }}"),
        # The template asks itself.
        ("sum(up) < 3", "Down{{ if $labels.instance }} on {{ $labels.instance }}{{ end }}"),
        ("sum(up) < 3", "Down{{ with $labels.instance }} on {{ . }}{{ end }}"),
        ("sum(up) < 3", 'Down on {{ or $labels.instance "some" }}'),
        # It can only be empty, which is said of the expression.
        ('sum(up{a="x",a="y"}) > 1', "{{ $labels.b }}"),
        ("up ==", "{{ $labels.b }}"),
        ('query "up" | {{ query "sum(up)" | first | label "x" }}', "x"),
        ("sum(up) < 3", '{{ range query "up" }}{{ .Labels.instance }}{{ end }}'),
    ],
)
def test_labels_that_can_be(anyone, expr, template):
    assert anyone.findings("template/label", alert(expr, template)) == []


def test_one_side_of_an_or_that_lacks_it(anyone):
    rule = alert("sum by (job) (a) > 1 or sum by (instance) (b) > 1", "{{ $labels.job }}")
    (finding,) = anyone.findings("template/label", rule)
    assert "is empty where one side of `or` fires: sum by (instance) drops it" in finding.message
    assert finding.severity == "warning"
    guarded = alert(rule["expr"], "{{ with $labels.job }}{{ . }}{{ end }}")
    assert anyone.findings("template/label", guarded) == []


def test_the_rules_own_labels_are_not_there(anyone):
    rule = alert("sum(up) < 3", "{{ $labels.severity }}", labels={"severity": "page"})
    (finding,) = anyone.findings("template/label", rule)
    assert finding.severity == "error"
    assert "the rule's own labels are added" in finding.why
    assert finding.fix == 'write "page" itself'
    group = anyone.group(alert("up == 0", "{{ $labels.severity }}"), labels={"severity": "page"})
    (finding,) = anyone.findings("template/label", group)
    assert finding.severity == "warning"
    # A series may well have a label that the rule sets to something else.
    assert anyone.findings("template/label", alert("up == 0", "{{ $labels.job }}", labels={"job": "x"})) == []
    logged = alert('log_total{severity!~"info|debug"} > 0', "{{ $labels.severity }}", labels={"severity": "page"})
    assert anyone.findings("template/label", logged) == []
    handed_on = alert("log_total > 0", "{{ $labels.severity }}", labels={"severity": "{{ $labels.severity }}"})
    assert anyone.findings("template/label", handed_on) == []


def test_the_name_of_the_alert_is_no_label_of_its_series(anyone):
    (finding,) = anyone.findings("template/label", alert("up == 0", "{{ $labels.alertname }}"))
    assert finding.severity == "warning"
    assert finding.fix == "write A itself"
    for expr in ('ALERTS{alertstate="firing"} > 0', '{job="x"} > 0', "firing_alerts > 0"):
        assert anyone.findings("template/label", alert(expr, "{{ $labels.alertname }}")) == []


FREE = Gauge("free_bytes", "Free memory.", labels=("gpu",), unit="bytes")


@pytest.fixture
def with_contract(tmp_path):
    """What a check finds in one alert beside a recording rule, the metrics known."""

    def run(check, expr, text):
        one = Alert("A", expr=expr, severity="info", team="sre", runbook="r", summary=text)
        group = Group("g", [Recording("job:free:min", f"min by (job) ({FREE})"), one])
        _, found = build(Pack(metrics=(FREE,), groups=(group,)), Settings(root=tmp_path))
        return [finding for finding in found if finding.check == check]

    return run


@pytest.mark.parametrize(
    ("expr", "label", "said"),
    [
        ("free_bytes < 3", "gpu", ""),
        ("free_bytes < 3", "instance", ""),
        ("free_bytes < 3", "device", "the contract of free_bytes does not declare it"),
        ("job:free:min < 3", "job", ""),
        ("job:free:min < 3", "instance", "in the rule that records job:free:min, min by (job) drops it"),
        ("free_bytes / on (gpu) free_bytes < 3", "instance", "on (gpu) keeps no other label"),
        ("free_bytes < 3 or absent(free_bytes)", "gpu", ""),
        ("free_bytes < 3", "alertname", "the contract of free_bytes does not declare it"),
        ("free_bytes < 3", "severity", "the contract of free_bytes does not declare it"),
    ],
)
def test_labels_by_the_contract(with_contract, expr, label, said):
    found = with_contract("template/label", expr, f"{{{{ $labels.{label} }}}}")
    assert [one.message.partition("always empty: ")[2] for one in found] == ([said] if said else [])
    assert [one.severity for one in found] == ["error"] * len(found)


@pytest.mark.parametrize(
    ("expr", "part"),
    [
        ("sum(a) > 1", "`sum(a) > 1`"),
        ("max by (a) (x_bytes)\n  / on (a)\nmax by (a) (y_bit) > 1", "`...(x_bytes) / on (a) max by (a) (y_bit) > 1`"),
        ("sum by (job, cluster) (a_very_long_name_of_a_metric_that_goes_on) > 1", "`sum by (job, cluster)...`"),
    ],
)  # fmt: skip
def test_the_part_that_throws_the_label_away_is_shown(anyone, expr, part):
    (finding,) = anyone.findings("template/label", alert(expr, "{{ $labels.x }}"))
    assert finding.why == f"in {part}; whoever reads it sees a gap"


# template/value


@pytest.mark.parametrize(
    ("label", "severity", "at"),
    [
        ("{{ $value }}", "error", "$value"),
        ("{{ .Value | humanize }}", "error", ".Value"),
        ('{{ printf "%.0f" $value }}', "error", "$value"),
        ("{{ $v := $value }}{{ $v }}", "error", "$v"),
        ("{{ if gt $value 90.0 }}critical{{ else }}warning{{ end }}", "note", "$value"),
        ('{{ with query "up" }}{{ len . }}{{ end }}', "warning", '"up"'),
    ],
)
def test_a_value_in_a_label(anyone, label, severity, at):
    found = anyone.findings("template/value", alert(labels={"x": label}))
    assert [(one.severity, shown(one)) for one in found] == [(severity, at)]
    assert anyone.findings("template/value", alert(summary=label)) == []
    assert anyone.findings("template/value", anyone.group(alert(), labels={"x": label}))[0].severity == severity


def test_labels_without_a_value(anyone):
    assert anyone.findings("template/value", alert(labels={"x": "{{ $labels.value }}", "y": "value"})) == []


# template/query


@pytest.mark.parametrize(
    ("text", "said", "at"),
    [
        ('{{ query "up ==" | len }}', "the query is no PromQL: ", '"'),
        ("{{ query `sum(up` | len }}", "the query is no PromQL: ", "`"),
        ('{{ query "up == )" | len }}', "the query is no PromQL: ", ")"),
        ('{{ query "up{a=\\"b\\"} ==" | len }}', "the query is no PromQL: ", '"up{a=\\"b\\"} =="'),
    ],
)
def test_a_query_that_is_none(anyone, text, said, at):
    (finding,) = anyone.findings("template/query", alert(summary=text))
    assert finding.message.startswith(f"alert A, annotation summary: {said}")
    assert shown(finding).startswith(at)
    assert finding.severity == "error"


def test_a_query_that_may_give_nothing(anyone, with_contract):
    (finding,) = anyone.findings("template/query", alert(summary='{{ query "up" | first | value }}'))
    assert finding.severity == "note"
    assert "style point" in finding.why
    (finding,) = with_contract("template/query", "free_bytes < 3", '{{ query "free_bytes" | first | value }}')
    assert finding.severity == "warning"
    fine = '{{ with query "x_y" }}{{ . | first | value }}{{ end }} {{ with printf "a%s" .Labels.x | query }}{{ end }}'
    assert anyone.findings("template/query", alert(summary=fine)) == []


def test_a_query_of_a_metric_that_is_not_there(with_contract):
    text = '{{ with query "sum(fre_bytes)" }}{{ . | first | value }}{{ end }}'
    (finding,) = with_contract("template/query", "free_bytes < 3", text)
    assert finding.message.endswith('there is no metric fre_bytes; did you mean "free_bytes"?')
    assert shown(finding) == "fre_bytes"
    assert with_contract("template/query", "free_bytes < 3", text.replace("fre_", "free_")) == []


# template/humanize


def test_a_function_of_another_unit(with_contract):
    for function, count in (("humanizePercentage", 1), ("humanizeDuration", 1), ("humanize1024", 0), ("humanize", 0)):
        found = with_contract("template/humanize", "free_bytes < 3e9", f"{{{{ $value | {function} }}}}")
        assert [one.severity for one in found] == ["warning"] * count


@pytest.mark.parametrize(
    ("expr", "text", "severity", "fix"),
    [
        ("a_bytes > 1e9", "{{ $value }}", "note", "humanize1024"),
        ("rate(a_bytes_total[5m]) > 1e9", "{{ .Value }} B/s", "note", "humanize1024"),
        ("time() - a_timestamp_seconds > 300", "{{ $value }}", "note", "humanizeDuration"),
        ("time() - a_timestamp_seconds > 300", "{{ $value }} since", "note", "humanizeDuration"),
        ("sum(a) / sum(b) > 0.1", "{{$value}} of them", "note", "humanizePercentage"),
        ("a / b > 0.1", "{{ $value }}%", "warning", "humanizePercentage"),
        ("a / b > 0.1", '{{ printf "%.2f" $value }} %', "warning", "humanizePercentage"),
        ("a / b > 0.1", '{{ $value | printf "%.2f" }}%', "warning", "humanizePercentage"),
        ("a / b * 100 > 10", "{{ $value | humanizePercentage }}", "warning", '{{ $value | printf "%.1f" }}%'),
        ("a / b > 0.1", "{{ $value | humanizePercentage }}%", "warning", "leave out"),
        ("predict_linear(a_bytes[6h], 3600) < 0", "{{ $value | humanize }}% free", "warning", "humanize1024"),
    ],
)
def test_values_that_nobody_can_read(anyone, expr, text, severity, fix):
    (finding,) = anyone.findings("template/humanize", alert(expr, text))
    assert finding.severity == severity
    assert fix in finding.fix
    assert shown(finding) in {"$value", ".Value"}
    assert severity == "warning" or "style point" in finding.why


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        ("a_bytes > 1e9", "{{ $value | humanize1024 }}B"),
        ("a_bytes > 1e9", "{{ $value | humanizeDuration }}"),  # a name alone is no proof
        ("a_bytes > 1e9", '{{ printf "%.2f" $value }}'),
        ("a > 3", "{{ $value }}"),
        ("rate(a_total[5m]) > 3", "{{ $value }} a second"),
        ("time() - a_timestamp_seconds > 300", "{{ $value }}s"),  # long, but the text says what it is
        ("time() - a_timestamp_seconds > 300", "{{ $value }} seconds ago"),
        ("increase(a_total[5m]) > 3", "{{ $value | humanize }}"),
        ("a / b * 100 > 10", '{{ $value | printf "%.2f" }}%'),
        ("100 * a / b > 0.5", "{{ $value }}%"),
        ("rate(a_seconds_sum[5m]) / rate(a_seconds_count[5m]) > 0.5", "{{ $value }} s"),
        ("100 - a / b * 100 > 10", "{{ $value }}%"),
        ("a / b > 0.1", "{{ $value | humanizePercentage }}"),
        ("a_percent > 10", "{{ $value }}%"),
        ("rate(a_seconds_total[5m]) * 100 > 10", "{{ $value }}%"),
        ("a_bytes / 1e9 > 10", "{{ $value }}%"),
        ("a / b > 3", "{{ $value }} times"),
        ("a / b > 0.1 or c > 3", "{{ $value }}"),
        ("a_bytes > b_bytes", "{{ $labels.value }}"),
        ("a ==", "{{ $value }}"),
    ],
)
def test_values_that_can_be_read(anyone, expr, text):
    assert anyone.findings("template/humanize", alert(expr, text)) == []
