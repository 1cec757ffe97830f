"""Quantiles and fractions of classic histograms: cumulative counts by upper bound (promql/quantile.go)."""

# ruff: noqa: PLR0124  (x != x asks for NaN)
from __future__ import annotations

from sys import float_info

from watchkeeper.engine.steps.numbers import INF, NAN, divide

_TOLERANCE = 1e-12
_MIN_NORMAL = float_info.min
_MAX = float_info.max

Bucket = tuple[float, float]


def almost_equal(a: float, b: float, epsilon: float) -> bool:
    """Whether two numbers differ by less than `epsilon` of their sum (util/almost)."""
    if a == b or (a != a and b != b):
        return True
    total = abs(a) + abs(b)
    difference = abs(a - b)
    if a == 0 or b == 0 or total < _MIN_NORMAL:
        return difference < epsilon * _MIN_NORMAL
    return difference / min(total, _MAX) < epsilon


def _prepared(buckets: list[Bucket]) -> tuple[list[float], list[float]] | None:
    """Bounds and counts in order, equal bounds made one. None where there is no bucket up to +Inf."""
    bounds: list[float] = []
    counts: list[float] = []
    for bound, count in sorted(buckets, key=lambda bucket: bucket[0]):
        if bounds and bounds[-1] == bound:
            counts[-1] += count
        else:
            bounds.append(bound)
            counts.append(count)
    return (bounds, counts) if bounds[-1] == INF else None


def _make_monotonic(counts: list[float]) -> bool:
    """Take away decreases; whether that was more than what floating point itself may have done."""
    forced = False
    previous = counts[0]
    for index in range(1, len(counts)):
        current = counts[index]
        if current == previous:
            continue
        if almost_equal(previous, current, _TOLERANCE):
            counts[index] = previous
        elif current < previous:
            counts[index] = previous
            forced = True
        else:
            previous = current
    return forced


def _make_monotonic_2(counts: list[float]) -> None:
    """As in Prometheus 2.42: no tolerance, and NaN is passed over."""
    most = -INF
    for index, count in enumerate(counts):
        if count > most:
            most = count
        elif count < most:
            counts[index] = most


def quantile(q: float, buckets: list[Bucket], two: bool = False) -> tuple[float, bool]:
    """The q-quantile, and whether counts had to be made monotonic. Buckets are not empty."""
    if q != q:
        return NAN, False
    if q < 0:
        return -INF, False
    if q > 1:
        return INF, False
    prepared = _prepared(buckets)
    if prepared is None:
        return NAN, False
    bounds, counts = prepared
    forced = False
    if two:
        _make_monotonic_2(counts)
    else:
        forced = _make_monotonic(counts)
    if len(bounds) < 2 or counts[-1] == 0:
        return NAN, False
    rank = q * counts[-1]
    last = len(bounds) - 1
    index = _search(counts, rank, last)
    if index == last:
        return bounds[-2], forced
    if index == 0 and bounds[0] <= 0:
        return bounds[0], forced
    start = 0.0
    end = bounds[index]
    count = counts[index]
    if index > 0:
        start = bounds[index - 1]
        count -= counts[index - 1]
        rank -= counts[index - 1]
    return start + (end - start) * divide(rank, count), forced


def _search(counts: list[float], rank: float, last: int) -> int:
    """The first bucket that holds the rank, by Go's bisection, which NaN leads to the right."""
    low, high = 0, last
    while low < high:
        middle = (low + high) // 2
        if counts[middle] >= rank:
            high = middle
        else:
            low = middle + 1
    return low


def fraction(lower: float, upper: float, buckets: list[Bucket]) -> float:
    """The part of the observations between two values, by linear interpolation within buckets."""
    prepared = _prepared(buckets)
    if prepared is None:
        return NAN
    bounds, counts = prepared
    total = counts[-1]
    if total == 0 or lower != lower or upper != upper:
        return NAN
    if lower >= upper:
        return 0.0
    ranks = [_rank(lower, bounds, counts), _rank(upper, bounds, counts)]
    low, high = [total if rank is None or rank > total else rank for rank in ranks]
    return (high - low) / total


def _rank(value: float, bounds: list[float], counts: list[float]) -> float | None:
    """How many observations are below `value`; None where all are.

    The first bucket starts at 0 if it ends above. Otherwise it has no width to interpolate in, as the last one has
    none: a value within these counts as one at their finite bound.
    """
    rank = 0.0
    start = 0.0 if bounds[0] > 0 else -INF
    for end, count in zip(bounds, counts, strict=True):
        if start >= value:
            return rank
        if value < end:
            return count if start == -INF else rank + (count - rank) * (value - start) / (end - start)
        rank = count
        start = end
    return None
