"""A spool with real writers in a process of their own, and a collector that reads it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from watchkeeper_fleet.exporter.collection import Collector
from watchkeeper_fleet.exporter.gpus import Snapshot
from watchkeeper_fleet.exporter.host import Host
from watchkeeper_fleet.exporter.state import State
from watchkeeper_fleet.metrics import agent

MIB = 2**20


class Writers:
    """A child that writes spool files: a reader in the same process would let go of their locks."""

    def __init__(self, folder: Path) -> None:
        script = Path(__file__).with_name("spool_writers.py")
        self.child = subprocess.Popen(
            [sys.executable, str(script), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self.child.pid

    def tell(self, name: str, **what) -> Path:
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write(json.dumps({"name": name, **what}) + "\n")
        self.child.stdin.flush()
        return Path(self.child.stdout.readline().strip())

    def start(self, name: str = "0", fields=None, texts=None, **identity: str) -> Path:
        who = {"workload": "vlm", "process": name, "rank": name, **identity}
        series = ALLOCATOR if fields is None else fields
        self.tell(name, identity=who, fields=[one for one, _ in series], texts=texts or {})
        return self.tell(name, values=[value for _, value in series])

    def publish(self, name: str, *values) -> None:
        self.tell(name, values=list(values))

    def kill(self) -> None:
        self.child.kill()
        self.child.wait()

    def close(self) -> None:
        self.kill()
        for pipe in (self.child.stdin, self.child.stdout):
            pipe.close()


# What a process with one device reports, as (series, labels) and value.
ALLOCATOR = [
    ((agent.RESERVED.name, {"gpu": "0"}), 800.0 * MIB),
    ((agent.ALLOCATED.name, {"gpu": "0"}), 500.0 * MIB),
    ((agent.ALLOC_RETRIES.name, {"gpu": "0"}), 3.0),
    ((agent.OOMS.name, {"gpu": "0"}), 1.0),
    ((agent.READY.name, {}), 1.0),
]


@pytest.fixture
def spool(tmp_path):
    folder = tmp_path / "spool"
    folder.mkdir()
    return folder


@pytest.fixture
def start(spool):
    """Start children that write; they are killed in the end."""
    children: list[Writers] = []

    def make() -> Writers:
        children.append(Writers(spool))
        return children[-1]

    yield make
    for child in children:
        child.close()


@pytest.fixture
def writers(start):
    return start()


class Clock:
    """A clock that is set by hand."""

    def __init__(self, ahead: float = 0.0) -> None:
        self.ahead = ahead

    def __call__(self) -> float:
        return time.time() + self.ahead


class Daemon:
    """A collector, and what it serves as a mapping."""

    def __init__(self, spool: Path, **options) -> None:
        self.clock = Clock()
        self.snapshot = Snapshot(reason="no_library")
        state = State(spool.with_name("state.json"))
        options = {"gpus": lambda: self.snapshot, "host": Host(), "state": state, "clock": self.clock, **options}
        self.collector = Collector(str(spool), **options)

    def samples(self):
        return self.collector.collect()

    def scrape(self) -> dict[str, float]:
        rows = [row for rows in self.samples().values() for row in rows]
        found = dict(rows)
        assert len(found) == len(rows), "a series was served twice"
        return found


@pytest.fixture
def daemon(spool):
    return Daemon(spool)


@pytest.fixture
def another(spool):
    """Make a further daemon on the same spool and state, as after a restart."""
    return lambda **options: Daemon(spool, **options)
