"""The kernel sampler beside the real torch: a profile of the workload's is complete, whenever it is taken.

There is no GPU here: torch's operations on the CPU stand in for kernels, by way of the same profiler.
"""

from __future__ import annotations

import math
import threading
from collections import Counter

import pytest

from watchkeeper_fleet.agent.kernels import Kernels, Sampler
from watchkeeper_fleet.agent.recording import Recording
from watchkeeper_fleet.agent.registry import Registry
from watchkeeper_fleet.metrics.agent import KERNEL

torch = pytest.importorskip("torch", reason="torch is not here")

CPU = torch.profiler.ProfilerActivity.CPU
HOOKED = ("_prepare_profiler", "_enable_profiler", "_disable_profiler")


def work():
    x = torch.ones(8, 8)
    (x @ x + 1).sum()


def seen(profile):
    """What a profile holds: operations, and how often."""
    return sorted((event.key, event.count) for event in profile.key_averages() if event.key.startswith("aten::"))


def profiled(**options):
    with torch.profiler.profile(activities=[CPU], **options) as profile:
        work()
    return seen(profile)


def other_profiled():
    with torch.autograd.profiler.profile() as profile:
        work()
    return seen(profile)


def in_thread(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


class Watched:
    """A sampler whose time is ours, and which is always due but for its pause."""

    def __init__(self):
        self.now = 0.0
        self.registry = Registry()
        self.recording = Recording("CPU")
        self.sampler = Sampler(self.recording, Kernels(self.registry), clock=lambda: self.now)

    def step(self, inside=work):
        self.now += 1e6
        self.sampler.begin()
        try:
            return inside()
        finally:
            self.sampler.end()

    @property
    def kernels(self):
        """How many kernels have been counted."""
        row = [0.0] * 100
        total = 0
        for cell in self.registry._order:
            if cell.name == str(KERNEL):
                cell.fold(row, 0)
                total += max(row[: len(KERNEL.buckets) + 1])
        return total


@pytest.fixture(autouse=True)
def _hooks(monkeypatch):
    """What is hooked is unhooked afterwards."""
    for name in HOOKED:
        monkeypatch.setattr(torch.autograd.profiler, name, getattr(torch.autograd.profiler, name))


@pytest.fixture
def alone():
    """What the workload's profile holds where there is no sampler."""
    found = profiled()
    assert ("aten::mm", 1) in found
    return found


@pytest.fixture
def watched(alone):
    watched = Watched()
    watched.step()
    assert watched.kernels >= len(alone)  # it works
    return watched


@pytest.fixture
def recorded(watched):
    """One in whose step something else is done."""

    def run(inside):
        def checked():
            assert watched.recording._on
            return inside()

        return watched.step(checked)

    return run


def test_what_is_recorded(watched):
    labels = {cell.labels["kernel"] for cell in watched.registry._order if cell.name == str(KERNEL)}
    assert {"aten::mm", "aten::sum", "other", "nccl"} <= labels
    assert not torch.autograd._profiler_enabled()
    assert not torch.autograd.profiler._is_profiler_enabled


def test_again_and_again(watched):
    before = watched.kernels
    for _ in range(20):
        watched.step()
    assert watched.kernels == 21 * before


def test_kernels_of_other_threads_are_seen(watched):
    before = watched.kernels
    watched.step(lambda: in_thread(work))
    assert watched.kernels == 2 * before


PROFILES = {
    "torch.profiler": profiled,
    "of all threads": lambda: profiled(
        experimental_config=torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    ),
    "with stacks": lambda: profiled(with_stack=True),
    "torch.autograd.profiler": other_profiled,
    "in a thread": lambda: in_thread(profiled),
}


@pytest.mark.parametrize("take", PROFILES.values(), ids=PROFILES)
def test_a_profile_within_a_recorded_step(watched, recorded, alone, take):
    kernels = watched.kernels
    assert recorded(take) == alone
    assert not watched.recording._on
    assert watched.kernels == kernels  # what was cut off is no sample
    assert profiled() == alone
    watched.step()
    assert watched.kernels > kernels


@pytest.mark.parametrize("take", PROFILES.values(), ids=PROFILES)
def test_a_profile_between_a_step_and_the_end_of_its_recording(watched, alone, take, monkeypatch):
    """On a GPU it ends only when what the step launched has run."""
    monkeypatch.setattr(Recording, "done", lambda _: False)
    watched.step()
    assert watched.recording._on
    assert take() == alone
    assert not watched.recording._on


def test_steps_within_a_profile_are_not_recorded(watched, alone):
    kernels = watched.kernels
    with torch.profiler.profile(activities=[CPU]) as profile:
        for _ in range(3):
            watched.step()
    assert seen(profile) == [(name, 3 * count) for name, count in alone]
    assert watched.kernels == kernels


def test_nor_where_another_thread_has_one(watched, alone):
    kernels = watched.kernels
    begun, ended = threading.Event(), threading.Event()

    def take():
        with torch.profiler.profile(activities=[CPU]) as profile:
            begun.set()
            assert ended.wait(60)
            work()
        return seen(profile)

    found = []
    thread = threading.Thread(target=lambda: found.append(take()))
    thread.start()
    assert begun.wait(60)
    for _ in range(3):
        watched.step()
    ended.set()
    thread.join()
    assert found == [alone]
    assert watched.kernels == kernels


# It says so whoever has a schedule.
@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events at the end of each cycle:UserWarning")
def test_a_profile_that_is_prepared_and_begins_later(watched, alone):
    """A schedule has it warm up: torch itself shows nothing of that."""
    found = []
    kernels = []
    with torch.profiler.profile(
        activities=[CPU],
        schedule=torch.profiler.schedule(wait=2, warmup=2, active=1, repeat=2),
        on_trace_ready=lambda profile: found.append(seen(profile)),
    ) as profile:
        for _ in range(12):
            before = watched.kernels
            watched.step()
            kernels.append(watched.kernels > before)
            profile.step()
    assert found == [alone, alone]
    # wait, wait, warm up, warm up, active; twice; then nothing more.
    assert kernels == [True, True, False, False, False] * 2 + [True, True]


def test_a_profile_that_fails(watched, recorded, alone):
    def fail():
        with torch.profiler.profile(activities=[CPU]):
            raise KeyError("of the workload")

    with pytest.raises(KeyError, match="of the workload"):
        recorded(fail)
    kernels = watched.kernels
    watched.step()
    assert watched.kernels > kernels
    assert profiled() == alone


def test_many_profiles_of_two_threads_at_any_moment(watched, alone):
    found = []
    end = threading.Event()

    def take():
        while not end.is_set():
            found.append(profiled())

    thread = threading.Thread(target=take)
    thread.start()
    try:
        for _ in range(150):
            watched.step()
    finally:
        end.set()
        thread.join()
    assert found
    # Complete: torch may note more, of its own doing.
    assert [missing for profile in found if (missing := Counter(dict(alone)) - Counter(dict(profile)))] == []
    assert not watched.sampler.off
    kernels = watched.kernels
    watched.step()
    assert watched.kernels > kernels


def test_steps_of_other_threads_are_not_recorded(watched):
    before = watched.kernels
    in_thread(watched.step)
    assert watched.kernels == before
    watched.step()
    assert watched.kernels > before


def test_everything_at_once(children):
    """As on a GPU, by the device's activity alone: steps of two threads, profiles of a third, the publisher."""
    code = """
    import threading, torch
    from watchkeeper_fleet.agent.kernels import Kernels, Sampler
    from watchkeeper_fleet.agent.recording import Recording
    from watchkeeper_fleet.agent.registry import Registry
    torch.set_num_threads(1)

    class Device(Recording):  # as if there were one
        possible = lambda self: True
        ready = lambda self: True
        mark = lambda self: None

    now, over, taken = 0, False, []
    sampler = Sampler(Device(), Kernels(Registry()), clock=lambda: now)

    def work():
        x = torch.ones(8, 8)
        (x @ x + 1).sum()

    def step():
        sampler.begin()
        work()
        sampler.end()

    def profiles():
        global over
        for _ in range(60):
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
                work()
            taken.append(sorted((e.key, e.count) for e in profile.key_averages() if e.key.startswith("aten::")))
        over = True

    def others():
        while not over:
            step()
            sampler.expire()

    step()  # from now on profiles are seen
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        work()  # it imports a lot, once
    threads = [threading.Thread(target=profiles), threading.Thread(target=others)]
    for thread in threads:
        thread.start()
    while not over:
        now += 1e6
        step()
    for thread in threads:
        thread.join()
    assert not sampler.off
    assert len(taken) == 60 and all(one == taken[0] for one in taken), taken
    """
    done = children.run(code, torch=None)
    assert done.returncode == 0, done.stderr


def test_a_nested_step_is_part_of_its_step(watched):
    before = watched.kernels

    def inside():
        watched.sampler.begin()
        work()
        watched.sampler.end()
        work()

    watched.step(lambda: (inside(), work()))
    assert watched.kernels == 4 * before


def test_the_cost_is_measured(watched):
    assert watched.sampler._costs[-1] > 0
    assert watched.recording.spent == 0
    watched.recording.start()
    watched.recording.stop()
    assert watched.recording.spent > 0
    assert math.isfinite(watched.recording.spent)


def test_what_a_gpu_would_need_is_asked_first(monkeypatch):
    recording = Recording()
    assert not recording.possible()  # no CUDA in this torch
    monkeypatch.setattr(torch.version, "cuda", "12.4")
    assert not recording.possible()
    monkeypatch.setattr(torch.version, "cuda", "12.6")
    monkeypatch.setattr(torch.autograd, "_supported_activities", lambda: {torch.autograd.ProfilerActivity.CUDA})
    assert recording.possible()
    monkeypatch.setenv("CUDA_INJECTION64_PATH", "/nsys/injection.so")
    assert not recording.possible()
    assert not torch.cuda.is_initialized()


def test_without_a_gpu_nothing_is_recorded():
    now = [0.0]
    sampler = Sampler(Recording(), Kernels(Registry()), clock=lambda: now[0])
    now[0] = 1e6
    sampler.begin()
    work()
    sampler.end()
    assert sampler.off
    assert not torch.cuda.is_initialized()


def test_forks_in_a_recorded_step(children):
    """The child inherits no recording and makes none: torch's profiler would never return there."""
    code = """
    import os, torch
    from watchkeeper_fleet.agent.kernels import Kernels, Sampler
    from watchkeeper_fleet.agent.recording import Recording
    from watchkeeper_fleet.agent.registry import Registry
    torch.set_num_threads(1)
    now, recording, registry = 0, Recording("CPU"), Registry()
    sampler = Sampler(recording, Kernels(registry), clock=lambda: now)

    def step():
        global now
        now += 1e6
        sampler.begin()
        torch.ones(2) + 1
        sampler.end()

    now += 1e6
    sampler.begin()
    assert recording._on
    child = os.fork()
    assert not recording._on
    sampler.end()
    step()
    if child == 0:
        assert sampler.off and not registry._order
        os._exit(7)
    assert registry._order and not sampler.off
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7, status
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        torch.ones(2) + 1
    assert "aten::add" in [event.key for event in profile.key_averages()]
    """
    done = children.run(code, torch=None)
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr


@pytest.mark.parametrize("end", ["pass", "raise KeyError('of the program')"])
def test_the_end_of_a_process_in_a_recorded_step(children, end):
    code = f"""
    import torch
    from watchkeeper_fleet import agent
    from watchkeeper_fleet.agent.recording import Recording
    agent.start()
    recording = Recording("CPU")
    assert recording.watch() and recording.start()
    torch.ones(2) + 1
    {end}
    """
    done = children.run(code, torch=None)
    assert done.returncode == (1 if "raise" in end else 0), done.stderr
    assert children.record().mark == ("exception:KeyError" if "raise" in end else "clean")


def test_workers_that_were_forked_are_left_alone(children, tmp_path):
    """Ours is first imported in the worker; torch may have been before."""
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing\n"
        "def work(queue):\n"
        "    from watchkeeper_fleet.agent.recording import forked\n"
        "    queue.put(forked())\n"
        "if __name__ == '__main__':\n"
        "    for method in ('fork', 'spawn'):\n"
        "        multiprocessing.set_start_method(method, force=True)\n"
        "        queue = multiprocessing.Queue()\n"
        "        worker = multiprocessing.Process(target=work, args=(queue,))\n"
        "        worker.start(); print(queue.get(timeout=100)); worker.join()\n"
    )
    done = children.run(f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')", torch=None)
    assert done.stdout == "True\nFalse\n", done.stderr


def test_it_is_switched_on(children):
    """In a process of its own, by the variable and by a call: without a GPU nothing comes of it."""
    code = """
    import torch
    from watchkeeper_fleet import agent
    agent.start()
    from watchkeeper_fleet.agent import kernels
    (sampler,) = kernels._SAMPLERS
    assert agent.sample_kernels(top=10)
    assert kernels._SAMPLERS == [sampler] and not sampler.off
    sampler._due = 0
    for _ in range(3):
        with agent.step():
            torch.ones(2) + 1
    print(sampler.off, torch.cuda.is_initialized())
    """
    done = children.run(code, torch=None, WATCHKEEPER_KERNELS="1")
    assert (done.stderr, done.stdout) == ("", "True False\n")
    assert children.values()["watchkeeper_agent_faults_total"] == 0


def test_kernels_by_way_of_the_spool(children):
    """Steps of the agent with operations for kernels, and a profile of the program's own in one of them."""
    code = """
    import torch
    from watchkeeper_fleet import agent
    from watchkeeper_fleet.agent import boundaries
    from watchkeeper_fleet.agent.kernels import Kernels, Sampler
    from watchkeeper_fleet.agent.recording import Recording
    from watchkeeper_fleet.agent.registry import REGISTRY
    torch.set_num_threads(1)
    agent.start()
    now = 0
    sampler = Sampler(Recording("CPU"), Kernels(REGISTRY, top=3), clock=lambda: now)
    boundaries.BEGIN.append(sampler.begin)
    boundaries.END.append(sampler.end)
    x = torch.ones(64, 64)
    for number in range(20):
        now += 1e6
        with agent.step():
            x @ x
            if number == 10:
                with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
                    x @ x
    counts = {event.key: event.count for event in profile.key_averages()}
    assert counts["aten::mm"] == 1, counts
    """
    done = children.run(code, torch=None)
    assert done.returncode == 0, done.stderr
    values = children.values()
    found = {name: value for name, value in values.items() if "kernel=aten::mm" in name and "le=+Inf" in name}
    assert list(found.values()) == [19.0], values
    kernels = {name.partition("kernel=")[2].partition(" ")[0] for name in values if "kernel=" in name}
    assert len(kernels) <= 3 + 2
    assert values["watchkeeper_agent_faults_total"] == 0
