"""How long GPU kernels take, from a step now and then: at most 0.5 % of wall time goes into it.

    agent.sample_kernels()  # or WATCHKEEPER_KERNELS=1

At the begin of a step, torch's profiler is started for the device's activity alone; at its end an event is put behind
it, and at the first boundary that finds the event done the recording is ended and read. What that cost decides when
the next one comes.
"""

from __future__ import annotations

import os
from _thread import get_ident
from contextlib import suppress
from time import perf_counter

from watchkeeper_fleet.agent import boundaries
from watchkeeper_fleet.agent.kernel_names import NCCL, OTHER, label_of
from watchkeeper_fleet.agent.recording import Recording
from watchkeeper_fleet.agent.registry import REGISTRY, Registry
from watchkeeper_fleet.metrics.agent import KERNEL

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable

    from watchkeeper_fleet.agent.registry import Histogram

TOP = 20
MOST_TOP = 25  # 15 series each, and 500 fit in a spool file
BUDGET = 0.005
MOST_BUDGET = 0.05
FIRST_COST = 0.5  # a cycle's, before one was measured: 435 ms was
SHARE = 0.01  # of a cycle's time, below which a kernel takes no place
PAUSE = 1.0  # until the next try, where there could be no recording
MOST_SECONDS = 5.0  # then it is ended, though no step ends
MOST_BOUNDARIES = 50  # without the step's event being done


class Kernels:
    """The histograms, of a bounded number of names for ever."""

    __slots__ = ("_admitted", "_histograms", "_registry", "top")

    def __init__(self, registry: Registry, top: int = TOP) -> None:
        self._registry = registry
        self.top = top
        self._admitted: set[str] = set()  # a name that has a place keeps it
        self._histograms: dict[tuple[int, str], Histogram] = {}

    def count(self, found: list[tuple[int, str, float]]) -> None:
        """Take in what one recording saw: device, name and seconds of each kernel."""
        names: dict[str, str] = {}
        labels: dict[str, float] = {}
        for _, name, seconds in found:
            label = names.get(name)
            if label is None:
                label = names[name] = label_of(name)
            labels[label] = labels.get(label, 0.0) + seconds
        self._admit(labels)
        for device in sorted({device for device, _, _ in found}):
            for label in (OTHER, NCCL):  # before the spool is full
                self._histogram(device, label)
        for device, name, seconds in found:
            label = names[name]
            known = label if label in self._admitted or label == NCCL else OTHER
            (self._histograms.get((device, known)) or self._histogram(device, known)).observe(seconds)

    def _admit(self, labels: dict[str, float]) -> None:
        """Give the places that are left to the most expensive; not to what hardly counts."""
        # NCCL's spin while they wait for other ranks, and may take all the time there is.
        costs = {label: seconds for label, seconds in labels.items() if label not in (NCCL, OTHER)}
        least = SHARE * sum(costs.values())
        for label in sorted(costs, key=lambda label: (-costs[label], label)):
            if len(self._admitted) >= self.top or costs[label] < least:
                break
            self._admitted.add(label)

    def _histogram(self, device: int, label: str) -> Histogram:
        dropped = self._registry.dropped
        histogram = self._registry.histogram(KERNEL, KERNEL.buckets, gpu=str(device), kernel=label)
        if self._registry.dropped > dropped and label != OTHER:  # the spool is full
            histogram = self._histograms.get((device, OTHER)) or self._histogram(device, OTHER)
        return self._histograms.setdefault((device, label), histogram)


class Sampler:
    """When a step is recorded: `begin` and `end` are called at the boundaries of every step, in any thread."""

    __slots__ = (
        "_boundaries", "_budget", "_costs", "_depth", "_due", "_kernels", "_last", "_on", "_recording", "_since",
        "_thread", "clock", "off",
    )  # fmt: skip

    def __init__(
        self, recording: Recording, kernels: Kernels, budget: float = BUDGET, clock: Callable[[], float] = perf_counter
    ) -> None:
        self._recording = recording
        self._kernels = kernels
        self._budget = budget
        self.clock = clock
        self.off = False  # for good, where it can't be, or has failed
        self._costs = [FIRST_COST]  # the first recording is paid for before it is made
        self._last = clock()  # when the last one had been read
        self._due = self._last + FIRST_COST / budget
        self._on = False
        self._thread = 0  # the one whose step is recorded
        self._depth = 0  # of its steps
        self._boundaries = 0  # since its step ended
        self._since = 0.0

    def set(self, top: int, budget: float) -> None:
        """Take other values from now on. A name that has a place keeps it."""
        self._kernels.top = top
        self._budget = budget
        self._plan()

    def _plan(self) -> None:
        # The dearest of late: one cheap recording says little.
        self._due = self._last + max(self._costs) / self._budget

    def begin(self) -> None:
        """Begin a recording with the step, if it is time."""
        if self._on:
            if self._thread == get_ident():
                if self._depth:
                    self._depth += 1
                else:
                    self._look()
            self.expire()  # steps that overlap for ever, as a server's do
            return
        now = self.clock()
        # From the first step on, long before a recording: a profile that the workload prepares must be seen.
        if not self._recording.watch() or now < self._due or self.off:
            return
        self._due = max(self._due, now + PAUSE)
        try:
            if not self._recording.possible():
                self.off = True
            elif self._recording.ready() and self._recording.start():
                self._on, self._thread, self._depth, self._boundaries, self._since = True, get_ident(), 1, 0, now
        except Exception:
            self.off = True  # what failed once would fail again
            raise

    def end(self) -> None:
        """Mark the end of the step; end the recording as soon as what it launched has run."""
        if not self._on or self._thread != get_ident():
            return
        if self._depth:
            self._depth -= 1
            if self._depth:
                return
            self._recording.mark()
        self._look()

    def _look(self) -> None:
        self._boundaries += 1
        if self._boundaries > MOST_BOUNDARIES or self._recording.done():
            self._finish(self._recording.stop)

    def expire(self) -> None:
        """End a recording whose step does not end, or after which no step came; the publisher calls it."""
        if self._on and self.clock() - self._since > MOST_SECONDS:
            # The process may be about to fork, and wait for this thread.
            with suppress(TimeoutError):
                self._finish(lambda: self._recording.stop(0))

    def _finish(self, stop: Callable[[], list[tuple[int, str, float]] | None]) -> None:
        try:
            found = stop()
            self._on = False
            begun = self.clock()
            if found:
                self._kernels.count(found)
            cost = self._recording.spent + self.clock() - begun
        except TimeoutError:
            raise
        except Exception:
            self._on, self.off = False, True
            raise
        self._recording.spent = 0.0
        self._costs = [*self._costs[-2:], cost]
        self._last = self.clock()
        self._plan()


_SAMPLERS: list[Sampler] = []  # the one of this process, once it is asked for


def sample_kernels(top: int = TOP, budget: float = BUDGET) -> bool:
    """Sample the kernels of a step now and then, and return whether that is on; WATCHKEEPER_AGENT=0 keeps it off.

    `top` is how many names get a histogram of their own (25 at most), the most expensive; all others are `other`, and
    NCCL's are `nccl`. `budget` is the share of wall time that it may cost (0.05 at most). Called again, it takes these
    values from then on. It works in steps: with neither `agent.step()` nor an integration, nothing is sampled.
    """
    try:
        if os.environ.get("WATCHKEEPER_AGENT") == "0":
            return False
        if not (0 < int(top) <= MOST_TOP and 0 < float(budget) <= MOST_BUDGET):
            raise ValueError  # noqa: TRY301 - counted like all else
        if not _SAMPLERS:
            sampler = Sampler(Recording(), Kernels(REGISTRY))
            _SAMPLERS.append(sampler)
            boundaries.BEGIN.append(sampler.begin)
            boundaries.END.append(sampler.end)
            REGISTRY.before.append(sampler.expire)
            sampler.begin()  # not yet due: profiles are seen from now on, where torch is there
        _SAMPLERS[0].set(int(top), float(budget))
    except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
        REGISTRY.faults += 1
        return False
    return True
