"""Writers that are killed at any point, all forked from one parent, and what a reader finds of them.

A child notes in memory that it shares with the parent which generation it is about to publish, and which it has
published. All values of a record are its generation, so that one that is torn shows.
"""

from __future__ import annotations

import mmap
import os
import random
import signal
import struct
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from watchkeeper_fleet import spool

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

AT_ONCE = 8
FIELDS = 60
LONGEST = 0.02  # seconds that a child lives, half of them much shorter
NOTES = struct.Struct("QQ")


@dataclass
class Child:
    """One that writes until it is killed, with the end of its life and what it noted."""

    pid: int
    notes: mmap.mmap
    end: float
    release: int  # the pipe whose end sets a grandchild free
    seen: set[str] = field(default_factory=set)


def run(kills: int, seed: int, folder: Path, counts: Counter[str]) -> list[str]:
    """Fork and kill so many children; return what was wrong with what they left."""
    chance = random.Random(seed)
    wrong: list[str] = []
    living: list[Child] = []
    scanner = spool.Scanner(str(folder))
    started = 0
    while living or started < kills:
        while len(living) < AT_ONCE and started < kills:
            living.append(born(folder, started, chance))
            started += 1
        wrong += alive(scanner, living, counts)
        now = time.monotonic()
        for child in [child for child in living if child.end <= now]:
            living.remove(child)
            wrong += killed(child, folder, counts)
    counts["left half made"] += spool.sweep(str(folder), age=-1)
    return wrong


def born(folder: Path, number: int, chance: random.Random) -> Child:
    notes = mmap.mmap(-1, NOTES.size)
    seed, life = chance.random(), chance.random() ** 2 * LONGEST
    kept, release = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.close(release)
            write(folder, number, notes, random.Random(seed), kept)
        finally:
            os._exit(1)
    os.close(kept)
    return Child(pid, notes, time.monotonic() + life, release)


def write(folder: Path, number: int, notes: mmap.mmap, chance: random.Random, kept: int) -> None:
    writer = spool.Writer(str(folder), {"workload": "kills", "process": str(number), "rank": "0"})
    if chance.random() < 0.2 and not os.fork():
        # As DataLoader's workers: it outlives its parent, descriptor and map in hand.
        os.read(kept, 1)
        os._exit(0)
    fields = [writer.field("torch_process_ready", gpu=str(place)) for place in range(FIELDS - 10)]
    generation = 1  # the empty one of the creation
    while True:
        generation += 1
        if len(fields) < FIELDS and chance.random() < 0.01:
            fields.append(writer.field("torch_process_ready", function=f"f{len(fields)}"))
        if chance.random() < 0.05:
            writer.set_text("step", str(generation))
        note(notes, 0, generation)
        if chance.random() < 0.05:
            writer.beat()
        else:
            writer.publish([float(generation)] * len(fields))
        note(notes, 8, generation)


def note(notes: mmap.mmap, place: int, generation: int) -> None:
    notes[place : place + 8] = generation.to_bytes(8, "little")


def alive(scanner: spool.Scanner, living: list[Child], counts: Counter[str]) -> list[str]:
    """Scan while they write: every record whole, every pid right."""
    begin = time.perf_counter()
    records, refused = scanner.scan()
    counts["scans"] += 1
    counts["microseconds"] += round((time.perf_counter() - begin) * 1e6)
    wrong = [f"refused: {dict(refused)}"] if refused else []
    pids = {child.pid for child in living}
    for record in records:
        counts["records alive"] += 1
        wrong += torn(record)
        hint = int(record.identity["pid"])
        if record.state == "live" and record.pid != hint:
            wrong.append(f"wrong pid: {record.pid} instead of {hint}")
        if record.state != "live" or hint not in pids:
            wrong.append(f"{hint} is {record.state}, alive are {sorted(pids)}")
    return wrong


def killed(child: Child, folder: Path, counts: Counter[str]) -> list[str]:
    """Kill a child and look at what it left."""
    os.kill(child.pid, signal.SIGKILL)
    os.waitpid(child.pid, 0)
    counts["kills"] += 1
    before, after = NOTES.unpack(child.notes[:])
    child.notes.close()
    wrong: list[str] = []
    paths = [path for path in folder.glob("*.spool") if path.name.split("-")[1] == str(child.pid)]
    counts["killed before there was a file"] += not paths
    if not paths and before:
        wrong.append(f"{child.pid}: no file, {before} was announced")
    for path in paths:
        try:
            record = spool.read(str(path))
        except spool.Refused as error:
            wrong.append(f"{child.pid}: refused, {error}")
            continue
        wrong += torn(record)
        counts["killed in the midst of it"] += before != after
        counts["published in the midst of it"] += before != after and record.generation == before
        if not (after <= record.generation <= max(before, 1)):
            wrong.append(f"{child.pid}: {after} was published, {before} announced, {record.generation} is there")
        if (record.state, record.pid) != ("dead", 0):
            wrong.append(f"{child.pid} was killed and is {record.state}, held by {record.pid}")
        spool.remove(record.path, record.inode)
    os.close(child.release)
    return wrong


def torn(record: spool.Record) -> list[str]:
    values = set(record.values)
    if len(values) > 1 or any(not 0 <= record.generation - value < 1000 for value in values):
        return [f"torn: generation {record.generation} with {values}"]
    return []
