"""Files in a folder that anyone may write to: opened with care, asked for who holds them, and removed."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
import time
from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from watchkeeper_fleet.spool.layout import SIZE, SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

_T = TypeVar("_T")

_FLOCK = struct.Struct("hhqqi4x")  # struct flock of 64-bit Linux
_KINDS = {stat.S_IFLNK: "symlink", stat.S_IFIFO: "fifo", stat.S_IFDIR: "directory"}
_ERRORS = {errno.ENOENT: "gone", errno.ELOOP: "symlink", errno.ENXIO: "special"}

# Why a file is not read. `gone` is none to count: it was removed meanwhile.
REASONS = (
    *("gone", "name", "symlink", "fifo", "directory", "special", "hardlink", "owner", "size", "sparse"),
    *("unreadable", "magic", "version", "crc", "identity", "text", "field", "limit"),
)


class Refused(Exception):  # noqa: N818 - a state of the file, not an error
    """A file that is not read, and why: one of REASONS."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def opened(name: str, folder: int | None, owner: Collection[int] | None) -> tuple[int, os.stat_result]:
    """Open what may be anything, without following it, waiting for it or waking a device."""
    try:
        _check(os.stat(name, dir_fd=folder, follow_symlinks=False), owner)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
        fd = os.open(name, flags, dir_fd=folder)
    except OSError as error:
        raise Refused(_ERRORS.get(error.errno or 0, "unreadable")) from None
    try:
        status = os.fstat(fd)
        _check(status, owner)
    except BaseException:
        os.close(fd)
        raise
    return fd, status


def _check(status: os.stat_result, owner: Collection[int] | None) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise Refused(_KINDS.get(stat.S_IFMT(status.st_mode), "special"))
    if status.st_nlink != 1:
        raise Refused("hardlink" if status.st_nlink else "gone")
    if owner is not None and status.st_uid not in owner:
        raise Refused("owner")
    if status.st_size != SIZE:
        raise Refused("size")
    if status.st_blocks * 512 < SIZE:
        raise Refused("sparse")


def holder(fd: int) -> tuple[bool, int]:
    """Return whether a writer has the lock, and its pid as seen from here."""
    try:
        answer = fcntl.fcntl(fd, fcntl.F_GETLK, _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
    except OSError:
        return False, 0
    kind, _, _, _, pid = _FLOCK.unpack(answer)
    # A lock for reading is some reader's.
    return (True, max(pid, 0)) if kind == fcntl.F_WRLCK else (False, 0)


def shared(things: Iterable[_T], owner_of: Callable[[_T], int], most: int | None = None) -> list[_T]:
    """Return the things, first one of each owner, then another: where only so many are taken, none has all the room."""
    before: Counter[int] = Counter()
    ranked: list[tuple[int, _T]] = []
    for thing in things:
        owner = owner_of(thing)
        ranked.append((before[owner], thing))
        before[owner] += 1
    ranked.sort(key=lambda one: one[0])
    return [thing for _, thing in ranked[:most]]


def share(
    names: Iterable[str], folder: int, most: int, *, owner: Collection[int] | None, known: Collection[tuple[int, int]]
) -> tuple[list[str], int]:
    """Return the files that are read where there are too many, and how many were of owners that are none of ours.

    Each owner has a share, which those that were known before have first.
    """
    found: list[tuple[bool, int, str]] = []
    others = 0
    for name in names:
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            continue
        if owner is not None and status.st_uid not in owner:
            others += 1
        else:
            found.append(((status.st_dev, status.st_ino) not in known, status.st_uid, name))
    found.sort(key=lambda one: one[0])
    return [name for _, _, name in shared(found, lambda one: one[1], most)], others


def remove(path: str, inode: tuple[int, int]) -> bool:
    """Delete the file of a record, unless another has its name by now."""
    try:
        status = os.lstat(path)
        if (status.st_dev, status.st_ino) != inode:
            return False
        os.unlink(path)  # noqa: PTH108 - a string, as given
    except OSError:
        return False
    return True


def sweep(folder: str, *, now: float | None = None, age: float = 60.0) -> int:
    """Delete what writers left that were killed while they created their file; return how many there were."""
    oldest = (time.time() if now is None else now) - age
    with os.scandir(folder) as entries:
        return sum(_swept(entry, oldest) for entry in entries if entry.name.endswith(SUFFIX + ".new"))


def _swept(entry: os.DirEntry[str], oldest: float) -> bool:
    try:
        old = entry.stat(follow_symlinks=False).st_mtime < oldest
        if old:
            os.unlink(entry.path)  # noqa: PTH108 - a string, as given
    except OSError:
        return False
    return old
