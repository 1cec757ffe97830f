"""The decorator on a GPU that is played: what is issued, in what order, and what is never waited for.

Its stream runs when the test says so (`torch.run()`), or when something waits for it, which is noted.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
import math
import sys
import threading
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from watchkeeper_fleet.agent.functions import Functions
from watchkeeper_fleet.agent.inference import (
    CudaRequiredError,
    MemoryJumpError,
    NonFiniteOutputError,
    monitor_inference,
)
from watchkeeper_fleet.agent.registry import Registry


class Device(NamedTuple):
    type: str
    index: int


class Type(NamedTuple):
    name: str
    is_floating_point: bool
    is_complex: bool = False


GPU, GPU1 = Device("cuda", 0), Device("cuda", 1)
FLOAT, HALF, INT = Type("float32", True), Type("float16", True), Type("int64", False)


class Tensor:
    """Values in a box that the stream fills later."""

    is_nested = False

    def __init__(self, torch, box, dtype=FLOAT, device=GPU):
        self.torch, self.box, self.dtype, self.device, self.layout = torch, box, dtype, device, torch.strided

    def numel(self):
        return len(self.box)

    def element_size(self):
        return 4

    def _then(self, name, work):
        result = Tensor(self.torch, [None], device=self.device)
        self.torch.issue(name, lambda: result.box.__setitem__(0, work()))
        return result

    def isfinite(self):
        return self._then("isfinite", lambda: math.isfinite(self.box[0]))

    def all(self):
        return self._then("all", lambda: self.box[0])

    def logical_not(self):
        return self._then("logical_not", lambda: not self.box[0])

    def __and__(self, other):
        return self._then("and", lambda: self.box[0] and other.box[0])

    def add_(self, other):
        self.torch.issue("add_", lambda: self.box.__setitem__(0, self.box[0] + int(other.box[0])))

    def item(self):
        self.torch.waits += 1
        self.torch.run()
        return self.box[0]


class Pinned:
    """Host memory that the device writes to."""

    def __init__(self, torch, memory, start=0):
        self.torch, self.memory, self.start = torch, memory, start

    def __getitem__(self, part):
        return Pinned(self.torch, self.memory, part.start)

    def data_ptr(self):
        return ctypes.addressof(self.memory)

    def copy_(self, other, *, non_blocking):
        if not non_blocking:
            self.torch.waits += 1
        self.torch.issue("copy_", lambda: self.memory.__setitem__(self.start, other.box[0]))


class Torch:
    """As much of torch as the decorator uses."""

    strided = object()
    int64 = object()
    Tensor = Tensor

    def __init__(self):
        self.issued, self.queue, self.waits = [], [], 0
        self.stream, self.capturing, self.up, self.emptied = 7, False, True, 0
        self.allocated = {0: 1000, 1: 0}
        self.jit = SimpleNamespace(is_tracing=lambda: False)
        self.cuda = SimpleNamespace(
            is_initialized=lambda: self.up,
            is_available=lambda: self.up,
            is_current_stream_capturing=lambda: self.capturing,
            current_stream=lambda _device: SimpleNamespace(cuda_stream=self.stream),
            device_count=lambda: 2,
            memory_stats_as_nested_dict=self.statistics,
            empty_cache=lambda: setattr(self, "emptied", self.emptied + 1),
        )

    no_grad = staticmethod(contextlib.nullcontext)

    def inference_mode(self, *, mode):
        assert mode is False
        return contextlib.nullcontext()

    def statistics(self, device):
        return {"allocated_bytes": {"all": {"current": self.allocated[device]}}} if self.allocated[device] else {}

    def issue(self, name, work):
        assert not self.capturing, f"{name} while a graph is captured"
        self.issued.append(name)
        self.queue.append(work)

    def run(self):
        for work in self.queue:
            work()
        self.queue.clear()

    def zeros(self, size, *, dtype, device, pin_memory=False):
        if pin_memory:
            assert device == "cpu"
            return Pinned(self, (ctypes.c_int64 * size)())
        return Tensor(self, [0] * size, dtype, device)

    def _foreach_norm(self, tensors, order):
        assert order == math.inf
        assert len({(tensor.dtype, tensor.device) for tensor in tensors}) == 1
        return [
            tensor._then("norm", lambda box=tensor.box: math.nan if any(map(math.isnan, box)) else max(map(abs, box)))
            for tensor in tensors
        ]

    def stack(self, tensors):
        def worst():
            return next((t.box[0] for t in tensors if not math.isfinite(t.box[0])), 0.0)

        return tensors[0]._then("stack", worst)


@pytest.fixture
def torch(monkeypatch):
    """A torch whose GPU has a context."""
    fake = Torch()
    monkeypatch.setitem(sys.modules, "torch", fake)
    return fake


@pytest.fixture
def functions():
    return Functions(Registry())


@pytest.fixture
def monitor(functions):
    yield functools.partial(monitor_inference, functions=functions, name="f")
    assert functions.registry.faults == 0


@pytest.fixture
def state(functions):
    """The series of f, brought up to date as a publish does it, on another thread."""

    def get():
        publisher = threading.Thread(target=functions.publish)
        publisher.start()
        publisher.join()
        return functions.get("f")

    return get


def test_counting_waits_for_nothing_and_arrives_later(torch, monitor, state):
    call = monitor(lambda *values: Tensor(torch, list(values)))
    call(1.0)
    call(1.0, math.nan)
    call(math.inf)
    assert torch.issued == ["norm", "stack", "isfinite", "all", "logical_not", "add_", "copy_"] * 3
    assert state().nonfinite.sum() == 0
    torch.run()
    assert state().nonfinite.sum() == 2
    assert state().nonfinite.sum() == 2
    assert torch.waits == 0


def test_types_are_reduced_apart_and_devices_counted_apart(torch, monitor, state):
    output = [
        Tensor(torch, [1.0]),
        {"half": Tensor(torch, [math.nan], HALF), "ints": Tensor(torch, [1], INT)},
        Tensor(torch, []),
        Tensor(torch, [math.inf], device=GPU1),
    ]
    assert monitor(lambda: output)() is output
    torch.run()
    assert torch.issued.count("norm") == 3
    assert torch.issued.count("copy_") == 2
    assert state().nonfinite.sum() == 2  # once a device


def test_streams_do_not_share_a_count(torch, functions, monitor, state):
    """Two streams that add to one number lose some."""
    call = monitor(lambda: Tensor(torch, [math.nan]))
    for torch.stream in (7, 8, 7, 9):
        call()
    assert len({id(count) for count, _, _ in functions.tallies._slots.values()}) == 3
    torch.run()
    assert state().nonfinite.sum() == 4


def test_streams_without_end_are_let_go(torch, functions, monitor, state):
    call = monitor(lambda: Tensor(torch, [math.nan]))
    for torch.stream in range(1000):
        call()
    torch.run()
    assert state().nonfinite.sum() == len(functions.tallies._slots) == 512


@pytest.mark.parametrize("policy", ["count", "raise", "kill"])
def test_nothing_is_issued_while_a_graph_is_captured(torch, monitor, policy):
    torch.capturing = True
    monitor(lambda: Tensor(torch, [math.nan]), nonfinite=policy)()
    assert (torch.issued, torch.waits) == ([], 0)


def test_the_policy_raise_waits(torch, monitor, state):
    call = monitor(lambda value: Tensor(torch, [value]), nonfinite="raise")
    call(1.0)
    with pytest.raises(NonFiniteOutputError):
        call(math.nan)
    assert torch.waits == 2
    assert state().nonfinite.sum() == 1


def test_an_error_of_the_device_in_the_check_is_not_the_callers(torch, functions):
    def broken(*_):
        raise RuntimeError("CUDA error")

    torch._foreach_norm = broken
    output = Tensor(torch, [1.0])
    assert monitor_inference(lambda: output, name="f", functions=functions)() is output
    assert functions.registry.faults == 1
    assert not functions.get("f").running


def test_a_sharded_tensor_is_looked_at_where_it_lies(torch, monitor, state):
    class Sharded(Tensor):
        def __init__(self, local):
            self._local_tensor = local

        def __getattr__(self, name):
            raise AssertionError(f"{name} of the whole talks to other ranks")

    monitor(lambda: Sharded(Tensor(torch, [math.nan])))()
    torch.run()
    assert state().nonfinite.sum() == 1


def test_a_jump_in_memory_is_counted_and_the_difference_shown(torch, monitor, state):
    def call(more):
        torch.allocated[0] += more

    call = monitor(call)
    call(100)  # a tenth is not yet more than that
    assert (state().jumps.sum(), state().delta.value) == (0, 100)
    call(200)
    assert (state().jumps.sum(), state().delta.value) == (1, 200)
    call(-600)
    assert (state().jumps.sum(), state().delta.value) == (1, -600)
    assert torch.waits == 0


def test_memory_of_all_devices_counts(torch, monitor, state):
    def call(more):
        torch.allocated[1] += more

    torch.allocated = {0: 1000, 1: 1000}
    call = monitor(call)
    call(150)
    assert state().jumps.sum() == 0
    call(500)
    assert state().jumps.sum() == 1


def test_the_first_memory_is_no_jump(torch, monitor, state):
    def load():
        torch.up = True
        torch.allocated[0] = 5000

    torch.up, torch.allocated[0] = False, 0
    monitor(load)()
    torch.allocated[0] = 0
    monitor(load)()
    assert state().jumps.sum() == 0


def test_the_policy_raise_on_a_jump(torch, monitor, state):
    @monitor(memory_jump="raise")
    def leak():
        torch.allocated[0] += 500
        return "answer"

    with pytest.raises(MemoryJumpError, match="f left 1500 bytes allocated where 1000 were before"):
        leak()
    assert state().jumps.sum() == 1


def test_no_memory_is_read_where_none_is_wanted(torch, monitor):
    torch.cuda.memory_stats_as_nested_dict = None
    monitor(lambda: None, memory_jump=None)()


def test_a_call_within_a_call_is_judged_and_so_is_the_outer_one(torch, monitor, state):
    @monitor
    def outer():
        inner()

    @monitor
    def inner():
        torch.allocated[0] += 500

    outer()
    assert state().jumps.sum() == 2


def test_calls_beside_one_another_are_not_judged(torch, monitor, state, functions):
    inside, leave = threading.Event(), threading.Event()

    @monitor
    def slow():
        inside.set()
        leave.wait()

    @monitor
    def leak():
        torch.allocated[0] += 5000

    thread = threading.Thread(target=slow)
    thread.start()
    inside.wait()
    leak()
    leave.set()
    thread.join()
    assert state().jumps.sum() == 0
    leak()
    assert state().jumps.sum() == 1
    assert not functions.growth._open
    assert not functions.growth._alone


def test_tasks_beside_one_another_are_not_judged_but_who_awaits_them_is(torch, monitor, state):
    @monitor
    async def embed():
        await asyncio.sleep(0)
        torch.allocated[0] += 5000
        await asyncio.sleep(0)

    @monitor
    async def answer():
        await asyncio.gather(embed(), embed())

    asyncio.run(answer())
    assert state().jumps.sum() == 1
    asyncio.run(embed())
    assert state().jumps.sum() == 2


def test_a_generator_is_measured_from_its_first_step_to_its_last(torch, monitor, state, functions):
    @monitor
    def tokens():
        torch.allocated[0] += 400
        yield 1
        yield 2
        torch.allocated[0] -= 380

    @monitor
    def consumer():
        for _ in tokens():
            step()

    @monitor
    def step():
        pass

    assert list(tokens()) == [1, 2]
    assert (state().jumps.sum(), state().delta.value) == (0, 20)
    consumer()
    for _ in tokens():  # the consumer of one that is suspended is not within it
        step()
        break
    assert not functions.growth._open
    assert functions.growth._current.get() is None


def test_required_cuda(torch, monitor, state):
    ran = []
    call = monitor(ran.append, require_cuda=True)
    call(1)
    torch.up = False
    with pytest.raises(CudaRequiredError):
        call(2)
    assert ran == [1]
    assert not state().running


def test_the_cache_is_emptied_after_a_failure_only_where_that_is_wanted(torch, monitor):
    def fail(error):
        if error is not None:
            raise error

    plain, emptying = monitor(fail), monitor(fail, empty_cache=True)
    for call in (plain, emptying):
        call(None)
        for error in (ValueError(), KeyboardInterrupt()):
            with pytest.raises(type(error)):
                call(error)
    assert torch.emptied == 1
    torch.capturing = True
    with pytest.raises(KeyError):
        emptying(KeyError())
    assert torch.emptied == 1


def test_half_an_import_of_torch_disturbs_nothing(monkeypatch, functions):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    call = monitor_inference(lambda: [1.0], name="f", functions=functions, empty_cache=True)
    assert call() == [1.0]


def test_a_forked_child_forgets_the_device(torch, monitor, functions, state):
    call = monitor(lambda: Tensor(torch, [math.nan]))
    call()
    torch.run()
    assert state().nonfinite.sum() == 1
    functions.registry.reset()
    functions.forget()
    assert state().nonfinite.sum() == 0
    call()
    torch.run()
    assert state().nonfinite.sum() == 1
