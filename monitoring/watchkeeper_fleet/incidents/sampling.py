"""Scrapes of a world that is told as functions of time."""

from __future__ import annotations

from watchkeeper.engine import Data, Series
from watchkeeper.engine.data import STALE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    # The value at a time (seconds from the incident's start), None where the series is not there.
    Curve: TypeAlias = Callable[[float], float | None]


class Scrapes:
    """Every series as it is seen by scrapes `every` seconds apart.

    `epoch_ms` is the incident's start since 1970. `first` and `last` are seconds from there; `phase` is by how many
    seconds the scrapes come later than `first`.
    """

    __slots__ = ("data", "epoch_ms", "times")

    def __init__(self, epoch_ms: int, first: float, last: float, *, every: float = 15.0, phase: float = 0.0) -> None:
        self.epoch_ms = epoch_ms
        count = int((last - first - phase) // every) + 1
        self.times = [first + phase + every * number for number in range(count)]
        self.data = Data()

    def add(self, name: object, labels: Mapping[str, str], curve: Curve | float) -> None:
        """Scrape a metric. A series that is gone at the next scrape gets a staleness marker, as in Prometheus."""
        moments: list[int] = []
        values: list[float] = []
        there = False
        for time in self.times:
            value = curve(time) if callable(curve) else float(curve)
            if value is not None or there:
                moments.append(self.epoch_ms + round(time * 1000))
                values.append(STALE if value is None else float(value))
            there = value is not None
        if moments:
            self.data.add(Series({"__name__": str(name), **labels}, moments, values))


def switch(*steps: tuple[float, float | None], before: float | None = 0.0) -> Curve:
    """A curve that is `before`, and from each time on the value given with it."""

    def curve(time: float) -> float | None:
        value = before
        for since, now in steps:
            if time >= since:
                value = now
        return value

    return curve


def counter(*events: float, start: float | None = None, end: float | None = None) -> Curve:
    """A counter that rises by 1 at each of these times, and is there from `start` to `end`."""

    def curve(time: float) -> float | None:
        if (start is not None and time < start) or (end is not None and time >= end):
            return None
        return float(sum(time >= event for event in events))

    return curve


def rising(rate: float, since: float, until: float | None = None, base: float = 0.0) -> Curve:
    """A counter that rises by `rate` a second between two times, whole numbers as a count of events has."""

    def curve(time: float) -> float | None:
        return float(int(base + rate * max(0.0, min(time, until if until is not None else time) - since)))

    return curve
