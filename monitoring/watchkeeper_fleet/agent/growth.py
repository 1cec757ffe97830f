"""How much more memory is allocated after a call than before it.

The allocator belongs to the whole process, so a difference says something of a call only where no other call ran
beside it. Calls inside it are its own. Only then is it judged.
"""

from __future__ import annotations

import sys
from contextvars import ContextVar

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from watchkeeper_fleet.agent.registry import Registry

# A device that holds nothing of ours is asked only now and then.
_LOOK_AT_ALL_EVERY = 256


class Span:
    """One measured call under way."""

    __slots__ = ("alone", "before", "open", "parent")

    def __init__(self, parent: Span | None) -> None:
        self.parent = parent
        self.alone = True
        self.open = True
        self.before = 0


class Growth:
    """The measured calls of one process that are under way."""

    __slots__ = ("_alone", "_current", "_devices", "_open", "_reads", "_registry")

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._current: ContextVar[Span | None] = ContextVar("watchkeeper_call", default=None)
        self.forget()

    def forget(self) -> None:
        """Drop everything, as a forked child must."""
        self._open: dict[Span, None] = {}
        self._alone: dict[Span, None] = {}  # a call and those within it, as a rule
        self._devices: list[int] = []
        self._reads = 0

    def begin(self) -> Span | None:
        """Return a span, or None where there is no memory to measure yet."""
        torch = sys.modules.get("torch")
        try:
            # Nearly all there is to it, where there is no GPU.
            if torch is None or not torch.cuda.is_initialized():
                return None
            return self._begin(torch)
        except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload; torch may be half imported
            self._registry.faults += 1
            return None

    def _begin(self, torch: Any) -> Span:
        # A task may outlive the call that started it.
        callers = [caller for caller in _up(self._current.get()) if caller.open]
        span = Span(callers[0] if callers else None)
        for other in self._alone.copy():
            if other not in callers:
                other.alone = False
                self._alone.pop(other, None)
        span.alone = len(self._open) <= len(callers)
        self._open[span] = None
        if span.alone:
            self._alone[span] = None
        self._current.set(span)
        span.before = self._allocated(torch)
        return span

    def end(self, span: Span) -> tuple[int, int] | None:
        """Return bytes allocated before and after, or None where others had a part in it."""
        try:
            torch = initialized() if span.alone else None
            return None if torch is None else (span.before, self._allocated(torch))
        except Exception:  # noqa: BLE001 - as above
            self._registry.faults += 1
            return None

    def close(self, span: Span) -> None:
        """Forget the span."""
        span.open = False
        self._open.pop(span, None)
        self._alone.pop(span, None)
        self.leave(span)

    def enter(self, span: Span) -> None:
        """Take span for the call that runs now: a generator goes on."""
        self._current.set(span)

    def leave(self, span: Span) -> None:
        """Take its caller for the one that runs now. No token, since a generator may go on in another context."""
        self._current.set(span.parent)

    def _allocated(self, torch: Any) -> int:
        """Return the bytes allocated over all devices. A dictionary each: 10 to 20 µs; memory_allocated sorts it."""
        self._reads += 1
        if not self._devices or self._reads % _LOOK_AT_ALL_EVERY == 0:
            devices = list(range(torch.cuda.device_count()))
        else:
            devices = self._devices
        total = 0
        holding = []
        for device in devices:
            stats = torch.cuda.memory_stats_as_nested_dict(device)
            allocated = stats.get("allocated_bytes", {}).get("all", {}).get("current", 0)
            if allocated:
                holding.append(device)
                total += allocated
        self._devices = holding
        return total


def initialized() -> Any:
    """Return torch where it has a CUDA context in this process, else None. Loads nothing, creates nothing."""
    torch = sys.modules.get("torch")
    try:
        return torch if torch is not None and torch.cuda.is_initialized() else None
    except AttributeError:  # half imported
        return None


def _up(span: Span | None) -> Iterator[Span]:
    while span is not None:
        yield span
        span = span.parent
