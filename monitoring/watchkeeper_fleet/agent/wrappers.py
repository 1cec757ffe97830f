"""A function of each kind that calls another of its kind and tells a monitor: all that callers see stays as it was.

The first two are written out twice, and with local names, since every call pays for them.
"""

from __future__ import annotations

import itertools
import sys
from _thread import get_ident
from bisect import bisect_left
from time import perf_counter

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator
    from typing import Any

    from watchkeeper_fleet.agent.growth import Span
    from watchkeeper_fleet.agent.monitor import Monitor


next_token = itertools.count().__next__


def plain(function: Callable[..., Any], monitor: Monitor) -> Callable[..., Any]:
    state = monitor.function
    calls, bounds = state.calls, state.latency.bounds
    begin, end, examine, close, failed = (
        monitor.begin,
        monitor.end,
        monitor.examine,
        monitor.growth.close,
        monitor.failed,
    )
    guarded, looks, modules = monitor.guarded, monitor.looks, sys.modules

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        span = None
        try:
            mine = calls[get_ident()]
        except KeyError:
            mine = state.first_call()
        begun = mine.begun
        started = perf_counter()
        try:
            begun.append(started)
            if guarded or "torch" in modules:
                span = begin()
            result = function(*args, **kwargs)
            if span is not None:
                end(span)
            if looks and result is not None and type(result) is not str:
                examine(result)
            return result  # noqa: TRY300 - an else would cost the finally's order
        except BaseException as error:
            failed(error)
            raise
        finally:
            mine.finished = now = perf_counter()
            if begun[-1] is started:
                begun.pop()
            else:
                mine.ended(started)
            if span is not None:
                close(span)
            now -= started
            counts = mine.counts
            counts[bisect_left(bounds, now)] += 1.0
            counts[-1] += now

    return wrapper


def coroutine(function: Callable[..., Any], monitor: Monitor) -> Callable[..., Any]:
    state = monitor.function
    waiting, observe = state.waiting, state.latency.observe
    begin, end, examine, close, failed = (
        monitor.begin,
        monitor.end,
        monitor.examine,
        monitor.growth.close,
        monitor.failed,
    )
    guarded, looks, modules = monitor.guarded, monitor.looks, sys.modules

    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        span = None
        token = next_token()
        started = perf_counter()
        try:
            waiting[token] = started
            if guarded or "torch" in modules:
                span = begin()
            result = await function(*args, **kwargs)
            if span is not None:
                end(span)
            if looks and result is not None and type(result) is not str:
                examine(result)
            return result  # noqa: TRY300 - as above
        except BaseException as error:
            failed(error)
            raise
        finally:
            waiting.pop(token, None)
            if span is not None:
                close(span)
            state.stamp = now = perf_counter()
            observe(now - started)

    return wrapper


class _Stream:
    """A generator's call. It is in progress while it works (`with stream`), not while its consumer does."""

    __slots__ = ("_inside", "_monitor", "_resumed", "_span", "_started", "_token")

    def __init__(self, monitor: Monitor) -> None:
        self._monitor = monitor
        self._inside = 0.0
        self._span: Span | None = None
        self._started = False

    def __enter__(self) -> None:
        self._token = next_token()
        self._resumed = perf_counter()
        self._monitor.function.waiting[self._token] = self._resumed
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
        self._monitor.function.waiting.pop(self._token, None)
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
        self._monitor.function.stamp = perf_counter()
        self._monitor.function.latency.observe(self._inside)


def generator(function: Callable[..., Any], monitor: Monitor) -> Callable[..., Any]:
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


def asynchronous_generator(function: Callable[..., Any], monitor: Monitor) -> Callable[..., Any]:
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
