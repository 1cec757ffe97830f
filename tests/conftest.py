"""What all tests share: the rule about skips, and the distributions, built once."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
SKIPS = Path(__file__).with_name("skips.txt")


def pytest_configure(config: pytest.Config) -> None:
    """Read the list of skips, once."""
    config.stash[_LISTED] = _read(SKIPS)


_LISTED = pytest.StashKey[list[re.Pattern[str]]]()


def _read(path: Path) -> list[re.Pattern[str]]:
    listed: list[re.Pattern[str]] = []
    above = ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            if not above.startswith("#"):
                raise pytest.UsageError(f"{path.name}:{number}: say in a comment above why this skip is all right")
            listed.append(re.compile(line))
        above = line
    return listed


_INTERRUPTION = signal.getsignal(signal.SIGINT)


@pytest.fixture(autouse=True)
def _interruption():
    """Undo what a command that ran in this process, in a fixture too, did to SIGINT: children would inherit it."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _INTERRUPTION)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item):
    return _judged((yield), item.config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(collector: pytest.Collector):
    return _judged((yield), collector.config)


def _judged(report, config: pytest.Config):
    """Turn a skip that is not listed into a failure where CI is set."""
    if os.environ.get("CI", "") in ("", "0", "false") or not report.skipped or hasattr(report, "wasxfail"):
        return report
    reason = report.longrepr[2].removeprefix("Skipped: ")
    if not any(pattern.fullmatch(reason) for pattern in config.stash[_LISTED]):
        report.outcome = "failed"
        report.longrepr = f"skipped, and {SKIPS.name} does not list the reason: {reason}"
    return report


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that make filled: once in a run, whichever of the run's processes asks for it first."""
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent  # the run's own; each process has a folder in it
    folder = shared / f"once-{name}"
    with (shared / f"once-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # let go when it is closed, or the process ends
        if not (folder / "made").exists():
            shutil.rmtree(folder, ignore_errors=True)  # left half made
            folder.mkdir()
            make(folder)
            (folder / "made").touch()
    return folder


@dataclass(frozen=True)
class Built:
    """The wheel of the work tree, the source distribution, and the wheel that was made of that."""

    wheel: Path
    sdist: Path
    wheel_of_sdist: Path


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    out = once(tmp_path_factory, "built", build)
    (wheel,) = out.glob("direct/*.whl")
    (sdist,) = out.glob("by-way-of-sdist/*.tar.gz")
    (wheel_of_sdist,) = out.glob("by-way-of-sdist/*.whl")
    return Built(wheel, sdist, wheel_of_sdist)


def build(out: Path) -> None:
    """Build the distributions of the work tree."""
    command = [sys.executable, "-m", "build"]
    if importlib.util.find_spec("hatchling"):  # else build makes an environment for it, which takes the network
        command.append("--no-isolation")
    for arguments in (["--wheel", "--outdir", str(out / "direct")], ["--outdir", str(out / "by-way-of-sdist")]):
        run = subprocess.run([*command, *arguments, str(ROOT)], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout + run.stderr


def install(folder: Path, *what: str) -> None:
    """Make a virtual environment without pip in folder and install what into it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python", str(python)]
    run = subprocess.run([*command, "install", "--no-compile", *what], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.fixture(scope="session")
def base_install(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The python of an environment that holds the wheel without any extra."""
    folder = once(tmp_path_factory, "base", lambda to: install(to / "venv", "--no-index", str(built.wheel)))
    return folder / "venv/bin/python"


@pytest.fixture(scope="session")
def generator_install(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The python of an environment that holds the wheel with the extra [generator]."""
    folder = once(tmp_path_factory, "generator", lambda to: install(to / "venv", f"{built.wheel}[generator]"))
    return folder / "venv/bin/python"


@pytest.fixture
def clean_environment() -> dict[str, str]:
    """The environment without what would lead a Python to other sources."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "WATCHKEEPER"))}
