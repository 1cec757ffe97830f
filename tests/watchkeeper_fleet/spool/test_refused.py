"""What is no spool file, and what lies in the folder beside them."""

import os
import socket
import struct
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from spool_fuzz import sealed

from watchkeeper_fleet import spool
from watchkeeper_fleet.spool import layout

IDENTITY = {"workload": "train", "process": "0", "rank": "7"}


@pytest.fixture
def path(tmp_path):
    writer = spool.Writer(str(tmp_path), IDENTITY)
    writer.field("torch_process_ready", gpu="0")
    writer.field("torch_process_ready", gpu="1")
    writer.publish([1.0, 2.0])
    writer.abandon()
    return Path(writer.path)


def reason(path, **options):
    with pytest.raises(spool.Refused) as refused:
        spool.read(str(path), **options)
    assert refused.value.reason in spool.REASONS
    return refused.value.reason


def with_bytes(path, place, new, *, seal=True):
    data = bytearray(path.read_bytes())
    data[place : place + len(new)] = new
    path.write_bytes(sealed(data) if seal else data)
    return path


def test_other_kinds_of_files(path, tmp_path):
    beside = {kind: tmp_path / f"{kind}.spool" for kind in ("symlink", "dangling", "fifo", "directory", "special")}
    beside["symlink"].symlink_to(path)
    beside["dangling"].symlink_to("nowhere")
    os.mkfifo(beside["fifo"])
    beside["directory"].mkdir()
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(beside["special"]))
    server.close()
    for kind, at in beside.items():
        assert reason(at) == kind.replace("dangling", "symlink")
    records, refused = spool.scan(str(tmp_path))
    assert [record.path for record in records] == [str(path)]
    assert refused == {"symlink": 2, "fifo": 1, "directory": 1, "special": 1}


def test_a_file_under_two_names_would_count_twice(path, tmp_path):
    os.link(path, tmp_path / "again.spool")
    assert reason(path) == "hardlink"
    assert spool.scan(str(tmp_path))[1] == {"hardlink": 2}


@pytest.mark.parametrize("size", [0, 1, layout.FIELDS, layout.SIZE - 1, layout.SIZE + 1, 10 * layout.SIZE])
def test_another_size(path, size):
    data = path.read_bytes()
    path.write_bytes((data * 10)[:size])
    assert reason(path) == "size"


def test_a_huge_file_is_not_read(path):
    os.truncate(path, 1 << 40)
    assert reason(path) == "size"


def test_a_sparse_file(path, tmp_path):
    sparse = tmp_path / "sparse.spool"
    with sparse.open("wb") as file:
        file.write(path.read_bytes()[: layout.FIELDS])
        file.truncate(layout.SIZE)
    assert reason(sparse) == "sparse"


def test_another_owner(path):
    mine = os.getuid()
    assert spool.read(str(path), owner={mine}).owner == mine
    assert reason(path, owner={mine + 1}) == "owner"
    scanner = spool.Scanner(str(path.parent), owner={mine + 1, mine + 2})
    assert scanner.scan() == ([], {"owner": 1})


def test_what_may_not_be_read(path):
    path.chmod(0)
    before = os.geteuid()
    if not before:
        os.seteuid(65534)
    try:
        assert reason(path) == "unreadable"
    finally:
        os.seteuid(before)


def test_what_is_gone(path, tmp_path):
    path.unlink()
    assert reason(path) == "gone"
    assert spool.scan(str(tmp_path)) == ([], {})
    with pytest.raises(FileNotFoundError):
        spool.scan(str(path))


@pytest.mark.parametrize(
    ("place", "new", "expected"),
    [
        (0, b"x", "magic"),
        (8, b"\2", "version"),
        (8, b"\0\0\0\1", "version"),  # the other byte order
        (13, b"\0", "size"),
        (layout.HEADER_CHECKED + 12, b"\xff\xff", "crc"),  # length of the identity
        (layout.HEADER.size, b"\xff\xff", "identity"),
        (layout.HEADER.size + 2, b"\n", "identity"),
        (layout.HEADER.size + 2, b"\xff", "identity"),
        (layout.TEXTS + layout.TEXT_SIZE + 4, b"\1\0\0\0", "text"),
        (layout.FIELDS + 4, b"\0\0", "field"),
        (layout.FIELDS + 4, b"\xff\xff", "crc"),
        (layout.FIELDS + layout.FIELD.size + 4, b"9", "field"),
        (layout.FIELDS + layout.FIELD.size + 4, b" ", "field"),
    ],
)
def test_bytes_that_are_wrong(path, place, new, expected):
    assert reason(with_bytes(path, place, new)) == expected


@pytest.mark.parametrize(
    "place", [layout.HEADER.size + 3, layout.HEADER_CHECKED - 1, layout.HEADER_CHECKED + 4, layout.FIELDS + 20]
)
def test_a_check_sum(path, place):
    byte = path.read_bytes()[place]
    assert reason(with_bytes(path, place, bytes([byte ^ 1]), seal=False)) == "crc"


def test_the_same_series_twice(path):
    data = path.read_bytes()
    place = data.index(b"gpu\x01\x001", layout.FIELDS)
    assert reason(with_bytes(path, place, b"gpu\x01\x000")) == "field"


@pytest.mark.parametrize(("old", "new"), [(b"gpu", b"g u"), (b"\1\0000", b"\1\0\n"), (b"\1\0000", b"\1\0\x9b")])
def test_a_label_that_would_break_the_text(path, old, new):
    place = path.read_bytes().index(old, layout.FIELDS)
    assert reason(with_bytes(path, place, new)) == "field"


def test_a_label_of_the_process_is_not_a_fields(tmp_path):
    writer = spool.Writer(str(tmp_path), IDENTITY)
    writer.field("torch_process_ready", runk="1")
    writer.publish([1])
    writer.abandon()
    path = Path(writer.path)
    place = path.read_bytes().index(b"runk", layout.FIELDS)
    assert reason(with_bytes(path, place, b"rank")) == "field"


def test_more_values_than_fields(path):
    slot = layout.SLOTS + 8
    data = path.read_bytes()
    new = max((slot, slot + layout.SLOT_SIZE), key=lambda start: layout.SLOT.unpack_from(data, start)[0])
    count = struct.pack("I", 3)
    assert reason(with_bytes(path, new + 16, count)) == "field"
    # Beyond the capacity the slot is none; the older one is there.
    assert spool.read(str(with_bytes(path, new + 16, struct.pack("I", 501)))).generation == 1


def test_times_that_lie(path):
    for start in (layout.SLOTS + 8, layout.SLOTS + layout.SLOT_SIZE + 8):
        with_bytes(path, start + 8, struct.pack("d", 1e300))
    with_bytes(path, layout.HEADER_CHECKED + 4, struct.pack("d", float("nan")))
    record = spool.read(str(path), now=1e9)
    assert (record.heartbeat, record.created) == (1e9, 0.0)


def test_a_name_that_no_writer_gives(path, tmp_path):
    os.rename(path, os.fsencode(tmp_path) + b"/\xff.spool")  # noqa: PTH104 - bytes
    (tmp_path / "new\nline.spool").touch()
    (tmp_path / "other.txt").touch()
    (tmp_path / ".spool.new").touch()
    assert spool.scan(str(tmp_path)) == ([], {"name": 2})


def test_so_many_files_and_no_more(tmp_path):
    for _ in range(7):
        spool.Writer(str(tmp_path), IDENTITY).abandon()
    records, refused = spool.scan(str(tmp_path), limit=5)
    assert (len(records), refused) == (5, Counter(limit=2))
    records, refused = spool.scan(str(tmp_path), limit=7)
    assert (len(records), refused) == (7, {})


def test_the_first_of_each_owner_come_first():
    things = [(owner, number) for owner, count in ((1, 5), (2, 1), (3, 2)) for number in range(count)]
    all_of_them = spool.shared(things, lambda thing: thing[0])
    assert all_of_them == [(1, 0), (2, 0), (3, 0), (1, 1), (3, 1), (1, 2), (1, 3), (1, 4)]
    assert spool.shared(things, lambda thing: thing[0], 4) == all_of_them[:4]


def test_those_that_were_read_before_go_first(tmp_path):
    scanner = spool.Scanner(str(tmp_path), limit=3)
    for _ in range(3):
        spool.Writer(str(tmp_path), IDENTITY).abandon()
    before = {record.path for record in scanner.scan()[0]}
    for number in range(50):
        (tmp_path / f"{number}.spool").touch()
    records, refused = scanner.scan()
    assert {record.path for record in records} == before
    assert refused == Counter(limit=50)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_no_owner_locks_the_others_out(tmp_path):
    spool.Writer(str(tmp_path), IDENTITY).abandon()
    for number in range(50):
        other = tmp_path / f"{number}.spool"
        other.touch()
        os.chown(other, 12345, 12345)
    records, refused = spool.Scanner(str(tmp_path), limit=4).scan()
    assert len(records) == 1
    assert refused == Counter(size=3, limit=47)
    records, refused = spool.Scanner(str(tmp_path), limit=4, owner={os.geteuid()}).scan()
    assert len(records) == 1
    assert refused == Counter(owner=50)


def test_a_scanner_forgets_what_is_gone(tmp_path):
    writers = [spool.Writer(str(tmp_path), IDENTITY) for _ in range(3)]
    for number, writer in enumerate(writers):
        writer.field("torch_process_ready", gpu=str(number))
        writer.publish([number])
    scanner = spool.Scanner(str(tmp_path))
    first = scanner.scan()[0]
    again = scanner.scan()[0]
    assert {id(record.fields) for record in first} == {id(record.fields) for record in again}
    for writer in writers:
        writer.abandon()
        Path(writer.path).unlink()
    scanner.scan()
    memory = scanner._memory
    assert (memory.described, memory.fields, memory.pairs, memory.generations) == ({}, {}, {}, {})


def test_a_scanner_sees_fields_that_come_later(tmp_path):
    writer = spool.Writer(str(tmp_path), IDENTITY)
    scanner = spool.Scanner(str(tmp_path))
    for number in range(5):
        writer.field("torch_process_ready", gpu=str(number))
        for value in (1.0, 2.0):
            writer.publish([value] * (number + 1))
            (record,), _ = scanner.scan()
            assert record.values == (value,) * (number + 1)
            assert [dict(field.labels) for field in record.fields] == [{"gpu": str(n)} for n in range(number + 1)]
    # Fewer again, and another file in its place.
    writer.publish([3.0])
    assert len(scanner.scan()[0][0].fields) == 1
    writer.abandon()
    other = spool.Writer(str(tmp_path), IDENTITY)
    other.field("torch_process_ready", gpu="x")
    other.publish([1.0])
    other.abandon()
    Path(writer.path).write_bytes(Path(other.path).read_bytes())
    Path(other.path).unlink()
    (record,), _ = scanner.scan()
    assert record.fields[0].labels == (("gpu", "x"),)


def test_removed_is_the_file_that_was_read(path, tmp_path):
    record = spool.read(str(path))
    other = spool.Writer(str(tmp_path), IDENTITY)
    other.abandon()
    os.replace(other.path, path)  # noqa: PTH105 - strings
    assert not spool.remove(record.path, record.inode)
    record = spool.read(str(path))
    assert spool.remove(record.path, record.inode)
    assert not path.exists()
    assert not spool.remove(record.path, record.inode)


def test_what_was_left_half_made_is_swept(path, tmp_path):
    for name, age in (("old.spool.new", 100), ("young.spool.new", 10), ("old.txt", 100)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    assert spool.sweep(str(tmp_path), now=1000) == 1
    assert {at.name for at in tmp_path.iterdir()} == {"young.spool.new", "old.txt", path.name}
