"""The ..._over_time functions and regressions over windows, but for sums and averages."""

from __future__ import annotations

import numpy as np

from watchkeeper.engine.arrays.strip import DenseStrip
from watchkeeper.engine.arrays.sums import Sum, neumaier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from watchkeeper.engine.arrays.strip import Strip
    from watchkeeper.engine.arrays.types import Bools, Floats, Ints


def extreme(strip: Strip, largest: bool) -> Floats:
    """max_over_time or min_over_time: NaN only where all is NaN. Doubling: the k-th pass looks 2**k samples ahead."""
    values = strip.values
    pick = np.fmax if largest else np.fmin
    if bool((np.signbit(values) & (values == 0)).any()):
        return _first_extreme(strip, largest)
    if isinstance(strip, DenseStrip):
        columns, stride, window = strip.columns(np.nan)
        ahead, reach = _doubled(columns, window, pick)[-1]
        until = columns.shape[1] - window + 1
        return pick(ahead[:, :until:stride], ahead[:, window - reach : until + window - reach : stride])
    count = np.maximum(strip.count, 1)
    levels = _doubled(values, int(count.max()), pick)
    # Windows of several sizes: each is covered by two of the largest power of two that fits.
    level = np.broadcast_to(np.frexp(count.astype(float))[1] - 1, (strip.height, strip.steps))
    result = np.empty((strip.height, strip.steps))
    for index, (ahead, reach) in enumerate(levels):
        here = level == index
        if here.any():
            both = pick(strip.pick(ahead, strip.lo), strip.pick(ahead, strip.hi - reach))
            np.copyto(result, both, where=here)
    return result


def _doubled(values: Floats, most: int, pick: Callable[..., Floats]) -> list[tuple[Floats, int]]:
    """Extremes over 1, 2, 4, ... samples from each on, and how many, up to `most`."""
    levels = [(values, 1)]
    reach = 1
    while reach * 2 <= most:
        below = levels[-1][0]
        above = np.empty_like(below)
        pick(below[:, :-reach], below[:, reach:], out=above[:, :-reach])
        above[:, -reach:] = below[:, -reach:]
        reach *= 2
        levels.append((above, reach))
    return levels


def _first_extreme(strip: Strip, largest: bool) -> Floats:
    """As Prometheus finds it, one by one: of 0 and -0 the first one stays."""
    better = np.greater if largest else np.less
    best = strip.first().copy()
    with np.errstate(invalid="ignore"):
        for values, _, inside in strip.timed():
            np.copyto(best, values, where=inside & (better(values, best) | np.isnan(best)))
    return best


def time_of_extreme(strip: Strip, largest: bool) -> Floats:
    """ts_of_max_over_time or ts_of_min_over_time: the time in seconds of the last of the largest or smallest."""
    better = np.greater_equal if largest else np.less_equal
    best = np.array(np.broadcast_to(strip.first(), (strip.height, strip.steps)))
    when = np.array(np.broadcast_to(strip.first_time(), best.shape))
    with np.errstate(invalid="ignore"):
        for values, times, inside in strip.timed():
            take = inside & (better(values, best) | np.isnan(best))
            np.copyto(best, values, where=take)
            np.copyto(when, times, where=take)
    return when / 1000


def variance(strip: Strip, old: bool) -> Floats:
    """stdvar_over_time: Welford's update, with compensated mean and sum of squares."""
    if not bool((np.abs(strip.values) < _TAME).all()):
        return _wild_variance(strip, old)
    count = np.zeros(strip.shape)
    mean = Sum(strip.shape)
    squares = Sum(strip.shape)
    with np.errstate(all="ignore"):
        for values, inside in strip.masked():
            count += inside
            delta = values - (mean.total + mean.correction)
            mean.add(np.where(inside, delta / count, 0.0))
            squares.add(np.where(inside, delta * (values - (mean.total + mean.correction)), 0.0))
        return strip.unfold((squares.total + squares.correction) / count)


_TAME = 1e150  # whose squares don't overflow, nor do sums of these


def _wild_variance(strip: Strip, old: bool) -> Floats:
    """The same for values that are not finite, or whose squares may be."""
    shape = strip.shape
    count = np.zeros(shape)
    mean, mean_rest = np.zeros(shape), np.zeros(shape)
    squares, squares_rest = np.zeros(shape), np.zeros(shape)
    with np.errstate(all="ignore"):
        for values, inside in strip.masked():
            count += inside
            delta = values - (mean + mean_rest)
            new_mean, new_rest = neumaier(mean, mean_rest, delta / count, old)
            mean = np.where(inside, new_mean, mean)
            mean_rest = np.where(inside, new_rest, mean_rest)
            change = delta * (values - (mean + mean_rest))
            new_squares, new_rest = neumaier(squares, squares_rest, change, old)
            squares = np.where(inside, new_squares, squares)
            squares_rest = np.where(inside, new_rest, squares_rest)
        return strip.unfold((squares + squares_rest) / count)


def regression(strip: Strip, origin: Ints, old: bool) -> tuple[Floats, Floats]:
    """Slope per second and value at `origin` milliseconds (steps, or height x steps) of the line of least squares."""
    shape = (strip.height, strip.steps)
    # Where all rows have the same samples, sums of times are the same for all.
    shared = (1, strip.steps) if strip.lo.ndim == 1 and origin.size == strip.steps else shape
    sums = Sum(shared), Sum(shape), Sum(shape), Sum(shared)  # of x, y, x*y, x*x
    first = strip.first()
    constant = np.ones(shape, bool)
    with np.errstate(all="ignore"):
        for offset in range(strip.width):
            index = strip.lo + offset
            inside = index < strip.hi
            whole = bool(inside.all())
            values = strip.pick(strip.values, index)
            x = (strip.pick(strip.times, index) - origin) / 1000
            if whole:
                constant &= values == first
            else:
                constant &= (values == first) | ~inside
            for total, number in zip(sums, (x, values, x * values, x * x), strict=True):
                total.add(number if whole else np.where(inside, number, 0.0))
        sum_x, sum_y, sum_xy, sum_xx = [one.total + one.correction if old else one.result() for one in sums]
        count = strip.count.astype(float)
        covariance = sum_xy - sum_x * sum_y / count
        variance_x = sum_xx - sum_x * sum_x / count
        slope = covariance / variance_x
        intercept = sum_y / count - slope * sum_x / count
        flat = np.where(np.isinf(first), np.nan, 0.0)
        level = np.where(np.isinf(first), np.nan, first)
    return np.where(constant, flat, slope), np.where(constant, level, intercept)


def smoothed(strip: Strip, smoothing: float, trend: float) -> Floats:
    """double_exponential_smoothing (Holt-Winters without seasons) of windows of two samples or more."""
    shape = (strip.height, strip.steps)
    previous = np.zeros(shape)
    current = strip.first().copy()
    slope = strip.pick(strip.values, strip.lo + 1) - current
    with np.errstate(all="ignore"):
        for number, (values, _, inside) in enumerate(strip.timed()):
            if number == 0:
                continue
            scaled = smoothing * values
            if number > 1:
                new_slope = trend * (current - previous) + (1 - trend) * slope
                slope = np.where(inside, new_slope, slope)
            following = scaled + (1 - smoothing) * (current + slope)
            previous = np.where(inside, current, previous)
            current = np.where(inside, following, current)
    return current


def stacked(strip: Strip, rows: slice) -> tuple[Floats, Ints]:
    """All samples of some rows' windows along a last axis, NaN first as Prometheus sorts; and how many there are."""
    lo = np.broadcast_to(strip.lo, (strip.height, strip.steps))[rows]
    count = np.broadcast_to(strip.count, (strip.height, strip.steps))[rows]
    index = lo[..., None] + np.arange(max(1, strip.width))
    inside = np.arange(max(1, strip.width)) < count[..., None]
    index = np.where(inside, index, 0)
    values = strip.values[rows][np.arange(len(lo))[:, None, None], index]
    return sorted_nan_first(values, inside), count


def sorted_nan_first(values: Floats, inside: Bools) -> Floats:
    """Sorted along the last axis: NaN first, then by value, then what is not inside."""
    unknown = np.isnan(values) & inside
    # np.sort puts NaN last, so what is outside becomes NaN, and NaN inside is written over the front afterwards.
    # Only 0 and -0 are equal and yet different, and need a stable sort.
    kind: Literal["stable"] | None = "stable" if bool((np.signbit(values) & (values == 0)).any()) else None
    ordered = np.sort(np.where(inside & ~unknown, values, np.nan), axis=-1, kind=kind)
    if not unknown.any():
        return ordered
    number = unknown.sum(axis=-1, keepdims=True)
    places = np.arange(values.shape[-1])
    index = np.clip(places - number, 0, None)
    return np.where(places < number, np.nan, np.take_along_axis(ordered, index, axis=-1))


def quantile_of_sorted(ordered: Floats, count: Ints, q: Floats) -> Floats:
    """Prometheus' quantile: linear between the neighbours of rank q * (count - 1). Last axis sorted values."""
    with np.errstate(all="ignore"):
        rank = q * (count - 1.0)
        safe = np.where(np.isfinite(rank), rank, 0.0)
        lower = np.maximum(0.0, np.floor(safe))
        upper = np.minimum(count - 1.0, lower + 1)
        weight = safe - np.floor(safe)
        top = ordered.shape[-1] - 1
        low = np.clip(lower, 0, top).astype(np.int64)[..., None]
        high = np.clip(upper, 0, top).astype(np.int64)[..., None]
        below = np.take_along_axis(ordered, low, axis=-1)[..., 0]
        above = np.take_along_axis(ordered, high, axis=-1)[..., 0]
        result = below * (1 - weight) + above * weight
        result = np.where(q < 0, -np.inf, np.where(q > 1, np.inf, result))
        return np.where(np.isnan(q) | (count == 0), np.nan, result)


def quantiles(strip: Strip, q: Floats) -> Floats:
    """quantile_over_time; `q` is one for each step."""
    result = np.empty((strip.height, strip.steps))
    for rows in _few_rows(strip):
        ordered, count = stacked(strip, rows)
        result[rows] = quantile_of_sorted(ordered, count, np.broadcast_to(q, count.shape))
    return result


def median_deviation(strip: Strip) -> Floats:
    """mad_over_time: the median of the distances to the median; NaN where a sample is."""
    result = np.empty((strip.height, strip.steps))
    for rows in _few_rows(strip):
        ordered, count = stacked(strip, rows)
        half = np.full(count.shape, 0.5)
        median = quantile_of_sorted(ordered, count, half)
        with np.errstate(invalid="ignore"):
            distances = np.abs(ordered - median[..., None])
        inside = np.arange(ordered.shape[-1]) < count[..., None]
        found = quantile_of_sorted(sorted_nan_first(distances, inside), count, half)
        # Sorted, NaN stands first.
        result[rows] = np.where(np.isnan(ordered[..., 0]), np.nan, found)
    return result


def _few_rows(strip: Strip) -> list[slice]:
    """Row by row where windows are wide, so that all their samples at once stay small."""
    height = max(1, 400_000 // max(1, strip.steps * max(1, strip.width)))
    return [slice(row, min(row + height, strip.height)) for row in range(0, strip.height, height)]
