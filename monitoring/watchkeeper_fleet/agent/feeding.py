"""`agent.loader`: a loop's source of batches, with the time that the loop waits for it."""

from __future__ import annotations

import sys

from watchkeeper_fleet.agent import lifecycle
from watchkeeper_fleet.agent.registry import REGISTRY
from watchkeeper_fleet.agent.stall import Ring
from watchkeeper_fleet.agent.steps import METER

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from watchkeeper_fleet.agent.steps import Lane


class Loader:
    """Looks like what it wraps, but for its type."""

    __slots__ = ("_source",)

    def __init__(self, source: Any) -> None:
        object.__setattr__(self, "_source", source)

    def __iter__(self) -> Iterator[Any]:
        return Pass(self._source)

    def __len__(self) -> int:
        return len(self._source)

    def __bool__(self) -> bool:
        return bool(self._source)

    def __getattr__(self, name: str) -> Any:
        if name == "_source":  # a copy that is being made has none yet
            raise AttributeError(name)
        return getattr(self._source, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._source, name, value)

    def __reduce__(self) -> tuple[type[Loader], tuple[Any]]:
        return type(self), (self._source,)


class Feed(Loader):
    """Of an iterator, which gives its next batch without a loop too."""

    __slots__ = ("_pass",)

    def __init__(self, source: Any) -> None:
        super().__init__(source)
        object.__setattr__(self, "_pass", None)  # none yet: to make one is a wait

    def __next__(self) -> Any:
        if self._pass is None:
            object.__setattr__(self, "_pass", Pass(self._source))
        return next(self._pass)


class Pass:
    """One pass over a source. Making its iterator is a wait too: workers are started then."""

    __slots__ = ("_iterator", "_lane", "_own")

    def __init__(self, source: Any) -> None:
        self._iterator: Any = None
        lane = self._ask()
        try:
            self._iterator = iter(source)
        finally:
            self._answer(lane, batch=False)
        self._own = self._iterator is not source

    def __iter__(self) -> Pass:
        return self

    def __next__(self) -> Any:
        lane = self._ask()  # kept here, since threads may share a pass
        batch = False
        try:
            found = next(self._iterator)
            batch = True
            return found
        finally:
            self._answer(lane, batch=batch)

    def __length_hint__(self) -> int:
        hint = getattr(self._iterator, "__length_hint__", None)
        return hint() if hint is not None else NotImplemented

    def close(self) -> None:
        """End the pass, and the iterator with it, unless it is the source itself: that is whoever made it to close."""
        self._leave()
        close = getattr(self._iterator, "close", None)
        self._iterator = iter(())
        if self._own and close is not None:
            close()

    def __del__(self) -> None:
        self._leave()

    def _leave(self) -> None:
        lane = getattr(self, "_lane", None)
        if lane is not None:
            lane.leave(self)

    def _ask(self) -> Lane | None:
        lane = None
        try:
            if REGISTRY.wakers:
                REGISTRY.wake()
            self._lane = lane = METER.lane()
            if lane.ring is None and lane.gpu and lifecycle.STATE.on:
                lane.ring = Ring(sys.modules["torch"].cuda, int(lane.gpu))
            lane.ask(self)
        except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
            REGISTRY.faults += 1
        return lane

    def _answer(self, lane: Lane | None, *, batch: bool) -> None:
        try:
            if lane is not None:
                lane.answer(self, batch=batch)
        except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
            REGISTRY.faults += 1
