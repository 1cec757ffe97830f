"""What GitHub has answered, on disk: whole, or refused and asked for anew."""

import json
import stat
from random import Random

import pytest

from watchkeeper_fleet.trunk import cache as module
from watchkeeper_fleet.trunk.cache import Cache, Page

PAGES = {
    "https://api.github.com:443/repos/o/r/commits?sha=main&page=1": Page(
        'W/"1"', False, False, (("a" * 40, 1.5, "b" * 40), ("b" * 40, 1.0, ""))
    ),
    "jobs#1": Page("", True, True, (('na"me\n\U0001f525', 1, 1, "completed", "success", 1.0, None, 3.25),)),
    "empty": Page('"x"', False, True, ()),
}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "trunk.state"
    cache = Cache(path)
    cache.pages.update(PAGES)
    cache.kept["exporter"] = {"success": 1.0}
    cache.save()
    assert cache.saved
    return path


def test_what_was_saved_is_there_again(path):
    cache = Cache(path)
    assert (cache.pages, cache.kept, cache.refused) == (PAGES, {"exporter": {"success": 1.0}}, "")
    assert list(path.parent.iterdir()) == [path]


def test_the_same_gives_the_same_bytes(path):
    before = path.read_bytes()
    Cache(path).save()
    assert path.read_bytes() == before


def test_without_a_file_there_is_nothing_and_nothing_is_written(tmp_path):
    cache = Cache()
    cache.save()
    assert (cache.pages, cache.saved, cache.refused) == ({}, False, "")
    assert Cache(tmp_path / "none").refused == ""


def test_pages_that_are_not_used_are_forgotten(path):
    cache = Cache(path)
    cache.keep({"empty", "never seen"})
    cache.save()
    assert Cache(path).pages == {"empty": PAGES["empty"]}


def test_names_are_held_once(path):
    cache = Cache(path)
    cache.pages["again"] = PAGES["jobs#1"]
    cache.save()
    again = Cache(path)
    assert again.pages["again"].rows[0][0] is again.pages["jobs#1"].rows[0][0]


BAD = {
    "empty": b"",
    "no JSON": b"hello\n",
    "a list": b"[]\n[]\n",
    "null bytes": bytes(4096),
    "no UTF-8": b"\xff\xfe\xff\n\xff\n",
    "deep": b"[" * 100_000,
    "another format": b'{"format": "something"}\n{"crc32": 0}\n',
    "another version": b'{"format": "watchkeeper trunk", "version": 999}\n{"crc32": 0}\n',
    "head alone": b'{"format": "watchkeeper trunk", "version": 2, "kept": {}}\n',
    "wrong sum": b'{"format": "watchkeeper trunk", "version": 2, "kept": {}}\n{"crc32": 1}\n',
}


@pytest.mark.parametrize("name", BAD)
def test_garbage_is_refused_and_replaced(tmp_path, name):
    path = tmp_path / "trunk.state"
    path.write_bytes(BAD[name])
    cache = Cache(path)
    assert cache.refused.startswith(f"{path} is not used: it is ")
    assert cache.refused.endswith("; all is asked anew")
    assert (cache.pages, cache.kept) == ({}, {})
    cache.pages.update(PAGES)
    cache.save()
    assert Cache(path).pages == PAGES


def test_a_file_that_was_cut_short_anywhere_is_refused(path):
    whole = path.read_bytes()
    for size in range(len(whole) - 1):  # the newline at the end is no loss
        path.write_bytes(whole[:size])
        cache = Cache(path)
        assert cache.refused, size
        assert (cache.pages, cache.kept) == ({}, {}), size


def test_a_file_with_a_changed_byte_is_refused(path):
    whole = path.read_bytes()
    random = Random(7)
    for _ in range(500):
        data = bytearray(whole)
        place = random.randrange(len(data) - 1)
        data[place] ^= 1 << random.randrange(8)
        path.write_bytes(data)
        cache = Cache(path)
        # White space beside the check sum says nothing, so what is read is what was written.
        assert cache.refused or cache.pages == PAGES, place
        assert not cache.refused or cache.pages == {}, place


def test_a_file_that_is_too_large_is_refused(path, monkeypatch):
    monkeypatch.setattr(module, "LARGEST", path.stat().st_size - 1)
    cache = Cache(path)
    assert "it has more than" in cache.refused
    assert cache.pages == {}


def test_what_is_too_large_is_not_written(path, monkeypatch):
    before = path.read_bytes()
    cache = Cache(path)
    cache.pages["more"] = PAGES["jobs#1"]
    monkeypatch.setattr(module, "LARGEST", len(before))
    cache.save()
    assert not cache.saved
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_told(tmp_path):
    cache = Cache(tmp_path / "none" / "trunk.state")
    cache.save()
    assert not cache.saved


def test_a_folder_in_place_of_the_file_is_told(tmp_path):
    cache = Cache(tmp_path)
    assert cache.refused == f"{tmp_path} can't be read: Is a directory"
    cache.save()
    assert not cache.saved


def test_a_full_disk_leaves_the_file_as_it_was(path):
    before = path.read_bytes()
    cache = Cache(path)
    path.with_name("trunk.state.new").symlink_to("/dev/full")
    cache.save()
    assert not cache.saved
    assert path.read_bytes() == before
    path.with_name("trunk.state.new").unlink()
    cache.save()
    assert cache.saved


def test_a_file_of_half_a_save_is_no_hindrance(path):
    path.with_name("trunk.state.new").write_bytes(b"half")
    cache = Cache(path)
    cache.save()
    assert cache.saved
    assert Cache(path).pages == PAGES


def test_the_file_is_lines_of_json(path):
    head, *lines, tail = [json.loads(line) for line in path.read_text().splitlines()]
    assert head == {"format": "watchkeeper trunk", "version": 2, "kept": {"exporter": {"success": 1.0}}}
    assert [line[0] for line in lines] == list(PAGES)
    assert list(tail) == ["crc32"]
    assert stat.S_ISREG(path.stat().st_mode)
