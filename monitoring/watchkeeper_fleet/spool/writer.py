"""Writes a spool file, inside other people's programs: once it exists nothing raises, and nothing waits for long."""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import sys
import time
from binascii import crc32
from threading import Lock
from typing import TYPE_CHECKING

from watchkeeper_fleet.spool.layout import (
    CAPACITY,
    FIELD,
    FIELDS,
    HEADER,
    HEADER_CHECKED,
    LOCKS,
    MAGIC,
    PAIRS,
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
    cleaned,
    named,
    packed,
    unpacked,
    wrong,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_PATIENCE = 0.05  # seconds; a signal handler that publishes in the midst of publishing gets no further


def whereabouts(proc: str = "/proc") -> dict[str, str]:
    """Return what tells this process from every other: pid, start time, pid namespace, boot, host; or what is known."""
    found = {"pid": str(os.getpid()), "host": os.uname().nodename}
    try:
        with open(f"{proc}/self/stat", "rb") as file:  # noqa: PTH123 - pathlib takes long to import
            found["start_time"] = file.read().rpartition(b")")[2].split()[19].decode()
        with open(f"{proc}/sys/kernel/random/boot_id", encoding="ascii") as file:  # noqa: PTH123 - the same
            found["boot_id"] = file.read().strip()
        found["pid_namespace"] = str(os.stat(f"{proc}/self/ns/pid").st_ino)  # noqa: PTH116 - the same
    except (OSError, ValueError, IndexError):
        pass
    return found


class Writer:
    """One file. Only its creation raises, an OSError; what is invalid or finds no room later counts in `dropped`."""

    __slots__ = (
        "_body", "_clock", "_ends", "_fd", "_generation", "_index", "_lock", "_map", "_sequence", "_struct", "_texts",
        "dropped", "inode", "path",
    )  # fmt: skip

    def __init__(self, folder: str, identity: Mapping[str, str], *, clock: Callable[[], float] = time.time) -> None:
        who = {str(key): cleaned(value) for key, value in {**whereabouts(), **identity}.items()}
        self._clock = clock
        self._lock = Lock()
        self._index: dict[Field, int] = {}
        self._ends = [0]
        self._body = b""
        self._struct = struct.Struct(f"{SLOT.format}0d")
        self._texts: dict[str, str] = {}
        self._generation = self._sequence = self.dropped = 0
        self._map: mmap.mmap | None = None
        name = "-".join((*(who.get(key, "0") for key in ("pid_namespace", "pid", "start_time")), os.urandom(6).hex()))
        self.path = os.path.join(os.path.abspath(folder), name.replace("/", "_") + SUFFIX)  # noqa: PTH100, PTH118 - as above
        temporary = self.path + ".new"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        # Never opened again: closing another descriptor of the file drops the lock. The map's own lives as long.
        self._fd = os.open(temporary, flags, 0o640)
        try:
            self._make(who)
            os.rename(temporary, self.path)  # noqa: PTH104 - as above
        except BaseException:
            self.abandon()
            os.unlink(temporary)  # noqa: PTH108 - as above
            raise

    def _make(self, who: dict[str, str]) -> None:
        os.fchmod(self._fd, 0o640)  # the daemon reads as the folder's group, whatever the workload's umask is
        # Real zeroes: where the disk is full, writing to a page that a sparse file lacks is a SIGBUS.
        rest = memoryview(bytes(SIZE))
        while rest:
            rest = rest[os.write(self._fd, rest) :]
        status = os.fstat(self._fd)
        self.inode = (status.st_dev, status.st_ino)
        self._map = mmap.mmap(self._fd, SIZE)
        pairs = [(key, value) for key, value in who.items() if named(key)][:PAIRS]
        while len(identity := packed(pairs)) > TEXTS - HEADER.size:
            pairs.pop()
        data = HEADER.pack(MAGIC, VERSION, SIZE, 0, self._take(), self._clock(), len(identity)) + identity
        check = crc32(data[HEADER_CHECKED:]).to_bytes(4, sys.byteorder)
        self._map[: len(data)] = data[: HEADER_CHECKED - 4] + check + data[HEADER_CHECKED:]
        self._write_texts(self._texts)
        self.publish(())

    def field(self, name: str, /, **labels: str) -> int | None:
        """Return the place of a series among the values; None where it is no valid one, or the file is full."""
        new = Field(name, tuple(sorted(labels.items())))
        try:
            known = self._index.get(new)
        except TypeError:  # a label that isn't text
            self.dropped += 1
            return None
        if known is not None or self._map is None or not self._lock.acquire(timeout=_PATIENCE):
            return known
        try:
            held = self._held()
            return None if held is None else self._add(held, new)
        except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
            self.dropped += 1
            return None
        finally:
            self._lock.release()

    def _held(self) -> mmap.mmap | None:
        """Return the map; None where there is none, or someone cut the file short: to touch it would be a SIGBUS."""
        # The size by lseek: fstat takes four times as long.
        return self._map if self._map is not None and os.lseek(self._fd, 0, os.SEEK_END) == SIZE else None

    def _add(self, held: mmap.mmap, new: Field) -> int:
        """Write a descriptor behind the others. No slot names it before the next one is published."""
        place = self._index.get(new)
        if place is not None:  # another thread was first
            return place
        place = len(self._index)
        body = packed((("", new.name), *new.labels))
        start = FIELDS + self._ends[-1]
        end = start + FIELD.size + len(body)
        if wrong(new) or place >= CAPACITY or end > SIZE:
            raise ValueError
        held[start:end] = FIELD.pack(crc32(body), len(body)) + body
        self._ends.append(end - FIELDS)
        self._index[new] = place
        return place

    def publish(self, values: Sequence[float]) -> bool:
        """Write the values of the fields, in their order; fewer are the first ones, and NaN is none. False: unwritten.

        Threads don't publish at once: the second waits a little, and then leaves it to the next time.
        """
        if not (self._lock.acquire(False) or self._lock.acquire(timeout=_PATIENCE)):
            return False
        try:
            count = len(values)
            if count >= len(self._ends):
                count = len(self._ends) - 1
                values = values[:count]
            shape = self._struct
            if shape.size != SLOT.size + 8 * count:
                shape = self._struct = struct.Struct(f"{SLOT.format}{count}d")
            return self._write(shape.pack(self._generation + 1, self._clock(), count, self._ends[count], *values))
        except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
            self.dropped += 1
            return False
        finally:
            self._lock.release()

    def _write(self, body: bytes) -> bool:
        """Write over the older slot in one slice assignment: killed at any byte, the newer one is whole."""
        held = self._held()
        if held is None:
            return False
        generation = self._generation + 1
        start = SLOTS + generation % 2 * SLOT_SIZE
        held[start : start + SLOT_CHECK.size + len(body)] = SLOT_CHECK.pack(crc32(body)) + body
        self._generation = generation
        self._body = body
        return True

    def beat(self) -> bool:
        """Write the last values again with the time of now, and take the lock again; False where the file is gone."""
        if self._map is None:
            return False
        if not self._lock.acquire(timeout=_PATIENCE):
            return True
        try:
            _, _, count, length = SLOT.unpack_from(self._body)
            self._write(SLOT.pack(self._generation + 1, self._clock(), count, length) + self._body[SLOT.size :])
            status = os.lstat(self.path)
            if (status.st_dev, status.st_ino) != self.inode:
                return False
            if status.st_size != SIZE:
                os.unlink(self.path)  # noqa: PTH108 - as above
                return False
            self._take()
        except FileNotFoundError:
            return False
        except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
            self.dropped += 1
        finally:
            self._lock.release()
        return True

    def _take(self) -> int:
        """Take the lock or keep it: it goes whenever this process closes another descriptor of the file."""
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        except OSError:
            return 0  # gVisor, network file systems: the heartbeat alone decides
        return LOCKS

    def set_text(self, key: str, value: str) -> bool:
        """Set a text that seldom changes, such as a version; False where it is no valid one, or there is no room."""
        if self._map is None or not self._lock.acquire(timeout=_PATIENCE):
            return False
        try:
            texts = {**self._texts, key: cleaned(value)}
            if texts != self._texts:
                self._write_texts(texts)
        except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
            self.dropped += 1
            return False
        else:
            return True
        finally:
            self._lock.release()

    def _write_texts(self, texts: dict[str, str]) -> None:
        """Write over the older list, as `_write` does."""
        body = packed(texts.items())
        held = self._held()
        if held is None or len(body) > TEXT_SIZE - TEXT.size or unpacked(body) != texts:
            raise ValueError
        sequence = self._sequence + 1
        data = TEXT.pack(0, len(body), sequence)[4:] + body
        start = TEXTS + sequence % 2 * TEXT_SIZE
        held[start : start + 4 + len(data)] = crc32(data).to_bytes(4, sys.byteorder) + data
        self._sequence = sequence
        self._texts = texts

    def close(self, mark: str) -> None:
        """Say how the process ended (clean, exception:Class) and let go; the file stays, for the daemon to read."""
        self.set_text("mark", mark)
        self.beat()
        self.abandon()

    def abandon(self) -> None:
        """Let go without a word: what a forked child does with its parent's file."""
        held, self._map = self._map, None
        fd, self._fd = self._fd, -1
        try:
            if held is not None:
                held.close()
            if fd >= 0:
                os.close(fd)
        except (OSError, BufferError):
            pass
