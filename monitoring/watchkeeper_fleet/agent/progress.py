"""Whether the process is at work, and when it last finished a piece: what tells a hang from idleness."""

from __future__ import annotations

import time

from watchkeeper_fleet.agent.registry import REGISTRY, Counter, Registry

WORK_IN_PROGRESS = "torch_work_in_progress"  # as in metrics.agent, which is slow to import
PROGRESS_TIMESTAMP = "torch_progress_timestamp_seconds"


class Progress:
    """Pieces of work (steps, requests), begun and finished in any thread."""

    __slots__ = ("_at_work", "_begun", "_finished", "_last", "_stamp")

    def __init__(self, registry: Registry = REGISTRY) -> None:
        # Not of the registry: they are not published themselves.
        self._begun = Counter(registry, "", {})
        self._finished = Counter(registry, "", {})
        self._stamp = 0.0
        self._at_work = registry.gauge(WORK_IN_PROGRESS)
        self._last = registry.gauge(PROGRESS_TIMESTAMP)
        registry.before.append(self.compute)

    def begin(self) -> None:
        """Note that a piece of work was begun."""
        self._begun.add()

    def finish(self) -> None:
        """Note that a piece of work was finished, well or not."""
        self._finished.add()
        self._stamp = time.time()

    def compute(self) -> None:
        """Set the gauges, before they are published."""
        # In this order: a piece that is begun and finished between the two lines is not one that was never finished.
        finished = self._finished.sum()
        self._at_work.set(1.0 if self._begun.sum() > finished else 0.0)
        if self._stamp:
            self._last.set(self._stamp)

    def reset(self) -> None:
        """Forget everything: in a forked child, the work is its parent's."""
        self._begun.reset()
        self._finished.reset()
        self._stamp = 0.0


PROGRESS = Progress()
