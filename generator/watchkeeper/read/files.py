"""Files from the disk, be they what they may: text, or one line that says why not."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from watchkeeper.findings import Finding, Place
from watchkeeper.read.source import File

if TYPE_CHECKING:
    from watchkeeper.findings import Excerpt

__all__ = ["STANDARD_INPUT", "Unreadable", "load"]

STANDARD_INPUT = "-"

LARGEST = 64 << 20  # bytes


class Unreadable(Exception):  # noqa: N818 - nothing went wrong here: the file is what it is
    """A file that can't be read, or is no YAML; `finding` says why and where."""

    def __init__(
        self, message: str, place: Place, excerpt: Excerpt | None = None, why: str = "", fix: str = ""
    ) -> None:
        super().__init__(message)
        check = "json/parse" if place.file.endswith(".json") else "yaml/parse"
        self.finding = Finding(check, message, place, excerpt, why, fix)


def load(path: str | os.PathLike[str]) -> File:
    """Return a file's text, of `-` what is on standard input.

    Raises Unreadable for what is missing, no regular file, too large, or no UTF-8 text.
    """
    name = os.fspath(path)
    try:
        raw = _standard_input() if name == STANDARD_INPUT else _read(name)
    except (OSError, ValueError) as error:  # a ValueError for a NUL in the name
        reason = getattr(error, "strerror", None) or str(error)
        fix = "name a file, or a folder that holds files" if isinstance(error, FileNotFoundError) else ""
        raise Unreadable(f"can't be read: {reason}", Place(name), fix=fix) from None
    # Go's YAML reads UTF-16 where its mark stands first.
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        file = File(name, raw.decode(encoding))
    except UnicodeDecodeError as error:
        fix = "save it as UTF-8" if b"\0" not in raw else "leave out what is no text file"
        if encoding == "utf-16":
            raise Unreadable("the text is no UTF-16, which it begins as", Place(name), fix=fix) from None
        start = error.start + (3 if raw.startswith(b"\xef\xbb\xbf") else 0)
        line = raw.rfind(b"\n", 0, start) + 1
        place = Place(name, raw.count(b"\n", 0, start) + 1, len(raw[line:start].decode("utf-8-sig", "replace")) + 1)
        raise Unreadable(f"byte 0x{raw[start]:02x} is not UTF-8", place, fix=fix) from None
    if "\0" in file.text:
        place = file.place(file.text.index("\0"))
        raise Unreadable("this is no text: it holds a NUL character", place, fix="leave out what is no text file")
    return file


def _read(path: str) -> bytes:
    # Not to wait for the writer of a FIFO.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            kind = next((word for test, word in _KINDS if test(status.st_mode)), "no regular file")
            raise Unreadable(f"this is {kind}", Place(path), fix="name a regular file")
        if status.st_size > LARGEST:
            raise _too_large(path, f": {status.st_size >> 20} MiB")
        return _all_of(descriptor, path)  # not by its size: a file of /proc has none
    finally:
        os.close(descriptor)


def _standard_input() -> bytes:
    return _all_of(0, STANDARD_INPUT)


def _all_of(descriptor: int, name: str) -> bytes:
    raw = bytearray()
    while piece := os.read(descriptor, 1 << 24):
        raw += piece
        if len(raw) > LARGEST:
            raise _too_large(name)
    return bytes(raw)


def _too_large(name: str, size: str = "") -> Unreadable:
    fix = "split it: rules are read a group at a time, so that nothing is lost"
    return Unreadable(f"the file is larger than {LARGEST >> 20} MiB{size}", Place(name), fix=fix)


_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)
