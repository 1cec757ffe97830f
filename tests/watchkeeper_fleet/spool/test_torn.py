"""A write cut at any byte, and in any order of its bytes, leaves what was there or what was to be."""

from pathlib import Path
from random import Random

import pytest

from watchkeeper_fleet import spool
from watchkeeper_fleet.spool import layout


def publish(writer):
    return writer.publish([11.0, 12.0, 13.0])


def set_text(writer):
    return writer.set_text("step", "two")


def add_field(writer):
    assert writer.field("torch_process_ready", function="new") == 3
    return publish(writer)


@pytest.fixture
def writer(tmp_path):
    writer = spool.Writer(str(tmp_path), {"workload": "w", "process": "0", "rank": "0"})
    for number in range(3):
        writer.field("torch_process_ready", gpu=str(number))
    writer.set_text("step", "one")
    writer.publish([1.0, 2.0, 3.0])
    yield writer
    writer.abandon()


@pytest.mark.parametrize("act", [publish, set_text, add_field], ids=lambda act: act.__name__)
def test_cut_anywhere(writer, act):
    path = Path(writer.path)
    old, before = path.read_bytes(), said(path)
    assert act(writer)
    new, after = path.read_bytes(), said(path)
    assert before != after
    places = [place for place in range(layout.SIZE) if old[place] != new[place]]
    orders = [places, places[::-1], *(Random(seed).sample(places, len(places)) for seed in range(5))]
    for order in orders:
        data = bytearray(old)
        found = []
        for place in order:
            data[place] = new[place]
            path.write_bytes(data)
            found.append(said(path))
        # Of both there is a time, and once it is the new one it stays so.
        assert found == [before] * found.count(before) + [after] * found.count(after)
        assert before in found
        assert found[-1] == after


def test_the_slot_that_is_left_is_the_newer_one(writer):
    path = Path(writer.path)
    for number in range(4):
        writer.publish([number, number, number])
    data = bytearray(path.read_bytes())
    data[layout.SLOTS + writer._generation % 2 * layout.SLOT_SIZE + 20] ^= 1
    path.write_bytes(data)
    assert said(path)[1] == (2.0, 2.0, 2.0)
    data[layout.SLOTS + (writer._generation + 1) % 2 * layout.SLOT_SIZE + 20] ^= 1
    path.write_bytes(data)
    with pytest.raises(spool.Refused, match="crc"):
        said(path)


def said(path):
    record = spool.read(str(path))
    return record.fields, record.values, record.texts, record.generation
