"""The rule of conftest.py: where CI is set, a skip that skips.txt does not list fails the run."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
LISTED = "# Runs on the machines that have one.\nno (gpu|fpga) here\n"


def run(
    folder: Path, source: str, listed: str = LISTED, ci: str = "true", arguments: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    shutil.copy(TESTS / "conftest.py", folder)
    (folder / "skips.txt").write_text(listed)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(f"import pytest\n{source}\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *arguments]
    return subprocess.run(command, cwd=folder, env={"CI": ci}, capture_output=True, text=True, check=False)


UNLISTED = {
    "call": "def test_it():\n    pytest.skip('no gpus here')",
    "mark": "@pytest.mark.skip(reason='flaky')\ndef test_it(): pass",
    "condition": "@pytest.mark.skipif(True, reason='flaky')\ndef test_it(): pass",
    "fixture": "@pytest.fixture\ndef it(): pytest.skip('flaky')\ndef test_it(it): pass",
    "unittest": "import unittest\ndef test_it(): raise unittest.SkipTest('flaky')",
    "module": "pytest.skip('flaky', allow_module_level=True)",
    "import": "pytest.importorskip('no_such_module')",
}


@pytest.mark.parametrize("source", UNLISTED.values(), ids=UNLISTED)
def test_a_skip_that_is_not_listed_fails(tmp_path, source):
    result = run(tmp_path, source)
    assert result.returncode in (1, 2), result.stdout  # 2: while collecting
    assert "skips.txt does not list the reason: " in result.stdout


@pytest.mark.parametrize("name", ["call", "fixture", "module"])
def test_it_fails_where_tests_run_in_several_processes(tmp_path, name):
    result = run(tmp_path, UNLISTED[name], arguments=["-n", "2", "--dist", "loadfile"])
    assert result.returncode in (1, 2), result.stdout
    assert "skips.txt does not list the reason: " in result.stdout


def test_the_same_passes_outside_ci(tmp_path):
    result = run(tmp_path, UNLISTED["call"], ci="")
    assert result.returncode == 0, result.stdout
    assert "1 skipped" in result.stdout


@pytest.mark.parametrize(
    "source",
    [
        "def test_it():\n    pytest.skip('no gpu here')",
        "@pytest.mark.xfail(reason='upstream issue')\ndef test_it(): assert 0",
    ],
    ids=["listed", "xfail"],
)
def test_listed_skips_and_expected_failures_pass(tmp_path, source):
    result = run(tmp_path, source)
    assert result.returncode == 0, result.stdout
    assert "1 skipped" in result.stdout or "1 xfailed" in result.stdout


def test_each_listed_reason_has_a_comment(tmp_path):
    result = run(tmp_path, UNLISTED["call"], listed="# A comment.\n\nno gpus here\n")
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert "skips.txt:3: say in a comment above" in result.stderr
