"""`agent.watch_finite`: NaN and infinity in any tensor, counted by the name that the program gives it."""

from __future__ import annotations

import os

from watchkeeper_fleet.agent import lifecycle
from watchkeeper_fleet.agent.nonfinite import Tallies, nonfinite
from watchkeeper_fleet.agent.registry import REGISTRY, Registry
from watchkeeper_fleet.agent.trees import take_apart
from watchkeeper_fleet.metrics.agent import NONFINITE_TENSORS
from watchkeeper_fleet.spool.layout import cleaned

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from typing import TypeVar

    from watchkeeper_fleet.agent.registry import Counter

    T = TypeVar("T")

MOST_NAMES = 16
OTHER = "other"
_LONGEST_NAME = 100


class Watched:
    """What has been looked at in this process, by name."""

    __slots__ = ("_counters", "_registry", "_seen", "tallies")

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._counters: dict[str, Counter] = {}
        self._seen: dict[str, int] = {}
        self.tallies = Tallies()
        registry.before.append(self.publish)

    def look(self, x: object, name: str) -> None:
        """Count x under a name if it holds what is no number; what lies on a GPU is counted when it is known."""
        counter = self.counter(name)
        tensors, finite = take_apart(x)
        if not finite or (tensors and nonfinite(tensors, counter.labels["tensor"], self.tallies)):
            counter.add(1.0)

    def counter(self, name: str) -> Counter:
        """Return the counter of that name, which is there at 0 from the first look on; beyond the first few: other."""
        found = self._counters.get(name)
        if found is None:
            label = cleaned(str(name))[:_LONGEST_NAME]
            known = {counter.labels["tensor"] for counter in self._counters.copy().values()}
            if label not in known and len(known) >= MOST_NAMES:
                label = OTHER
            found = self._registry.counter(NONFINITE_TENSORS, tensor=label)
            if len(self._counters) < 10 * MOST_NAMES:  # someone makes names as they go
                found = self._counters.setdefault(name, found)
        return found

    def publish(self) -> None:
        """Take over what has come back from the devices; the publisher calls it, on any thread."""
        for name, total in self.tallies.totals().items():
            new = total - self._seen.get(name, 0)
            if new > 0:
                self._seen[name] = total
                self._registry.counter(NONFINITE_TENSORS, tensor=name).add(float(new))

    def forget(self) -> None:
        """Drop what is the parent's, in a forked child."""
        self.tallies.forget()
        self._seen.clear()


WATCHED = Watched(REGISTRY)
os.register_at_fork(after_in_child=WATCHED.forget)


def watch_finite(x: T, name: str = "output") -> T:
    """Look for NaN and infinity in x: a tensor, or anything that holds some. Return x as it is.

    It never waits for the GPU: one reduction for each type of tensor is queued behind what makes it, and the count
    comes with a later publish. During the capture of a CUDA graph it does not look. `name` is the label `tensor`.
    """
    if lifecycle.STATE.on:
        try:
            WATCHED.look(x, name)
        except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
            REGISTRY.faults += 1
    return x
