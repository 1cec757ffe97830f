"""`watchkeeper generate`, interrupted and led astray by its definitions."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

DEFINITIONS = """
import os, signal
from watchkeeper import Group, Pack, Recording

GROUPS = tuple(Group(name, [Recording(f"job:{name}:sum", "sum by (job) (up)")]) for name in "abc")
PACK = Pack(groups=GROUPS)
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.watchkeeper]\ndefinitions = "defs:PACK"\n')
    return tmp_path


def run(folder, *arguments, more=""):
    (folder / "defs.py").write_text(DEFINITIONS + more)
    return subprocess.run(
        [Path(sys.executable).with_name("watchkeeper"), "generate", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def tree(folder):
    names = (path.relative_to(folder) for path in folder.rglob("*"))
    return sorted(str(n) for n in names if n.parts[0] not in (".watchkeeper_cache", "defs.py", "pyproject.toml"))


ALL = ["rules", "rules/a.yaml", "rules/b.yaml", "rules/c.yaml", "watchkeeper.manifest"]


def interrupt_at(call, number):
    return f"""
real, calls = os.{call}, []
def interrupted(*arguments, **options):
    calls.append(1)
    if len(calls) == {number}:
        os.kill(os.getpid(), signal.SIGINT)
    return real(*arguments, **options)
os.{call} = interrupted
"""


@pytest.mark.parametrize("number", [1, 2, 4])
def test_an_interruption_while_files_are_prepared_changes_nothing(project, number):
    done = run(project, more=interrupt_at("open", number))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.split() == ["Aborted!"]
    assert tree(project) == []


@pytest.mark.parametrize("number", [1, 2, 4])
def test_an_interruption_while_files_are_replaced_comes_too_late(project, number):
    done = run(project, more=interrupt_at("replace", number))
    assert (done.returncode, done.stderr) == (0, "3 files: 3 written, 0 deleted, 0 unchanged\n")
    assert tree(project) == ALL


def test_killed_then_changed(project):
    assert run(project).returncode == 0
    kill = interrupt_at("replace", 3).replace("SIGINT", "SIGKILL")
    other = "PACK = Pack(groups=tuple(Group(g.name, g.rules, interval='{}s') for g in GROUPS))\n"
    assert run(project, more=other.format(7) + kill).returncode == -signal.SIGKILL
    assert len(tree(project)) > len(ALL)
    stale = run(project, "--check", more=other.format(7))
    assert stale.returncode == 1
    done = run(project, more=other.format(9))
    assert (done.returncode, done.stderr) == (0, "3 files: 3 written, 0 deleted, 0 unchanged\n")
    assert tree(project) == ALL


def test_a_manifest_alone_that_is_stale_is_named(project):
    assert run(project).returncode == 0
    manifest = project / "watchkeeper.manifest"
    manifest.write_text(manifest.read_text() + "0" * 64 + "  rules/a.yaml\n")
    done = run(project, "--check")
    assert (done.returncode, done.stderr) == (1, "watchkeeper.manifest is stale: run `watchkeeper generate`\n")


def test_out_is_below_where_the_command_was_started(project, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    assert run(project, "--out", "o", more=f"os.chdir({str(elsewhere)!r})\n").returncode == 0
    assert tree(project) == ["o", *(f"o/{name}" for name in ALL)]
    assert tree(elsewhere) == []
