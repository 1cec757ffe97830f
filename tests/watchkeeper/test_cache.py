"""An unchanged run does nothing; and each input that changes makes it a whole run again."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

DEFINITIONS = """
import json, os
from pathlib import Path
from watchkeeper import Group, Pack, Recording
import parts.one

HERE = Path(__file__).parent
LIMIT = json.loads((HERE / "limit.json").read_text())
(HERE / "runs").open("a").write("x")   # tells each whole run

def dashboard(pack):
    os.listdir(HERE / "boards")
    return {"uid": "board", "title": (HERE / "title.txt").read_text()}

PACK = Pack(groups=(Group("g", [Recording("job:up:sum", f"sum by (job) (up) > {LIMIT}")]),), dashboards=(dashboard,))
OTHER = PACK
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.watchkeeper]\ndefinitions = "defs:PACK"\n')
    (tmp_path / "defs.py").write_text(DEFINITIONS)
    (tmp_path / "limit.json").write_text("1")
    (tmp_path / "title.txt").write_text("Board")
    (tmp_path / "boards").mkdir()
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/one.py").write_text("A = 1\n")
    time.sleep(0.1)  # what is younger than the run is not trusted
    assert run(tmp_path) == 1
    return tmp_path


def run(project, *arguments, code=0, **environment):
    """Run generate, and return how many whole runs there were so far."""
    done = subprocess.run(
        [Path(sys.executable).with_name("watchkeeper"), "generate", *arguments],
        cwd=project,
        env={**{k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    if not code:
        assert "unchanged" in done.stderr
    return len((project / "runs").read_text())


def rewrite(path):
    path.write_text(path.read_text() + " ")


CHANGES = {
    "a file that a definition reads": lambda p: (p / "limit.json").write_text("2"),
    "a file that a dashboard reads": lambda p: (p / "title.txt").write_text("Other"),
    "the definitions": lambda p: (p / "defs.py").write_text(DEFINITIONS + "\n"),
    "a module that they import": lambda p: (p / "parts/one.py").write_text("A = 2\n"),
    "the same bytes written again": lambda p: (p / "parts/one.py").write_text("A = 1\n"),
    "a new file in a folder that is listed": lambda p: (p / "boards/new.json").write_text("{}"),
    "the settings": lambda p: rewrite(p / "pyproject.toml"),
    "a generated file that is gone": lambda p: (p / "rules/g.yaml").unlink(),
    "the manifest that is gone": lambda p: [
        (p / n).unlink() for n in ("watchkeeper.manifest", "rules/g.yaml", "dashboards/board.json")
    ],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_each_input_and_output_counts(project, change):
    change(project)
    assert run(project) == 2


def test_unchanged_stays_unchanged(project):
    assert run(project) == 1
    (project / "limit.json").write_text("2")
    time.sleep(0.1)
    assert run(project) == 2
    assert run(project) == 2


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        ((), {"TEAM": "other"}),
        ((), {"PYTHONPATH": "elsewhere"}),
        (("--definitions", "defs:OTHER"), {}),
        (("--out", "elsewhere"), {}),
    ],
)
def test_what_is_said_on_the_command_line_and_in_the_environment_counts(project, arguments, environment):
    assert run(project, *arguments, **environment) == 2


def test_a_hand_edit_is_noticed(project):
    (project / "rules/g.yaml").write_text("edited")
    assert run(project, code=1) == 2


def test_check_profits_too_and_trusts_no_edit(project):
    assert run(project, "--check") == 1
    (project / "limit.json").write_text("2")
    assert run(project, "--check", code=1) == 2


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": 1}', "\x00"])
def test_a_record_that_is_none_is_not_believed(project, text):
    (record,) = (project / ".watchkeeper_cache").glob("*.json")
    record.write_text(text)
    assert run(project) == 2


def test_the_record_is_out_of_gits_sight(project):
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    status = subprocess.run(["git", "status", "--short"], cwd=project, capture_output=True, text=True, check=True)
    assert ".watchkeeper_cache" not in status.stdout


def test_a_variable_that_only_shells_change_does_not_count(project):
    assert run(project, SHLVL="7", OLDPWD="/", _="x") == 1
