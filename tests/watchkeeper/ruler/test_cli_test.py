"""`watchkeeper test`: what it finds, prints, writes and returns."""

from __future__ import annotations

import ast
import gc
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from click.testing import CliRunner

from watchkeeper.cli.app import app

RULES = """
groups:
- name: g
  rules:
  - alert: Down
    expr: up == 0
    for: 2m
    labels: {severity: page}
    annotations: {summary: '{{ $labels.job }} is down'}
  - record: up:sum
    expr: sum(up)
"""
PASSING = """
rule_files: [rules.yml]
tests:
- name: goes down
  input_series:
  - {series: 'up{job="a"}', values: 1 0 0 0 0}
  alert_rule_test:
  - {eval_time: 2m, alertname: Down, exp_alerts: []}
  - eval_time: 3m
    alertname: Down
    exp_alerts:
    - exp_labels: {severity: page, job: a}
      exp_annotations: {summary: a is down}
- name: sums
  input_series:
  - {series: 'up{job="a"}', values: 1 1}
  promql_expr_test:
  - {expr: 'up:sum', eval_time: 1m, exp_samples: [{labels: 'up:sum', value: 1}]}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rules.yml").write_text(RULES)
    Path("pass.test.yml").write_text(PASSING)
    return tmp_path


def run(*arguments):
    # Collecting is switched off for the process; here that is the tests' own.
    try:
        return CliRunner().invoke(app, ["test", *arguments], catch_exceptions=False)
    finally:
        gc.unfreeze()
        gc.enable()


def with_test(body, *, name="t.test.yml"):
    Path(name).write_text(f"rule_files: [rules.yml]\ntests:\n{body}")
    return name


@pytest.mark.usefixtures("folder")
def test_passes():
    result = run("pass.test.yml")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "2 tests passed (3 checks)\n"


@pytest.mark.usefixtures("folder")
def test_finds_tests_below_the_project():
    Path("pyproject.toml").write_text("[tool.watchkeeper]\n")
    Path("a/b").mkdir(parents=True)
    Path("a/b/deep.yaml").write_text(PASSING.replace("rules.yml", "../../rules.yml"))
    for hidden in (".hidden", "node_modules", "env"):
        Path(hidden).mkdir()
        Path(hidden, "broken.yml").write_text("\nrule_files: []\ntests: [\n")
    Path("env/pyvenv.cfg").write_text("")
    result = run()
    assert (result.exit_code, result.stderr) == (0, "4 tests passed (6 checks)\n")
    result = run("a")
    assert (result.exit_code, result.stderr) == (0, "2 tests passed (3 checks)\n")


@pytest.mark.usefixtures("folder")
def test_nothing_to_run_is_wrong_usage():
    Path("empty").mkdir()
    assert run("empty").exit_code == 2
    assert run("nowhere.yml").exit_code == 2
    assert run("pass.test.yml", "-k", "(").exit_code == 2
    assert run("pass.test.yml", "-k", "nothing of the kind").exit_code == 2


@pytest.mark.usefixtures("folder")
def test_k_selects_tests_and_alerts():
    assert run("pass.test.yml", "-k", "sum").stderr == "1 test passed (1 check)\n"
    assert run("pass.test.yml", "-k", "^Down$").stderr == "1 test passed (2 checks)\n"
    assert run("pass.test.yml", "-k", "goes|sums").stderr == "2 tests passed (3 checks)\n"


@pytest.mark.usefixtures("folder")
def test_differences_are_told_label_by_label():
    name = with_test("""
- name: wrong
  input_series:
  - {series: 'up{job="a"}', values: 0 0 0 0 0}
  alert_rule_test:
  - eval_time: 1m
    alertname: Down
    exp_alerts: [{exp_labels: {job: a, severity: page}}]
  - eval_time: 3m
    alertname: Down
    exp_alerts:
    - exp_labels: {job: a, severity: warning, team: sre}
      exp_annotations: {summary: a is up}
  - {eval_time: 4m, alertname: Down, exp_alerts: []}
  promql_expr_test:
  - {expr: up, eval_time: 2m, exp_samples: [{labels: 'up{job="a"}', value: 1}, {labels: 'up{job="b"}', value: 1}]}
""")
    result = run(name)
    assert result.exit_code == 1
    assert (
        result.stdout
        == """\
FAILED wrong (t.test.yml:4)
  t.test.yml:8: alert Down at 1m (rule: rules.yml:5)
    expected, does not fire: {alertname="Down", job="a", severity="page"}
      it is pending then, active since 0s, and fires at 2m at the earliest (for: 2m)
  t.test.yml:11: alert Down at 3m (rule: rules.yml:5)
    expected, does not fire: {alertname="Down", job="a", severity="warning", team="sre"}
      nearest: {alertname="Down", job="a", severity="page"}
      it is firing then, active since 0s, and fires at 2m at the earliest (for: 2m)
    fires, not expected: {alertname="Down", job="a", severity="page"}
      annotation summary "a is down"
  t.test.yml:16: alert Down at 4m (rule: rules.yml:5)
    fires, not expected: {alertname="Down", job="a", severity="page"}
      annotation summary "a is down"
  t.test.yml:18: expression at 2m: up
    expected up{job="a"} 1
    expected up{job="b"} 1  (no such series on the other side)
    found    up{job="a"} 0
"""
    )
    assert result.stderr == "1 test failed, 0 tests passed (4 checks)\n"


@pytest.mark.usefixtures("folder")
def test_an_unknown_alert_fails():
    result = run(with_test("- alert_rule_test: [{eval_time: 1m, alertname: Dwon, exp_alerts: []}]\n"))
    assert result.exit_code == 1
    assert 't.test.yml:3: no rule makes an alert "Dwon"; did you mean "Down"?' in result.stdout


BAD = {
    "unknown key": ("- alert_rules_test: []\n", 't.test.yml:3: error: a test has no field "alert_rules_test"; did you'),
    "not YAML": ("- [\n", "t.test.yml:4: error: not YAML: "),
    "a million samples": (
        "- input_series:\n  - {series: up, values: 0x999}\n  - {series: x, values: 0+1x1000000}\n",
        "t.test.yml:5: error: series x: that makes more than 1,000,000 samples",
    ),
    "no series": ("- input_series: [{series: 'x{', values: 1}]\n", "t.test.yml:3: error: series x{: the { of this"),
    "no duration": ("- interval: 5\n", "t.test.yml:3: error: interval: "),
    "no number": (
        "- promql_expr_test:\n  - {expr: up, exp_samples: [{labels: up, value: NaN}]}\n",
        't.test.yml:4: error: value: "NaN" is no number',
    ),
    "a key twice": ("- name: a\n  name: b\n", 't.test.yml:4: error: the key "name" is already there, on line 3'),
    "a list for a text": ("- name: [a]\n", "t.test.yml:3: error: name must be a string"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.usefixtures("folder")
def test_bad_input_is_told_with_its_line(case):
    body, message = BAD[case]
    result = run(with_test(body), "pass.test.yml")
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stderr.endswith("1 file can't be used, 2 tests passed (3 checks)\n")


BAD_RULES = {
    "expression": ("  - {alert: Down, expr: 'sum(x'}\n", "rules.yml:4: error: "),
    "template": ("  - alert: Down\n    expr: x\n    annotations: {s: '{{ nope }}'}\n", 'function "nope" not defined'),
    "key": (
        "  - {alert: Down, expr: x, four: 5m}\n",
        'rules.yml:4: error: a rule has no field "four"; did you mean "for"?',
    ),
    "both": ("  - {alert: Down, record: x, expr: x}\n", "rules.yml:4: error: "),
    "label": ("  - {alert: Down, expr: x, labels: {__name__: y}}\n", 'invalid label name "__name__"'),
}


@pytest.mark.parametrize("case", BAD_RULES)
@pytest.mark.usefixtures("folder")
def test_bad_rules_are_told_with_their_line(case):
    rules, message = BAD_RULES[case]
    Path("rules.yml").write_text(f"groups:\n- name: g\n  rules:\n{rules}")
    result = run("pass.test.yml")
    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stdout == ""


@pytest.mark.usefixtures("folder")
def test_a_rule_that_fails_ends_the_test():
    Path("rules.yml").write_text("groups:\n- name: g\n  limit: 1\n  rules:\n  - {alert: Down, expr: up == 0}\n")
    result = run(
        with_test("""
- input_series:
  - {series: 'up{job="a"}', values: 0 0 0}
  - {series: 'up{job="b"}', values: 1 1 0}
  alert_rule_test:
  - {eval_time: 3m, alertname: Down, exp_alerts: []}
  promql_expr_test:
  - {expr: up, eval_time: 1m}
""")
    )
    assert result.exit_code == 1
    assert "rules.yml:5: rule Down of group g fails at 120 s: exceeded limit of 1 with 2 alerts" in result.stdout
    assert "the test ends there, as in promtool: 2 checks not made" in result.stdout


@pytest.mark.usefixtures("folder")
def test_rules_in_a_circle_are_named():
    Path("rules.yml").write_text(
        "groups:\n- name: g\n  rules:\n  - {record: a, expr: b + 1}\n  - {record: b, expr: a + 1}\n"
    )
    result = run(with_test("- promql_expr_test: [{expr: a, eval_time: 1m, exp_samples: [{labels: a, value: 1}]}]\n"))
    assert result.exit_code == 1
    assert "rules.yml:4: a reads itself or a rule behind it" in result.stdout


@pytest.mark.usefixtures("folder")
def test_a_template_that_loops():
    text = '{{ define "t" }}{{ template "t" }}{{ end }}{{ template "t" }}'
    Path("rules.yml").write_text(
        f"groups:\n- name: g\n  rules:\n  - alert: Down\n    expr: up == 0\n    annotations: {{s: '{text}'}}\n"
    )
    result = run(
        with_test("""
- input_series: [{series: up, values: 0}]
  alert_rule_test: [{eval_time: 0m, alertname: Down, exp_alerts: [{exp_annotations: {s: x}}]}]
""")
    )
    assert result.exit_code == 1
    assert "t.test.yml:5: alert Down at 0s (rule: rules.yml:4)" in result.stdout
    assert "exceeded maximum template depth" in result.stdout


@pytest.mark.usefixtures("folder")
def test_two_alerts_that_cannot_be_told_apart():
    Path("rules.yml").write_text(
        "groups:\n- name: g\n  rules:\n  - {alert: Down, expr: up == 0}\n  - {alert: Down, expr: up == 1}\n"
    )
    result = run(with_test("- alert_rule_test: [{eval_time: 1m, alertname: Down, exp_alerts: []}]\n"))
    assert result.exit_code == 1
    assert "t.test.yml:3: alert Down: 2 rules have this name and the same labels" in result.stdout
    assert "rules.yml:4, rules.yml:5" in result.stdout


@pytest.mark.usefixtures("folder")
def test_a_pattern_without_files_warns():
    Path("t.test.yml").write_text("tests: []\nrule_files: [nothing-*.yml]\n")
    result = run("t.test.yml")
    assert result.exit_code == 0
    assert "t.test.yml:2: warning: no file matches nothing-*.yml" in result.stderr


@pytest.mark.usefixtures("folder")
def test_junit():
    with_test("- alert_rule_test: [{eval_time: 1m, alertname: Dwon, exp_alerts: []}]\n")
    Path("broken.yml").write_text("tests: [\n")
    assert run("pass.test.yml", "t.test.yml", "broken.yml", "--junit", "out.xml").exit_code == 1
    suites = {suite.get("name"): suite for suite in ET.parse("out.xml").getroot()}
    assert list(suites) == ["pass.test.yml", "t.test.yml", "broken.yml"]
    counts = {name: [suite.get(key) for key in ("tests", "failures", "errors")] for name, suite in suites.items()}
    assert counts == {
        "pass.test.yml": ["2", "0", "0"], "t.test.yml": ["1", "1", "0"], "broken.yml": ["1", "0", "1"],
    }  # fmt: skip
    assert [case.get("name") for case in suites["pass.test.yml"]] == ["goes down", "sums"]
    failure = suites["t.test.yml"].find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "alert Dwon at 1m: no rule has this name"
    assert suites["broken.yml"].find("testcase/error") is not None


@pytest.mark.usefixtures("folder")
def test_labels_cannot_steer_a_terminal():
    result = run(
        with_test("""
- input_series: [{series: 'up{job="\\x1b[31m"}', values: 0 0 0}]
  alert_rule_test: [{eval_time: 2m, alertname: Down, exp_alerts: []}]
""")
    )
    assert result.exit_code == 1
    assert "\x1b" not in result.stdout


HEAVY = ("numpy", "jsonschema", "grafanalib", "watchkeeper.ruler.template.parser", "re2", "difflib", "pathlib", "json")


def test_a_small_file_starts_fast(folder):
    """No module that a small passing file can do without."""
    code = (
        "import sys; before = set(sys.modules)\n"
        "from watchkeeper.cli.app import app\n"
        "app(['test', 'pass.test.yml'], standalone_mode=False)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules and name not in before])"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    found = set(ast.literal_eval(result.stdout))
    # An expected annotation is rendered, and so the template language is loaded.
    assert found <= {"watchkeeper.ruler.template.parser"}
