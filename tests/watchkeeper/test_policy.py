"""[tool.watchkeeper.policy] in pyproject.toml."""

import re
from pathlib import Path

import pytest

from watchkeeper.policy import Limits, Policy
from watchkeeper.settings import SettingsError, load_settings

PAGE = Path(__file__).parents[2] / "docs" / "policy.md"


def read(folder, text):
    (folder / "pyproject.toml").write_text(text)
    return load_settings(folder).policy


def test_the_example_of_its_page_has_everything(tmp_path):
    policy = read(tmp_path, re.search(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)[1])
    assert policy == Policy(
        alert_labels={"severity": "critical|warning|info", "team": ".+"},
        recording_labels={"team": ".+"},
        annotations={"summary": ".+", "runbook_url": "https://.+"},
        aggregations_keep=("job",),
        aggregations_strip=("instance",),
        for_=Limits("1m", "1h"),
        keep_firing_for=Limits("", "30m"),
        alert_names="[A-Z][A-Za-z0-9]+",
        recording_names="[a-z_]+:.+:.+",
        reject={"label_names": "instance", "annotation_values": ".*password=.*"},
        report={"Watchdog": "ask the SREs first: the pager is tested with this"},
    )


def test_without_the_table_there_is_none(tmp_path):
    assert read(tmp_path, "[tool.watchkeeper]") is None
    assert read(tmp_path, "[tool.watchkeeper.policy]") == Policy()


@pytest.mark.parametrize(
    ("lines", "check", "message"),
    [
        ("alert_label = {}", "settings/key", 'unknown key "alert_label" of policy; did you mean "alert_labels"?'),
        ("alert_labels = 'team'", "settings/value", "policy.alert_labels must be a table, not 'team'"),
        ("alert_labels = {team = 1}", "settings/value", "policy.alert_labels.team must be a regular expression, not 1"),
        ("annotations = {summary = ''}", "settings/value", "policy.annotations.summary must be a regular expression"),
        ("alert_names = '('", "settings/value", "policy.alert_names is no regular expression: missing"),
        ("alert_names = 'a(?=b)'", "settings/value", "policy.alert_names is no regular expression: "),
        ("recording_names = ['a']", "settings/value", "policy.recording_names must be a regular expression, not ['a']"),
        ("aggregations_keep = 'job'", "settings/value", "policy.aggregations_keep must be a list of labels"),
        ("aggregations_strip = [1]", "settings/value", "policy.aggregations_strip must be a list of labels"),
        ("for = '5m'", "settings/value", "policy.for must be a table, not '5m'"),
        ("for = {min = '5 m'}", "settings/value", "policy.for.min is no duration: '5 m'"),
        ("for = {max = 5}", "settings/value", "policy.for.max is no duration: 5"),
        ("for = {least = '5m'}", "settings/key", 'unknown key "least" of policy.for'),
        ("for = {min = '1h', max = '5m'}", "settings/value", "policy.for: min is 1h, more than max, which is 5m"),
        ("reject = {labels = 'a'}", "settings/key", 'unknown key "labels" of policy.reject'),
        ("reject = {label_names = '*'}", "settings/value", "policy.reject.label_names is no regular expression: "),
        ("report = {Watchdog = ' '}", "settings/value", "policy.report.Watchdog must be a comment, not ' '"),
        ("report = {'a(' = 'b'}", "settings/value", "the name 'a(' of policy.report is no regular expression: "),
    ],
)
def test_a_fault_is_told_in_one_line(tmp_path, lines, check, message):
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, f"[tool.watchkeeper.policy]\n{lines}")
    (finding,) = caught.value.findings
    assert finding.check == check
    assert finding.message.startswith(f"[tool.watchkeeper] {message}")
    assert "\n" not in finding.message
    assert finding.fix
    assert finding.place.file == str(tmp_path / "pyproject.toml")


def test_a_policy_that_is_no_table(tmp_path):
    with pytest.raises(SettingsError, match="policy must be a table"):
        read(tmp_path, "[tool.watchkeeper]\npolicy = 3")


def test_faults_are_told_all_at_once(tmp_path):
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, "[tool.watchkeeper.policy]\nalert_names = '('\nfor = {min = 'x', max = 'y'}\nx = 1")
    assert len(caught.value.findings) == 4
