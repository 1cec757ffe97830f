"""Workflows, ours and the examples for users, are YAML, pin their actions and ask for no more than they need."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs/ci.md").read_text(), re.MULTILINE | re.DOTALL)
WORKFLOWS = {
    **{path.name: path.read_text() for path in sorted((ROOT / ".github/workflows").iterdir())},
    "docs/ci.md": EXAMPLES[0],
}


@pytest.mark.parametrize("text", WORKFLOWS.values(), ids=WORKFLOWS)
def test_workflow(text):
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {"contents": "read"}
    assert {"push", "pull_request"} == set(workflow[True])  # YAML 1.1 reads `on` as a boolean
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 15
        assert "permissions" not in job
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            if "checkout" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False
    uses = re.findall(r"uses: (.*)", text)
    assert uses
    for action in uses:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), (
            "name the commit, and its version"
        )


def test_ours_runs_every_supported_python():
    workflow = yaml.safe_load(WORKFLOWS["ci.yml"])
    (job,) = workflow["jobs"].values()
    assert job["steps"][-1]["run"] == "bash .ci/run"
    supported = re.findall(r"Programming Language :: Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert job["strategy"]["matrix"]["python"] == supported


@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_are_yaml_and_check_both(text):
    assert yaml.safe_load(text)
    assert "watchkeeper check\n" in text
    assert "watchkeeper generate --check\n" in text
