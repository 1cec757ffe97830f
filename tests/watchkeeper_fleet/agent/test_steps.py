"""Steps and loaders: what is counted as work and as waiting, in real processes beside a real torch on the CPU."""

from __future__ import annotations

import copy
import importlib.util
import itertools
import pickle
import subprocess
import threading
from operator import length_hint

import pytest

from watchkeeper_fleet import agent
from watchkeeper_fleet.agent import steps
from watchkeeper_fleet.agent.feeding import Loader
from watchkeeper_fleet.agent.registry import REGISTRY, Registry
from watchkeeper_fleet.agent.steps import Clock, Meter, Step
from watchkeeper_fleet.alerts.gpu_stall import OFFERED, RATIO, STALLED
from watchkeeper_fleet.alerts.processes import ZOMBIE
from watchkeeper_fleet.exporter.collection import Collector
from watchkeeper_fleet.exporter.gpus import Snapshot
from watchkeeper_fleet.exporter.host import Host
from watchkeeper_fleet.exporter.state import State
from watchkeeper_fleet.metrics import agent as metrics
from watchkeeper_fleet.metrics.exporter import PROCESS_CPU

HOST = {"job": "watchkeeper", "instance": "n1", "node": "n1", "cluster": "c1"}


def test_names_are_those_of_the_contract():
    assert metrics.STEP_WALL.name == steps.STEP_WALL
    assert metrics.DATA_WAIT.name == steps.DATA_WAIT
    assert metrics.STALL.name == steps.STALL
    assert metrics.IDLE.name == steps.IDLE
    assert metrics.UNMEASURED_WAITS.name == steps.UNMEASURED


class TestClock:
    def test_pieces_that_overlap_count_once(self):
        clock = Clock()
        assert clock.begin("a", 10.0)
        assert not clock.begin("b", 11.0)
        clock.end("a", 12.0)
        assert clock.read(13.0) == 3.0
        clock.end("b", 14.0)
        assert clock.read(99.0) == 4.0
        clock.begin("c", 100.0)
        assert clock.read(101.0) == 5.0

    def test_what_was_never_begun(self):
        clock = Clock()
        clock.end("a", 12.0)
        assert clock.read(13.0) == 0.0


@pytest.fixture
def meter(monkeypatch):
    """A meter of its own under the steps and loaders of this test, which must count no fault."""
    meter = Meter(Registry())
    monkeypatch.setattr(steps, "METER", meter)
    monkeypatch.setattr("watchkeeper_fleet.agent.feeding.METER", meter)
    before = REGISTRY.faults
    yield meter
    assert REGISTRY.faults == before


@pytest.fixture
def clock(monkeypatch):
    """The time, which stands still unless a test moves it."""

    class Now:
        at = 1000.0

        def __call__(self):
            return self.at

        def sleep(self, seconds):
            self.at += seconds

    now = Now()
    monkeypatch.setattr(steps, "perf_counter", now)
    return now


def told(meter):
    """The sums by name, as they are published: all of one GPU or of none."""
    meter.compute()
    return {name.split("_seconds")[0]: round(cell.value, 9) for (name, _), cell in meter._cells.items()}


def batches(clock, *waits):
    """A source that takes so long for each batch."""
    for number, seconds in enumerate(waits):
        clock.sleep(seconds)
        yield number


def test_from_asking_to_the_end_of_the_step(meter, clock):
    for _ in Loader(batches(clock, 1, 2)):
        clock.sleep(0.25)  # the batch is made ready
        with Step():
            clock.sleep(10)
        clock.sleep(100)  # no work is offered: a log is written
    assert told(meter) == {"gpu_step_wall": 23.5, "gpu_data_wait": 3, "gpu_stall": 3}


def test_a_loop_without_steps(meter, clock):
    for _ in Loader(batches(clock, 1, 2)):
        clock.sleep(10)
    clock.sleep(1000)
    assert told(meter) == {"gpu_step_wall": 23, "gpu_data_wait": 3, "gpu_stall": 3}


def test_a_loop_that_is_left(meter, clock):
    for number in Loader(batches(clock, 1, 2, 3)):
        with Step():
            clock.sleep(10)
        if number:
            break
    clock.sleep(1000)
    with Step():
        clock.sleep(10)
    assert told(meter) == {"gpu_step_wall": 33, "gpu_data_wait": 3, "gpu_stall": 3}


def test_a_first_batch_that_is_looked_at(meter, clock):
    assert next(iter(Loader(batches(clock, 1, 2)))) == 0
    clock.sleep(1000)
    with Step():
        clock.sleep(10)
    assert told(meter) == {"gpu_step_wall": 11, "gpu_data_wait": 1, "gpu_stall": 1}


def test_steps_alone_measure_no_stall(meter, clock):
    for _ in range(3):
        with Step():
            clock.sleep(10)
            with Step():
                clock.sleep(1)
        clock.sleep(100)
    assert told(meter) == {"gpu_step_wall": 33}


def test_a_loader_inside_of_a_step(meter, clock):
    """A server that makes its batches ready inside of a request."""
    with Step():
        clock.sleep(1)
        for _ in Loader(batches(clock, 2, 2)):
            clock.sleep(10)
        clock.sleep(1)
    clock.sleep(1000)
    assert told(meter) == {"gpu_step_wall": 26, "gpu_data_wait": 4, "gpu_stall": 4}


def test_a_loader_over_a_loader_waits_once(meter, clock):
    for _ in Loader(map(abs, Loader(batches(clock, 1, 1)))):
        with Step():
            clock.sleep(3)
    assert told(meter) == {"gpu_step_wall": 8, "gpu_data_wait": 2, "gpu_stall": 2}


def test_it_is_told_while_it_lasts(meter, clock):
    step = Step()
    with step:
        clock.sleep(7)
        assert told(meter) == {"gpu_step_wall": 7}
        assert meter.progress() == (True, 0.0)
        clock.sleep(1)
    assert meter.progress() == (False, 1008.0)

    def source():
        clock.sleep(5)
        assert told(meter) == {"gpu_step_wall": 13, "gpu_data_wait": 5, "gpu_stall": 5}
        assert meter.progress() == (True, 1008.0)
        yield

    list(Loader(source()))
    assert meter.progress() == (False, 1013.0)


def test_a_sum_never_falls(meter, clock):
    """What another thread has just ended may come out a little lower than what was told while it lasted."""
    step = Step()
    step.__enter__()
    clock.sleep(7)
    assert told(meter) == {"gpu_step_wall": 7}
    clock.sleep(-0.5)
    step.__exit__()
    assert told(meter) == {"gpu_step_wall": 7}


def test_steps_by_device(meter, clock):
    for gpu in (0, 1, 1):
        with Step(gpu):
            clock.sleep(2)
    meter.compute()
    assert {key: cell.value for key, cell in meter._cells.items()} == {
        (steps.STEP_WALL, "0"): 2.0,
        (steps.STEP_WALL, "1"): 4.0,
    }


def test_threads_add_up_and_may_end_the_steps_of_others(meter, clock):
    here, there = Step(), Step()
    here.__enter__()
    thread = threading.Thread(target=there.__enter__)
    thread.start()
    thread.join()
    clock.sleep(2)
    there.__exit__()
    clock.sleep(1)
    assert meter.progress()[0]
    here.__exit__()
    clock.sleep(100)
    assert told(meter) == {"gpu_step_wall": 5}
    assert not meter.progress()[0]


def test_steps_that_interleave_as_tasks_do(meter, clock):
    first, second = Step(), Step()
    first.__enter__()
    clock.sleep(1)
    second.__enter__()
    clock.sleep(1)
    first.__exit__()
    clock.sleep(1)
    second.__exit__()
    assert told(meter) == {"gpu_step_wall": 3}


def elsewhere(function):
    """Call a function in a thread of its own, to its end."""
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def test_one_step_object_within_itself(meter, clock):
    step = Step()
    with step:
        clock.sleep(1)
        with step:
            clock.sleep(1)
        clock.sleep(1)
    clock.sleep(100)
    assert told(meter) == {"gpu_step_wall": 3}
    assert not meter.progress()[0]


def test_one_step_object_in_two_threads(meter, clock):
    """As a server has it that makes one for all of its requests; each thread ends what it began itself."""
    step = Step()
    entered, left = threading.Event(), threading.Event()

    def other():
        with step:
            entered.set()
            assert left.wait(60)

    thread = threading.Thread(target=other)
    with step:
        thread.start()
        assert entered.wait(60)
        clock.sleep(1)
    assert [lane.wall.running() for lane in meter._lanes.values()] == [False, True]
    clock.sleep(1)
    left.set()
    thread.join()
    clock.sleep(100)
    assert told(meter) == {"gpu_step_wall": 3}
    assert not meter.progress()[0]


def test_one_pass_in_two_threads(meter, clock):
    """Both wait in it at once, as where workers take their batches from one iterator."""
    asked, there = threading.Event(), threading.Event()

    class Source:
        def __iter__(self):
            return self

        def __next__(self):
            if not asked.is_set():
                asked.set()
                assert there.wait(60)
            clock.sleep(1)
            return 1

    batches = iter(Loader(Source()))
    thread = threading.Thread(target=next, args=(batches,))
    thread.start()
    assert asked.wait(60)
    next(batches)
    there.set()
    thread.join()
    clock.sleep(100)
    assert not meter.progress()[0]
    assert told(meter)["gpu_data_wait"] == 3  # 2 of the one that waited for the other, and 1


def test_a_step_that_a_generator_is_closed_in(meter, clock):
    def served():
        with Step():
            yield

    stream = served()
    next(stream)
    clock.sleep(2)
    elsewhere(stream.close)
    clock.sleep(100)
    assert told(meter) == {"gpu_step_wall": 2}


def test_a_gpu_that_is_none_is_a_fault_and_no_error():
    before = REGISTRY.faults
    with Step("the first one"):
        pass
    assert REGISTRY.faults == before + 1


class Source:
    """A source with all that a DataLoader has, as far as users look at it."""

    def __init__(self):
        self.epoch = 0
        self.ended = []

    def __len__(self):
        return 3

    def __iter__(self):
        try:
            yield from range(3)
        finally:
            self.ended.append(self.epoch)


@pytest.mark.usefixtures("meter")
class TestLoader:
    def test_it_looks_like_its_source(self):
        source = Source()
        loader = Loader(source)
        assert (len(loader), length_hint(loader), loader.epoch, bool(loader)) == (3, 3, 0, True)
        loader.epoch = 7
        assert source.epoch == 7
        with pytest.raises(AttributeError, match="'Source' object has no attribute 'batches'"):
            _ = loader.batches
        assert copy.copy(loader).epoch == pickle.loads(pickle.dumps(loader)).epoch == 7

    def test_it_can_be_gone_over_again(self):
        source = Source()
        loader = Loader(source)
        assert [list(loader), list(loader)] == [[0, 1, 2]] * 2
        assert list(zip(loader, loader, strict=True)) == [(0, 0), (1, 1), (2, 2)]
        assert len(source.ended) == 4

    def test_an_iterator_remains_one(self):
        batches = agent.loader(iter([1, 2, 3, 4]))
        assert next(batches) == 1
        assert next(batches) == 2
        assert list(batches) == [3, 4]
        assert next(batches, None) is None
        assert next(copy.copy(agent.loader(iter([1])))) == 1
        with pytest.raises(TypeError, match="not an iterator"):
            next(agent.loader([1]))

    def test_a_source_without_a_length(self):
        loader = Loader(iter(range(3)))
        with pytest.raises(TypeError, match="has no len"):
            len(loader)
        assert bool(loader)
        assert length_hint(iter(loader)) == 3
        assert list(loader) == [0, 1, 2]
        assert list(loader) == []  # as without us

    def test_the_iterator_is_closed_when_the_loop_is_left(self):
        source = Source()
        for _ in Loader(source):
            break
        assert source.ended == [0]
        one = iter(Loader(source))
        next(one)
        one.close()
        assert source.ended == [0, 0]
        assert list(one) == []

    def test_a_generator_of_the_users_is_not(self):
        generator = itertools.count().__iter__()
        own = (number for number in generator)
        for _ in Loader(own):
            break
        passed = iter(Loader(own))
        next(passed)
        passed.close()
        assert next(own) == 2

    def test_errors_of_the_source_are_its_own(self):
        def source():
            yield 1
            raise LookupError("the disk is gone")

        with pytest.raises(LookupError, match="the disk is gone"):
            list(Loader(source()))
        with pytest.raises(TypeError, match="'int' object is not iterable"):
            iter(Loader(5))
        assert not steps.METER.progress()[0]


class Scraped:
    """What an exporter serves of the spool."""

    def __init__(self, folder, state):
        options = {"gpus": lambda: Snapshot(reason="no_library"), "host": Host(), "state": State(state)}
        self.collector = Collector(str(folder), **options)

    def __call__(self, *names):
        """Return the one series of each metric, as text, and its value; left out where there is none."""
        samples = self.collector.collect()
        found = {}
        for name in names:
            for series, value in samples.get(str(name), ()):
                assert str(name) not in found
                found[str(name)] = (series, value)
        return found


@pytest.fixture
def scrape(children, tmp_path):
    children.folder = tmp_path / "spool"
    children.folder.mkdir()
    return Scraped(children.folder, tmp_path / "state.json")


@pytest.fixture
def torch(children):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not here")
    return children


TRAIN = """
import time
import torch
from watchkeeper_fleet import agent
now = time.perf_counter
torch.set_num_threads(1)
model = torch.nn.Linear(64, 64)
x = torch.randn(64, 64)
worked = 0.0
inner = outer = shortest = longest = 0.0  # of the waits, of all: measured inside of what the agent does and outside

def source():
    # A fifth of the time: a quarter of what the steps took. What one wait was too long the next ones are shorter.
    global inner
    while True:
        begun = now()
        while inner + now() - begun < worked / 4:
            time.sleep(0.0005)
        took = now() - begun
        inner += took
        yield begun

agent.start()
print("up", flush=True)
input()
asked = now()
feed = iter(agent.loader(source()))
outer = longest = now() - asked
count = 0
while count < 20 or (count < 3000 and not (0.195 < inner / longest and outer / shortest < 0.205)):
    asked = now()
    begun = next(feed)
    outer += now() - asked
    with agent.step():
        entered = now()
        while now() - entered < 0.01:
            model(x).sum().backward()
        ended = now()
    longest += now() - asked
    shortest += ended - begun
    worked += ended - entered
    count += 1
print(inner, outer, shortest, longest, flush=True)
input()
"""


def test_a_loader_that_takes_a_fifth_of_each_step(torch, scrape, until, pack):
    """Through spool and exporter; then the loop is over, and the process sits there like an idle server."""
    counters = metrics.STEP_WALL, metrics.DATA_WAIT, metrics.STALL
    with torch.running(TRAIN, torch=None) as child:
        assert scrape(*counters, metrics.READY).keys() == {metrics.READY.name}, "counted before there was work"
        child.stdin.write("\n")
        child.stdin.flush()
        inner, outer, shortest, longest = map(float, child.stdout.readline().split())

        def next_but_one():
            generation = torch.record().generation
            until(lambda: torch.record().generation > generation + 1)
            return scrape(*counters, metrics.IDLE)

        found = next_but_one()
        assert next_but_one() == found, "an idle process counts time"
    wall, wait, stall = (found[str(counter)][1] for counter in counters)
    assert shortest <= wall <= longest
    assert inner <= wait <= outer
    assert stall == wait
    assert 0.18 < stall / wall < 0.22
    assert str(metrics.IDLE) not in found  # there is no GPU, so nothing is said of it
    lines = {name: f"0 {value}x20" for name, (_, value) in found.items()}
    labelled = "\n".join(f"{found[name][0]} {values}" for name, values in lines.items())
    run = pack.run(labelled, interval="15s")
    assert run.value(f"sum({RATIO})", "30s") == pytest.approx(stall / wall)
    assert run.value(f"sum({OFFERED})", "4m") == 0
    run.silent(STALLED, after="3m")


STUCK = """
import torch
from watchkeeper_fleet import agent
agent.start()
print("up", flush=True)
with agent.step(): pass
with agent.step():
    while True: pass
"""


def test_a_rank_that_burns_cpu_and_gets_nowhere(children, scrape, until, pack):
    """A zombie within 6 minutes: 300 times as fast as life, on a core of its own.

    The time of the simulation goes by what the process has burnt, and so it is that of a rank that gets a whole core,
    however busy the machine is that this runs on.
    """
    faster = 300
    wanted = metrics.PROGRESS_TIMESTAMP, metrics.WORK_IN_PROGRESS, PROCESS_CPU
    with children.running(STUCK):
        until(lambda: (found := scrape(*wanted)) and found.get(str(metrics.WORK_IN_PROGRESS), (0, 0))[1] == 1)
        first = scrape(*wanted)
        begun = first[str(PROCESS_CPU)][1]
        scrapes = []
        for number in range(29):  # every 15 s, for 7 minutes
            until(lambda due=begun + number * 15 / faster: scrape(*wanted)[str(PROCESS_CPU)][1] >= due, 60)
            scrapes.append(scrape(*wanted))
    progress = first[str(metrics.PROGRESS_TIMESTAMP)][1]
    assert {found[str(metrics.PROGRESS_TIMESTAMP)][1] for found in scrapes} == {progress}
    work = [found[str(metrics.WORK_IN_PROGRESS)][1] for found in scrapes]
    burnt = [(found[str(PROCESS_CPU)][1] - begun) * faster for found in scrapes]
    columns = zip(wanted, ([0.0] * len(scrapes), work, burnt), strict=True)
    lines = [f"{first[str(metric)][0]} {' '.join(map(str, values))}" for metric, values in columns]
    run = pack.run("\n".join(lines), interval="15s")
    run.fires(ZOMBIE, by="6m", labels={"process": "0", "rank": "0"})


def test_a_data_loader_with_workers(torch, tmp_path):
    """Its workers are forked within the wait for the first batch, and have nothing to tell."""
    script = tmp_path / "train.py"
    script.write_text(
        """
import os
import torch
from watchkeeper_fleet import agent
from watchkeeper_fleet.agent import steps

class Data(torch.utils.data.Dataset):
    def __len__(self): return 32
    def __getitem__(self, i): return torch.tensor([float(i), float(steps.METER.progress()[0])])

if __name__ == "__main__":
    agent.start()
    for persistent in (False, True):
        options = {"num_workers": 2, "persistent_workers": persistent, "multiprocessing_context": "fork"}
        loader = agent.loader(torch.utils.data.DataLoader(Data(), 8, **options))
        print(len(loader), loader.batch_size, type(loader.dataset).__name__)
        for epoch in range(2):
            total = 0
            for batch in loader:
                with agent.step():
                    total += batch.sum(0)
            print(total.tolist())
"""
    )
    torch.folder = tmp_path / "spool"
    torch.folder.mkdir()
    command = [torch.python, str(script)]
    done = subprocess.run(
        command, env=torch.environment(torch=None), capture_output=True, text=True, timeout=300, check=False
    )
    # The sum of what there is, and no worker that takes its parent's wait for its own.
    assert done.stdout == "4 8 Data\n[496.0, 0.0]\n[496.0, 0.0]\n" * 2, done.stderr
    assert "watchkeeper" not in done.stderr
    found = torch.values(torch.record())
    assert found["watchkeeper_agent_faults_total"] == 0
    assert found["torch_work_in_progress"] == 0
    assert 0 < found[f"{metrics.DATA_WAIT} gpu="] < found[f"{metrics.STEP_WALL} gpu="]
    assert found[f"{metrics.STALL} gpu="] == found[f"{metrics.DATA_WAIT} gpu="]


def test_a_process_that_says_nothing_has_no_work(children):
    children.quiet("from watchkeeper_fleet.agent import lifecycle; lifecycle.start(); import torch", "")
    found = children.values()
    assert found[str(metrics.WORK_IN_PROGRESS)] == 0
    assert not [name for name in found if name.startswith("gpu_")]


def test_a_fork_within_a_step(children):
    """The child leaves its parent's step, and then makes its own."""
    code = """
    import os, time, torch, warnings
    from watchkeeper_fleet import agent
    warnings.simplefilter("ignore")  # some versions of Python warn of threads that were there
    agent.start()
    with agent.step():
        time.sleep(0.05)
        child = os.fork()
    if child == 0:
        with agent.step(): pass
        agent.stop()
        os._exit(0)
    os.waitpid(child, 0)
    """
    children.quiet(code)
    parent, child = map(children.values, children.records())
    assert parent[f"{metrics.STEP_WALL} gpu="] >= 0.05
    assert child["torch_work_in_progress"] == parent["torch_work_in_progress"] == 0
    assert child["watchkeeper_agent_faults_total"] == parent["watchkeeper_agent_faults_total"] == 0
    assert child[f"{metrics.STEP_WALL} gpu="] > 0


@pytest.mark.parametrize("start", ["agent.start()", ""], ids=["switched off", "never started"])
def test_off_is_off(children, start):
    """All of it can stay in a program whose agent is off: no file, no thread, no exception."""
    code = f"""
    import math, os, torch
    from watchkeeper_fleet import agent
    {start}
    agent.watch_weights(None)
    agent.watch_collectives()
    for batch in agent.loader([1.0, math.nan]):
        with agent.step():
            agent.watch_finite(batch, name="loss")
    print(os.listdir("/proc/self/task") == [str(os.getpid())], os.listdir(os.environ["WATCHKEEPER_SPOOL"]))
    """
    children.quiet(code, "True []\n", **({"WATCHKEEPER_AGENT": "0"} if start else {}))
