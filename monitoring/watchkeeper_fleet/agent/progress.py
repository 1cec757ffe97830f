"""Whether the process is at work, and when it last finished a piece: what tells a hang from idleness."""

from __future__ import annotations

import time

from watchkeeper_fleet.agent.registry import REGISTRY, Registry

WORK_IN_PROGRESS = "torch_work_in_progress"  # as in metrics.agent, which is slow to import
PROGRESS_TIMESTAMP = "torch_progress_timestamp_seconds"


class Progress:
    """Pieces of work (steps, waits for a batch), begun and finished in any thread."""

    __slots__ = ("_at_work", "_last", "_pieces", "_registry", "stamp")

    def __init__(self, registry: Registry = REGISTRY) -> None:
        self._registry = registry
        # To add and to discard is one step each for other threads. A piece may end in another thread than it began in.
        self._pieces: set[object] = set()
        self.stamp = 0.0
        self._at_work = registry.gauge(WORK_IN_PROGRESS)
        self._last = registry.gauge(PROGRESS_TIMESTAMP)
        registry.before.append(self.compute)

    def begin(self, piece: object) -> None:
        """Note that a piece of work was begun."""
        if self._registry.wakers:
            self._registry.wake()
        self._pieces.add(piece)

    def finish(self, piece: object) -> None:
        """Note that a piece of work was finished, well or not."""
        self._pieces.discard(piece)
        self.stamp = time.time()

    def compute(self) -> None:
        """Set the gauges, before they are published."""
        self._at_work.set(1.0 if self._pieces else 0.0)
        if self.stamp:
            self._last.set(self.stamp)

    def reset(self) -> None:
        """Forget everything: in a forked child, the work is its parent's."""
        self._pieces = set()
        self.stamp = 0.0


PROGRESS = Progress()
