"""Runs programs in children with a spool of their own, and reads what they leave there."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import select
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from watchkeeper_fleet import spool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
TORCH_LIKE = HERE / "torch_like"


class Children:
    """Programs and the spool that they write into."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = sys.executable

    def environment(self, *, torch: Path | None = TORCH_LIKE, **more: str) -> dict[str, str]:
        """The environment of a child: our sources, and what stands in for torch before them."""
        others = ("WATCHKEEPER", "PYTHON", "PYTORCH")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(others)}
        paths = [*([str(torch)] if torch else []), str(ROOT / "generator"), str(ROOT / "monitoring"), str(HERE)]
        return {**kept, "PYTHONPATH": os.pathsep.join(paths), "WATCHKEEPER_SPOOL": str(self.folder), **more}

    def command(self, code: str) -> list[str]:
        return [self.python, "-W", "error", "-c", textwrap.dedent(code)]

    def run(self, code: str, *, torch: Path | None = TORCH_LIKE, **more: str) -> subprocess.CompletedProcess[str]:
        """Run code in a child until it ends."""
        environment = self.environment(torch=torch, **more)
        command = self.command(code)
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)

    def quiet(self, code: str, output: str = "", **more: str) -> None:
        """Run code in a child, which must end well, and print what it should and nothing else."""
        done = self.run(code, **more)
        assert (done.stderr, done.stdout, done.returncode) == ("", output, 0)

    @contextlib.contextmanager
    def running(self, code: str, **more: str) -> Iterator[subprocess.Popen[str]]:
        """Run code in a child while the body runs, from its first line of output on; it is killed then."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        child = subprocess.Popen(self.command(code), env=self.environment(**more), text=True, **pipes)
        try:
            assert select.select([child.stdout], [], [], 60)[0], "it does not come up"
            assert child.stdout.readline() == "up\n"
            yield child
        finally:
            child.send_signal(signal.SIGKILL)
            child.communicate()

    def records(self) -> list[spool.Record]:
        found, refused = spool.scan(str(self.folder))
        assert not refused
        return sorted(found, key=lambda record: record.created)

    def record(self) -> spool.Record:
        (one,) = self.records()
        return one

    def values(self, record: spool.Record | None = None) -> dict[str, float]:
        """The values by name, with the labels behind it: `torch_cuda_ooms_total gpu=0`."""
        record = record or self.record()
        return {
            " ".join([field.name, *(f"{label}={value}" for label, value in field.labels)]): value
            for field, value in zip(record.fields, record.values, strict=True)
        }


def wait_until(check: Callable[[], object], seconds: float = 20) -> object:
    end = time.monotonic() + seconds
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)


@pytest.fixture
def children(tmp_path: Path) -> Children:
    """Programs in children, and what they leave in the spool."""
    return Children(tmp_path)


@pytest.fixture
def until() -> Callable[..., object]:
    """Return what a function returns as soon as it is true of it."""
    return wait_until


@pytest.fixture
def statistics() -> Callable[..., dict[str, object]]:
    """Allocator statistics in the shape of a version of torch."""
    spec = importlib.util.spec_from_file_location("shapes", HERE / "shapes.py")
    shapes = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(shapes)
    return shapes.statistics
