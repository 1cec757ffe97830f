"""What is known of each decorated function: its series, and which of its calls are under way."""

from __future__ import annotations

from _thread import get_ident
from time import perf_counter, time

from watchkeeper_fleet.agent.growth import Growth
from watchkeeper_fleet.agent.nonfinite import Tallies
from watchkeeper_fleet.metrics.agent import (
    IN_PROGRESS,
    INFERENCE_ERRORS,
    LATENCY,
    MEMORY_DELTA,
    MEMORY_JUMPS,
    NONFINITE,
    OLDEST_IN_PROGRESS,
    PROGRESS_TIMESTAMP,
    WORK_IN_PROGRESS,
)
from watchkeeper_fleet.spool.layout import cleaned

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from watchkeeper_fleet.agent.registry import Counter, Registry

# 28 series each, and 500 fit in a spool file: there must be room for those of 8 devices, and for classes of errors.
MOST_FUNCTIONS = 8
MOST_CLASSES = 20
OTHER = "other"
# There from the start, so that the first one is an increase; rate() does not see a series begin.
_CLASSES = ("OutOfMemoryError", "RuntimeError", OTHER)
_LONGEST_NAME = 100


def _label(name: str) -> str:
    """Return a name as a label may have it: anyone can make a class whose name holds a line feed."""
    return cleaned(name)[:_LONGEST_NAME]


class Calls:
    """The calls of one plain function in one thread, which each add to it without asking anyone."""

    __slots__ = ("begun", "counts", "finished")

    def __init__(self, counts: list[float]) -> None:
        self.begun: list[float] = []  # when those under way were begun, by perf_counter; the last one ends first
        self.counts = counts  # of the histogram
        self.finished = 0.0  # when one was last

    def ended(self, started: float) -> None:
        """Forget a call that is not the last: of a greenlet, which threads know nothing of."""
        if started in self.begun:
            self.begun.remove(started)


class Function:
    """The series of one function, or of all that had no place any more."""

    __slots__ = (
        "_errors",
        "_registry",
        "calls",
        "delta",
        "in_progress",
        "jumps",
        "latency",
        "name",
        "nonfinite",
        "oldest",
        "stamp",
        "waiting",
    )

    def __init__(self, registry: Registry, name: str) -> None:
        self._registry = registry
        self.name = name
        self.calls: dict[int, Calls] = {}  # of plain functions, by thread
        # Of coroutines and generators, which change threads, and end in any order: when each under way was begun, by
        # a number of its own, and when one was finished last.
        self.waiting: dict[int, float] = {}
        self.stamp = 0.0
        self.latency = registry.histogram(LATENCY, LATENCY.buckets, function=name)
        self.in_progress = registry.gauge(IN_PROGRESS, function=name)
        self.oldest = registry.gauge(OLDEST_IN_PROGRESS, function=name)
        self.nonfinite = registry.counter(NONFINITE, function=name)
        self.jumps = registry.counter(MEMORY_JUMPS, function=name)
        self.delta = registry.gauge(MEMORY_DELTA, function=name)
        self._errors: dict[str, Counter] = {}
        for error in _CLASSES:
            self._count(error)

    def first_call(self) -> Calls:
        """Return what the calls of this thread add to."""
        return self.calls.setdefault(get_ident(), Calls(self.latency.part()))

    @property
    def running(self) -> list[float]:
        """When each call under way was begun. The copies are one step each for other threads."""
        begun = [*self.waiting.copy().values()]
        for calls in self.calls.copy().values():
            begun += calls.begun
        return begun

    @property
    def finished(self) -> float:
        """When a call was finished last, 0 where none was."""
        return max([self.stamp, *(calls.finished for calls in self.calls.copy().values())])

    def forget(self) -> None:
        """Drop what is the parent's, in a forked child: also the calls in whose midst it was forked."""
        self.calls.clear()
        self.waiting.clear()
        self.stamp = 0.0

    def failed(self, error: BaseException) -> None:
        """Count an exception by its class. A generator that is closed early is none: its consumer has enough."""
        if isinstance(error, GeneratorExit):
            return
        name = _label(type(error).__name__)
        if name not in self._errors and len(self._errors) >= MOST_CLASSES + 1:  # and other
            name = OTHER
        (self._errors.get(name) or self._count(name)).add(1.0)

    def _count(self, error: str) -> Counter:
        counter = self._registry.counter(INFERENCE_ERRORS, function=self.name, **{"class": error})
        return self._errors.setdefault(error, counter)

    def publish(self, now: float) -> None:
        """Set what changes by itself."""
        running = self.running
        self.in_progress.set(len(running))
        self.oldest.set(max(0.0, now - min(running)) if running else 0.0)


class Functions:
    """The decorated functions of a process."""

    __slots__ = ("_functions", "_seen", "growth", "registry", "tallies")

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.growth = Growth(registry)
        self.tallies = Tallies()
        self._functions: dict[str, Function] = {}
        self._seen: dict[str, int] = {}

    def get(self, name: str) -> Function:
        """Return the function of that name, always the same one; beyond the first few it is other."""
        name = _label(name)
        if not self._functions:
            self.registry.before.append(self.publish)
        if name not in self._functions and len(self._functions) >= MOST_FUNCTIONS:
            name = OTHER
        function = self._functions.get(name)
        return function or self._functions.setdefault(name, Function(self.registry, name))

    def publish(self) -> None:
        """Bring all series up to date; the publisher calls it, on any thread. It takes no call of CUDA."""
        now = perf_counter()
        totals = self.tallies.totals()
        for name, function in self._functions.copy().items():
            function.publish(now)
            new = totals.get(name, 0) - self._seen.get(name, 0)
            if new > 0:
                self._seen[name] = totals[name]
                function.nonfinite.add(float(new))
        self._progress(now)

    def _progress(self, now: float) -> None:
        """A request is work like a step: say so too. The gauges were set by the steps before, whose hook is older."""
        functions = self._functions.copy().values()
        if any(function.in_progress.value for function in functions):
            self.registry.gauge(WORK_IN_PROGRESS).set(1.0)
        finished = max((function.finished for function in functions), default=0.0)
        if finished:
            self.registry.gauge(PROGRESS_TIMESTAMP).raise_to(time() - (now - finished))

    def forget(self) -> None:
        """Drop what is the parent's, in a forked child."""
        self.growth.forget()
        self.tallies.forget()
        self._seen.clear()
        for function in self._functions.values():
            function.forget()
