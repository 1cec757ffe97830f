"""What a workload's process may do with a writer: anything, and none of it raises."""

import math
import os
import signal
import stat
import subprocess
import sys
from array import array
from decimal import Decimal
from pathlib import Path

import pytest

from watchkeeper_fleet import spool
from watchkeeper_fleet.spool import layout

IDENTITY = {"workload": "train", "process": "0", "rank": "7"}


@pytest.fixture
def writer(tmp_path):
    writer = spool.Writer(str(tmp_path), IDENTITY)
    yield writer
    writer.abandon()


def test_an_empty_one(writer, tmp_path):
    (record,), refused = spool.scan(str(tmp_path))
    assert not refused
    assert (record.fields, record.values, record.texts, record.mark) == ((), (), {}, "")
    assert record.created <= record.heartbeat
    assert record.identity == {**spool.whereabouts(), **IDENTITY}
    assert record.identity.keys() >= {"pid", "boot_id", "start_time", "pid_namespace", "host"}
    assert record.inode == writer.inode


def test_values_are_those_of_the_fields_so_far(writer):
    first = writer.field("torch_process_ready")
    second = writer.field("gpu_kernel_seconds_bucket", le="+Inf", kernel="gemm", gpu="0")
    assert (first, second) == (0, 1)
    assert writer.field("gpu_kernel_seconds_bucket", gpu="0", kernel="gemm", le="+Inf") == second
    for values, expected in (
        ([1, 2], (1.0, 2.0)),
        ([3], (3.0,)),
        ([], ()),
        ([4, 5, 6], (4.0, 5.0)),
        (array("d", [7, 8]), (7.0, 8.0)),
        ((True, Decimal("0.5")), (1.0, 0.5)),
    ):
        assert writer.publish(values)
        record = spool.read(writer.path)
        assert record.values == expected
        assert len(record.fields) == len(expected)
    assert spool.read(writer.path).fields[1].labels == (("gpu", "0"), ("kernel", "gemm"), ("le", "+Inf"))
    assert writer.dropped == 0


def test_nan_is_no_value_and_what_is_too_large_is_clamped(writer):
    for name in "abcde":
        writer.field(name)
    writer.publish([math.nan, math.inf, -math.inf, 2e18, -0.5])
    record = spool.read(writer.path)
    assert [field.name for field in record.fields] == ["b", "c", "d", "e"]
    assert record.values == (1e18, -1e18, 1e18, -0.5)


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("", {}),
        ("9lives", {}),
        ("with space", {}),
        ("naïve", {}),
        ("x" * 101, {}),
        ("x\n", {}),
        ("x", {"rank": "1"}),
        ("x", {"workload": "another"}),
        ("x", {"process": "1"}),
        ("x", {"__name__": "y"}),
        ("x", {"": "y"}),
        ("x", {"a-b": "y"}),
        ("x", {"a": "line\nbreak"}),
        ("x", {"a": "\0"}),
        ("x", {"a": "\udc80"}),
        ("x", {"a": "y" * 201}),
        ("x", {"le": "one"}),
        ("x", {"le": "NaN"}),
        ("x", {"a": 1}),
        ("x", {"a": None}),
        ("x", {"a": []}),
        (None, {}),
        (["x"], {}),
        ("x", {f"l{number}": "" for number in range(9)}),
    ],
)
def test_a_field_that_could_not_be_served(writer, name, labels):
    assert writer.field(name, **labels) is None
    assert writer.dropped == 1
    assert writer.field("fine", self="a", name="b", **{"class": "c"}) == 0
    assert writer.publish([1])
    assert spool.read(writer.path).fields == (spool.Field("fine", (("class", "c"), ("name", "b"), ("self", "a"))),)


def test_five_hundred_fields_and_no_more(writer):
    places = [writer.field("torch_cuda_memory_reserved_bytes", gpu=str(number)) for number in range(503)]
    assert places == [*range(500), None, None, None]
    assert writer.dropped == 3
    assert writer.field("torch_cuda_memory_reserved_bytes", gpu="499") == 499
    assert writer.publish(list(range(503)))
    record = spool.read(writer.path)
    assert record.values == tuple(map(float, range(500)))
    assert record.fields[499].labels == (("gpu", "499"),)


def test_long_fields_fill_the_file_sooner(writer):
    places = [writer.field("x", function=f"{number:03}" + "é" * 197) for number in range(500)]
    full = places.index(None)
    assert 150 < full < 250
    assert set(places[full:]) == {None}
    assert writer.publish([1.0] * 500)
    assert len(spool.read(writer.path).values) == full


@pytest.mark.parametrize("values", [["a"], [None], None, 5, [10**400], {1: 2}.values(), [object()]])
def test_values_that_are_none(writer, values):
    writer.field("torch_process_ready")
    assert writer.publish([2.0])
    writer.publish(values)
    assert spool.read(writer.path).values in ((2.0,), ())
    assert writer.publish([3.0])
    assert spool.read(writer.path).values == (3.0,)


def test_texts_are_bounded(writer):
    assert writer.set_text("torch_version", "2.13.0")
    assert writer.set_text("allocator", "a\nb" + "c" * 500)
    assert writer.set_text("torch_version", "2.14.0")
    texts = spool.read(writer.path).texts
    assert texts == {"torch_version": "2.14.0", "allocator": "a?b" + "c" * 197}
    assert not writer.set_text("no name", "x")
    assert not writer.set_text("", "x")
    assert not writer.set_text(None, "x")
    assert writer.set_text("number", 5)
    many = [writer.set_text(f"t{number}", "x" * 200) for number in range(20)]
    assert many.count(True) == 8
    assert spool.read(writer.path).texts == {**texts, "number": "5", **{f"t{n}": "x" * 200 for n in range(8)}}
    assert writer.dropped == 15


def test_identity_is_made_to_fit(tmp_path):
    odd = {"workload": "a\nb", "rank": "é" * 400, "bad name": "x", "number": 5, "bytes": "\udc80", "pid": "9/../9"}
    writer = spool.Writer(str(tmp_path), odd)
    identity = spool.read(writer.path).identity
    assert identity["workload"] == "a?b"
    assert identity["rank"] == "é" * 200
    assert (identity["number"], identity["bytes"]) == ("5", "?")
    assert "bad name" not in identity
    assert Path(writer.path).parent == tmp_path
    writer.abandon()
    writer = spool.Writer(str(tmp_path), {f"k{number}": "€" * 200 for number in range(40)})
    assert 5 < len(spool.read(writer.path).identity) < 32
    writer.abandon()


def test_after_the_end_nothing_happens(writer):
    writer.field("torch_process_ready")
    writer.publish([1.0])
    writer.close("clean")
    data = Path(writer.path).read_bytes()
    assert writer.field("x") is None
    assert not writer.publish([2.0])
    assert not writer.set_text("a", "b")
    assert not writer.beat()
    writer.close("exception:ValueError")
    writer.abandon()
    assert Path(writer.path).read_bytes() == data
    assert spool.read(writer.path).mark == "clean"


def test_a_file_that_is_taken_away(writer):
    assert writer.beat()
    Path(writer.path).unlink()
    assert not writer.beat()
    assert writer.publish([])
    Path(writer.path).write_bytes(b"another's")
    assert not writer.beat()


def test_the_folder_is_found_after_a_change_of_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spool").mkdir()
    writer = spool.Writer("spool", IDENTITY)
    monkeypatch.chdir("/")
    assert writer.beat()
    writer.abandon()


def test_what_others_may_do_with_the_file(tmp_path):
    before = os.umask(0o077)
    try:
        writer = spool.Writer(str(tmp_path), IDENTITY)
    finally:
        os.umask(before)
    status = Path(writer.path).stat()
    assert stat.S_IMODE(status.st_mode) == 0o640
    assert status.st_blocks * 512 >= status.st_size == layout.SIZE
    assert not os.get_inheritable(writer._fd)
    writer.abandon()


@pytest.mark.parametrize("folder", ["missing", "a-file"])
def test_only_the_creation_raises(tmp_path, folder):
    (tmp_path / "a-file").touch()
    with pytest.raises(OSError, match=folder):
        spool.Writer(str(tmp_path / folder), IDENTITY)


def test_a_signal_in_the_midst_of_publishing_that_publishes(writer):
    """A handler runs in the thread that it interrupts: it must not wait for that for ever."""
    writer.field("torch_process_ready")
    done = []

    def handler(*_):
        done.append(writer.publish([2.0]))
        writer.field("torch_process_ready", function=str(len(done)))

    class Interrupting:
        def __float__(self):
            signal.raise_signal(signal.SIGUSR1)
            return 1.0

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        assert writer.publish([Interrupting()])
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert done == [False]
    assert spool.read(writer.path).values == (1.0,)


def test_where_there_is_no_proc(tmp_path):
    assert spool.whereabouts(str(tmp_path)) == {"pid": str(os.getpid()), "host": os.uname().nodename}


def test_the_writer_needs_no_reader():
    """What the agent loads into a workload."""
    program = (
        "import sys; from watchkeeper_fleet.spool import Writer; print(*(m for m in sys.modules if 'watchkeeper' in m))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert set(found) == {
        "watchkeeper_fleet",
        "watchkeeper_fleet.spool",
        "watchkeeper_fleet.spool.layout",
        "watchkeeper_fleet.spool.writer",
    }
