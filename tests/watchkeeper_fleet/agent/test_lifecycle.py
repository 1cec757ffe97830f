"""The agent in real processes: when it begins, what it leaves, and that the workload notices nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

VERSIONS = ("2.1.2", "2.3.1", "2.5.1", "2.7.1", "2.9.1", "2.11.0", "2.14.1")
# Each one line, to be put into a program at any indentation.
UP = (
    "import os, sys, time, shapes, torch; torch.cuda.initialize()"
    "; torch.cuda.statistics[0] = shapes.statistics('2.14.1')"
)
START = "from watchkeeper_fleet import agent; agent.start()"
SAY_UP = "print('up', flush=True)"


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_allocator_says_is_published(children, version):
    done = children.run(f"{UP}\ntorch.cuda.statistics[0] = shapes.statistics({version!r})\n{START}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    found = children.values()
    mib = 1 << 20
    assert found["torch_cuda_memory_allocated_bytes gpu=0"] == 5 * mib
    assert found["torch_cuda_memory_reserved_bytes gpu=0"] == 6 * mib
    assert found["torch_cuda_memory_active_bytes gpu=0"] == 7 * mib
    assert found["torch_cuda_memory_inactive_split_bytes gpu=0"] == 8 * mib
    assert found["torch_cuda_memory_requested_bytes gpu=0"] == 9 * mib
    assert found["torch_cuda_memory_reserved_peak_bytes gpu=0"] == 6 * mib + 7
    assert found["torch_cuda_oversize_allocations gpu=0"] == 1
    assert found["torch_cuda_alloc_retries_total gpu=0"] == 3
    assert found["torch_cuda_ooms_total gpu=0"] == 1
    assert found["torch_cuda_initialized"] == 1
    assert found["torch_process_ready"] == 0
    assert found["watchkeeper_agent_faults_total"] == 0
    # A device that holds nothing has its counters at 0, and no bytes.
    assert [name for name in found if name.endswith("gpu=1")] == [
        "torch_cuda_alloc_retries_total gpu=1",
        "torch_cuda_ooms_total gpu=1",
    ]
    calls = found.get("torch_cuda_device_alloc_calls_total gpu=0")
    assert calls == (None if version in ("2.1.2", "2.3.1") else 50)  # it came with 2.4 or 2.5
    waits = found.get("torch_cuda_sync_all_streams_total gpu=0")
    assert waits == (None if version in ("2.1.2", "2.3.1") else 4)
    pools = [found.get(f"torch_cuda_memory_private_pools{one} gpu=0") for one in ("", "_reserved_bytes")]
    assert pools == ([4, 20] if version == "2.14.1" else [None, None])


def test_a_private_pool_that_is_gone_is_counted_no_more(children):
    children.run(
        f"""
        {UP}
        pools = torch.cuda.statistics[0]["reserved_bytes_by_private_pools"]
        pools["0_1"] = {{"all": {{"current": 0, "peak": 9}}}}
        pools["0_2"] = {{"all": []}}
        {START}
        """
    )
    found = children.values()
    assert found["torch_cuda_memory_private_pools gpu=0"] == 2
    assert found["torch_cuda_memory_private_pools_reserved_bytes gpu=0"] == 10


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({}, {}),
        ({"CUDA_VISIBLE_DEVICES": "1,0"}, {"uuid_0": "unknown", "uuid_1": "unknown"}),
        ({"CUDA_VISIBLE_DEVICES": "GPU-AB12-c, MIG-0c,"}, {"uuid_0": "ab12-c", "uuid_1": "0c"}),
        ({"CUDA_VISIBLE_DEVICES": "GPU-AB12-c"}, {"uuid_0": "ab12-c", "uuid_1": "unknown"}),
        ({"NVIDIA_VISIBLE_DEVICES": "all"}, {"uuid_0": "unknown", "uuid_1": "unknown"}),
    ],
    ids=["nothing renumbers", "numbers", "uuids", "fewer", "a container"],
)
def test_a_torch_that_tells_no_uuid_is_not_joined_by_guess(children, environment, told):
    names = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "KUBERNETES_SERVICE_HOST")
    unset = "".join(f"os.environ.pop({name!r}, None); " for name in names if name not in environment)
    children.run(
        f"""
        {UP}
        {unset}
        torch.cuda.get_device_properties = lambda device: object()
        torch.cuda.statistics[1] = torch.cuda.statistics[0]
        {START}
        """,
        **environment,
    )
    assert {key: text for key, text in children.record().texts.items() if key.startswith("uuid")} == told


def test_who_it_is_and_what_runs(children):
    children.run(
        f"{UP}\n{START}",
        RANK="11",
        LOCAL_RANK="3",
        WATCHKEEPER_WORKLOAD="llama",
        PYTORCH_CUDA_ALLOC_CONF="roundup_power2_divisions:[256:1,512:2],expandable_segments:True,max_split_size_mb:128",
    )
    found = children.record()
    assert {key: found.identity[key] for key in ("workload", "process", "rank")} == {
        "workload": "llama",
        "process": "3",
        "rank": "11",
    }
    version = ".".join(map(str, sys.version_info[:3]))
    assert found.texts == {
        "python_version": version,
        "torch_version": "2.14.1+cu130",
        "cuda_version": "13.0",
        "cudnn_version": "9.1.0",
        "nccl_version": "2.27.5",
        "backend": "native",
        "expandable_segments": "true",
        "max_split_size_mb": "128",
        "uuid_0": "00000000-aaaa-bbbb-cccc-dddddddddddd",
        "uuid_1": "00000001-aaaa-bbbb-cccc-dddddddddddd",
    }
    assert found.mark == "clean"


def test_nothing_is_done_before_torch_is_imported(children):
    done = children.run(
        f"""
        import os, sys, threading
        {START}
        def state():
            return len(os.listdir(os.environ["WATCHKEEPER_SPOOL"])), len(os.listdir("/proc/self/task"))
        before = state()
        watched = len([finder for finder in sys.meta_path if type(finder).__name__ == "TorchFinder"])
        import json.tool, torch, time
        while not state()[0]: time.sleep(0.01)
        left = len([finder for finder in sys.meta_path if type(finder).__name__ == "TorchFinder"])
        print(before, watched, left, state()[1], threading.active_count())
        """,
    )
    # And the thread is none that threading lists.
    assert (done.stdout, done.stderr) == ("(0, 1) 1 0 2 1\n", "")


def test_a_search_for_torch_is_no_import(children):
    done = children.run(
        """
        import importlib.util, os, sys, time
        from watchkeeper_fleet.agent import lifecycle, recorder
        recorder.WAITING, recorder.PATIENCE = 0.01, 3
        lifecycle.start()
        assert importlib.util.find_spec("torch")
        assert lifecycle.FINDER not in sys.meta_path
        end = time.monotonic() + 60
        while lifecycle.FINDER not in sys.meta_path and time.monotonic() < end: time.sleep(0.01)
        time.sleep(0.1)
        spool = os.environ["WATCHKEEPER_SPOOL"]
        print(lifecycle.FINDER in sys.meta_path, len(os.listdir("/proc/self/task")), os.listdir(spool))
        import torch
        while not os.listdir(spool): time.sleep(0.01)
        """,
    )
    assert (done.stdout, done.stderr) == ("True 1 []\n", "")
    assert children.record().mark == "clean"


@pytest.mark.parametrize("off", [{"WATCHKEEPER_AGENT": "0"}, {}], ids=["switched off", "never started"])
def test_off_is_off(children, off):
    code = f"""
    {START if off else ""}
    from watchkeeper_fleet import agent
    import os, torch
    agent.ready(); agent.expect(5)
    with agent.step(): pass
    print(os.listdir("/proc/self/task") == [str(os.getpid())])
    agent.stop()
    """
    done = children.run(code, **off)
    assert (done.stdout, done.stderr) == ("True\n", "")
    assert [*children.folder.iterdir()] == []


def test_ready_expect_and_steps(children, until):
    code = f"""
    import torch, time
    {START}
    torch.cuda.initialize()
    import shapes
    torch.cuda.statistics[0] = shapes.statistics("2.14.1")
    agent.ready()
    agent.expect(123 << 20)
    agent.expect(9, device=1)
    with agent.step():
        with agent.step(): pass
        time.sleep(0.01)
    torch.cuda.calls.clear()
    {SAY_UP}
    with agent.step():
        input()
    """
    with children.running(code) as child:
        found = until(lambda: (v := children.values()).get("torch_work_in_progress") == 1 and v)
        assert found["torch_process_ready"] == 1
        assert found["torch_cuda_expected_bytes gpu=0"] == 123 << 20
        assert found["torch_cuda_expected_bytes gpu=1"] == 9
        assert found["torch_cuda_device_free_bytes gpu=0"] == 3 << 30
        assert found["torch_cuda_device_total_bytes gpu=0"] == 8 << 30
        assert children.record().heartbeat - found["torch_progress_timestamp_seconds"] < 60
        assert children.record().pid == child.pid


def test_the_thread_makes_no_call_that_the_device_sees(children):
    code = f"""
    {UP}
    from watchkeeper_fleet.agent import recorder
    recorder.INTERVAL = 0.01
    {START}
    from watchkeeper_fleet.agent.lifecycle import STATE
    end = time.monotonic() + 60
    while STATE.recorder.writer._generation <= 10 and time.monotonic() < end: time.sleep(0.01)
    thread = list(torch.cuda.calls)
    with agent.step(): pass
    print(thread, *torch.cuda.calls[-1])
    """
    children.quiet(code, "[] mem_get_info MainThread\n")
    assert children.record().generation > 10


def test_device_memory_is_not_asked_for_during_a_capture(children):
    code = f"""
    {UP}
    torch.cuda.is_current_stream_capturing = lambda: True
    {START}
    with agent.step(): pass
    print([name for name, _ in torch.cuda.calls if name != "current_device"])  # that one a capture does not mind
    """
    assert children.run(code).stdout == "[]\n"


def test_a_refused_request_is_on_record_at_once(children):
    # As torch has it: the observer is called, then the exception is raised, then perhaps somebody kills the process.
    code = f"""
    {UP}
    import os
    {START}
    while not torch._C.observers: time.sleep(0.01)
    torch._C.observers[0](1, 77 << 20, 8 << 30, 1 << 20)
    os._exit(9)
    """
    assert children.run(code).returncode == 9
    found = children.record()
    assert children.values(found)["torch_cuda_last_oom_request_bytes gpu=1"] == 77 << 20
    assert (found.state, found.mark) == ("dead", "")


@pytest.mark.parametrize(
    ("end", "mark"),
    [
        ("", "clean"),
        ("import sys; sys.exit(3)", "clean"),
        ("raise MemoryError", "exception:MemoryError"),
        ("class OutOfMemoryError(RuntimeError): pass\nraise OutOfMemoryError('x')", "exception:OutOfMemoryError"),
        ("raise KeyboardInterrupt", "exception:KeyboardInterrupt"),
        ("import os; os._exit(0)", ""),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", ""),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", ""),
        ("import os; os.abort()", ""),
        ("agent.stop()", "clean"),
    ],
)
def test_the_stop_mark(children, end, mark):
    children.run(f"{UP}\n{START}\n{end}")
    found = children.record()
    assert (found.mark, found.state) == (mark, "dead")
    assert (
        children.values(found)["torch_cuda_memory_reserved_bytes gpu=0"] == 6 << 20
    )  # the last values are there all the same


def test_a_started_agent_may_be_stopped_and_started(children):
    children.run(f"{UP}\n{START}\nagent.stop()\nagent.start()\nagent.ready()")
    first, second = children.records()
    assert (first.mark, second.mark) == ("clean", "clean")
    assert first.identity["process"] == second.identity["process"] == "0"
    assert children.values(second)["torch_process_ready"] == 1


def test_slots_are_small_and_stable(children, until):
    code = f"import torch\n{START}\n{SAY_UP}\ninput()"
    with children.running(code), children.running(code):
        assert {r.identity["process"] for r in children.records()} == {"0", "1"}
        (gone,) = [r for r in children.records() if r.identity["process"] == "0"]
        os.kill(gone.pid, signal.SIGKILL)
        until(lambda: [r for r in children.records() if r.state == "dead"])
        with children.running(code) as third:
            assert [r.identity["process"] for r in children.records() if r.pid == third.pid] == ["0"]
            # A launcher's local rank is the slot, unless that is taken.
            with children.running(code, LOCAL_RANK="6") as fourth, children.running(code, LOCAL_RANK="1") as fifth:
                slots = {r.pid: r.identity["process"] for r in children.records() if r.state == "live"}
                assert (slots[fourth.pid], slots[fifth.pid]) == ("6", "2")


def test_a_file_that_someone_removes_is_written_anew(children, until):
    code = f"""
    {UP}
    from watchkeeper_fleet.agent import recorder
    recorder.INTERVAL = recorder.BEAT = 0.01
    {START}
    {SAY_UP}
    input()
    """
    with children.running(code) as child:
        before = children.record()
        os.unlink(before.path)  # noqa: PTH108 - a string
        after = until(lambda: (r := children.records()) and r[0])
        assert (after.pid, after.identity["process"]) == (child.pid, before.identity["process"])
        assert after.path != before.path
        texts = until(lambda: (t := children.record().texts).get("uuid_1") and t)
        assert (texts["torch_version"], texts["uuid_0"][-4:]) == ("2.14.1+cu130", "dddd")
        assert texts["python_version"] == before.texts["python_version"]


@pytest.mark.parametrize("size", [0, 5000, 98303])
def test_a_file_that_was_cut_short_ends_nobody_and_is_replaced(children, until, size):
    code = f"""
    {UP}
    from watchkeeper_fleet.agent import recorder
    recorder.INTERVAL = recorder.BEAT = 0.01
    {START}
    {SAY_UP}
    input()
    print("still here")
    """
    with children.running(code) as child:
        before = children.record()
        os.truncate(before.path, size)
        until(lambda: not os.path.exists(before.path))  # noqa: PTH110 - a string
        after = until(lambda: (r := children.records()) and r[0])
        assert (after.pid, after.path != before.path) == (child.pid, True)
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "still here\n"


def test_without_a_folder_the_workload_runs(children):
    children.folder = children.folder / "none"
    children.quiet(f"{UP}\n{START}\nagent.ready()\nwith agent.step(): pass\nprint('ran')", "ran\n")


@pytest.mark.parametrize(
    "fault",
    [
        "torch.cuda.statistics[0] = {'reserved_bytes': 7, 'allocated_bytes': {'all': []}, 'num_ooms': 'x'}",
        "torch.cuda.memory_stats_as_nested_dict = lambda device: 1 / 0",
        "del torch.cuda.memory_stats_as_nested_dict",
        "torch.cuda.get_device_properties = lambda device: 1 / 0",
        "torch.cuda.mem_get_info = lambda device: 1 / 0",
        "torch.cuda.default_generators = None",
        "del torch.version",
        "del torch._C",
        "torch.cuda.nccl = torch.backends = None",
        "def attach(observer): raise RuntimeError('CUDA')\ntorch._C._cuda_attach_out_of_memory_observer = attach",
        "torch.cuda.is_initialized = lambda: 1 / 0",
        "torch.cuda = None",
        "import sys; sys.modules['torch'] = None",
        "import os; os.environ['LOCAL_RANK'] = os.environ['RANK'] = '\\u0665x'",
        "import sys; sys.argv[:] = []",
    ],
)
def test_a_fault_never_reaches_the_workload(children, fault):
    done = children.run(
        f"{UP}\n{fault}\n{START}\nagent.ready()\nwith agent.step(): pass\ntime.sleep(0.05)\nprint('ran')"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n", "")
    if "modules" not in fault:  # without torch there is a file too: ready() was called
        assert children.values()["torch_process_ready"] == 1


def test_faults_are_counted(children):
    children.run(f"{UP}\ntorch.cuda.memory_stats_as_nested_dict = lambda device: 1 / 0\n{START}")
    assert children.values()["watchkeeper_agent_faults_total"] >= 1


def test_importing_it_costs_little(children):
    # What every Python of an installation pays from 3.15 on, where a .start file names a function of ours.
    code = "import sys\nbefore = set(sys.modules)\nimport watchkeeper_fleet.agent.auto\n"
    code += "print(*sorted(set(sys.modules) - before))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=children.environment(), capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["watchkeeper_fleet", "watchkeeper_fleet.agent", "watchkeeper_fleet.agent.auto"]


def test_starting_it_imports_nothing_heavy(children):
    code = "import sys\nfrom watchkeeper_fleet.agent import auto\nauto.start()\n"
    code += "print({'re', 'typing', 'threading', 'dataclasses', 'mmap', 'enum'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env=children.environment(WATCHKEEPER_AGENT="1"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("set()\n", "")
