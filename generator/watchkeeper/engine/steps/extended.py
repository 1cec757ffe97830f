"""Anchored and smoothed selectors (Prometheus 3.7, `--enable-feature=promql-extended-range-selectors`).

An anchored range also sees the last sample at or before its start; a smoothed one sees the samples around both ends
and interpolates at them.
"""

# ruff: noqa: PLR0917  (positions are plain here)
from __future__ import annotations

from bisect import bisect_left, bisect_right

from watchkeeper.engine.data import is_stale
from watchkeeper.engine.labels import NAME, get

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from watchkeeper.engine.data import Series
    from watchkeeper.engine.results import Value
    from watchkeeper.engine.steps.nodes import Node

ANCHORED_FUNCTIONS = ("changes", "delta", "increase", "rate", "resets")
SMOOTHED_FUNCTIONS = ("delta", "increase", "rate")


def interpolate(t1: int, y1: float, t2: int, y2: float, t: int, counter: bool) -> float:
    """The value at `t` on the line between two samples; a counter that was reset starts at 0 at the first (#17988)."""
    if counter and y2 < y1:
        y1 = 0.0
    return y1 + (y2 - y1) * float(t - t1) / float(t2 - t1)


def smoothed_value(series: Series, time: int, lookback: int, node: Node) -> Value | None:
    """`metric smoothed`: between the samples around `time`, or the last one where there is none behind it."""
    times = series.times
    values = series.values
    lo = bisect_right(times, time - lookback)
    hi = bisect_right(times, time + lookback)
    before = bisect_left(times, time, lo, hi)
    behind = before
    while behind < hi and is_stale(values[behind]):
        behind += 1
    before -= 1
    while before >= lo and is_stale(values[before]):
        before -= 1
    if behind < hi and times[behind] == time:
        return values[behind]
    if before < lo:
        return None
    first = values[before]
    if behind >= hi:
        return first
    second = values[behind]
    if type(first) is not float or type(second) is not float:
        from watchkeeper.engine.steps.histograms import smoothed

        share = float(time - times[before]) / float(times[behind] - times[before])
        return smoothed(first, second, share, node, get(series.labels, NAME))
    return interpolate(times[before], first, times[behind], second, time, counter=False)


def bounds(times: Sequence[int], lo: int, hi: int, start: int, end: int, smoothed: bool) -> tuple[int, int] | None:
    """The first and last sample that an extended range from `start` to `end` looks at; None where there is none."""
    last = hi - 1
    if last < lo or times[lo] > end:
        return None
    first = max(lo, bisect_right(times, start, lo, last) - 1)
    if smoothed:
        last = bisect_left(times, end, lo, last)
    if times[last] <= start:
        return None
    return first, last


def edges(
    times: Sequence[int],
    values: Sequence[float],
    first: int,
    last: int,
    start: int,
    end: int,
    smoothed: bool,
    counter: bool,
) -> tuple[float, float]:
    """The values at both ends of an extended range."""
    left = values[first]
    right = values[last]
    if smoothed:
        if times[first] < start:
            left = interpolate(times[first], left, times[first + 1], values[first + 1], start, counter=counter)
        if times[last] > end:
            right = interpolate(times[last - 1], values[last - 1], times[last], right, end, counter=counter)
    return left, right


def extended_rate(
    times: Sequence[int], values: Sequence[float], lo: int, hi: int, start: int, end: int, smoothed: bool, counter: bool
) -> float | None:
    """The increase over an anchored or smoothed range: nothing is extrapolated."""
    found = bounds(times, lo, hi, start, end, smoothed)
    if found is None:
        return None
    first, last = found
    left, right = edges(times, values, first, last, start, end, smoothed, counter)
    result = right - left
    if counter:
        # Resets beyond the edges are dealt with by the interpolation there.
        if times[first] <= start:
            first += 1
        if times[last] >= end:
            last -= 1
        correction = 0.0
        previous = left
        for value in values[first : last + 1]:
            if value < previous:
                correction += previous
            previous = value
        if right < previous:
            correction += previous
        result += correction
    return result


def extended_points(
    times: Sequence[int], values: Sequence[float], lo: int, hi: int, start: int, end: int, smoothed: bool
) -> tuple[list[int], list[float]] | None:
    """What `metric[range] anchored` shows by itself: a point at each end and the samples between."""
    found = bounds(times, lo, hi, start, end, smoothed)
    if found is None:
        return None
    first, last = found
    left, right = edges(times, values, first, last, start, end, smoothed, counter=False)
    if times[first] <= start:
        first += 1
    if times[last] >= end:
        last -= 1
    return [start, *times[first : last + 1], end], [left, *values[first : last + 1], right]
