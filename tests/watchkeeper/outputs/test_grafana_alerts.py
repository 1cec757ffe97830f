"""Alerts as a file for Grafana's own alerting: its form, its escapes, and the tombstones of rules that are gone."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from watchkeeper import Alert, Group, Pack, Recording
from watchkeeper.building import build
from watchkeeper.promql import parse
from watchkeeper.promql.threshold import condition
from watchkeeper.render.grafana_alerts import PATH
from watchkeeper.render.grafana_templates import NotForGrafana, rewritten, unbraced
from watchkeeper.ruler.template import Template
from watchkeeper.settings import SettingsError, Targets, load_settings

API_SCHEMA = Path(__file__).parents[4] / "shared" / "schemas" / "foundation-sdk" / "alerting.json"


def alert(name="TargetDown", expr="up == 0", **changes):
    given = {"severity": "critical", "team": "sre", "summary": "Down", "runbook": "down", **changes}
    return Alert(name, expr=expr, **given)


def settings(tmp_path, table='datasource = "prom"', grafana=(12, 2)):
    version = ".".join(map(str, grafana))
    targets = f'[tool.watchkeeper]\ntargets = {{grafana = "{version}"}}'
    (tmp_path / "pyproject.toml").write_text(f"{targets}\n[tool.watchkeeper.outputs.grafana-alerts]\n{table}\n")
    return load_settings(tmp_path)


def made(tmp_path, *rules, previous="", group=None, **more):
    pack = Pack(groups=(Group("g", rules, **(group or {})),))
    project, findings = build(pack, settings(tmp_path, **more), previous={PATH: previous}.get)
    text = project.files[PATH]
    return text, yaml.safe_load(text), [finding for finding in findings if finding.check == "output/grafana-alert"]


def rule(tmp_path, *args, **changes):
    more = {key: changes.pop(key) for key in ("grafana", "group") if key in changes}
    _, document, findings = made(tmp_path, alert(*args, **changes), **more)
    assert findings == []
    return document["groups"][0]["rules"][0]


def models(rule):
    return {part["refId"]: part["model"] for part in rule["data"]}


@pytest.mark.parametrize(
    ("expr", "query", "kind", "number"),
    [
        ("up == 0", "up", "eq", 0),
        ("rate(x[5m]) > 0.5", "rate(x[5m])", "gt", 0.5),
        ("5 < x", "x", "gt", 5),
        ("-1 >= (x)", "(x)", "lte", -1),
        ("(x > 5)", "(x)", "gt", 5),
        ("(x / y > 0.3) and on (gpu) (z < 1)", "(x / y) and on (gpu) (z < 1)", "gt", 0.3),
        ("x != 3 unless y", "x unless y", "ne", 3),
    ],
)
def test_the_comparison_is_the_threshold(tmp_path, expr, query, kind, number):
    found = models(rule(tmp_path, expr=expr))
    assert found["A"]["expr"] == query
    assert (found["B"]["type"], found["B"]["expression"], found["B"]["reducer"]) == ("reduce", "A", "last")
    assert found["C"]["conditions"] == [{"evaluator": {"type": kind, "params": [number]}}]
    assert (found["C"]["type"], found["C"]["expression"]) == ("threshold", "B")
    parse(query)


@pytest.mark.parametrize("expr", ["absent(up)", "x > 5 or y > 6", "x > y", "x > +Inf", "5 < x < 10"])
def test_what_filters_by_itself_fires_for_all_that_it_returns(tmp_path, expr):
    found = models(rule(tmp_path, expr=expr))
    assert found["A"]["expr"] == expr
    assert (found["C"]["type"], found["C"]["expression"]) == ("math", "is_null($B) == 0")


def test_older_grafana_knows_no_equality(tmp_path):
    assert models(rule(tmp_path, expr="up == 0", grafana=(11, 5)))["C"]["type"] == "math"
    assert models(rule(tmp_path, expr="up == 0", grafana=(11, 6)))["C"]["type"] == "threshold"
    assert models(rule(tmp_path, expr="up > 0", grafana=(11, 5)))["C"]["type"] == "threshold"


def test_the_flat_form(tmp_path):
    made = rule(
        tmp_path, for_="2m", keep_firing_for="5m", labels={"own": "1"}, group={"labels": {"g": "h", "own": "2"}}
    )
    assert (made["uid"], made["title"], made["condition"]) == ("TargetDown", "TargetDown", "C")
    assert (made["for"], made["keepFiringFor"], made["noDataState"], made["execErrState"]) == (
        "2m",
        "5m",
        "OK",
        "Error",
    )
    assert made["labels"] == {"g": "h", "severity": "critical", "team": "sre", "own": "1"}
    assert [part["datasourceUid"] for part in made["data"]] == ["prom", "__expr__", "__expr__"]
    assert models(made)["A"]["instant"] is True


@pytest.mark.parametrize(
    ("interval", "written"), [("", "60s"), ("10s", "10s"), ("15s", "20s"), ("1m30s", "90s"), ("5ms", "10s")]
)
def test_intervals_are_multiples_of_ten_seconds(tmp_path, interval, written):
    _, document, _ = made(tmp_path, alert(), group={"interval": interval})
    assert document["groups"][0]["interval"] == written


def test_recording_rules_stay_in_prometheus(tmp_path):
    _, document, _ = made(tmp_path, Recording("a:b:sum", "sum(up)"))
    assert "groups" not in document


def test_dollars_are_escaped_where_grafana_puts_in_the_environment(tmp_path):
    made = rule(
        tmp_path,
        expr='up{x="$HOME"} == 0',
        summary="{{ $labels.x }} costs $5 ${HOME}",
        labels={"where": "{{ $labels.instance }}", "price": "$HOME"},
    )
    assert made["annotations"]["summary"] == '{{ $labels.x }} costs $5 {{ "$" }}{HOME}'
    assert made["labels"]["where"] == "{{ $$labels.instance }}"
    assert made["labels"]["price"] == "$$HOME"
    assert models(made)["A"]["expr"] == 'up{x="$HOME"}'  # models are read as they are


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Down", "Down"),
        ("{{ $value }}", "{{ $values.B.Value }}"),
        ("{{ .Value | humanize }} of {{ $labels.gpu }}", "{{ $values.B.Value | humanize }} of {{ $labels.gpu }}"),
        ("{{ if gt $value 5.0 }}much{{ end }}", "{{ if gt $values.B.Value 5.0 }}much{{ end }}"),
        ('{{ printf "%.2f" $value }}', '{{ printf "%.2f" $values.B.Value }}'),
        ("$value", "$value"),
        ("{{ $labels.ExternalURL }}", "{{ $labels.ExternalURL }}"),
        ("{{ open", "{{ open"),
    ],
)
def test_templates_are_rewritten(text, written):
    assert rewritten(text) == written


@pytest.mark.parametrize(
    "text",
    [
        "no template, ${HOME}",
        "costs ${{ $value }} of ${HOME}",
        "$${{- $value -}} ${HOME} {{- $value }}",
        '{{ reReplaceAll "(.*)-(.*)" "${2}\\t\\"${1}" $labels.a }}',
        '{{ $labels.a | reReplaceAll `(\\w+)-(.*)` `${2}"\\s${1}\n` }} ${HOME}',
        '{{ printf "%s" "}}${a}" }}{{/* ${comment} */}}$',
    ],
)
def test_braces_behind_dollars_are_written_otherwise(text):
    written = unbraced(text)
    assert "${" not in written.replace("{{/* ${comment} */}}", "")
    assert Template(written).render({"a": "left-right"}, 5.0) == Template(text).render({"a": "left-right"}, 5.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{{ query "up" }}', "it has no function query"),
        ("{{ $value | parseDuration }}", "it has no function parseDuration"),
        ("{{ $externalLabels.cluster }}", "no external labels"),
        ("{{ $v := $value }}{{ $v }}", "by its name"),
        ("{{ $externalURL }}/x", r"no \$externalURL"),
        ("{{ .ExternalURL }}/x", r"no \.ExternalURL"),
        ("{{ with $labels }}{{ $.ExternalURL }}{{ end }}", r"no \.ExternalURL"),
    ],
)
def test_what_grafana_can_not_say(text, words):
    with pytest.raises(NotForGrafana, match=words):
        rewritten(text)


def test_a_template_that_grafana_can_not_say_is_a_finding(tmp_path):
    _, _, (finding,) = made(tmp_path, alert(summary='{{ query "up" }}'))
    assert finding.severity == "error"
    assert "annotation summary of alert TargetDown" in finding.message
    assert finding.place.line


def test_a_rule_that_is_gone_leaves_a_tombstone_until_it_returns(tmp_path):
    both, _, _ = made(tmp_path, alert("One"), alert("Two"))
    one, document, _ = made(tmp_path, alert("One"), previous=both)
    assert document["deleteRules"] == [{"uid": "Two", "orgId": 1}]
    again, _, _ = made(tmp_path, alert("One"), previous=one)
    assert again == one
    _, document, _ = made(tmp_path, alert("One"), alert("Two"), previous=one)
    assert "deleteRules" not in document
    _, document, _ = made(tmp_path, previous=one)
    assert [gone["uid"] for gone in document["deleteRules"]] == ["One", "Two"]


def test_uids_are_grafanas_and_one_a_rule(tmp_path):
    names = ["One", "One", "a" * 41, "Ünïcode", "with space"]
    _, document, _ = made(tmp_path, *(alert(name) for name in names))
    uids = [rule["uid"] for rule in document["groups"][0]["rules"]]
    assert uids[0] == "One"
    assert len(set(uids)) == 5
    assert all(len(uid) <= 40 and uid.replace("-", "").replace("_", "").isalnum() and uid.isascii() for uid in uids)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("", "names no datasource"),
        ('datasource = "p"\ninterval = "soon"', "no duration"),
        ('datasource = "p"\norg = "1"', "organisation"),
        ('datasourc = "p"', 'unknown key "outputs.grafana-alerts.datasourc"; did you mean "datasource"'),
        ("datasource = 5", "must be a text"),
    ],
)
def test_settings_that_can_not_be(tmp_path, table, words):
    with pytest.raises(SettingsError, match=words):
        settings(tmp_path, table)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('outputs = "x"', "outputs must be a table"),
        ("outputs = {x = {}}", 'unknown output "x"'),
        ("outputs = {grafana-alerts = 1}", "must be a table"),
    ],
)
def test_outputs_that_can_not_be(tmp_path, text, words):
    (tmp_path / "pyproject.toml").write_text(f"[tool.watchkeeper]\n{text}\n")
    with pytest.raises(SettingsError, match=words):
        load_settings(tmp_path)


@pytest.mark.skipif(not API_SCHEMA.exists(), reason="the schemas of Grafana are not here")
def test_the_rules_fit_the_schema_of_the_api(tmp_path):
    """The API's form says where the rule goes in each rule, the file's in the group, and durations are texts there."""
    schema = json.loads(API_SCHEMA.read_text())
    made = rule(tmp_path, for_="2m", labels={"x": "y"})
    made |= {"folderUID": "f", "ruleGroup": "g", "orgID": 1}
    del made["missing_series_evals_to_resolve"]  # newer than the schema
    jsonschema.validate(made, {**schema, "$ref": "#/definitions/Rule"})


def test_conditions_are_thresholds():
    found = condition(parse("(x > 5) and y"))
    assert (found.value, found.op, found.without("(x > 5) and y")) == (5, ">", "(x) and y")
    assert Targets.newest().grafana > (11, 6)
