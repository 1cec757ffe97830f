"""The set-up of the Makefile, on a stand-in for python that writes down its calls: a real one takes 16 s a time."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ACME = "tests/downstream/acme"
# Without what the make that runs the tests hands down to those below it.
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}

PYTHON = """#!/bin/sh
echo "$PWD: ${{0##*/}} $*" >>'{log}'
case "$*" in
  *version_info*) echo '{version}' ;;
  *ensurepip*) {ensurepip} ;;
  '-m venv '*) mkdir -p "$3/bin" && for name in python watchkeeper ruff mypy; do cp "$0" "$3/bin/$name"; done ;;
  *' install '*) {install} ;;
esac
"""


@pytest.fixture
def checkout(tmp_path):
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return Checkout(tmp_path, tmp_path)


COMMANDS = {
    "format": ["ruff format .", "ruff check --fix ."],
    "generate": ["watchkeeper generate", "acme: watchkeeper generate"],
    "check": [
        *("ruff format --check .", "ruff check .", "mypy ", "watchkeeper check", "watchkeeper generate --check"),
        "acme: watchkeeper generate --check",
    ],
    "test": ["python -m pytest -n auto --dist loadfile -k leak"],
}


@pytest.mark.parametrize("target", COMMANDS)
@pytest.mark.parametrize("venv", [".venv", "my environment", "../an environment"])
def test_a_target_runs_its_commands_in_a_path_with_a_space(tmp_path, target, venv):
    root = tmp_path / "my work" / "the checkout"
    (root / ACME).mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, root)
    checkout = Checkout(root, tmp_path)
    run, _ = checkout.ready(venv=venv, target=target, arguments=["ARGS=-k leak"])
    assert run.returncode == 0, run.stderr
    places = {str(root): "", str(root / ACME): "acme: "}
    called = [line.partition(": ") for line in checkout.log.read_text().splitlines()]
    assert [places[place] + command for place, _, command in called][-len(COMMANDS[target]) :] == COMMANDS[target]


class Checkout:
    def __init__(self, root: Path, interpreters: Path) -> None:
        self.root, self.interpreters, self.log = root, interpreters, root / "log"

    def ready(
        self,
        version: str = "3.11",
        *,
        ensurepip: str = "true",
        install: str = "true",
        venv: str = ".venv",
        target: str = "ready",
        arguments: Sequence[str] = (),
    ):
        """Run `make ready`, or another target; return the run, and which of venv and install were called."""
        self.log.write_text("")
        python = self.interpreters / f"python{version}"
        python.write_text(PYTHON.format(log=self.log, version=version, ensurepip=ensurepip, install=install))
        python.chmod(0o755)
        command = ["make", target, f"PYTHON={python}", f"VENV={venv}", *arguments]
        run = subprocess.run(command, cwd=self.root, env=ENVIRONMENT, capture_output=True, text=True, check=False)
        return run, re.findall(r"-m venv|--upgrade pip|--editable", self.log.read_text())


ALL = ["-m venv", "--upgrade pip", "--editable"]


def test_it_is_made_once(checkout):
    run, called = checkout.ready()
    assert (run.returncode, called) == (0, ALL), run.stderr
    assert checkout.ready()[1] == []


def test_it_follows_pyproject(checkout):
    checkout.ready()
    with (checkout.root / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    assert checkout.ready()[1] == ALL[1:]
    assert checkout.ready()[1] == []


def test_another_python_makes_it_anew(checkout):
    checkout.ready("3.11")
    assert checkout.ready("3.12")[1] == ALL
    assert checkout.ready("3.12")[1] == []


def test_it_is_made_anew_where_it_was_left_half_made(checkout):
    run, called = checkout.ready(install="exit 1")
    assert (run.returncode, called) == (2, ALL[:2])
    assert checkout.ready()[1] == ALL
    assert checkout.ready()[1] == []


def test_it_is_made_anew_where_its_python_is_gone(checkout):
    checkout.ready()
    (checkout.root / ".venv/bin/python").unlink()
    assert checkout.ready()[1] == ALL


def test_a_folder_of_someone_else_is_left_alone(checkout):
    (checkout.root / "mine").mkdir()
    (checkout.root / "mine/thesis.tex").touch()
    run, called = checkout.ready(venv="mine")
    assert (run.returncode, called) == (2, [])
    assert "make: mine was not made by this Makefile: delete it" in run.stderr
    assert (checkout.root / "mine/thesis.tex").exists()


@pytest.mark.parametrize("version", ["2.7", "3.9", "3.14"])
def test_a_python_that_is_not_supported_is_named(checkout, version):
    run, called = checkout.ready(version)
    assert (run.returncode, called) == (2, [])
    assert f"is Python {version}, and watchkeeper needs 3.10 to 3.13" in run.stderr


def test_a_missing_venv_is_named(checkout):
    run, called = checkout.ready(ensurepip="exit 1")
    assert (run.returncode, called) == (2, [])
    assert "apt-get install python3-venv" in run.stderr


def test_all_that_is_generated_is_compared():
    text = (ROOT / "Makefile").read_text()
    compared = re.search(r"^GENERATED := (.*)$", text, re.MULTILINE)[1].replace("$(ACME)", ACME).split()
    manifest = (ROOT / "watchkeeper.manifest").read_text().splitlines()
    written = {line.split()[1].partition("/")[0] for line in manifest}
    assert {*written, "watchkeeper.manifest", ACME} <= {*compared}


def test_help_lists_every_target():
    text = (ROOT / "Makefile").read_text()
    targets = set(re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)[1].split())
    run = subprocess.run(["make", "help"], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert {line.split()[0] for line in run.stdout.splitlines()} == targets - {"ready"}
