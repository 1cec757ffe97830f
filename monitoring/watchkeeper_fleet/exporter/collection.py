"""One collection: records of the spool, devices, the kernel's view and the totals kept, made into samples.

`collect` is that and nothing else: no clock, no file but those that `host` reads. `Collector` brings it what it needs.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from watchkeeper._version import __version__
from watchkeeper_fleet.exporter.allowed import CARRIED
from watchkeeper_fleet.exporter.devices import serve_devices
from watchkeeper_fleet.exporter.processes import (
    Slots,
    file_of,
    note_death,
    serve_dead,
    serve_living,
    short,
)
from watchkeeper_fleet.exporter.text import FAMILIES, Samples, add
from watchkeeper_fleet.metrics import exporter
from watchkeeper_fleet.spool import REASONS, Scanner, remove, shared, sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from watchkeeper_fleet.exporter.allowed import Plan
    from watchkeeper_fleet.exporter.gpus import Snapshot
    from watchkeeper_fleet.exporter.host import Host
    from watchkeeper_fleet.exporter.processes import Process
    from watchkeeper_fleet.exporter.state import State
    from watchkeeper_fleet.spool import Record

KEEP = 3600.0  # seconds for which the last words of a process are served
MOST_DEAD = 200
MOST_FILES = 1024
MOST_SERIES = 100_000  # of processes
# Content that no writer of ours left; the other reasons are about the file.
CORRUPT = frozenset(("magic", "version", "crc", "identity", "text", "field", "size", "sparse"))
STATES = ("live", "stale", "lock_lost", "dead", "corrupt", "refused")


@dataclass(slots=True)
class Seen:
    """What is kept in memory from one collection to the next."""

    slots: Slots = field(default_factory=Slots)
    most_devices: int = 0


@dataclass(slots=True)
class Look:
    """What a collection is made of; `refused` is None where the folder can't be read."""

    records: Sequence[Record]
    refused: Counter[str] | None
    gpus: Snapshot
    now: float


def collect(
    look: Look, host: Host, state: State, seen: Seen, *, expected: int | None = None, most_series: int = MOST_SERIES
) -> Samples:
    """Return the samples. Totals go by way of `state`, which the caller saves before it serves them."""
    samples: Samples = defaultdict(list)
    gpus = {short(device.uuid): device.gpu for device in look.gpus.devices if device.uuid}
    dropped = served = 0
    reserved: dict[str, float] = defaultdict(float)
    by_pid: dict[int, str] = {}
    dead: dict[tuple[str, ...], tuple[Record, Process, Plan]] = {}  # the last of each name
    host.refresh()
    known_of = seen.slots.assign(look.records, gone=lambda path: not os.path.lexists(path))
    for record in shared(look.records, lambda one: one.owner):
        known = known_of[record.path]
        plan = known.plan(record, gpus)
        _carry(record, plan.carried, state)
        state.count(exporter.PROCESSES_LOST, known.labels[:1])
        if record.state == "dead":
            settled = note_death(record, known, host, now=look.now)
            # A stop mark says that it ended by itself, be it by an exception.
            if settled and not record.mark and state.follow(file_of(record), "lost", 1.0):
                state.count(exporter.PROCESSES_LOST, known.labels[:1], 1.0)
            other = dead.get(known.labels)
            if other is None or other[0].heartbeat < record.heartbeat:
                dead[known.labels] = (record, known, plan)
            continue
        known.without_lock = None
        if served + len(plan) > most_series:
            dropped += len(plan)
            continue
        served += len(plan)
        dropped += plan.dropped
        serve_living(samples, record, known, plan, host, now=look.now)
        for place, gpu in plan.reserved:
            reserved[gpu] += max(record.values[place], 0.0)
        if record.pid:
            by_pid[record.pid] = known.text
    for record, known, plan in dead.values():
        serve_dead(samples, record, known, plan)
    seen.most_devices = max(seen.most_devices, sum(device.whole for device in look.gpus.devices))
    serve_devices(samples, look.gpus, state, reserved=reserved, by_pid=by_pid)
    add(samples, exporter.DEVICES_EXPECTED, seen.most_devices if expected is None else expected)
    _itself(samples, look, dropped)
    kills = host.oom_kills()
    if kills is not None:
        add(samples, exporter.HOST_OOM_KILLS, kills)
    for (name, labels), value in sorted(state.totals.items()):
        add(samples, FAMILIES[name], value, *labels)
    return samples


def _carry(record: Record, carried: list[tuple[int, str, str, str]], state: State) -> None:
    file = file_of(record)
    for place, name, written, gpu in carried:
        more = state.follow(file, f"{name} {written}", max(record.values[place], 0.0))
        state.count(CARRIED[name], (gpu,), more)


def _itself(samples: Samples, look: Look, dropped: int) -> None:
    """Add what the daemon says of the spool."""
    states = Counter(record.state for record in look.records)
    refused = look.refused or Counter()
    for reason, count in refused.items():
        states["corrupt" if reason in CORRUPT else "refused"] += count
    for state in STATES:
        add(samples, exporter.SPOOL_FILES, states[state], state)
    for reason in REASONS:
        if reason != "gone":
            add(samples, exporter.SPOOL_UNREAD, refused[reason], reason)
    add(samples, exporter.SPOOL_UP, float(look.refused is not None))
    add(samples, exporter.SERIES_DROPPED, dropped)


class Collector:
    """Collects whenever it is asked; one collection at a time."""

    def __init__(
        self,
        folder: str,
        *,
        gpus: Callable[[], Snapshot],
        host: Host,
        state: State,
        owner: Collection[int] | None = None,
        expected: int | None = None,
        egress: float | None = None,
        keep: float = KEEP,
        most_files: int = MOST_FILES,
        most_series: int = MOST_SERIES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._scanner = Scanner(folder, owner=owner, limit=most_files)
        self._gpus = gpus
        self._host = host
        self._state = state
        self._expected = expected
        self._egress = egress
        self._keep = keep
        self._most_series = most_series
        self._clock = clock
        self._seen = Seen()
        self._lock = threading.Lock()

    def collect(self) -> Samples:
        """Return the samples of now, with the totals saved."""
        with self._lock:
            start = time.perf_counter()
            look = self._look()
            samples = collect(
                look, self._host, self._state, self._seen, expected=self._expected, most_series=self._most_series
            )
            if look.refused is not None:
                self._tidy(look)
            self._state.save()
            add(samples, exporter.STATE_SAVED, float(self._state.saved))
            add(samples, exporter.BUILD_INFO, 1.0, __version__)
            if self._egress is not None:
                add(samples, exporter.EGRESS_CAPACITY, self._egress)
            add(samples, exporter.COLLECTION_DURATION, time.perf_counter() - start)
            return samples

    def _look(self) -> Look:
        gpus = self._gpus()
        now = self._clock()
        try:
            records, refused = self._scanner.scan(now)
        except OSError:
            return Look((), None, gpus, now)
        return Look(records, refused, gpus, now)

    def _tidy(self, look: Look) -> None:
        """Delete the files of the long dead, and forget what is gone."""
        dead = sorted((one for one in look.records if one.state == "dead"), key=lambda one: -one.heartbeat)
        for number, record in enumerate(shared(dead, lambda one: one.owner)):
            if number >= MOST_DEAD or look.now - record.heartbeat > self._keep:
                remove(record.path, record.inode)
        sweep(self._scanner.folder, now=look.now)
        for file in list(self._state.files()):
            if not os.path.lexists(os.path.join(self._scanner.folder, file)):  # noqa: PTH118 - hundreds a scrape
                self._state.forget(file)
