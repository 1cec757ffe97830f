"""Mutated spool files for the reader: whatever they hold, it gives a sound record or a reason."""

from __future__ import annotations

import math
import os
import re
import struct
from binascii import crc32
from pathlib import Path
from typing import TYPE_CHECKING

from watchkeeper_fleet import spool
from watchkeeper_fleet.spool.layout import (
    FIELD,
    FIELDS,
    HEADER,
    HEADER_CHECKED,
    SIZE,
    SLOT,
    SLOT_SIZE,
    SLOTS,
    TEXT,
    TEXT_SIZE,
    TEXTS,
)

if TYPE_CHECKING:
    from collections import Counter
    from random import Random

NOW = 2e9
NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*", re.ASCII)
STATES = {"live", "stale", "dead", "lock_lost"}
NUMBERS = (
    0,
    1,
    7,
    127,
    128,
    255,
    256,
    499,
    500,
    501,
    4095,
    4096,
    32767,
    65535,
    65536,
    81920,
    2**31 - 1,
    2**31,
    2**32 - 1,
)
FLOATS = (math.nan, math.inf, -math.inf, 1e300, -1e300, 5e-324, -0.0, 1e18, 1.1e18)
WORDS = (
    *(b"\n", b"\0", b'"', b"\\", b"}", b"\xff", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\x1b[2J", b"__name__", b"rank"),
    *(b"workload", b"le", b"NaN", b"+Inf", b"", b"\xf4\x90\x80\x80", b"\xc0\x80", b"a" * 300),
)


AMOUNTS = (0, 1, 6, 60, 500)  # of fields
WEIGHTS = (10, 60, 60, 3, 0.3)  # the large ones take long


def seeds(folder: Path) -> list[bytes]:
    """Return files as they are written: nothing in them, some, all that fits."""
    found = []
    for amount in AMOUNTS:
        writer = spool.Writer(str(folder), {"workload": "träin", "process": str(amount), "rank": "0", "pod": "p" * 90})
        for number in range(amount):
            if number % 3:
                writer.field("gpu_kernel_seconds_bucket", gpu="0", kernel=f"k{number}", le=str(number / 8))
            else:
                writer.field("torch_cuda_memory_reserved_bytes", gpu=str(number))
        assert not writer.dropped
        writer.set_text("torch_version", "2.13.0+cpu")
        writer.set_text("mark", "exception:RuntimeError")
        writer.publish([number * 1.5 for number in range(amount)])
        writer.publish([number * 2.5 for number in range(amount)])
        writer.abandon()
        found.append(Path(writer.path).read_bytes())
        Path(writer.path).unlink()
    return found


def sealed(data: bytearray) -> bytearray:
    """Make the check sums fit what they are of, so that what lies behind them is reached."""
    length = HEADER.unpack_from(data)[6]
    _put(data, HEADER_CHECKED - 4, HEADER_CHECKED, HEADER.size + length)
    for start in (TEXTS, TEXTS + TEXT_SIZE):
        _, length, _ = TEXT.unpack_from(data, start)
        _put(data, start, start + 4, start + TEXT.size + length)
    end = 0
    for start in (SLOTS, SLOTS + SLOT_SIZE):
        _, _, count, length = SLOT.unpack_from(data, start + 8)
        _put(data, start, start + 8, start + 8 + SLOT.size + 8 * count)
        end = max(end, min(length, SIZE - FIELDS))
    place = FIELDS
    for _ in range(600):
        if place + FIELD.size > FIELDS + end:
            break
        _, length = FIELD.unpack_from(data, place)
        _put(data, place, place + FIELD.size, place + FIELD.size + length)
        place += FIELD.size + length
    return data


def _put(data: bytearray, where: int, start: int, end: int) -> None:
    struct.pack_into("=I", data, where, crc32(data[start : min(end, SIZE)]))


def mutated(original: bytes, other: bytes, random: Random) -> bytearray:
    """Return a file with some of it changed, half of the time with the right check sums."""
    data = bytearray(original)
    for _ in range(random.choice((1, 1, 1, 2, 4, 16))):
        used = random.choice((20, HEADER.size + 300, 200, 80, 80, 4064, 200, 2000, 2000))
        start = random.choice((0, 0, TEXTS, TEXTS + TEXT_SIZE, SLOTS, SLOTS + SLOT_SIZE, FIELDS, FIELDS, FIELDS))
        at = start + random.randrange(used)
        kind = random.randrange(8)
        if kind == 0:
            data[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            data[at] = random.randrange(256)
        elif kind == 2:
            struct.pack_into(random.choice("HI"), data, at, random.choice(NUMBERS) % 65536)
        elif kind == 3:
            struct.pack_into("I", data, at & ~3, random.choice(NUMBERS))
        elif kind == 4:
            struct.pack_into("d", data, at & ~7, random.choice(FLOATS))
        elif kind == 5:
            word = random.choice(WORDS)
            data[at : at + len(word)] = word
        elif kind == 6:
            length = random.choice((1, 8, 64, 512, 4096))
            data[at : at + length] = other[at : at + length]
        else:
            length = random.choice((1, 2, 8, 48))
            source = start + random.randrange(used)
            data[at : at + length] = data[source : source + length]
    del data[SIZE:]
    if random.random() < 0.6:
        sealed(data)
    if random.random() < 0.01:
        data = data[: random.randrange(SIZE)] if random.random() < 0.5 else data + bytes(random.randrange(1, 5000))
    return data


def run(files: int, random: Random, folder: Path, counts: Counter[str]) -> list[str]:
    """Have the reader read so many files; return what it did wrong."""
    originals = seeds(folder)
    path = folder / f"fuzz{spool.SUFFIX}"
    scanner = spool.Scanner(str(folder))
    wrong: list[str] = []
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        for number in range(files):
            one, other = random.choices(originals, WEIGHTS, k=2)
            data = mutated(one, other, random)
            os.pwrite(fd, data, 0)
            os.ftruncate(fd, len(data))
            try:
                # In turn with a memory of what the file said before, and without.
                records, refused = scanner.scan(NOW) if number % 2 else ([spool.read(str(path), now=NOW)], {})
            except spool.Refused as error:
                records, refused = [], {error.reason: 1}
            except Exception as error:  # noqa: BLE001 - what is looked for
                wrong.append(f"file {number}: {type(error).__name__}: {error}")
                continue
            counts.update(refused)
            counts["read"] += len(records)
            faults = [fault for record in records for fault in unsound(record)]
            if len(records) + sum(refused.values()) != 1 or not refused.keys() <= set(spool.REASONS):
                faults.append(f"{len(records)} records, {refused}")
            if faults:
                wrong.append(f"file {number}: {faults}")
                (folder / f"wrong-{number}").write_bytes(data)
    finally:
        os.close(fd)
    return wrong


def unsound(record: spool.Record) -> list[str]:
    """Return what of a record a daemon could not serve, found out in other ways than the reader's."""
    found = []
    lines = set()
    for field, value in zip(record.fields, record.values, strict=True):
        if not (math.isfinite(value) and abs(value) <= spool.LARGEST):
            found.append(f"value {value}")
        labels = dict(field.labels)
        if not NAME.fullmatch(field.name) or not all(map(NAME.fullmatch, labels)) or len(labels) != len(field.labels):
            found.append(f"field {field}")
        if labels.keys() & {"workload", "process", "rank"} or any(name.startswith("__") for name in labels):
            found.append(f"another's label in {field}")
        if "le" in labels and math.isnan(float(labels["le"])):
            found.append(f"bound {labels['le']}")
        lines.add((field.name, *sorted(labels.items())))
    if len(lines) != len(record.fields) or len(lines) > spool.CAPACITY:
        found.append("a series twice, or too many")
    for texts in (
        record.identity,
        record.texts,
        {"mark": record.mark},
        *(dict(field.labels) for field in record.fields),
    ):
        for key, text in texts.items():
            if not NAME.fullmatch(key) or len(text) > 200 or len(text.splitlines()) > 1:
                found.append(f"text {key!r} {text!r}")
            if any(ord(character) < 32 or 127 <= ord(character) < 160 for character in text):
                found.append(f"control character in {text!r}")
            text.encode()
    if not (0 <= record.heartbeat <= NOW and 0 <= record.created <= NOW):
        found.append(f"times {record.heartbeat} {record.created}")
    if record.state not in STATES or not 0 <= record.generation < 2**64 or record.pid:
        found.append(f"{record.state} {record.generation} {record.pid}")
    return found
