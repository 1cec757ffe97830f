"""Where everything lies in a spool file, and what may stand there. docs/spool.md is the same in words."""

from __future__ import annotations

import re
import struct
from sys import intern
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

VERSION = 1
CAPACITY = 500  # fields
SUFFIX = ".spool"
LARGEST = 1e18  # values are clamped to it

MAGIC = b"WKSPOOL\n"
SIZE = 98304
TEXTS, TEXT_SIZE = 4096, 2048
SLOTS, SLOT_SIZE = 8192, 4096
FIELDS = 16384
PAIRS, LENGTH = 32, 200  # of one list, of one text in characters
LABELS = 8
# The daemon adds them: a field that brought its own would pass for another process's.
OWN = frozenset({"workload", "process", "rank"})

# In the byte order of the host. A check sum is of all that follows it; magic, version and size never move.
HEADER = struct.Struct("=8sIIIIdI4x")  # magic, version, size, crc, flags, created, length of the identity
HEADER_CHECKED = 20
TEXT = struct.Struct("=IIQ")  # crc, length, sequence
SLOT_CHECK = struct.Struct("=I4x")
SLOT = struct.Struct("QdII")  # generation, heartbeat, number of fields, length of their descriptors
FIELD = struct.Struct("=IH2x")  # crc, length
LOCKS = 1  # flag: the file system has record locks

_LENGTH = struct.Struct("=H")
_NAME_LENGTH = 100
_BAD = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_BOUND = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]{1,3})?|\+Inf", re.ASCII)


class Field(NamedTuple):
    """One series of a process: its name in the contract, and the labels beyond those of the process, sorted."""

    name: str
    labels: tuple[tuple[str, str], ...] = ()


def packed(pairs: Iterable[tuple[str, str]]) -> bytes:
    """Return texts by twos, each with its length in bytes before it."""
    found: list[bytes] = []
    for pair in pairs:
        for text in pair:
            data = text.encode()
            found += (_LENGTH.pack(len(data)), data)
    return b"".join(found)


def unpacked(data: bytes, *, named_first: bool = True) -> dict[str, str]:
    """Return what was packed; raises ValueError where it isn't that, or no text that a label could have.

    A descriptor's first key is empty: its value is the series' name.
    """
    texts: list[str] = []
    place = 0
    while place < len(data):
        if place + 2 > len(data) or len(texts) == 2 * PAIRS:
            raise ValueError
        start = place + 2
        place = start + _LENGTH.unpack_from(data, place)[0]
        text = data[start:place].decode()
        if place > len(data) or _bad(text):
            raise ValueError
        texts.append(text)
    if len(texts) % 2:
        raise ValueError
    found: dict[str, str] = {}
    for key, value in zip(texts[::2], texts[1::2], strict=True):
        nameless = not named_first and not found
        if key in found or (key if nameless else not named(key)):
            raise ValueError
        found[intern(key)] = value  # few names, in very many fields
    return found


def cleaned(value: object) -> str:
    """Return a text that `unpacked` takes."""
    return _BAD.sub("?", str(value))[:LENGTH]


def _bad(text: str) -> bool:
    # What is printable, as nearly all is, is told faster than by the expression.
    return len(text) > LENGTH or (not text.isprintable() and _BAD.search(text) is not None)


def named(key: str) -> bool:
    """Whether a text may stand for a label's or an identity's name."""
    return key.isidentifier() and key.isascii() and len(key) <= _NAME_LENGTH


def wrong(field: Field) -> bool:
    """Whether a field is none that a daemon could serve."""
    names = [name for name, _ in field.labels]
    return (
        not named(field.name)
        or len(names) > LABELS
        or names != sorted(set(names))
        or any(name in OWN or name.startswith("__") or not named(name) for name in names)
        or any(_bad(value) for _, value in field.labels)
        or any(name == "le" and not _BOUND.fullmatch(value) for name, value in field.labels)
    )
