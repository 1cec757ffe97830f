"""Compensated sums of many windows at once, with the bits of Prometheus' Kahan-Neumaier sums (util/kahansum).

Neumaier's correction is the exact rounding error of an addition, and so is that of Knuth's TwoSum, which needs no
comparison. The two differ once the sum is infinite, and Prometheus then ignores the correction.
"""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.arrays.strip import Strip
    from watchkeeper.engine.arrays.types import Bools, Floats, Ints


_EARLY = frozenset({1, 3})  # after these offsets, and then after every eighth, sums are looked at


class Sum:
    """Running sums `total` with their corrections `correction`; `add` takes the next number of each."""

    __slots__ = ("_a", "_b", "_next", "correction", "total")

    def __init__(self, shape: tuple[int, ...], start: float = 0.0) -> None:
        self.total = np.full(shape, start)
        self.correction = np.zeros(shape)
        self._next = np.empty(shape)
        self._a = np.empty(shape)
        self._b = np.empty(shape)

    def add(self, values: Floats) -> None:
        """What is to be left out must be -0.0 (0.0 where the sum started from 0.0), which changes no bit."""
        total, following, a, b = self.total, self._next, self._a, self._b
        np.add(total, values, out=following)
        np.subtract(following, total, out=a)
        np.subtract(following, a, out=b)
        np.subtract(total, b, out=b)
        np.subtract(values, a, out=a)
        np.add(b, a, out=b)
        np.add(self.correction, b, out=self.correction)
        self.total, self._next = following, total

    def add_smaller(self, values: Floats) -> None:
        """Like `add`, for values that are nowhere larger in size than the sum: Dekker's Fast2Sum does then."""
        total, following, a = self.total, self._next, self._a
        np.add(total, values, out=following)
        np.subtract(following, total, out=a)
        np.subtract(values, a, out=a)
        np.add(self.correction, a, out=self.correction)
        self.total, self._next = following, total

    def result(self) -> Floats:
        """The sums with their corrections."""
        return corrected(self.total, self.correction)


def corrected(total: Floats, correction: Floats) -> Floats:
    """The sum of both, and `total` where that is infinite."""
    return np.where(np.isinf(total), total, total + correction)


def neumaier(total: Floats, correction: Floats, value: Floats, old: bool = False) -> tuple[Floats, Floats]:
    """One step of Prometheus' own form, for sums that may become infinite and go on. `old`: that of 2.42."""
    following = total + value
    larger = np.abs(total) >= np.abs(value)
    error = np.where(larger, (total - following) + value, (value - following) + total)
    if old:
        return following, correction + error
    return following, np.where(np.isinf(following), 0.0, correction + error)


def add_up(strip: Strip, start: float) -> Sum:
    """The sums of all windows, in the layout of `Strip.offsets`; `start` is 0.0 or -0.0."""
    sums = Sum(strip.shape, start)
    offsets = strip.offsets(start)
    # Sums of what is nowhere negative only grow: once past the largest value, the cheaper step is as good.
    low, high = strip.values.min(), strip.values.max()
    if low >= 0 or high <= 0:
        for number, values in enumerate(offsets):
            sums.add(values)
            if (number in _EARLY or number % 8 == 7) and _all_beyond(sums.total, low, high):
                break
        for values in offsets:
            sums.add_smaller(values)
    for values in offsets:
        sums.add(values)
    return sums


def _all_beyond(totals: Floats, low: float, high: float) -> bool:
    """Whether sums of numbers from `low` to `high`, of one sign, are all at least as large in size as any of these."""
    return bool(totals.min() >= high) if low >= 0 else bool(totals.max() <= low)


def window_sums(strip: Strip, integers: bool) -> Floats:
    """sum_over_time. `integers`: all of the strip's samples are whole numbers whose sums are exact."""
    if integers:
        return prefix_sums(strip)
    sums = add_up(strip, 0.0)
    return strip.unfold(sums.result())


def prefix_sums(strip: Strip) -> Floats:
    """Window sums as differences of running sums: right where no addition rounds."""
    running = np.zeros((len(strip.values), strip.values.shape[1] + 1))
    np.cumsum(strip.values, axis=1, out=running[:, 1:])
    result: Floats = strip.pick(running, strip.hi) - strip.pick(running, strip.lo)
    return result


def window_means(strip: Strip, integers: bool) -> Floats:
    """avg_over_time: a compensated sum divided at the end, or the incremental mean where the sum overflows."""
    count = np.broadcast_to(np.maximum(strip.count, 1), (strip.height, strip.steps)).astype(float)
    if integers:
        exact: Floats = prefix_sums(strip) / count
        return exact
    # The first sample starts the sum, so a lone -0.0 stays one.
    sums = add_up(strip, -0.0)
    total, correction = strip.unfold(sums.total), strip.unfold(sums.correction)
    result: Floats = total / count + correction / count
    # Once infinite a sum stays so, or becomes NaN; a NaN sample gives NaN either way.
    odd = (np.isinf(total) | np.isnan(total)) & (strip.count > 0)
    if odd.any():
        rows, steps = np.nonzero(odd)
        result[rows, steps] = _incremental_means(strip, rows, steps)
    return result


def old_window_means(strip: Strip) -> Floats:
    """avg_over_time of Prometheus 2.42."""
    mean = OldMean(strip.shape, compensated=True)
    for values, inside in strip.masked():
        mean.add(values, inside)
    return strip.unfold(mean.result())


def _incremental_means(strip: Strip, rows: Ints, steps: Ints) -> Floats:
    """avg_over_time of some windows in full generality: a sum as long as it is finite, then a running mean."""
    lo = np.broadcast_to(strip.lo, (strip.height, strip.steps))[rows, steps]
    hi = np.broadcast_to(strip.hi, (strip.height, strip.steps))[rows, steps]
    mean = MeanOf(strip.values[rows, lo])
    for offset in range(1, int((hi - lo).max())):
        index = lo + offset
        inside = index < hi
        mean.add(strip.values[rows, np.where(inside, index, lo)], inside)
    return mean.result()


class OldMean:
    """The mean as in Prometheus 2.42: incremental, compensated in avg_over_time but not in avg."""

    __slots__ = ("compensated", "correction", "count", "mean")

    def __init__(self, shape: tuple[int, ...], compensated: bool) -> None:
        self.compensated = compensated
        self.mean = np.zeros(shape)
        self.correction = np.zeros(shape)
        self.count = np.zeros(shape)

    def add(self, value: Floats, inside: Bools, which: Ints | slice = slice(None)) -> None:
        """The next value of those where `inside`, for some of the rows."""
        count = self.count[which] + inside
        mean = self.mean[which]
        correction = self.correction[which]
        # An infinite mean stays as it is, but for NaN and for the other infinity.
        takes = inside & (np.isfinite(mean) | np.isnan(mean) | np.isnan(value) | (np.isinf(value) & (value != mean)))
        increment = value / count - mean / count
        if self.compensated:
            following, rest = neumaier(mean, correction, increment, old=True)
            self.correction[which] = np.where(takes, rest, correction)
        else:
            following = np.where(count == 1, value, mean + increment)
        self.mean[which] = np.where(takes, following, mean)
        self.count[which] = count

    def result(self) -> Floats:
        # Without compensation nothing is added: a lone -0 stays one.
        return corrected(self.mean, self.correction) if self.compensated else self.mean


class MeanOf:
    """Prometheus' average in all its cases, over values that come one by one; for avg and avg_over_time."""

    __slots__ = ("correction", "count", "incremental", "total")

    def __init__(self, first: Floats) -> None:
        self.total = first.copy()
        self.correction = np.zeros_like(first)
        self.count = np.ones_like(first)
        self.incremental = np.zeros(first.shape, bool)

    def add(self, value: Floats, inside: Bools) -> None:
        """The next value of those where `inside`."""
        count = self.count + inside
        total, correction = neumaier(self.total, self.correction, value)
        turning = inside & ~self.incremental & np.isinf(total)
        before = np.where(turning, count - 1, 1.0)
        own_total = np.where(turning, self.total / before, self.total)
        own_correction = np.where(turning, self.correction / before, self.correction)
        incremental = self.incremental | turning
        share = (count - 1) / count
        mean, mean_correction = neumaier(share * own_total, share * own_correction, value / count)
        self.total = np.where(inside, np.where(incremental, mean, total), self.total)
        self.correction = np.where(inside, np.where(incremental, mean_correction, correction), self.correction)
        self.incremental = incremental
        self.count = count

    def result(self) -> Floats:
        plain = self.total / self.count + self.correction / self.count
        return np.where(self.incremental, self.total + self.correction, plain)
