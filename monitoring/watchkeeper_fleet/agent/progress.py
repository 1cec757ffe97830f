"""Whether the process is at work, and when it last finished a piece: what tells a hang from idleness."""

from __future__ import annotations

import time

from watchkeeper_fleet.agent.registry import REGISTRY, Registry

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable

WORK_IN_PROGRESS = "torch_work_in_progress"  # as in metrics.agent, which is slow to import
PROGRESS_TIMESTAMP = "torch_progress_timestamp_seconds"


class Progress:
    """The two gauges. `tell`, which the steps set, returns whether there is work, and when a piece last ended.

    That time is by perf_counter, and 0 where none did: whoever ends a piece asks for one clock only.
    """

    __slots__ = ("_at_work", "_ended", "_last", "tell")

    def __init__(self, registry: Registry = REGISTRY) -> None:
        self.tell: Callable[[], tuple[bool, float]] = lambda: (False, 0.0)
        self._ended = 0.0
        self._at_work = registry.gauge(WORK_IN_PROGRESS)
        self._last = registry.gauge(PROGRESS_TIMESTAMP)
        registry.before.append(self.compute)

    def compute(self) -> None:
        """Set the gauges, before they are published."""
        at_work, ended = self.tell()
        self._at_work.set(1.0 if at_work else 0.0)
        if ended > self._ended:
            self._ended = ended
            self._last.set(time.time() - (time.perf_counter() - ended))

    def reset(self) -> None:
        """Forget when a piece last ended: in a forked child, it was its parent's."""
        self._ended = 0.0


PROGRESS = Progress()
