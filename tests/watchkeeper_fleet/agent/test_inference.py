"""The decorator on functions of all kinds, without torch."""

from __future__ import annotations

import asyncio
import functools
import inspect
import math
import signal
import threading
from collections import OrderedDict, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from watchkeeper_fleet.agent.functions import MOST_CLASSES, MOST_FUNCTIONS, Calls, Functions
from watchkeeper_fleet.agent.inference import NonFiniteOutputError, monitor_inference
from watchkeeper_fleet.agent.progress import Progress
from watchkeeper_fleet.agent.registry import Registry

NAN = math.nan


class Fleet:
    """A decorator with a registry of its own, and what would be published."""

    def __init__(self):
        self.registry = Registry()
        self.progress = Progress(self.registry)
        self.functions = Functions(self.registry)
        self.monitor = functools.partial(monitor_inference, functions=self.functions)

    def field(self, name, **labels):
        self.names.append(" ".join([name, *(f"{label}={value}" for label, value in labels.items())]))
        return len(self.names) - 1

    def values(self):
        self.names = []
        self.registry.unbind()
        return dict(zip(self.names, self.registry.values(self), strict=False))

    def value(self, name, function="f", **labels):
        key = " ".join([f"inference_{name}", f"function={function}", *(f"{k}={v}" for k, v in labels.items())])
        return self.values()[key]

    def errors(self, function="f"):
        start = f"inference_errors_total function={function} class="
        return {
            name.removeprefix(start): value for name, value in self.values().items() if name.startswith(start) and value
        }


@pytest.fixture
def fleet():
    return Fleet()


def test_a_function_is_as_it_was(fleet):
    @fleet.monitor
    def predict(x: int, *, y: int = 2) -> int:
        """Predict."""
        return x + y

    assert predict(1, y=3) == 4
    assert (predict.__name__, predict.__doc__) == ("predict", "Predict.")
    assert list(inspect.signature(predict).parameters) == ["x", "y"]
    assert fleet.value("latency_seconds_count", "predict") == 1


def test_all_series_are_there_before_the_first_call(fleet):
    fleet.monitor(name="f")(abs)
    for name in ("latency_seconds_count", "in_progress", "oldest_in_progress_seconds", "memory_jumps_total"):
        assert fleet.value(name) == 0
    assert fleet.value("nonfinite_outputs_total") == 0
    assert fleet.value("errors_total", **{"class": "OutOfMemoryError"}) == 0


def test_the_kind_of_a_function_stays(fleet):
    async def coroutine(): ...
    def generator():
        yield

    async def stream():
        yield

    assert inspect.iscoroutinefunction(fleet.monitor(coroutine))
    assert inspect.isgeneratorfunction(fleet.monitor(generator))
    assert inspect.isasyncgenfunction(fleet.monitor(stream))


def test_methods_of_all_kinds(fleet):
    class Model:
        scale = 3

        @fleet.monitor
        def plain(self, x):
            return self.scale * x

        @fleet.monitor
        @classmethod
        def of_class(cls, x):
            return cls.scale * x

        @staticmethod
        @fleet.monitor
        def static_inside(x):
            return x

        @fleet.monitor
        @staticmethod
        def static(x):
            return x

        def __call__(self, x):
            return -x

    model = Model()
    assert [model.plain(2), Model.of_class(2), model.static(2), Model.static_inside(2)] == [6, 6, 2, 2]
    assert fleet.monitor(model)(2) == -2
    assert set(fleet.functions._functions) == {
        "Model.plain", "Model.of_class", "Model.static", "Model.static_inside", "Model",
    }  # fmt: skip


def test_an_object_with_a_coroutine_for_a_call(fleet):
    class Model:
        async def __call__(self):
            return NAN

    assert math.isnan(asyncio.run(fleet.monitor(Model(), name="f")()))
    assert fleet.value("nonfinite_outputs_total") == 1


def test_a_partial_has_the_name_of_its_function(fleet):
    assert fleet.monitor(functools.partial(pow, 2))(3) == 8
    assert fleet.value("latency_seconds_count", "pow") == 1


@pytest.mark.parametrize("wrong", [int, 3, "f"])
def test_what_is_no_function_is_refused(fleet, wrong):
    with pytest.raises(TypeError, match="for functions and methods"):
        fleet.monitor(wrong)


@pytest.mark.parametrize("option", ["nonfinite", "memory_jump"])
def test_an_unknown_policy_is_refused(fleet, option):
    with pytest.raises(ValueError, match=rf"{option} is 'warn': it may be 'count', 'raise', 'kill', or None"):
        fleet.monitor(**{option: "warn"})


def test_errors_are_counted_by_class_and_pass(fleet):
    @fleet.monitor(name="f")
    def fail(error):
        raise error

    for error in (ValueError("x"), ValueError("y"), KeyboardInterrupt(), SystemExit(3), StopIteration()):
        with pytest.raises(type(error)) as caught:
            fail(error)
        assert caught.value is error
    assert fleet.errors() == {"ValueError": 2, "KeyboardInterrupt": 1, "SystemExit": 1, "StopIteration": 1}
    assert fleet.value("latency_seconds_count") == 5
    assert fleet.value("in_progress") == 0


def test_classes_are_bounded(fleet):
    class AnyError(Exception):
        pass

    @fleet.monitor(name="f")
    def fail(number):
        raise type(f"Error{number}", (AnyError,), {})

    for number in range(100):
        with pytest.raises(AnyError):
            fail(number % 50)
    errors = fleet.errors()
    assert len(fleet.functions._functions["f"]._errors) == MOST_CLASSES + 1
    assert sum(errors.values()) == 100
    assert errors["Error0"] == 2
    assert errors["other"] == 100 - 2 * (MOST_CLASSES - 2)  # two of the classes were there from the start


def test_names_that_no_label_may_have_are_mended(children):
    children.quiet(
        """
        from watchkeeper_fleet import agent
        from watchkeeper_fleet.agent.inference import monitor_inference

        agent.start()

        @monitor_inference(name="p\\nq" + "y" * 1000)
        def fail():
            raise type("Odd\\n" + "x" * 1000, (ValueError,), {})

        try:
            fail()
        except ValueError:
            pass
        """
    )
    function, error = f"p?q{'y' * 97}", f"Odd?{'x' * 96}"
    assert children.values()[f"inference_errors_total class={error} function={function}"] == 1


def test_functions_are_bounded(fleet):
    for number in range(50):
        fleet.monitor(abs, name=f"f{number}")(1)
    assert len(fleet.functions._functions) == MOST_FUNCTIONS + 1
    assert fleet.value("latency_seconds_count", "other") == 50 - MOST_FUNCTIONS
    assert not fleet.registry.dropped


def test_a_function_decorated_again_and_again_is_one(fleet):
    for _ in range(100):

        @fleet.monitor
        def closure():
            return 1

        closure()
    assert fleet.value("latency_seconds_count", "closure") == 100
    assert len(fleet.registry.before) == 2


def test_calls_under_way_are_seen_with_the_age_of_the_oldest(fleet):
    seen = []

    @fleet.monitor(name="f")
    def nested(depth):
        if depth:
            return nested(depth - 1)
        values = fleet.values()
        seen.append(values["inference_in_progress function=f"])
        seen.append(values["inference_oldest_in_progress_seconds function=f"])
        seen.append(values["torch_work_in_progress"])
        return None

    nested(4)
    count, oldest, at_work = seen
    assert (count, at_work) == (5, 1)
    assert 0 < oldest < 60
    after = fleet.values()
    assert after["inference_in_progress function=f"] == after["inference_oldest_in_progress_seconds function=f"] == 0
    assert after["torch_work_in_progress"] == 0
    assert after["torch_progress_timestamp_seconds"] > 1.6e9


def test_threads_lose_nothing(fleet):
    barrier = threading.Barrier(8)

    @fleet.monitor(name="f")
    def work(_):
        return 1.0

    def many(_):
        barrier.wait()
        for number in range(500):
            work(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(many, range(8)))
    assert fleet.value("latency_seconds_count") == 4000
    assert fleet.value("in_progress") == 0


def test_a_call_of_a_greenlet_ends_before_those_begun_after_it():
    calls = Calls([])
    calls.begun += [1.0, 2.0, 3.0]
    calls.ended(2.0)
    calls.ended(2.0)  # by an interrupt between two bytecodes it was never begun
    assert calls.begun == [1.0, 3.0]


def test_what_calls_leave_in_progress_in_an_interrupt_is_nothing(fleet):
    @fleet.monitor(name="f")
    def recurse(depth):
        if depth == 0:
            signal.raise_signal(signal.SIGUSR1)
        recurse(depth - 1)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            recurse(100)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert fleet.functions.get("f").running == []
    assert fleet.value("latency_seconds_count") == 101


def test_a_coroutine_is_in_progress_while_it_waits(fleet):
    async def main():
        gate = asyncio.Event()

        @fleet.monitor(name="f")
        async def wait():
            await gate.wait()
            return 1

        tasks = [asyncio.create_task(wait()) for _ in range(3)]
        await asyncio.sleep(0)
        during = fleet.value("in_progress")
        gate.set()
        assert await asyncio.gather(*tasks) == [1, 1, 1]
        return during

    assert asyncio.run(main()) == 3
    assert fleet.value("in_progress") == 0
    assert fleet.value("latency_seconds_count") == 3


def test_a_cancelled_coroutine_is_an_error_by_its_own_class(fleet):
    @fleet.monitor(name="f")
    async def wait():
        await asyncio.Event().wait()

    async def main():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(wait(), 0.01)

    asyncio.run(main())
    assert fleet.errors() == {"CancelledError": 1}
    assert fleet.value("in_progress") == 0


def test_a_coroutine_that_is_dropped_is_no_error(fleet):
    @fleet.monitor(name="f")
    async def wait():
        await asyncio.sleep(0)

    coroutine = wait()
    coroutine.send(None)
    coroutine.close()
    assert fleet.errors() == {}
    assert fleet.value("in_progress") == 0


def test_a_generator_keeps_its_protocol(fleet):
    events = []

    @fleet.monitor(name="f")
    def echo():
        try:
            got = yield "ready"
            while got != "end":
                try:
                    got = yield got
                except LookupError as error:  # noqa: PERF203 - the consumer throws into any round
                    got = yield f"caught {error!r}"
            return "value"
        finally:
            events.append("closed")

    def delegate():
        return (yield from echo())

    one = delegate()
    assert [next(one), one.send(1), one.throw(LookupError("x")), one.send(2)] == [
        "ready",
        1,
        "caught LookupError('x')",
        2,
    ]
    with pytest.raises(StopIteration) as stop:
        one.send("end")
    assert stop.value.value == "value"
    assert events == ["closed"]
    assert fleet.errors() == {}
    assert fleet.value("latency_seconds_count") == 1


def test_a_generator_is_not_in_progress_while_its_consumer_is(fleet):
    during = []

    @fleet.monitor(name="f")
    def tokens():
        for number in range(3):
            during.append(fleet.value("in_progress"))
            yield number

    outside = [fleet.value("in_progress") for _ in tokens()]
    assert (during, outside) == ([1, 1, 1], [0, 0, 0])
    assert fleet.value("latency_seconds_count") == 1


def test_a_generator_closed_early_is_no_error_and_one_never_begun_is_nothing(fleet):
    closed = []

    @fleet.monitor(name="f")
    def tokens():
        try:
            yield from range(10)
        finally:
            closed.append(True)

    tokens()
    assert fleet.value("latency_seconds_count") == 0
    for _ in tokens():
        break
    assert closed == [True]
    assert fleet.errors() == {}
    assert fleet.value("latency_seconds_count") == 1


def test_a_generator_holds_no_item_that_it_has_given_away(fleet):
    import weakref

    class Item:
        pass

    @fleet.monitor(name="f")
    def items():
        while True:
            yield Item()

    stream = items()
    gone = weakref.ref(next(stream))
    assert gone() is None


def test_an_asynchronous_generator(fleet):
    closed = []

    @fleet.monitor(name="f")
    async def tokens():
        try:
            for number in range(4):
                await asyncio.sleep(0)
                try:
                    yield number
                except LookupError:
                    yield "caught"
        finally:
            closed.append(True)

    async def main():
        assert [token async for token in tokens()] == [0, 1, 2, 3]
        stream = tokens()
        assert await stream.__anext__() == 0
        assert await stream.athrow(LookupError()) == "caught"
        await stream.aclose()

    asyncio.run(main())
    assert closed == [True, True]
    assert fleet.errors() == {}
    assert fleet.value("in_progress") == 0
    assert fleet.value("latency_seconds_count") == 2


@dataclass
class Output:
    logits: object
    more: list = field(default_factory=list)


class Pair(NamedTuple):
    first: object
    second: object


@dataclass
class ModelOutput(OrderedDict):
    """A mapping and a dataclass in one, as transformers has it."""

    logits: object = None

    def __post_init__(self):
        self["logits"] = self.logits


@pytest.mark.parametrize(
    "bad",
    [
        NAN,
        math.inf,
        -math.inf,
        complex(0, NAN),
        [1.0, NAN],
        (1, (2, (3.0, math.inf))),
        {"a": {"b": [{"c": NAN}]}},
        {1.0, math.inf},
        deque([NAN]),
        Output(NAN),
        Output(1.0, [Output(NAN)]),
        Pair(1, NAN),
        ModelOutput(logits=NAN),
        [0.5] * 4096 + [NAN],
        ["text"] * 20 + [NAN],
        [{"box": [1.0, 2.0]}] * 2000 + [{"box": [1.0, NAN]}],
        [1e308] * 3 + [math.inf],
    ],
    ids=lambda bad: repr(bad)[:30].partition(" at 0x")[0],
)
def test_an_output_that_is_no_number_is_found(fleet, bad):
    assert fleet.monitor(lambda: bad, name="f")() is bad
    assert fleet.value("nonfinite_outputs_total") == 1


loop: list = []
loop.append(loop)


@pytest.mark.parametrize(
    "good",
    [
        None,
        "nan",
        1,
        10**400,
        2.0,
        [],
        {},
        range(5),
        object(),
        Output,
        loop,
        [10**400] * 30,
        [1e308] * 30,
        {"a": [1.0] * 5000},
        [loop] * 20_000,
        iter([NAN]),
        ["x" * 10] * 100_000,
    ],
    ids=lambda good: repr(good)[:30].partition(" at 0x")[0],
)
def test_an_output_of_numbers_is_let_be(fleet, good):
    assert fleet.monitor(lambda: good, name="f")() is good
    assert fleet.value("nonfinite_outputs_total") == 0
    assert fleet.registry.faults == 0


def test_an_output_that_breaks_when_looked_at_is_given_back(fleet):
    class Broken(dict):
        def values(self):
            raise RuntimeError("no")

    output = [Broken(a=1)]
    assert fleet.monitor(lambda: output, name="f")() is output
    assert fleet.registry.faults == 1
    assert fleet.errors() == {}


def test_a_numpy_array(fleet):
    numpy = pytest.importorskip("numpy")
    call = fleet.monitor(lambda array: array, name="f")
    call(numpy.ones(3, dtype="float32"))
    call(numpy.array([1, 2]))
    call(numpy.array(["nan"]))
    call(numpy.float32(1))
    assert fleet.value("nonfinite_outputs_total") == 0
    call([numpy.array([1, NAN], dtype="float16")])
    call(numpy.float32(NAN))
    call(numpy.float64(math.inf))
    assert fleet.value("nonfinite_outputs_total") == 3


def test_the_policy_raise(fleet):
    call = fleet.monitor(lambda x: x, name="f", nonfinite="raise")
    assert call(1.0) == 1.0
    with pytest.raises(NonFiniteOutputError, match="f returned NaN or infinity"):
        call({"logits": [NAN]})
    assert fleet.value("nonfinite_outputs_total") == 1
    assert fleet.errors() == {"NonFiniteOutputError": 1}


def test_the_policy_raise_closes_a_generator(fleet):
    closed = []

    @fleet.monitor(name="f", nonfinite="raise")
    def tokens():
        try:
            yield 1.0
            yield NAN
        finally:
            closed.append(True)

    stream = tokens()
    assert next(stream) == 1.0
    with pytest.raises(ValueError, match="NaN"):
        next(stream)
    assert closed == [True]


def test_a_class_without_a_hash_is_nothing_to_look_at(fleet):
    class Meta(type):
        def __eq__(cls, other):
            return cls is other

        __hash__ = None

    class Odd(metaclass=Meta):
        pass

    call = fleet.monitor(lambda x: x, name="f")
    odd = Odd()
    assert call(odd) is odd
    assert call([odd, NAN])[0] is odd
    assert fleet.value("nonfinite_outputs_total") == 1
    assert fleet.registry.faults == 0
    assert fleet.errors() == {}


def test_no_look_where_none_is_wanted(fleet):
    fleet.monitor(lambda: NAN, name="f", nonfinite=None)()
    assert fleet.value("nonfinite_outputs_total") == 0


def test_a_signal_handler_may_call_a_function_that_it_interrupts(fleet):
    @fleet.monitor(name="f")
    def call(depth=0):
        if depth == 0:
            signal.raise_signal(signal.SIGUSR1)
        return 1.0

    before = signal.signal(signal.SIGUSR1, lambda *_: call(1))
    try:
        call()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert fleet.value("latency_seconds_count") == 2


def test_the_policy_kill_ends_the_process_and_leaves_a_mark(children):
    done = children.run(
        """
        import atexit, sys
        from watchkeeper_fleet import agent
        from watchkeeper_fleet.agent.inference import monitor_inference

        agent.start()
        atexit.register(print, "atexit ran")

        @monitor_inference(nonfinite="kill")
        def predict(x):
            return {"logits": [x]}

        predict(1.0)
        try:
            predict(float("nan"))
        finally:
            print("finally ran")
        """
    )
    assert done.returncode == -signal.SIGKILL
    assert done.stdout == ""
    assert done.stderr == "watchkeeper: predict returned NaN or infinity; this process ends by its policy kill\n"
    record = children.record()
    assert record.mark == "exception:NonFiniteOutputError"
    assert children.values(record)["inference_nonfinite_outputs_total function=predict"] == 1


def test_calls_of_the_parent_are_not_in_progress_in_a_forked_child(children):
    children.quiet(
        """
        import os, threading
        from watchkeeper_fleet.agent.inference import FUNCTIONS, monitor_inference

        gate, inside = threading.Event(), threading.Event()

        @monitor_inference
        def wait():
            inside.set()
            gate.wait()

        @monitor_inference
        def fork():
            return os.fork()

        thread = threading.Thread(target=wait)
        thread.start()
        inside.wait()
        child = fork()
        if child == 0:
            fork_state, wait_state = FUNCTIONS.get("fork"), FUNCTIONS.get("wait")
            ok = not wait_state.running and not fork_state.running
            os._exit(0 if ok else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert len(FUNCTIONS.get("wait").running) == 1
        gate.set()
        thread.join()
        """.replace("import os, threading", "import os, threading, warnings; warnings.simplefilter('ignore')")
    )


def test_a_decorated_process_reports(children):
    children.quiet(
        """
        from watchkeeper_fleet import agent
        from watchkeeper_fleet.agent.inference import monitor_inference

        agent.start()

        @monitor_inference
        def predict(x):
            return x

        for _ in range(5):
            predict(1.0)
        """
    )
    values = children.values()
    assert values["inference_latency_seconds_count function=predict"] == 5
    assert values["inference_in_progress function=predict"] == 0
    assert values["torch_progress_timestamp_seconds"] > 1.6e9


def test_importing_it_loads_nothing_heavy(children):
    children.quiet(
        """
        import sys
        import watchkeeper_fleet.agent.inference
        print(sorted({"torch", "numpy", "asyncio", "logging"} & set(sys.modules)))
        """,
        "[]\n",
        torch=None,
    )
