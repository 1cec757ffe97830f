"""The spool: one small memory-mapped file per process, which the daemon of the host reads (docs/spool.md).

The writer runs inside other people's programs: once the file exists, nothing here raises and nothing waits for long.
The reader takes what it reads for hostile. Standard library only.
"""

from __future__ import annotations

import errno
import fcntl
import math
import mmap
import os
import re
import stat
import struct
import sys
import time
from array import array
from binascii import crc32
from collections import Counter
from operator import itemgetter
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

VERSION = 1
CAPACITY = 500
SUFFIX = ".spool"
STALE = 30.0  # seconds without a heartbeat
LIMIT = 1e18  # values are clamped to it

MAGIC = b"WKSPOOL\n"
SIZE = 65536
TEXTS, TEXT_SIZE = 4096, 2048
SLOTS, SLOT_SIZE = 8192, 4096
FIELDS = 16384
KEYS, VALUE = 32, 200  # pairs in one list, characters in one text
OWN = frozenset({"workload", "process", "rank"})  # the daemon adds them: a field that had one would be another's

# In the byte order of the host. The check sum is of all that follows it.
_HEADER = struct.Struct("=8sIIIIdI4x")  # magic, version, crc, size, flags, created, length of the identity
_TEXT = struct.Struct("=IIQ")  # crc, length, sequence
_SLOT = struct.Struct("=IIQdI4x")  # crc, fields, generation, heartbeat, length of their descriptors
_SLOT_BODY = struct.Struct("=IQdI4x")
_FIELD = struct.Struct("=IH2x")  # crc, length
_LENGTH = struct.Struct("=H")
_CRC = struct.Struct("=I")
_FLOCK = struct.Struct("hhqqi4x")  # struct flock of 64-bit Linux
_LOCKED = 1  # flag: the file system has record locks

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,99}", re.ASCII)
_BAD = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_BOUND = re.compile(r"[0-9]+(\.[0-9]+)?(e[+-]?[0-9]{1,3})?|\+Inf", re.ASCII)


class Field(NamedTuple):
    """One series of a process: its name in the contract, and the labels beyond those of the process, sorted."""

    name: str
    labels: tuple[tuple[str, str], ...] = ()


class Record(NamedTuple):
    """What one file says. A value is missing, with its field, while the writer has it as NaN."""

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
    pid: int  # of the lock's holder as the kernel has it, 0 where there is none or it can't be seen from here
    state: str  # live, stale, dead, lock_lost
    mark: str  # clean, exception:Class, or empty: the process never came to write one


class Refused(Exception):  # noqa: N818 - not an error of ours: the file's state
    """A file that is not read, and why: one word of REASONS."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


REASONS = frozenset(
    [
        "gone",
        "unreadable",
        "symlink",
        "fifo",
        "directory",
        "special",
        "hardlink",
        "owner",
        "size",
        "sparse",
        "magic",
        "version",
        "crc",
        "identity",
        "text",
        "field",
        "limit",
    ]
)


def whereabouts(proc: str = "/proc") -> dict[str, str]:
    """Return what tells this process from every other: pid, start time, pid namespace, boot, host; or what is known."""
    found = {"pid": str(os.getpid()), "host": os.uname().nodename}
    try:
        with open(f"{proc}/self/stat", "rb") as file:  # noqa: PTH123 - pathlib is slow to import in a workload
            found["start_time"] = file.read().rpartition(b")")[2].split()[19].decode()
        with open(f"{proc}/sys/kernel/random/boot_id", encoding="ascii") as file:  # noqa: PTH123 - the same
            found["boot_id"] = file.read().strip()
        found["pid_namespace"] = str(os.stat(f"{proc}/self/ns/pid").st_ino)  # noqa: PTH116 - the same
    except (OSError, ValueError, IndexError):
        pass
    return found


class Writer:
    """Writes one file. Raises OSError when it is created and never again; a full or bad entry counts in `dropped`."""

    __slots__ = (
        "_clock", "_ends", "_fd", "_generation", "_index", "_lock", "_map", "_payload", "_sequence", "_texts",
        "dropped", "inode", "path",
    )  # fmt: skip

    def __init__(self, folder: str, identity: Mapping[str, str], *, clock: Callable[[], float] = time.time) -> None:
        who = {**whereabouts(), **identity}
        self._clock = clock
        self._lock = Lock()
        self._map: mmap.mmap | None = None
        self._index: dict[Field, int] = {}
        self._ends = [0]
        self._payload = b""
        self._generation = self._sequence = self.dropped = 0
        self._texts: dict[str, str] = {}
        token = os.urandom(6).hex()
        name = "-".join((*(who.get(key, "0")[:36] for key in ("pid_namespace", "pid", "start_time")), token))
        self.path = os.path.join(folder, name.replace("/", "_") + SUFFIX)  # noqa: PTH118 - as in whereabouts
        temporary = self.path + ".new"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd = os.open(temporary, flags, 0o640)
        try:
            os.fchmod(self._fd, 0o640)  # the daemon reads as the folder's group, whatever the workload's umask
            # Real zeroes: a page of a sparse file is only found to be missing when it is written, by a SIGBUS.
            rest = memoryview(bytes(SIZE))
            while rest:
                rest = rest[os.write(self._fd, rest) :]
            self._map = mmap.mmap(self._fd, SIZE)
            body = _pairs(_fitting(who))
            head = _HEADER.pack(MAGIC, VERSION, 0, SIZE, self._take(), clock(), len(body))[16:] + body
            self._map[: 16 + len(head)] = struct.pack("=8sII", MAGIC, VERSION, crc32(head)) + head
            self._write_texts()
            self.publish(())
            status = os.fstat(self._fd)
            self.inode = (status.st_dev, status.st_ino)
            os.rename(temporary, self.path)  # noqa: PTH104 - as in whereabouts
        except BaseException:
            self.abandon()
            os.unlink(temporary)  # noqa: PTH108 - as in whereabouts
            raise

    @property
    def open(self) -> bool:
        """Whether what is published still goes anywhere."""
        return self._map is not None

    def field(self, name: str, **labels: str) -> int | None:
        """Return the place of a series among the values, None where it is no valid one or the file is full."""
        new = Field(name, tuple(sorted(labels.items())))
        try:
            known = self._index.get(new)
        except TypeError:  # an unhashable label
            known = None
        if known is not None or self._map is None:
            return known
        if not self._lock.acquire(timeout=0.05):
            return None
        try:
            place = len(self._index)
            start = self._ends[-1]
            if _wrong(new) or place >= CAPACITY:
                raise ValueError  # noqa: TRY301 - one way out
            body = _pairs((("", name), *new.labels))
            record = _FIELD.pack(crc32(body), len(body)) + body
            if FIELDS + start + len(record) > SIZE:
                raise ValueError  # noqa: TRY301 - the same
            self._map[FIELDS + start : FIELDS + start + len(record)] = record
            self._ends.append(start + len(record))
            self._index[new] = place
        except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
            self.dropped += 1
            return None
        else:
            return place
        finally:
            self._lock.release()

    def publish(self, values: Sequence[float]) -> bool:
        """Write the values of the fields in their order: fewer are the first ones. False where it was not possible.

        Two threads don't publish at once: the second waits a little, and then leaves it to the next time.
        """
        if not self._lock.acquire(timeout=0.05):
            return False
        try:
            count = min(len(values), len(self._ends) - 1)
            self._write(array("d", values[:count] if count < len(values) else values).tobytes(), count)
        except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
            self.dropped += 1
            return False
        else:
            return True
        finally:
            self._lock.release()

    def _write(self, payload: bytes, count: int) -> None:
        """Write the older slot, in one slice assignment: killed at any byte, the newer one is whole."""
        if self._map is None:
            raise ValueError
        generation = self._generation + 1
        body = _SLOT_BODY.pack(count, generation, self._clock(), self._ends[count]) + payload
        start = SLOTS + generation % 2 * SLOT_SIZE
        self._map[start : start + 4 + len(body)] = _CRC.pack(crc32(body)) + body
        self._generation = generation
        self._payload = payload

    def beat(self) -> bool:
        """Write the last values again with the time of now, and take the lock again; False where the file is gone."""
        if self._map is None or not self._lock.acquire(timeout=0.05):
            return self._map is not None
        try:
            self._write(self._payload, len(self._payload) // 8)
            status = os.lstat(self.path)
            if (status.st_dev, status.st_ino) != self.inode:
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
        """Take the lock, or keep it; it goes whenever this process closes any descriptor of the file."""
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        except OSError:
            return 0  # gVisor, network file systems: the heartbeat alone decides
        return _LOCKED

    def set_text(self, key: str, value: str) -> bool:
        """Set a text that seldom changes, such as a version; False where there is no room or it is no valid one."""
        if self._texts.get(key) == value:
            return True
        if self._map is None or not self._lock.acquire(timeout=0.05):
            return False
        before = self._texts
        try:
            self._texts = {**before, key: _clean(value)}
            self._write_texts()
        except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
            self._texts = before
            self.dropped += 1
            return False
        else:
            return True
        finally:
            self._lock.release()

    def _write_texts(self) -> None:
        body = _pairs(self._texts.items())
        if self._map is None or len(body) > TEXT_SIZE - _TEXT.size or _unpaired(body) != self._texts:
            raise ValueError
        head = _TEXT.pack(0, len(body), self._sequence + 1)[4:] + body
        start = TEXTS + (self._sequence + 1) % 2 * TEXT_SIZE
        self._map[start : start + 4 + len(head)] = _CRC.pack(crc32(head)) + head
        self._sequence += 1

    def close(self, mark: str) -> None:
        """Say how the process ended (clean, exception:Class) and let go; the file stays, for the daemon to read."""
        self.set_text("mark", mark)
        self.beat()
        self.abandon()

    def abandon(self) -> None:
        """Let go without a word: what a forked child does with its parent's file."""
        held, self._map = self._map, None
        try:
            if held is not None:
                held.close()
            if self._fd >= 0:
                os.close(self._fd)
        except (OSError, BufferError):
            pass
        self._fd = -1


def _pairs(pairs: Iterable[tuple[str, str]]) -> bytes:
    """Return texts by twos, each with its length before it."""
    found: list[bytes] = []
    for pair in pairs:
        for text in pair:
            data = text.encode()
            found += (_LENGTH.pack(len(data)), data)
    return b"".join(found)


def _unpaired(data: bytes) -> dict[str, str]:
    """Return what `_pairs` wrote; raises ValueError where that is not what it is."""
    found: dict[str, str] = {}
    texts: list[str] = []
    place = 0
    while place < len(data):
        if place + 2 > len(data):
            raise ValueError
        end = place + 2 + _LENGTH.unpack_from(data, place)[0]
        texts.append(data[place + 2 : end].decode())
        if end > len(data) or len(texts[-1]) > VALUE or _BAD.search(texts[-1]):
            raise ValueError
        place = end
    if len(texts) % 2 or len(texts) > 2 * KEYS:
        raise ValueError
    for key, value in zip(texts[::2], texts[1::2], strict=True):
        if key in found or not (_NAME.fullmatch(key) or (key == "" and not found)):
            raise ValueError
        found[key] = value
    return found


def _clean(value: str) -> str:
    return _BAD.sub("?", str(value))[:VALUE]


def _fitting(who: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the identity as far as it is valid and there is room."""
    found = [(key, _clean(value)) for key, value in who.items() if _NAME.fullmatch(key)][:KEYS]
    while len(_pairs(found)) > TEXTS - _HEADER.size:
        found.pop()
    return found


def _wrong(field: Field) -> bool:
    """Whether a field is none that a daemon could serve."""
    names = [name for name, _ in field.labels]
    return (
        not _NAME.fullmatch(field.name)
        or len(names) > 8
        or names != sorted(set(names))
        or any(name in OWN or name.startswith("__") or not _NAME.fullmatch(name) for name in names)
        or any(len(value) > VALUE or _BAD.search(value) is not None for _, value in field.labels)
        or any(name == "le" and not _BOUND.fullmatch(value) for name, value in field.labels)
    )


class Scanner:
    """Reads a folder again and again, and remembers what it saw: a writer without its lock is alive if it goes on."""

    __slots__ = ("_fields", "_seen", "folder", "limit", "owner", "stale")

    def __init__(
        self, folder: str, *, limit: int = 1024, owner: Collection[int] | None = None, stale: float = STALE
    ) -> None:
        self.folder = folder
        self.limit = limit
        self.owner = owner
        self.stale = stale
        self._seen: dict[tuple[int, int], int] = {}
        self._fields: dict[bytes, tuple[Field, ...]] = {}

    def scan(self, now: float | None = None) -> tuple[list[Record], Counter[str]]:
        """Return the records of the folder, and how many files were refused for which reason; OSError: no folder."""
        records: list[Record] = []
        refused: Counter[str] = Counter()
        used: dict[bytes, tuple[Field, ...]] = {}
        seen: dict[tuple[int, int], int] = {}
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with os.scandir(folder) as entries:
                names = (entry.name for entry in entries if entry.name.endswith(SUFFIX))
                for number, name in enumerate(names):
                    if number >= self.limit:
                        refused["limit"] += 1
                        break
                    try:
                        record = self._read(name, folder, now, used, seen)
                    except Refused as error:
                        if error.reason != "gone":
                            refused[error.reason] += 1
                    else:
                        records.append(record)
        finally:
            os.close(folder)
        self._fields, self._seen = used, seen
        return records, refused

    def _read(
        self,
        name: str,
        folder: int | None,
        now: float | None,
        used: dict[bytes, tuple[Field, ...]],
        seen: dict[tuple[int, int], int],
    ) -> Record:
        fd, status = _opened(name, folder, self.owner)
        try:
            # First the lock, then the content: of a file found without one, what is read is the last word.
            held, pid = _holder(fd)
            data, slot = _whole(fd)
        finally:
            os.close(fd)
        flags, created, identity = _identity(data)
        texts = _texts(data)
        generation, heartbeat, count, length, payload = slot
        described = data[FIELDS : FIELDS + length]
        fields = used.get(described) or self._fields.get(described)
        if fields is None:
            fields = _described(described)
        if len(fields) != count:
            raise Refused("field")
        used[described] = fields
        now = time.time() if now is None else now
        heartbeat = 0.0 if math.isnan(heartbeat) else min(max(heartbeat, 0.0), now)
        mark = texts.pop("mark", "")
        inode = (status.st_dev, status.st_ino)
        fresh = now - heartbeat <= self.stale
        if held:
            state = "live" if fresh else "stale"
        elif not flags & _LOCKED:
            state = "live" if fresh and not mark else "dead"
        else:
            before = self._seen.get(inode)
            seen[inode] = generation
            state = "lock_lost" if before is not None and generation > before and not mark else "dead"
        values = tuple(payload)
        if not _sound(values):
            kept = [(field, value) for field, value in zip(fields, values, strict=True) if not math.isnan(value)]
            fields = tuple(field for field, _ in kept)
            values = tuple(min(max(value, -LIMIT), LIMIT) for _, value in kept)
        path = name if folder is None else os.path.join(self.folder, name)  # noqa: PTH118 - strings throughout
        created = created if 0 <= created <= now else now
        return Record(
            identity,
            texts,
            fields,
            values,
            generation,
            heartbeat,
            created,
            path,
            inode,
            status.st_uid,
            pid,
            state,
            mark,
        )


def scan(folder: str, *, limit: int = 1024) -> tuple[list[Record], Counter[str]]:
    """Read a folder once; who reads it again keeps a Scanner."""
    return Scanner(folder, limit=limit).scan()


def read(path: str, *, owner: Collection[int] | None = None, now: float | None = None) -> Record:
    """Read one file, or raise Refused."""
    return Scanner("", owner=owner)._read(os.fspath(path), None, now, {}, {})  # noqa: SLF001 - of this module


def _opened(name: str, folder: int | None, owner: Collection[int] | None) -> tuple[int, os.stat_result]:
    """Open a file that may be anything, without following, waiting or waking a device."""
    try:
        _regular(os.stat(name, dir_fd=folder, follow_symlinks=False), owner)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
        fd = os.open(name, flags, dir_fd=folder)
    except OSError as error:
        reasons = {errno.ENOENT: "gone", errno.ELOOP: "symlink", errno.ENXIO: "special"}
        raise Refused(reasons.get(error.errno or 0, "unreadable")) from None
    try:
        status = os.fstat(fd)
        _regular(status, owner)
    except BaseException:
        os.close(fd)
        raise
    return fd, status


def _regular(status: os.stat_result, owner: Collection[int] | None) -> None:
    kinds = {stat.S_IFLNK: "symlink", stat.S_IFIFO: "fifo", stat.S_IFDIR: "directory"}
    if not stat.S_ISREG(status.st_mode):
        raise Refused(kinds.get(stat.S_IFMT(status.st_mode), "special"))
    if status.st_nlink != 1:
        raise Refused("hardlink" if status.st_nlink else "gone")
    if owner is not None and status.st_uid not in owner:
        raise Refused("owner")
    if status.st_size != SIZE:
        raise Refused("size")
    if status.st_blocks * 512 < SIZE:
        raise Refused("sparse")


def _holder(fd: int) -> tuple[bool, int]:
    """Return whether a writer holds the lock, and its pid as seen from here."""
    try:
        answer = fcntl.fcntl(fd, fcntl.F_GETLK, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
    except OSError:
        return False, 0
    kind, _, _, _, pid = _FLOCK.unpack(answer)
    # A lock for reading is some other reader's.
    return (True, max(pid, 0)) if kind == fcntl.F_WRLCK else (False, 0)


def _whole(fd: int) -> tuple[bytes, tuple[int, float, int, int, array[float]]]:
    """Return the file's bytes and its newest whole slot; a busy writer may spoil both slots of one reading, not of all.

    The file is read from its start, so that the descriptors are at least as new as the slot that needs them.
    """
    for _ in range(16):
        data = os.pread(fd, SIZE, 0)
        if len(data) != SIZE:
            raise Refused("size")
        if data[:8] != MAGIC:
            raise Refused("magic")
        if int.from_bytes(data[8:12], sys.byteorder) != VERSION:
            raise Refused("version")
        slots = [slot for start in (SLOTS, SLOTS + SLOT_SIZE) if (slot := _slot(data, start)) is not None]
        if slots:
            return data, max(slots, key=itemgetter(0))
    raise Refused("crc")


def _slot(data: bytes, start: int) -> tuple[int, float, int, int, array[float]] | None:
    """Return generation, heartbeat, number of fields, length of their descriptors and values, if the slot is whole."""
    check, count, generation, heartbeat, length = _SLOT.unpack_from(data, start)
    end = start + _SLOT.size + 8 * count
    if count > CAPACITY or length > SIZE - FIELDS or crc32(data[start + 4 : end]) != check:
        return None
    values = array("d")
    values.frombytes(data[start + _SLOT.size : end])
    return generation, heartbeat, count, length, values


def _identity(data: bytes) -> tuple[int, float, dict[str, str]]:
    _, _, check, size, flags, created, length = _HEADER.unpack_from(data)
    if size != SIZE:
        raise Refused("size")
    if length > TEXTS - _HEADER.size or crc32(data[16 : _HEADER.size + length]) != check:
        raise Refused("crc")
    try:
        return flags, created, _unpaired(data[_HEADER.size : _HEADER.size + length])
    except ValueError:
        raise Refused("identity") from None


def _texts(data: bytes) -> dict[str, str]:
    """Return the newer of the two lists of texts that is whole."""
    newest = None
    for start in (TEXTS, TEXTS + TEXT_SIZE):
        check, length, sequence = _TEXT.unpack_from(data, start)
        body = data[start + _TEXT.size : start + _TEXT.size + length]
        whole = length <= TEXT_SIZE - _TEXT.size and crc32(data[start + 4 : start + _TEXT.size] + body) == check
        if whole and (newest is None or sequence > newest[0]):
            newest = (sequence, body)
    if newest is None:
        raise Refused("crc")
    try:
        return _unpaired(newest[1])
    except ValueError:
        raise Refused("text") from None


def _described(data: bytes) -> tuple[Field, ...]:
    """Return the fields that descriptors describe, one after the other up to the end."""
    found: dict[Field, None] = {}
    place = 0
    while place < len(data):
        start = place + _FIELD.size
        if start > len(data):
            raise Refused("field")
        check, length = _FIELD.unpack_from(data, place)
        place = start + length
        body = data[start:place]
        if place > len(data) or crc32(body) != check:
            raise Refused("crc")
        try:
            pairs = _unpaired(body)
        except ValueError:
            raise Refused("field") from None
        field = Field(pairs.pop("", ""), tuple(pairs.items()))
        # Twice the same series would spoil the whole scrape.
        if field in found or len(found) >= CAPACITY or _wrong(field):
            raise Refused("field")
        found[field] = None
    return tuple(found)


def _sound(values: tuple[float, ...]) -> bool:
    """Whether no value is NaN or beyond the limit, in three passes at the speed of C."""
    return not values or (min(values) >= -LIMIT and max(values) <= LIMIT and not math.isnan(sum(values)))
