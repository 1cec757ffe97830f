"""[tool.watchkeeper] in pyproject.toml."""

import pytest

from watchkeeper.settings import Settings, SettingsError, Targets, load_settings


def read(folder, text):
    (folder / "pyproject.toml").write_text(text)
    return load_settings(folder)


def test_everything(tmp_path):
    settings = read(
        tmp_path,
        """
        [tool.watchkeeper]
        definitions = "acme.pack:PACK"
        teams = ["sre", "ml"]
        runbook_url = "https://wiki.example.com/{runbook}.html"
        grafana_url = "https://grafana.example.com/"
        timezone = "Europe/Paris"
        targets = {prometheus = "3.5", grafana = "v13.0.1"}
        """,
    )
    assert settings == Settings(
        root=tmp_path,
        definitions="acme.pack:PACK",
        teams=("sre", "ml"),
        runbook_url="https://wiki.example.com/{runbook}.html",
        grafana_url="https://grafana.example.com/",
        timezone="Europe/Paris",
        targets=Targets(prometheus=(3, 5), grafana=(13, 0)),
    )
    assert settings.runbook("x") == "https://wiki.example.com/x.html"
    assert settings.panel("uid", 7) == "https://grafana.example.com/d/uid?viewPanel=panel-7"


def test_without_addresses_there_are_no_links(tmp_path):
    settings = Settings(root=tmp_path)
    assert settings.runbook("x") == ""
    assert settings.panel("uid", 7) == ""


def test_the_nearest_file_with_our_table(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.watchkeeper]\ndefinitions = "a:B"')
    inner = tmp_path / "x" / "y"
    inner.mkdir(parents=True)
    (inner / "pyproject.toml").write_text("[tool.other]")
    assert load_settings(inner).root == tmp_path


def test_none_at_all(tmp_path):
    assert load_settings(tmp_path / "nowhere").definitions == ""


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            "[tool.watchkeeper]\ndefinition = 'a:B'",
            ['[tool.watchkeeper] unknown key "definition"; did you mean "definitions"?'],
        ),
        (
            "[tool.watchkeeper]\nteams = 'sre'\ndefinitions = 1",
            ["[tool.watchkeeper] teams must", "[tool.watchkeeper] definitions must"],
        ),
        ("[tool.watchkeeper]\nteams = ['a', 1]", ["[tool.watchkeeper] teams must be a list of names"]),
        (
            "[tool.watchkeeper]\ngrafana_url = 'grafana'",
            ['[tool.watchkeeper] grafana_url is not an address: "grafana"'],
        ),
        (
            "[tool.watchkeeper]\ntimezone = 'PST or so\"'",
            ['[tool.watchkeeper] timezone is no time zone: "PST or so""'],
        ),
        ("[tool.watchkeeper]\ntargets = 3", ["[tool.watchkeeper] targets must be a table"]),
        (
            "[tool.watchkeeper]\ntargets = {prometheus = 2.42}",
            ["[tool.watchkeeper] targets.prometheus is not a version: 2.42"],
        ),
        (
            "[tool.watchkeeper]\ntargets = {promethus = '2.42'}",
            ['[tool.watchkeeper] unknown target "promethus"; did you mean'],
        ),
        ("[tool]\nwatchkeeper = 3", ["tool.watchkeeper must be a table"]),
        ("tool = 3", ["tool.watchkeeper must be a table"]),
        ("[tool.watchkeeper", ["is not TOML: "]),
    ],
)
def test_faults_are_told_all_at_once(tmp_path, text, messages):
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, text)
    found = [finding.message for finding in caught.value.findings]
    assert len(found) == len(messages)
    for message, start in zip(found, messages, strict=True):
        assert message.startswith(start)
    assert all(finding.place.file == str(tmp_path / "pyproject.toml") for finding in caught.value.findings)


def test_a_file_that_is_no_text(tmp_path):
    (tmp_path / "pyproject.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="can't be read"):
        load_settings(tmp_path)


def test_a_byte_order_mark(tmp_path):
    (tmp_path / "pyproject.toml").write_bytes(b'\xef\xbb\xbf[tool.watchkeeper]\ndefinitions = "a:B"')
    assert load_settings(tmp_path).definitions == "a:B"


def test_an_empty_address_is_none(tmp_path):
    settings = read(tmp_path, '[tool.watchkeeper]\nrunbook_url = ""\ngrafana_url = "HTTPS://grafana.example.com"')
    assert settings.runbook("x") == ""
    assert settings.panel("uid", 7).startswith("HTTPS://grafana.example.com/d/uid")


def test_toml_that_is_nested_too_deep(tmp_path):
    with pytest.raises(SettingsError, match="nested too deep"):
        read(tmp_path, "x = " + "[" * 5000)
