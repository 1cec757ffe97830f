"""The ring of timed events, on events that are set by hand: what is asked of the device, in which order, and the sums.

The real events are for tests/gpu.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from watchkeeper_fleet.agent import feeding, lifecycle, steps
from watchkeeper_fleet.agent.registry import REGISTRY, Registry
from watchkeeper_fleet.agent.stall import SIZE, Ring


class Event:
    def __init__(self, cuda):
        self.cuda = cuda
        self.name = f"event {len(cuda.events)}"
        self.recorded = self.done = False
        self.at = 0.0  # of the device's clock, in seconds
        cuda.events.append(self)
        cuda.calls.append("create")

    def record(self, stream):
        self.recorded, self.done = True, False
        self.cuda.calls.append(f"record {self.name} on {stream}")

    def query(self):
        self.cuda.calls.append(f"query {self.name}")
        return self.done

    def elapsed_time(self, other):
        assert self.done, "the time of an event was asked for before it had come to pass"
        assert other.done, "the time of an event was asked for before it had come to pass"
        self.cuda.calls.append(f"elapsed {self.name} {other.name}")
        return (other.at - self.at) * 1000


class Cuda:
    """torch.cuda as far as the ring asks; each call is on the list."""

    def __init__(self):
        self.calls, self.events = [], []
        self.capturing = False
        self.stream = "main"

    def Event(self, *, enable_timing):  # noqa: N802 - torch's name
        assert enable_timing
        return Event(self)

    def is_initialized(self):
        return True

    def current_device(self):
        return 3

    def is_current_stream_capturing(self):
        return self.capturing

    def current_stream(self, device):
        assert device == 3
        return self.stream

    def pass_by(self, *times):
        """Have the device come to the next events that it has not come to, at these times."""
        waiting = [event for event in self.events if event.recorded and not event.done]
        for event, at in zip(waiting, times, strict=False):
            event.done, event.at = True, at


@pytest.fixture
def cuda():
    return Cuda()


@pytest.fixture
def ring(cuda):
    return Ring(cuda, 3)


def test_what_is_asked_of_the_device_in_which_order(cuda, ring):
    ring.ask(10.0)
    ring.answer(11.0, batch=True)
    ring.begin(11.5)
    # Three events and nothing else: no wait, no copy, no kernel.
    assert cuda.calls == ["create"] * 3 + [f"record event {n} on main" for n in range(3)]
    cuda.calls.clear()
    ring.ask(20.0)
    assert cuda.calls[:4] == ["query event 0", "create", "create", "create"]
    cuda.calls.clear()
    cuda.pass_by(100.0, 100.75, 101.0)
    ring.answer(20.5, batch=True)
    ring.begin(20.5)
    cuda.calls.clear()
    ring.ask(30.0)
    assert cuda.calls[:5] == [
        *(f"query event {n}" for n in range(3)),
        "elapsed event 0 event 1",
        "elapsed event 0 event 2",
    ]
    assert (ring.stall, ring.idle, ring.dropped) == (0.75, 1.0, 0)


def test_a_device_that_has_work_does_not_stall(cuda, ring):
    ring.ask(10.0)
    ring.answer(14.0, batch=True)
    ring.begin(14.0)
    cuda.pass_by(115.0, 115.0, 115.0)  # it comes to all of them at once, after the wait
    ring.ask(16.0)
    assert (ring.stall, ring.idle, ring.dropped) == (0.0, 0.0, 0)


def test_never_more_than_the_loop_has_waited(cuda, ring):
    """The loader has put work of its own on the stream, and so has the loop before its step."""
    ring.ask(10.0)
    ring.answer(10.25, batch=True)
    ring.begin(10.5)
    cuda.pass_by(100.0, 104.0, 108.0)
    ring.ask(20.0)
    assert (ring.stall, ring.idle) == (0.25, 0.5)


def test_a_loop_without_steps(cuda, ring):
    for at in (10.0, 20.0):
        ring.ask(at)
        ring.answer(at + 1, batch=True)
    cuda.pass_by(100.0, 101.0)
    ring.ask(30.0)
    assert (ring.stall, ring.idle, ring.dropped) == (1.0, 0.0, 0)


@pytest.mark.parametrize("ends", ["no batch", "loop left"])
def test_a_step_after_the_loop_is_none_with_its_batch(cuda, ring, ends):
    ring.ask(10.0)
    ring.answer(10.5, batch=ends != "no batch")
    if ends == "loop left":
        ring.leave()
    ring.begin(4000.0)
    cuda.pass_by(100.0, 100.5)
    ring.ask(5000.0)
    assert (ring.stall, ring.idle, ring.dropped) == (0.5, 0.0, 0)


def test_further_steps_with_the_same_batch(cuda, ring):
    ring.ask(10.0)
    ring.answer(10.5, batch=True)
    ring.begin(11.0)
    cuda.calls.clear()
    ring.begin(12.0)
    assert cuda.calls == []


def test_it_drops_and_never_waits_and_uses_its_events_again(cuda, ring):
    for at in range(SIZE + 5):  # the device does not come to any
        ring.ask(at)
        ring.answer(at + 0.5, batch=True)
        ring.begin(at + 0.5)
    assert ring.dropped == 5
    assert len(cuda.events) == 3 * SIZE
    for number, event in enumerate(cuda.events):
        event.done, event.at = True, 0.25 * (number % 3)
    for at in range(100, 200):
        ring.ask(at)
        ring.answer(at + 0.5, batch=True)
        ring.begin(at + 0.5)
        for number, event in enumerate(cuda.events):
            event.done, event.at = True, 0.25 * (number % 3)
    assert ring.dropped == 5
    assert len(cuda.events) == 3 * SIZE
    assert ring.stall == 0.25 * (SIZE + 99)


@pytest.mark.parametrize("since", ["ask", "answer", "begin"])
def test_a_capture_is_left_alone(cuda, ring, since):
    cuda.capturing = since == "ask"
    ring.ask(10.0)
    cuda.capturing = since in ("ask", "answer")
    ring.answer(11.0, batch=True)
    cuda.capturing = True
    ring.begin(12.0)
    recorded = [call for call in cuda.calls if call.startswith("record")]
    assert len(recorded) == {"ask": 0, "answer": 1, "begin": 2}[since]
    cuda.calls.clear()
    cuda.pass_by(100.0, 101.0)
    ring.ask(20.0)
    assert cuda.calls == []
    cuda.capturing = False
    ring.ask(30.0)
    # The wait was over before the capture where only the step was in it.
    assert (ring.stall, ring.idle) == ((1.0, 0.0) if since == "begin" else (0.0, 0.0))
    assert ring.dropped == (1 if since == "begin" else 2)  # and what was asked for at 20


def test_a_wait_that_is_never_answered(cuda, ring):
    ring.ask(10.0)
    ring.ask(20.0)
    assert ring.dropped == 1
    assert len(cuda.events) == 3
    ring.answer(20.5, batch=True)
    ring.begin(21.0)
    cuda.pass_by(100.0, 100.125, 100.25)
    ring.ask(30.0)
    assert (ring.stall, ring.idle) == (0.125, 0.25)


def test_all_events_of_a_wait_are_on_the_stream_that_it_began_on(cuda, ring):
    ring.ask(10.0)
    cuda.stream = "another"
    ring.answer(11.0, batch=True)
    ring.begin(12.0)
    assert [call for call in cuda.calls if "another" in call] == []


@pytest.fixture
def meter(monkeypatch, cuda):
    """A meter of its own in a process that has CUDA up, with the agent on."""
    meter = steps.Meter(Registry())
    for module in (steps, feeding):
        monkeypatch.setattr(module, "METER", meter)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(lifecycle, "STATE", SimpleNamespace(on=True, recorder=None))
    return meter


def published(meter):
    meter.compute()
    return {name: cell.value for (name, gpu), cell in meter._cells.items() if gpu == "3"}


def test_a_loop_on_a_device(cuda, meter):
    def source():
        yield "batch"
        # The device has come to the making of the iterator; it then was idle for a thousand seconds until the step.
        cuda.pass_by(1000.0, 1000.0, 1000.0, 2000.0, 2000.0)
        yield "batch"

    faults = REGISTRY.faults
    for _ in feeding.Loader(source()):
        with steps.Step():
            pass
    found = published(meter)
    assert REGISTRY.faults == faults
    # No more than the loop itself has waited, which is next to nothing.
    assert 0 < found[steps.STALL] < found[steps.DATA_WAIT] < found[steps.STEP_WALL]
    assert found[steps.STALL] <= found[steps.IDLE] < found[steps.STEP_WALL]
    assert found[steps.UNMEASURED] == 0
    assert len(cuda.events) == 9, "the first three were to be used again"


def test_no_event_where_no_loader_is(cuda, meter):
    with steps.Step():
        pass
    assert cuda.calls == []
    assert published(meter).keys() == {steps.STEP_WALL}


def test_no_event_while_the_agent_is_off(cuda, meter):
    lifecycle.STATE.on = False
    for _ in feeding.Loader([1]):
        with steps.Step():
            pass
    assert cuda.calls == []
    assert published(meter).keys() == {steps.STEP_WALL, steps.DATA_WAIT}


def test_a_device_that_fails_is_a_fault_and_no_error(cuda, meter):
    def record(_event, _stream):
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    faults = REGISTRY.faults
    cuda.Event = lambda **_: SimpleNamespace(record=record)
    count = 0
    for _ in feeding.Loader(range(50)):
        with steps.Step():
            count += 1
    assert count == 50
    assert REGISTRY.faults > faults
    found = published(meter)
    assert found[steps.STALL] == 0
    assert found[steps.STEP_WALL] > 0
    assert not meter.progress()[0]
