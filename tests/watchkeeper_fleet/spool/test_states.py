"""Who lives, and who is dead: other processes, real locks."""

import os
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from spool_fuzz import sealed
from spool_workload import IDENTITY, Workload

from watchkeeper_fleet import spool
from watchkeeper_fleet.spool import layout


@pytest.fixture
def workload():
    with Workload() as child:
        yield child


def test_a_writer_lives_and_the_kernel_names_it(tmp_path, workload):
    path = workload.make(tmp_path)
    record = spool.read(path)
    assert (record.state, record.pid, record.mark) == ("live", workload.pid, "")
    assert record.identity.items() >= IDENTITY.items()
    assert record.identity["pid"] == str(workload.pid)
    assert record.owner == os.getuid()
    assert record.path == path
    assert dict(zip(record.fields, record.values, strict=True)) == {
        spool.Field("torch_cuda_memory_reserved_bytes", (("gpu", "0"),)): 5e9,
        spool.Field("torch_process_ready"): 1.0,
    }


def test_killed_it_is_dead_at_once_and_its_last_words_stay(tmp_path, workload):
    path = workload.make(tmp_path)
    before = spool.read(path)
    workload.kill()
    assert spool.read(path) == before._replace(state="dead", pid=0)


def test_a_zombie_is_dead(tmp_path, workload):
    path = workload.make(tmp_path)
    os.kill(workload.pid, signal.SIGKILL)
    os.waitid(os.P_PID, workload.pid, os.WEXITED | os.WNOWAIT)
    assert Path(f"/proc/{workload.pid}/stat").exists()
    assert spool.read(path).state == "dead"


def test_the_mark_says_how_it_ended(tmp_path, workload):
    path = workload.make(tmp_path)
    workload.tell("w.close('exception:ValueError')")
    record = spool.read(path)
    assert (record.state, record.mark, record.texts) == ("dead", "exception:ValueError", {})
    assert len(record.values) == 2


def test_silent_for_long_it_is_stale(tmp_path, workload):
    path = workload.make(tmp_path)
    heartbeat = spool.read(path).heartbeat
    assert spool.read(path, now=heartbeat + 30).state == "live"
    assert spool.read(path, now=heartbeat + 30.1).state == "stale"
    assert workload.tell("w.beat()")
    assert spool.read(path).heartbeat > heartbeat
    assert spool.read(path).values == (5e9, 1.0)


def test_a_lock_that_is_lost_is_no_death_and_is_taken_again(tmp_path, workload):
    path = workload.make(tmp_path)
    scanner = spool.Scanner(str(tmp_path))

    def state(later=0):
        (record,), refused = scanner.scan(time.time() + later)
        assert not refused
        return record.state

    assert state() == "live"
    workload.tell("open(w.path, 'rb').close()")  # any descriptor that is closed drops the process's locks
    assert spool.read(path).pid == 0
    assert state() == "dead"  # nothing tells it from one yet
    workload.tell("w.publish([6e9, 1])")
    assert state() == "lock_lost"
    workload.tell("w.beat()")
    assert state() == "live"
    assert spool.read(path).pid == workload.pid
    workload.tell("open(w.path, 'rb').close()")
    assert state() == "dead"
    workload.tell("w.publish([7e9, 1])")
    assert state() == "lock_lost"
    assert state() == "lock_lost"  # two that scrape: nothing new yet
    workload.kill()
    assert state(6) == "dead"


def test_a_reader_that_locks_keeps_nobody_alive(tmp_path, workload):
    path = workload.make(tmp_path)
    workload.kill()
    with Workload() as other:
        other.tell(f"[f := open({path!r}, 'rb')] and __import__('fcntl').lockf(f, 1, 1, 0)")
        assert spool.read(path).state == "dead"


def test_without_locks_the_heartbeat_decides(tmp_path, workload):
    """Where the file system has no record locks, which the header tells."""
    path = Path(workload.make(tmp_path))
    workload.kill()
    data = bytearray(path.read_bytes())
    flags = layout.HEADER_CHECKED
    assert data[flags : flags + 4] == b"\1\0\0\0"
    data[flags] = 0
    path.write_bytes(sealed(data))
    heartbeat = spool.read(str(path)).heartbeat
    assert spool.read(str(path), now=heartbeat + 30).state == "live"
    assert spool.read(str(path), now=heartbeat + 31).state == "dead"


def test_without_locks_the_mark_decides_sooner(tmp_path, workload):
    path = Path(workload.make(tmp_path))
    workload.tell("w.close('clean')")
    data = bytearray(path.read_bytes())
    data[layout.HEADER_CHECKED] = 0
    path.write_bytes(sealed(data))
    record = spool.read(str(path))
    assert (record.state, record.mark) == ("dead", "clean")


def test_forked_children_hold_nothing(tmp_path, workload):
    """A child that is forked, such as DataLoader's, has the descriptor, not the lock."""
    path = workload.make(tmp_path)
    child = workload.tell("os.fork() or os.execv('/bin/sleep', ['sleep', '60'])")
    other = workload.tell("os.fork() or __import__('signal').pause()")
    try:
        assert spool.read(path).pid == workload.pid
        workload.kill()
        os.kill(other, 0)
        assert spool.read(path).state == "dead"
    finally:
        os.kill(child, 9)
        os.kill(other, 9)


def test_a_child_that_abandons_leaves_its_parents_lock(tmp_path, workload):
    path = workload.make(tmp_path)
    status = workload.tell("(lambda pid: os.waitpid(pid, 0)[1] if pid else (w.abandon(), os._exit(0)))(os.fork())")
    assert status == 0
    assert spool.read(path).pid == workload.pid
    assert workload.tell("w.publish([1, 2])")
    assert spool.read(path).values == (1.0, 2.0)


def test_another_program_does_not_inherit_the_file(tmp_path, workload):
    path = workload.make(tmp_path)
    listed = "[os.path.realpath(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd')]"
    assert path in workload.tell(listed)
    program = [sys.executable, "-c", f"import os; print({listed})"]
    told = f"__import__('subprocess').run({program!r}, close_fds=False, capture_output=True, text=True).stdout"
    assert path not in workload.tell(told)


def test_other_threads_publish_too(tmp_path, workload):
    path = workload.make(tmp_path)
    publish = "[w.publish([n, n]) for n in range(2000)]"
    workload.tell(f"[ts := [threading.Thread(target=lambda: {publish}) for _ in range(4)]] and None")
    workload.tell("w.publish([0, 0])")  # which may be read before a thread has run
    workload.tell("[t.start() for t in ts]")
    generations = []
    while workload.tell("any(t.is_alive() for t in ts)"):
        record = spool.read(path)
        assert record.values[0] == record.values[1]
        generations.append(record.generation)
    assert generations == sorted(generations)
    record = spool.read(path)
    assert record.generation == workload.tell("w._generation")
    assert workload.tell("w.dropped") == 0


def test_pid_namespaces(tmp_path):
    unshare = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")
    tried = subprocess.run([*unshare, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip("pid namespaces are not permitted here")
    with Workload(*unshare) as child:
        path = child.make(tmp_path)
        record = spool.read(path)
        assert record.identity["pid"] == "1"
        assert record.state == "live"
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{record.pid}/status").read_text().splitlines())
        assert status["NSpid"].split() == [str(record.pid), "1"]
        assert status["PPid"] == str(child.pid)
        # And from within another namespace, which can't see it: alive still, without a pid.
        with Workload(*unshare) as other:
            told = f"__import__('watchkeeper_fleet.spool').spool.read({path!r})[-3:]"
            assert other.tell(told) == (0, "live", "")
        process = os.pidfd_open(record.pid)
    select.select([process], [], [])  # it ends after unshare has
    os.close(process)
    assert spool.read(path).state == "dead"


def test_a_folder_of_many(tmp_path):
    with ExitStack() as stack:
        children = [stack.enter_context(Workload()) for _ in range(5)]
        for child in children:
            child.make(tmp_path)
        records, refused = spool.scan(str(tmp_path))
        assert {record.pid for record in records} == {child.pid for child in children}
        children[0].kill()
        records, _ = spool.scan(str(tmp_path))
        assert Counter(record.state for record in records) == {"live": 4, "dead": 1}
        assert not refused


def test_a_storm_of_forks(tmp_path, workload):
    """Sixty-four processes that are born and die at once, of a parent that has a file itself, and goes on with it."""
    path = workload.make(tmp_path)
    workload.tell(f"exec({STORM!r}) or None")
    scanner = spool.Scanner(str(tmp_path))
    seen = Counter()
    workload.tell(f"[t := threading.Thread(target=storm, args=({str(tmp_path)!r},))] and t.start()")
    going = True
    while going:
        going = workload.tell("t.is_alive()")
        records, refused = scanner.scan()
        assert not refused
        for record in records:
            seen[record.state] += 1
            if record.state == "live":
                assert str(record.pid) == record.identity["pid"]
                assert record.values in ((), (5e9, 1.0), (1.0,))
    assert workload.tell("statuses") == [0] * 64
    states = Counter(record.state for record in scanner.scan()[0])
    assert states == {"dead": 64, "live": 1}
    assert seen["live"] > 1
    assert spool.read(path).pid == workload.pid


STORM = """
statuses = []
def storm(folder):
    pids = []
    for number in range(64):
        pid = os.fork()
        if not pid:
            status = 1
            try:
                w.abandon()
                own = Writer(folder, {"workload": "storm", "process": str(number), "rank": "0"})
                own.field("torch_process_ready")
                status = 0 if own.publish([1.0]) else 2
                if number % 2:
                    own.close("clean")
            finally:
                os._exit(status)
        pids.append(pid)
    statuses[:] = [os.waitpid(pid, 0)[1] for pid in pids]
"""
