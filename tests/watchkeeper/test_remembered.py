"""What was said the last time is said again, and only while it is still true."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from watchkeeper.remembered import Remembered, Said

PROGRAM = str(Path(sys.executable).with_name("watchkeeper"))
SAID = Said("out\n", "err", 1)
DAY = "2027-01-01"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    old("a.yml", "groups: []\n")
    return tmp_path / "work"


def old(name, text):
    """Write a file and wait until its time of change lies behind: one changed just now is not trusted."""
    Path(name).write_text(text)
    path = Path(name).stat()
    while time.time_ns() < path.st_ctime_ns + 30_000_000:
        os.sched_yield()


def keep(command="check", day=DAY, said=SAID, files=("a.yml",), folders=(".",)):
    Remembered([command], day).keep(said, files, folders)


def recall(command="check", day=DAY):
    return Remembered([command], day).recall()


def test_it_is_said_again_of_the_same(folder):
    assert recall() is None
    keep()
    assert recall() == SAID
    assert recall("check x") is None
    assert recall(day="2027-01-02") is None
    (folder / "below").mkdir()
    os.chdir(folder / "below")
    assert recall() is None


def test_a_file_that_changed():
    keep()
    old("a.yml", "groups: []  \n")
    assert recall() is None
    keep()
    assert recall() == SAID
    before = Path("a.yml").stat()
    old("b", "groups: [ ] \n")  # as long, and of the same time
    os.utime("b", ns=(before.st_atime_ns, before.st_mtime_ns))
    Path("b").replace("a.yml")
    assert (Path("a.yml").stat().st_mtime_ns, Path("a.yml").stat().st_size) == (before.st_mtime_ns, before.st_size)
    assert recall() is None
    old("a.yml", "")
    keep()
    Path("a.yml").unlink()
    assert recall() is None


def test_a_folder_that_changed():
    keep()
    old("new.yml", "")
    assert recall() is None
    keep()
    assert recall() == SAID
    Path("new.yml").unlink()
    assert recall() is None
    Path("__pycache__").mkdir()
    keep()
    assert recall() == SAID


def test_what_changes_meanwhile_is_not_kept():
    running = Remembered(["check"], DAY)
    Path("a.yml").write_text("changed")
    running.keep(SAID, ["a.yml"], ["."])
    assert recall() is None
    keep(files=("nosuch.yml",))
    assert recall() is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "[]",
        "{}",
        "[" * 100_000,
        '{"key": 5}',
        '{"key": null, "files": {}, "folders": {}, "said": ["a", "b", 0]}',
        "\xff",
    ],
    ids=range(8),
)
def test_records_that_are_none(text):
    keep()
    path = Path(Remembered(["check"], DAY).path)
    path.write_text(text, encoding="latin-1")
    assert recall() is None
    keep()
    assert recall() == SAID


@pytest.mark.parametrize("said", [None, [], ["a", "b"], ["a", "b", "c"], [1, 2, 3], ["a", "b", True], {"a": 1}])
def test_records_that_say_something_else(said):
    keep()
    path = Path(Remembered(["check"], DAY).path)
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"said": said}))
    assert recall() is None


def test_a_pipe_in_place_of_a_record():
    keep()
    path = Path(Remembered(["check"], DAY).path)
    path.unlink()
    os.mkfifo(path)
    assert recall() is None


def test_there_is_an_end_to_them():
    for number in range(210):
        keep(f"check {number}", folders=())
    assert len(list(Path(os.environ["XDG_CACHE_HOME"], "watchkeeper").iterdir())) == 200
    assert recall("check 209") == SAID
    keep(said=Said("x" * (1 << 21), "", 0))
    assert recall() is None


def test_no_place_to_keep_them(folder, monkeypatch, tmp_path):
    for cache in ("/proc/nosuch", "/dev/null", "relative", str(folder / "a.yml")):
        monkeypatch.setenv("XDG_CACHE_HOME", cache)
        keep()
        assert recall() is None
    assert sorted(path.name for path in folder.iterdir()) == ["a.yml"]
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    keep()
    assert recall() == SAID
    assert (tmp_path / "home/.cache/watchkeeper").is_dir()


def check(folder, *arguments, **environment):
    done = subprocess.run(
        [PROGRAM, "check", *arguments],
        cwd=folder,
        env={name: value for name, value in {**os.environ, **environment}.items() if value is not None},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def records():
    path = Path(os.environ["XDG_CACHE_HOME"], "watchkeeper")
    return sorted(path.iterdir()) if path.is_dir() else []


RULE = "groups:\n- name: g\n  rules:\n  - record: job:a:sum\n    expr: sum by (job) ({})\n"


def test_the_program_says_the_same_again(folder):
    old("a.yml", RULE.format("up +"))
    first = check(folder, ".")
    assert first[0] == 1
    (record,) = records()
    files = json.loads(record.read_text())["files"]
    assert "a.yml" in files
    assert any(
        name.endswith("watchkeeper/checks/promql_syntax.py") for name in files
    )  # another version says other things
    assert check(folder, ".") == first
    assert [len(records()), record.exists()] == [1, True]
    text = record.read_text()
    record.write_text(text.replace("error[promql/syntax]", "error[remembered]"))
    assert "error[remembered]" in check(folder, ".")[1]  # it is this that was said
    old("a.yml", RULE.format("up"))
    assert check(folder, ".") == (0, "", "1 rule: fine\n")
    old("pyproject.toml", "[tool.watchkeeper]\ntargets = {prometheus = '2.50'}\n")
    check(folder, ".")
    assert len(records()) == 2
    check(folder, ".", "--format", "json")
    assert len(records()) == 3


def test_two_at_once_and_without_a_home(folder):
    old("a.yml", RULE.format("up"))
    runs = [subprocess.Popen([PROGRAM, "check", "."], stderr=subprocess.PIPE, text=True) for _ in range(3)]
    assert [(run.communicate()[1], run.returncode) for run in runs] == [("1 rule: fine\n", 0)] * 3
    assert len(records()) == 1
    assert check(folder, ".", HOME=None, XDG_CACHE_HOME=None)[0] == 0
    assert check(folder, ".", HOME="/proc/nosuch", XDG_CACHE_HOME=None)[0] == 0
    assert sorted(path.name for path in folder.iterdir()) == ["a.yml"]
