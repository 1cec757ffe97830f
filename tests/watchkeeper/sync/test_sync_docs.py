"""docs/sync.md: its settings are read, its commands are understood, its workflow is one."""

import re
import shlex
from dataclasses import fields
from pathlib import Path

import click
import yaml

from watchkeeper.cli.sync import sync
from watchkeeper.settings import load_settings
from watchkeeper.sync.grafana import DELETES
from watchkeeper.sync.grafana_rules import READS, WRITES
from watchkeeper.sync.settings import Options

TEXT = (Path(__file__).parents[3] / "docs/sync.md").read_text()


def block(language):
    found = re.search(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def test_the_settings(tmp_path):
    (tmp_path / "pyproject.toml").write_text(f"[tool.watchkeeper]\n{block('toml')}")
    found = load_settings(tmp_path).sync
    assert found.owner == "acme-fleet"
    assert found.grafana_url
    assert found.ruler_url
    for field in fields(Options):
        assert f"| `{field.name}` |" in TEXT


def test_the_commands():
    commands = re.findall(r"watchkeeper sync ((?:plan|apply|drift)[^`\n>]*)", TEXT)
    assert len(commands) > 6
    for line in commands:
        verb, *arguments = shlex.split(line)
        with click.Context(sync) as context:
            sync.get_command(context, verb).make_context(verb, arguments)
    options = {option for verb in sync.commands.values() for one in verb.params for option in one.opts}
    assert set(re.findall(r"--[a-z][a-z-]*", re.sub(r"```yaml.*?```", "", TEXT, flags=re.DOTALL))) <= options


def test_all_rights_are_told():
    assert [right for right in (*DELETES, READS[0], WRITES[0]) if f"`{right}`" not in TEXT] == []


def test_the_workflow():
    text = block("yaml")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    assert set(workflow[True]) == {"push", "pull_request", "schedule"}  # YAML 1.1 reads `on` as a boolean
    assert set(workflow["jobs"]) == {"plan", "apply", "drift"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 30
        assert any(f"watchkeeper sync {verb}" in str(job["steps"]) for verb in ("plan", "apply", "drift"))
    for action in re.findall(r"uses: (.*)", text):
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)
