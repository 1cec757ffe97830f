"""Where a workload's counts are kept until they are published: no lock on the way in.

Each OS thread adds to a list of its own, and the publisher sums the lists. So a signal handler, which runs between two
bytecodes of its thread, and a forked child find nothing held; and adding costs 0.2 µs.
"""

from __future__ import annotations

import math
from _thread import get_ident
from bisect import bisect_left
from itertools import accumulate

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol, TypeVar

    class Declares(Protocol):
        """What a spool's writer offers to a registry."""

        def field(self, name: str, /, **labels: str) -> int | None:
            """Return the place of a series among the values."""

    C = TypeVar("C", bound="Cell")

CAPACITY = 500  # fields, as the spool has it


class Cell:
    """A series of a process, or the several that a histogram has."""

    __slots__ = ("_registry", "labels", "name")

    def __init__(self, registry: Registry, name: str, labels: dict[str, str]) -> None:
        self._registry = registry
        self.name = name
        self.labels = labels

    def fields(self) -> list[tuple[str, dict[str, str]]]:
        """Return the names and labels of the series."""
        return [(self.name, self.labels)]

    def reset(self) -> None:
        """Forget everything: in a forked child, what was counted is its parent's."""
        raise NotImplementedError


class Single(Cell):
    """A cell that is one value, which the publisher takes as it is."""

    __slots__ = ("value",)
    value: float


class Folded(Cell):
    """A cell that has a part in each thread, which the publisher sums."""

    __slots__ = ()

    def fold(self, row: list[float], place: int) -> None:
        """Put the values as of now into the row from place on, in the order of `fields`."""
        raise NotImplementedError


class Counter(Folded):
    """Counts from any thread."""

    __slots__ = ("_parts",)

    def __init__(self, registry: Registry, name: str, labels: dict[str, str]) -> None:
        super().__init__(registry, name, labels)
        self._parts: dict[int, list[float]] = {}

    def add(self, amount: float = 1.0) -> None:
        """Add amount, which is not negative."""
        try:
            self._parts[get_ident()][0] += amount
        except KeyError:
            self._registry.wake()
            self._parts.setdefault(get_ident(), [0.0])[0] += amount

    def sum(self) -> float:
        """Return the count as of now."""
        total = 0.0
        # The copy is one step for other threads; the dictionary itself may grow under a loop.
        for part in self._parts.copy().values():
            total += part[0]
        return total

    def fold(self, row: list[float], place: int) -> None:
        row[place] = self.sum()

    def reset(self) -> None:
        self._parts = {}


class Total(Single):
    """A counter that others keep, and may set back to 0: it goes on from where it was. For one thread at a time."""

    __slots__ = ("_last",)

    def __init__(self, registry: Registry, name: str, labels: dict[str, str]) -> None:
        super().__init__(registry, name, labels)
        self.value = self._last = 0.0

    def follow(self, count: float) -> None:
        """Take over what the others' counter shows."""
        self.value += count - self._last if count >= self._last else count
        self._last = count

    def reset(self) -> None:
        self.value = self._last = 0.0


class Gauge(Single):
    """Shows what was set last; nothing before that."""

    __slots__ = ()

    def __init__(self, registry: Registry, name: str, labels: dict[str, str]) -> None:
        super().__init__(registry, name, labels)
        self.value = math.nan  # the reader of the spool leaves it out

    def set(self, value: float) -> None:
        """Show value from now on."""
        self.value = value

    def raise_to(self, value: float) -> None:
        """Show value if it is higher than what is shown: a high-water mark."""
        if not self.value >= value:
            self.value = value

    def reset(self) -> None:
        self.value = math.nan


class Histogram(Folded):
    """Counts observations in buckets, from any thread."""

    __slots__ = ("_empty", "_parts", "bounds")

    def __init__(self, registry: Registry, name: str, labels: dict[str, str], bounds: Sequence[float]) -> None:
        super().__init__(registry, name, labels)
        self.bounds = tuple(bounds)
        self._empty = [0.0] * (len(self.bounds) + 2)  # a count for each bucket, one for +Inf, then the sum
        self._parts: dict[int, list[float]] = {}

    def observe(self, value: float) -> None:
        """Count value in its bucket."""
        try:
            part = self._parts[get_ident()]
        except KeyError:
            part = self.part()
        part[bisect_left(self.bounds, value)] += 1.0
        part[-1] += value

    def part(self) -> list[float]:
        """Return what this thread adds to, for who observes very often: as `observe` does, a bucket and the sum."""
        part = self._parts.get(get_ident())
        if part is None:
            self._registry.wake()
            part = self._parts.setdefault(get_ident(), self._empty.copy())
        return part

    def fields(self) -> list[tuple[str, dict[str, str]]]:
        bounds = [*map(repr, map(float, self.bounds)), "+Inf"]
        return [
            *((f"{self.name}_bucket", {**self.labels, "le": bound}) for bound in bounds),
            (f"{self.name}_sum", self.labels),
            (f"{self.name}_count", self.labels),
        ]

    def fold(self, row: list[float], place: int) -> None:
        parts = [*self._parts.copy().values()] or [self._empty]
        part = parts[0] if len(parts) == 1 else [*map(sum, zip(*parts, strict=True))]
        end = place + len(part) - 1
        row[place : end + 1] = accumulate(part)
        row[end] = part[-1]
        row[end + 1] = row[end - 1]  # the count is that of the buckets: they never disagree

    def reset(self) -> None:
        self._parts = {}


class Registry:
    """The cells of this process, in the order in which they were asked for."""

    __slots__ = (
        "_bound",
        "_cells",
        "_folded",
        "_order",
        "_row",
        "_singles",
        "_size",
        "before",
        "dropped",
        "faults",
        "wakers",
    )

    def __init__(self) -> None:
        self._cells: dict[tuple[object, ...], Cell] = {}
        self._order: list[Cell] = []
        self._bound = 0
        self._row: list[float] = []
        self._singles: list[tuple[int, Single]] = []
        self._folded: list[tuple[int, Folded]] = []
        self._size = 0
        self.before: list[Callable[[], object]] = []
        self.wakers: list[Callable[[], object]] = []
        self.dropped = 0
        self.faults = 0

    def counter(self, name: object, /, **labels: str) -> Counter:
        """Return the counter of that name and labels, always the same one."""
        return self._cell(Counter, str(name), labels)

    def total(self, name: object, /, **labels: str) -> Total:
        """Return the counter that follows one of others'."""
        return self._cell(Total, str(name), labels)

    def gauge(self, name: object, /, **labels: str) -> Gauge:
        """Return the gauge of that name and labels."""
        return self._cell(Gauge, str(name), labels)

    def histogram(self, name: object, buckets: Sequence[float], /, **labels: str) -> Histogram:
        """Return the histogram of that name and labels; the buckets are those of the first call."""
        return self._cell(Histogram, str(name), labels, buckets)

    def _cell(self, kind: type[C], name: str, labels: dict[str, str], *more: Sequence[float]) -> C:
        key = (kind, name, *sorted(labels.items()))
        found = self._cells.get(key)
        if found is None:
            new = kind(self, name, {label: str(value) for label, value in labels.items()}, *more)
            if self._size + len(new.fields()) > CAPACITY:
                self.dropped += 1  # it counts, and is never published
                return new
            found = self._cells.setdefault(key, new)
            if found is new:  # and no other thread was first
                self._size += len(new.fields())
                self._order.append(new)
        return found  # type: ignore[return-value] # the key has the kind in it

    def wake(self) -> None:
        """Tell who waits for the first use of a cell; once."""
        while self.wakers:
            try:
                self.wakers.pop()()
            except Exception:  # noqa: BLE001, PERF203 - a fault of ours never reaches the workload
                self.faults += 1

    def values(self, writer: Declares) -> list[float]:
        """Return what to publish, in the order of the writer's fields; for one thread at a time, and one writer."""
        for compute in self.before:
            try:
                compute()
            except Exception:  # noqa: BLE001, PERF203 - one that fails leaves the others to publish
                self.faults += 1
        while self._bound < len(self._order):
            self._bind(writer, self._order[self._bound])
            self._bound += 1
        row = self._row
        for place, single in self._singles:
            row[place] = single.value
        for place, folded in self._folded:
            folded.fold(row, place)
        return row

    def _bind(self, writer: Declares, cell: Cell) -> None:
        """Give a cell its places in the row; one that the writer finds no valid name for is left out."""
        places = [writer.field(name, **labels) for name, labels in cell.fields()]
        self._row += [math.nan] * sum(place is not None for place in places)
        first = places[0]
        if first is None or None in places:
            return
        if isinstance(cell, Single):
            self._singles.append((first, cell))
        elif isinstance(cell, Folded):
            self._folded.append((first, cell))

    def unbind(self) -> None:
        """Make ready for another writer."""
        self._row, self._singles, self._folded = [], [], []
        self._bound = 0

    def reset(self) -> None:
        """Forget every count, not the cells: decorated functions hold them."""
        for cell in self._order:
            cell.reset()
        self.faults = 0
        self.unbind()


REGISTRY = Registry()
