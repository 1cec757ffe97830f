"""The agent across fork, multiprocessing and subprocess, in each Python that is here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# Each one line, to be put into a program at any indentation.
SET_UP = "import os, shapes, sys, time, torch; from watchkeeper_fleet.agent import recorder, start, ready, step, stop"
CUDA = "torch.cuda.initialize(); torch.cuda.statistics[0] = shapes.statistics('2.14.1')"
FAST = "recorder.INTERVAL = recorder.WAITING = 0.01"
START = "start()"


def pythons() -> list[str]:
    """The Pythons of this machine that the agent is for, by version: the one that runs this, and what pyenv has."""
    found = {sys.version_info[:2]: sys.executable}
    for path in Path.home().glob(".pyenv/versions/3.*/bin/python3"):
        version = re.match(r"3\.(\d+)\.", path.parts[-3])
        if version and int(version[1]) >= 10:
            found.setdefault((3, int(version[1])), str(path))
    return [path for _, path in sorted(found.items())]


@pytest.fixture(params=pythons(), ids=lambda path: Path(path).parts[-3] if "pyenv" in path else "this Python")
def each(request, children):
    """Children of every Python."""
    children.python = request.param
    return children


def test_a_start_and_an_end(each):
    each.quiet(f"{SET_UP}; {CUDA}\n{START}\nready()\nwith step(): pass\nprint('ran')", "ran\n")
    found = each.record()
    assert found.mark == "clean"
    assert each.values(found)["torch_cuda_memory_reserved_bytes gpu=0"] == 6 << 20
    assert each.values(found)["watchkeeper_agent_faults_total"] == 0


def test_a_forked_child_leaves_its_parents_file_alone(each):
    code = f"""
    {SET_UP}; {CUDA}; {FAST}
    {START}
    ready()
    pid = os.fork()
    if pid == 0:
        # As a DataLoader's worker: no file, no thread, and no mark at its end.
        assert len(os.listdir("/proc/self/task")) == 1, os.listdir("/proc/self/task")
        time.sleep(0.05)
        sys.exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    time.sleep(0.05)
    print("up", flush=True)
    input()
    """
    with each.running(code) as child:
        found = each.record()
        assert (found.pid, found.state, found.mark) == (child.pid, "live", "")
        assert each.values(found)["torch_process_ready"] == 1
        assert each.values(found)["watchkeeper_agent_faults_total"] == 0


def test_a_forked_child_that_counts_has_a_file_of_its_own(each):
    code = f"""
    {SET_UP}; {FAST}
    from watchkeeper_fleet.agent.registry import REGISTRY
    {START}
    counter = REGISTRY.counter("inference_errors_total", function="f")
    counter.add(5)
    pid = os.fork()
    if pid == 0:
        counter.add(2)
        sys.exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    print("up", flush=True)
    input()
    """
    with each.running(code) as child:
        parent, worker = each.records()
        assert (parent.pid, parent.state, worker.state, worker.mark) == (child.pid, "live", "dead", "clean")
        assert each.values(worker)["inference_errors_total function=f"] == 2
        assert each.values(parent)["inference_errors_total function=f"] == 5
        assert [r.identity["process"] for r in (parent, worker)] == ["0", "1"]


def test_a_forked_child_that_brings_cuda_up_has_a_file_of_its_own(each, until):
    code = f"""
    {SET_UP}; {FAST}
    {START}
    if os.fork() == 0:
        {FAST}
        {CUDA}
    print("up", flush=True)
    time.sleep(60)
    """
    with each.running(code) as child:
        until(lambda: len(each.records()) == 2 and each.records()[1].generation > 3)
        parent, worker = each.records()
        assert parent.pid == child.pid
        assert each.values(worker)["torch_cuda_memory_reserved_bytes gpu=0"] == 6 << 20
        assert "torch_cuda_memory_reserved_bytes gpu=0" not in each.values(parent)
        os.kill(worker.pid, 9)


def test_no_workload_is_warned_of_our_thread(each):
    # From 3.12 on Python warns of a fork beside other threads, whoever made them. Early 3.13 counts them too late, when
    # the parent has its thread back.
    said = "warnings.simplefilter('ignore' if sys.version_info[:2] == (3, 13) else 'always')"
    code = f"""
    {SET_UP}; {CUDA}; {FAST}
    import warnings
    {said}
    {START}
    for _ in range(20):
        pid = os.fork()
        if pid == 0: os._exit(0)
        os.waitpid(pid, 0)
    print(len(os.listdir("/proc/self/task")))
    """
    each.quiet(code, "2\n")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(each, tmp_path, method):
    script = tmp_path / "job.py"
    script.write_text(
        f"{SET_UP}\nimport multiprocessing\n"
        f"def work(x):\n    {CUDA}\n    start()\n    ready()\n    return x + 1\n"
        "if __name__ == '__main__':\n"
        f"    {START}\n"
        f"    context = multiprocessing.get_context({method!r})\n"
        "    with context.Pool(2) as pool:\n        print(pool.map(work, [1, 2, 3], chunksize=1))\n"
    )
    each.folder = tmp_path / "spool"
    each.folder.mkdir()
    done = subprocess.run(
        [each.python, "-W", "error", str(script)],
        env=each.environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stderr, done.stdout) == ("", "[2, 3, 4]\n")
    main, *workers = each.records()
    assert main.mark == "clean"
    assert 1 <= len(workers) <= 2  # one may have done it all
    for worker in workers:
        assert each.values(worker)["torch_process_ready"] == 1
        assert worker.state == "dead"


def test_a_preexec_function_and_a_fork_in_c(each):
    # Neither is a fork that Python's handlers see through: the first runs them between fork and exec, the second not.
    # The interpreter's lock is held meanwhile (PyDLL), as where C code forks that Python called: forking without it can
    # leave it in the hands of a thread that the child does not have, whatever is loaded.
    code = f"""
    {SET_UP}; {CUDA}; {FAST}
    {START}
    import ctypes, subprocess, warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        subprocess.run(["true"], preexec_fn=lambda: None, check=True)
    subprocess.run(["true"], check=True)
    pid = ctypes.PyDLL(None).fork()
    if pid == 0:
        ready()
        with step(): pass
        time.sleep(0.05)
        sys.exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    time.sleep(0.05)
    print("up", flush=True)
    input()
    """
    with each.running(code) as child:
        found = each.record()
        assert (found.pid, found.state) == (child.pid, "live")
        assert each.values(found)["torch_process_ready"] == 0


def test_a_storm_of_forks_beside_busy_threads(children):
    code = f"""
    {SET_UP}; {CUDA}; {FAST}
    import threading, warnings
    from watchkeeper_fleet.agent.registry import REGISTRY
    warnings.simplefilter("ignore")  # these forks are beside threads, of the test
    {START}
    counter = REGISTRY.counter("inference_errors_total", function="f")
    histogram = REGISTRY.histogram("inference_latency_seconds", (0.1, 1.0), function="f")
    over = False
    def work():
        while not over:
            counter.add(); histogram.observe(0.5)
            with step(): pass
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads: thread.start()
    pids = []
    for n in range(60):
        pid = os.fork()
        if pid == 0:
            counter.add(n)
            ready()
            os._exit(0)
        pids.append(pid)
    codes = [os.waitpid(pid, 0)[1] for pid in pids]
    over = True
    for thread in threads: thread.join()
    assert codes == [0] * 60, codes
    stop()
    print(REGISTRY.faults)
    """
    children.quiet(code, "0\n")
    parent, *others = children.records()
    assert (parent.mark, len(others)) == ("clean", 60)
    counts = sorted(children.values(record)["inference_errors_total function=f"] for record in others)
    assert counts == [*map(float, range(60))]
    assert {children.values(record)["torch_process_ready"] for record in others} == {1.0}
    assert {children.values(record)["inference_latency_seconds_count function=f"] for record in others} == {0.0}


def test_threads_that_fork_at_once(children):
    code = f"""
    {SET_UP}; {CUDA}; {FAST}
    import threading, warnings
    warnings.simplefilter("ignore")
    {START}
    def work():
        for _ in range(10):
            pid = os.fork()
            if pid == 0: os._exit(0)
            os.waitpid(pid, 0)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    from watchkeeper_fleet.agent.lifecycle import STATE
    before = STATE.recorder.writer._generation
    end = time.monotonic() + 60
    def state(): return STATE.recorder.writer._generation > before, len(os.listdir("/proc/self/task"))
    while state() != (True, 2) and time.monotonic() < end: time.sleep(0.01)
    print(*state())
    """
    children.quiet(code, "True 2\n")
