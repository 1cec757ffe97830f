"""Reads spool files. They come from workloads, so whatever is in them is taken for hostile."""

from __future__ import annotations

import math
import os
import struct
import sys
import time
from binascii import crc32
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from watchkeeper_fleet.spool.files import Refused, holder, opened, share
from watchkeeper_fleet.spool.layout import (
    CAPACITY,
    FIELD,
    FIELDS,
    HEADER,
    HEADER_CHECKED,
    LARGEST,
    LOCKS,
    MAGIC,
    SIZE,
    SLOT,
    SLOT_CHECK,
    SLOT_SIZE,
    SLOTS,
    SUFFIX,
    TEXT,
    TEXT_SIZE,
    TEXTS,
    VERSION,
    Field,
    unpacked,
    wrong,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_T = TypeVar("_T")

STALE = 30.0  # seconds without a heartbeat
_SILENT = 5.0  # the same for a writer without a lock, which beats every second
_TRIES = 16
_MOST_NAMES = 65_536  # looked at in a folder


class Record(NamedTuple):
    """What one file says. Values are finite and at most LARGEST; a field whose value is NaN is left out."""

    identity: dict[str, str]
    texts: dict[str, str]
    fields: tuple[Field, ...]
    values: tuple[float, ...]
    generation: int
    heartbeat: float
    created: float
    path: str
    inode: tuple[int, int]
    owner: int
    pid: int  # of the lock's holder, by the kernel; 0 where there is none, or it can't be seen from here
    state: str  # live, stale, dead, lock_lost
    mark: str  # clean, exception:Class, or nothing: the process never came to write one


class Memory:
    """What one scan leaves to the next: most of what files say stays, and need not be looked into again."""

    __slots__ = ("described", "fields", "generations", "pairs")

    def __init__(self) -> None:
        # The descriptors of a file up to a length never change; device, inode and time of creation are the file.
        self.described: dict[tuple[int, int, float, int], bytes] = {}
        self.fields: dict[bytes, tuple[Field, ...]] = {}
        self.pairs: dict[bytes, dict[str, str]] = {}
        # Of files that were found without a lock, and whether they were seen to go on without it.
        self.generations: dict[tuple[int, int], tuple[int, bool]] = {}


class Scanner:
    """Reads a folder again and again. Who goes on without a lock is alive, which one look alone can't tell."""

    __slots__ = ("_memory", "folder", "limit", "owner", "stale")

    def __init__(
        self, folder: str, *, limit: int = 1024, owner: Collection[int] | None = None, stale: float = STALE
    ) -> None:
        self.folder = folder
        self.limit = limit
        self.owner = owner
        self.stale = stale
        self._memory = Memory()

    def scan(self, now: float | None = None) -> tuple[list[Record], Counter[str]]:
        """Return the records, and how many files were refused for which reason; OSError where there is no folder."""
        records: list[Record] = []
        refused: Counter[str] = Counter()
        before, self._memory = self._memory, Memory()
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with os.scandir(folder) as entries:
                names = [*islice((entry.name for entry in entries if entry.name.endswith(SUFFIX)), _MOST_NAMES)]
            if len(names) > self.limit:
                known = {(device, inode) for device, inode, _, _ in before.described}
                chosen, others = share(names, folder, self.limit, owner=self.owner, known=known)
                refused["limit"], refused["owner"] = len(names) - len(chosen) - others, others
                names = chosen
            for name in names:
                try:
                    if not (name.isascii() and name.isprintable()):
                        raise Refused("name")  # noqa: TRY301 - counted as the others are
                    records.append(self._read(name, folder, now, before))
                except Refused as error:  # noqa: PERF203 - a bad one leaves the others to be read
                    if error.reason != "gone":
                        refused[error.reason] += 1
        finally:
            os.close(folder)
        return records, refused

    def _read(self, name: str, folder: int | None, now: float | None, before: Memory) -> Record:
        fd, status = opened(name, folder, self.owner)
        try:
            # First the lock, then the content: what is read of a file without a lock is the last word.
            held, pid = holder(fd)
            data, slot, texts_read = _whole(fd)
            generation, heartbeat, count, length = SLOT.unpack_from(data, slot)
            flags, created, identity_read = _header(data)
            part = (status.st_dev, status.st_ino, created, length)
            described = before.described.get(part)
            if described is None:
                described = os.pread(fd, length, FIELDS)
        except OSError:
            raise Refused("unreadable") from None
        finally:
            os.close(fd)
        memory = self._memory
        identity = _remembered(before.pairs, memory.pairs, identity_read, unpacked, "identity").copy()
        texts = _remembered(before.pairs, memory.pairs, texts_read, unpacked, "text").copy()
        fields = _remembered(before.fields, memory.fields, described, _described, "field")
        if len(fields) != count:
            raise Refused("field")
        memory.described[part] = described
        values: tuple[float, ...] = struct.unpack_from(f"{count}d", data, slot + SLOT.size)
        if not _sound(values):
            kept = [(field, value) for field, value in zip(fields, values, strict=True) if not math.isnan(value)]
            fields = tuple(field for field, _ in kept)
            values = tuple(min(max(value, -LARGEST), LARGEST) for _, value in kept)
        now = time.time() if now is None else now
        heartbeat = _between(heartbeat, now)
        mark = texts.pop("mark", "")
        inode = (status.st_dev, status.st_ino)
        fresh = now - heartbeat <= self.stale
        if held:
            state = "live" if fresh else "stale"
        elif not flags & LOCKS:
            state = "live" if fresh and not mark else "dead"
        else:
            last, went_on = before.generations.get(inode, (generation, False))
            went_on = went_on or generation > last
            memory.generations[inode] = (generation, went_on)
            state = "lock_lost" if went_on and not mark and now - heartbeat <= _SILENT else "dead"
        return Record(
            identity=identity,
            texts=texts,
            fields=fields,
            values=values,
            generation=generation,
            heartbeat=heartbeat,
            created=_between(created, now),
            path=name if folder is None else f"{self.folder}/{name}",
            inode=inode,
            owner=status.st_uid,
            pid=pid,
            state=state,
            mark=mark,
        )


def scan(folder: str, *, limit: int = 1024) -> tuple[list[Record], Counter[str]]:
    """Read a folder once. Who reads it again keeps a Scanner."""
    return Scanner(folder, limit=limit).scan()


def read(path: str, *, owner: Collection[int] | None = None, now: float | None = None) -> Record:
    """Read one file; raises Refused."""
    return Scanner("", owner=owner)._read(os.fspath(path), None, now, Memory())  # noqa: SLF001 - of this module


def _remembered(
    before: dict[bytes, _T], now: dict[bytes, _T], data: bytes, look: Callable[[bytes], _T], fault: str
) -> _T:
    """Return what look says of data, or what it said before."""
    found = now.get(data)
    if found is None:
        found = before.get(data)
        if found is None:
            try:
                found = look(data)
            except ValueError:
                raise Refused(fault) from None
        now[data] = found
    return found


def _whole(fd: int) -> tuple[bytes, int, bytes]:
    """Return all but the descriptors, where the newest whole slot's content begins, and what holds the texts.

    A busy writer may spoil both slots of one reading, hardly of two. The descriptors are read after it, so that they
    are at least as new as the slot that needs them.
    """
    for _ in range(_TRIES):
        data = os.pread(fd, FIELDS, 0)
        if len(data) != FIELDS:
            raise Refused("size")
        if data[:8] != MAGIC:
            raise Refused("magic")
        # One version so far. A reader knows its own and the one before.
        if int.from_bytes(data[8:12], sys.byteorder) != VERSION:
            raise Refused("version")
        slot = max((_slot(data, SLOTS), _slot(data, SLOTS + SLOT_SIZE)))
        texts = max((_texts(data, TEXTS), _texts(data, TEXTS + TEXT_SIZE)))
        if slot[1] and texts[0] >= 0:
            return data, slot[1], texts[1]
    raise Refused("crc")


def _slot(data: bytes, start: int) -> tuple[int, int]:
    """Return the generation of a slot and where its content begins; zeroes where it isn't whole."""
    (check,) = SLOT_CHECK.unpack_from(data, start)
    start += SLOT_CHECK.size
    generation, _, count, length = SLOT.unpack_from(data, start)
    if count > CAPACITY or length > SIZE - FIELDS or crc32(data[start : start + SLOT.size + 8 * count]) != check:
        return 0, 0
    return generation, start


def _texts(data: bytes, start: int) -> tuple[int, bytes]:
    """Return sequence and content of a list of texts; -1 where it isn't whole."""
    check, length, sequence = TEXT.unpack_from(data, start)
    end = start + TEXT.size + length
    if length > TEXT_SIZE - TEXT.size or crc32(data[start + 4 : end]) != check:
        return -1, b""
    return sequence, data[start + TEXT.size : end]


def _header(data: bytes) -> tuple[int, float, bytes]:
    """Return flags, time of creation and what holds the identity."""
    _, _, size, check, flags, created, length = HEADER.unpack_from(data)
    if size != SIZE:
        raise Refused("size")
    end = HEADER.size + length
    if end > TEXTS or crc32(data[HEADER_CHECKED:end]) != check:
        raise Refused("crc")
    return flags, created, data[HEADER.size : end]


def _described(data: bytes) -> tuple[Field, ...]:
    """Return the fields that descriptors describe, one behind the other up to the end."""
    found: dict[Field, None] = {}
    place = 0
    while place < len(data):
        start = place + FIELD.size
        if start > len(data):
            raise ValueError
        check, length = FIELD.unpack_from(data, place)
        place = start + length
        body = data[start:place]
        if crc32(body) != check:
            raise Refused("crc")
        pairs = unpacked(body, named_first=False)
        field = Field(sys.intern(pairs.pop("", "")), tuple(pairs.items()))
        # The same series twice would spoil the whole scrape.
        if field in found or len(found) == CAPACITY or wrong(field):
            raise ValueError
        found[field] = None
    return tuple(found)


def _sound(values: tuple[float, ...]) -> bool:
    """Whether no value is NaN or too large, in three passes at the speed of C."""
    return not values or (min(values) >= -LARGEST and max(values) <= LARGEST and not math.isnan(sum(values)))


def _between(seconds: float, now: float) -> float:
    """Return a time of the past: clocks are set back, and some lie."""
    return 0.0 if math.isnan(seconds) else min(max(seconds, 0.0), now)
