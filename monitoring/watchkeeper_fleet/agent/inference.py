"""`monitor_inference`, the decorator that every function which answers requests should have.

    from watchkeeper_fleet.agent.inference import monitor_inference

    @monitor_inference
    def predict(batch): ...

It works on functions, coroutines, generators of both kinds and methods. See the function for its options.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from time import perf_counter

from watchkeeper_fleet.agent.functions import Functions, next_token
from watchkeeper_fleet.agent.growth import initialized
from watchkeeper_fleet.agent.nonfinite import nonfinite as holds_nonfinite
from watchkeeper_fleet.agent.policies import (
    CudaRequiredError,
    MemoryJumpError,
    NonFiniteOutputError,
    chosen,
    kill,
)
from watchkeeper_fleet.agent.progress import PROGRESS
from watchkeeper_fleet.agent.registry import REGISTRY
from watchkeeper_fleet.agent.trees import KINDS, NOTHING

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator
    from typing import Any, TypeVar

    from watchkeeper_fleet.agent.growth import Span

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["CudaRequiredError", "MemoryJumpError", "NonFiniteOutputError", "monitor_inference"]

# The post-mortem's mark: a tenth more than before.
JUMP = 1.1

# After the steps' hook, since both say whether the process is at work.
assert PROGRESS.compute in REGISTRY.before
FUNCTIONS = Functions(REGISTRY)
os.register_at_fork(after_in_child=FUNCTIONS.forget)


def monitor_inference(
    function: F | None = None,
    /,
    *,
    name: str = "",
    nonfinite: str | None = "count",
    memory_jump: str | None = "count",
    require_cuda: bool = False,
    empty_cache: bool = False,
    functions: Functions = FUNCTIONS,
) -> Any:
    """Measure each call: latency, calls in progress, errors by class, output that is no number, memory left behind.

    `name` is the label `function`; the qualified name if there is none.

    `nonfinite` and `memory_jump` each are `"count"`, `"raise"` (the caller gets NonFiniteOutputError or MemoryJumpError
    instead of the output), `"kill"` (the process ends at once, by SIGKILL), or None for not looking.

    - `nonfinite="count"` never waits for the GPU: it queues one reduction for each type of tensor, and the count comes
      with a later publish. `"raise"` and `"kill"` must know before they return, so each call waits for the GPU, and
      nothing is queued ahead any more. During the capture of a CUDA graph none of them looks.
    - `memory_jump` compares what is allocated after a call and before it, over the devices that hold anything, and acts
      when it is more than a tenth higher. It never waits for the GPU, and costs 20 to 40 µs for each call and device
      once there is a context. Calls that other decorated calls ran beside are not judged, since the allocator is
      everyone's. The first call of a process leaves work space behind: warm up before you raise or kill.

    `require_cuda` refuses calls with CudaRequiredError where torch has no CUDA. `empty_cache` gives torch's cache back
    to the device after a call that raised; it waits for the device, and makes the next calls slow.

    A generator's time is what it spends itself, without its consumer's, and each item counts as an output.
    """
    chosen("nonfinite", nonfinite)
    chosen("memory_jump", memory_jump)

    def decorate(function: Any) -> Any:
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(decorate(function.__func__))
        if not callable(function) or isinstance(function, type):
            raise TypeError(f"monitor_inference is for functions and methods, not for {function!r}")
        monitor = _Monitor(
            functions,
            name or _name(function),
            nonfinite=nonfinite,
            memory_jump=memory_jump,
            require_cuda=require_cuda,
            empty_cache=empty_cache,
        )
        for kind, wrap in _WRAPPERS:
            if kind(function) or kind(getattr(function, "__call__", None)):  # noqa: B004 - of an object with __call__
                return functools.wraps(function)(wrap(function, monitor))
        return functools.wraps(function)(_sync(function, monitor))

    return decorate if function is None else decorate(function)


def _name(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name: str = getattr(function, "__qualname__", type(function).__qualname__)
    return name.rpartition("<locals>.")[2]


class _Monitor:
    """One decorated function with its options."""

    __slots__ = (
        "_empty_cache",
        "_jump",
        "_measure",
        "_nonfinite",
        "_require_cuda",
        "_tallies",
        "function",
        "growth",
        "registry",
    )

    def __init__(
        self,
        functions: Functions,
        name: str,
        *,
        nonfinite: str | None,
        memory_jump: str | None,
        require_cuda: bool,
        empty_cache: bool,
    ) -> None:
        self.function = functions.get(name)
        self.growth = functions.growth
        self._measure = functions.growth.begin
        self.registry = functions.registry
        self._nonfinite = nonfinite
        self._jump = memory_jump
        self._require_cuda = require_cuda
        self._empty_cache = empty_cache
        self._tallies = functions.tallies if nonfinite == "count" else None

    def begin(self) -> Span | None:
        """Refuse the call, or return a span where memory is measured."""
        if self._require_cuda and initialized() is None:
            torch = sys.modules.get("torch")
            if torch is None or not torch.cuda.is_available():
                raise CudaRequiredError(
                    f"{self.function.name} requires CUDA, and torch finds none: the call is refused"
                )
        if not self._jump:
            return None
        try:
            return self._measure()
        except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
            self.registry.faults += 1
            return None

    def end(self, span: Span) -> None:
        """Judge the memory that a call left behind."""
        try:
            measured = self.growth.end(span)
        except Exception:  # noqa: BLE001 - as above
            self.registry.faults += 1
            return
        if measured is None:
            return
        before, after = measured
        self.function.delta.set(float(after - before))
        if 0 < before * JUMP < after:
            self.function.jumps.add(1.0)
            if self._jump != "count":
                words = f"{self.function.name} left {after} bytes allocated where {before} were before"
                self._act(self._jump, MemoryJumpError(words))

    def examine(self, output: object) -> None:
        """Look for NaN and infinity in an output."""
        if self._nonfinite is None or KINDS.get(type(output)) == NOTHING:
            return
        try:
            bad = holds_nonfinite(output, self.function.name, self._tallies)
        except Exception:  # noqa: BLE001 - as above; an error of the device comes up again where the workload meets it
            self.registry.faults += 1
            return
        if bad:
            self.function.nonfinite.add(1.0)
            if self._nonfinite != "count":
                self._act(self._nonfinite, NonFiniteOutputError(f"{self.function.name} returned NaN or infinity"))

    def _act(self, policy: str | None, error: Exception) -> None:
        if policy == "kill":
            kill(error)
        raise error

    def failed(self, error: BaseException) -> None:
        """Count the error; free the cache where that is wanted."""
        self.function.failed(error)
        if self._empty_cache and isinstance(error, Exception):
            torch = initialized()
            try:
                if torch is not None and not torch.cuda.is_current_stream_capturing():
                    torch.cuda.empty_cache()
            except Exception:  # noqa: BLE001 - the workload's own error is the one to see
                self.registry.faults += 1


def _sync(function: Callable[..., Any], monitor: _Monitor) -> Callable[..., Any]:
    state, running, observe = monitor.function, monitor.function.running, monitor.function.latency.observe
    begin, end, examine, close = monitor.begin, monitor.end, monitor.examine, monitor.growth.close

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        span = None
        token = next_token()
        started = perf_counter()
        try:
            running[token] = started
            span = begin()
            result = function(*args, **kwargs)
            if span is not None:
                end(span)
            examine(result)
            return result  # noqa: TRY300 - an else would cost the finally's order
        except BaseException as error:
            monitor.failed(error)
            raise
        finally:
            running.pop(token, None)
            if span is not None:
                close(span)
            state.finished = now = perf_counter()
            observe(now - started)

    return wrapper


def _async(function: Callable[..., Any], monitor: _Monitor) -> Callable[..., Any]:
    state, running, observe = monitor.function, monitor.function.running, monitor.function.latency.observe
    begin, end, examine, close = monitor.begin, monitor.end, monitor.examine, monitor.growth.close

    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        span = None
        token = next_token()
        started = perf_counter()
        try:
            running[token] = started
            span = begin()
            result = await function(*args, **kwargs)
            if span is not None:
                end(span)
            examine(result)
            return result  # noqa: TRY300 - as above
        except BaseException as error:
            monitor.failed(error)
            raise
        finally:
            running.pop(token, None)
            if span is not None:
                close(span)
            state.finished = now = perf_counter()
            observe(now - started)

    return wrapper


class _Stream:
    """A generator's call. It is in progress while it works (`with stream`), not while its consumer does."""

    __slots__ = ("_inside", "_monitor", "_resumed", "_span", "_started", "_token")

    def __init__(self, monitor: _Monitor) -> None:
        self._monitor = monitor
        self._inside = 0.0
        self._span: Span | None = None
        self._started = False

    def __enter__(self) -> None:
        self._token = next_token()
        self._resumed = perf_counter()
        self._monitor.function.running[self._token] = self._resumed
        if self._span is not None:
            self._monitor.growth.enter(self._span)
        elif not self._started:
            self._started = True
            try:
                self._span = self._monitor.begin()
            except BaseException:
                self.__exit__()
                raise

    def __exit__(self, *_: object) -> None:
        self._monitor.function.running.pop(self._token, None)
        if self._span is not None:
            self._monitor.growth.leave(self._span)
        self._inside += perf_counter() - self._resumed

    def end(self) -> None:
        """Judge it: it is exhausted."""
        if self._span is not None:
            self._monitor.end(self._span)

    def close(self) -> None:
        """Observe it, however it ended."""
        if self._span is not None:
            self._monitor.growth.close(self._span)
        self._monitor.function.finished = perf_counter()
        self._monitor.function.latency.observe(self._inside)


def _generator(function: Callable[..., Any], monitor: _Monitor) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        stream = _Stream(monitor)
        inner = None
        value: Any = None
        thrown: BaseException | None = None
        try:
            while True:
                with stream:
                    if inner is None:
                        inner = function(*args, **kwargs)
                    try:
                        items = [inner.send(value) if thrown is None else inner.throw(thrown)]
                    except StopIteration as stop:
                        stream.end()
                        return stop.value
                    monitor.examine(items[0])
                value = thrown = None
                try:
                    value = yield items.pop()  # no name holds the item while the consumer has it
                except GeneratorExit:
                    raise
                except BaseException as error:  # noqa: BLE001 - the generator's to handle
                    thrown = error
        except BaseException as error:
            monitor.failed(error)
            if inner is not None:
                inner.close()
            raise
        finally:
            stream.close()

    return wrapper


def _async_generator(function: Callable[..., Any], monitor: _Monitor) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        stream = _Stream(monitor)
        inner = None
        value: Any = None
        thrown: BaseException | None = None
        try:
            while True:
                with stream:
                    if inner is None:
                        inner = function(*args, **kwargs)
                    try:
                        items = [await (inner.asend(value) if thrown is None else inner.athrow(thrown))]
                    except StopAsyncIteration:
                        stream.end()
                        return
                    monitor.examine(items[0])
                value = thrown = None
                try:
                    value = yield items.pop()
                except GeneratorExit:
                    raise
                except BaseException as error:  # noqa: BLE001 - the generator's to handle
                    thrown = error
        except BaseException as error:
            monitor.failed(error)
            if inner is not None:
                await inner.aclose()
            raise
        finally:
            stream.close()

    return wrapper


_WRAPPERS = (
    (inspect.iscoroutinefunction, _async),
    (inspect.isgeneratorfunction, _generator),
    (inspect.isasyncgenfunction, _async_generator),
)
