"""rate, increase, delta, irate, idelta, changes and resets over windows.

The arithmetic is that of Prometheus (promql/functions.go, extrapolatedRate and instantValue), operation by operation.
"""

from __future__ import annotations

import numpy as np

from watchkeeper.engine.arrays.block import whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.arrays.strip import Strip
    from watchkeeper.engine.arrays.types import Bools, Floats, Ints


_FEW_DROPS = 6  # in a row


def extrapolated(  # noqa: PLR0917
    strip: Strip, ends: Ints, length: int, counter: bool, per_second: bool, old: bool
) -> tuple[Floats, Bools]:
    """rate, increase or delta of windows that end at `ends` and are `length` long, both in milliseconds.

    `old`: as Prometheus before 2.51 did it, where half an interval is extrapolated whatever the counter's zero says.
    """
    mask = np.broadcast_to(strip.count >= 2, (strip.height, strip.steps))
    with np.errstate(all="ignore"):
        first = strip.first()
        result = strip.last() - first
        if counter:
            _add_resets(strip, result)
        first_time = strip.first_time()
        last_time = strip.last_time()
        to_start = (first_time - (ends - length)) / 1000
        to_end = (ends - last_time) / 1000
        sampled = (last_time - first_time) / 1000
        average = sampled / (strip.count - 1)
        threshold = average * 1.1
        half = average / 2
        if old:
            if counter:
                to_zero = sampled * (first / result)
                clamped = (result > 0) & (first >= 0) & (to_zero < to_start)
                to_start = np.where(clamped, to_zero, to_start)
            factor = sampled + np.where(to_start < threshold, to_start, half)
            factor += np.where(to_end < threshold, to_end, half)
        else:
            to_start = np.where(to_start >= threshold, half, to_start)
            if counter:
                to_zero = sampled * (first / result)
                clamped = (result > 0) & (first >= 0) & (to_zero < to_start)
                to_start = np.where(clamped, to_zero, to_start)
            to_end = np.where(to_end >= threshold, half, to_end)
            factor = sampled + to_start
            factor += to_end
        factor /= sampled
        if per_second:
            factor /= length / 1000
        result *= factor
    return result, mask


def _add_resets(strip: Strip, result: Floats) -> None:
    """Add, for each drop inside a window and in order, the value before it."""
    values = strip.values
    row, column = np.nonzero(values[:, 1:] < values[:, :-1])
    if not len(row):
        return
    if len(row) <= _FEW_DROPS * len(values):
        _add_few_resets(strip, row.tolist(), (column + 1).tolist(), result)
        return
    drops = np.zeros(values.shape, bool)
    drops[row, column + 1] = True
    if bool(whole(values).all()):
        # Whole numbers add up to the same in any order, so differences of running sums will do.
        before = np.where(drops[:, 1:], values[:, :-1], 0.0)
        running = np.zeros(values.shape)
        np.cumsum(before, axis=1, out=running[:, 1:])
        result += strip.pick(running, strip.hi - 1) - strip.pick(running, strip.lo)
        return
    before = np.cumsum(drops, axis=1)
    seen = strip.pick(before, strip.lo).astype(np.int64)
    last = strip.pick(before, strip.hi - 1).astype(np.int64)
    number = np.where(strip.count >= 2, last - seen, 0)
    if int(number.max()) == 0:
        return
    if number.mean() * 4 > strip.width:
        _add_many_resets(strip, drops, result)
        return
    # The values before the drops of each row, side by side.
    row, column = np.nonzero(drops)
    dropped = np.zeros((len(values), int(before[:, -1].max())))
    dropped[row, before[row, column] - 1] = values[row, column - 1]
    rows, steps = np.nonzero(number > 0)
    seen = seen[rows, steps]
    number = number[rows, steps]
    sums = result[rows, steps]
    for index in range(int(number.max())):
        inside = index < number
        sums[inside] += dropped[rows[inside], seen[inside] + index]
    result[rows, steps] = sums


def _add_few_resets(strip: Strip, rows: list[int], columns: list[int], result: Floats) -> None:
    """The same drop by drop: each lies inside the windows of a run of steps."""
    shared = strip.lo.ndim == 1
    for row, column in zip(rows, columns, strict=True):
        lo, hi = (strip.lo, strip.hi) if shared else (strip.lo[row], strip.hi[row])
        first = hi.searchsorted(column + 1)
        last = lo.searchsorted(column)
        result[row, first:last] += strip.values[row, column - 1]


def _add_many_resets(strip: Strip, drops: Bools, result: Floats) -> None:
    """The same where every few samples drop: window by window offset."""
    before = np.full(drops.shape, -0.0)  # which changes no bit
    np.copyto(before[:, 1:], strip.values[:, :-1], where=drops[:, 1:])
    for offset in range(1, strip.width):
        index = strip.lo + offset
        result += np.where(index < strip.hi, strip.pick(before, index), -0.0)


def instantaneous(strip: Strip, counter: bool) -> tuple[Floats, Bools]:
    """Irate (`counter`, per second) or idelta: from the last two samples."""
    mask = np.broadcast_to(strip.count >= 2, (strip.height, strip.steps))
    with np.errstate(all="ignore"):
        last = strip.last()
        previous = strip.pick(strip.values, strip.hi - 2)
        result = last - previous
        if counter:
            result = np.where(last < previous, last, result)
            interval: Ints = strip.last_time() - strip.pick(strip.times, strip.hi - 2)
            mask = mask & (interval != 0)
            result = result / (interval / 1000)
    return result, mask


def counted(strip: Strip, resets: bool) -> tuple[Floats, Bools]:
    """Resets (values below the one before) or changes (values other than the one before, NaN being one value)."""
    values = strip.values
    events = np.zeros(values.shape, np.int64)
    with np.errstate(invalid="ignore"):
        before, after = values[:, :-1], values[:, 1:]
        if resets:
            np.less(after, before, out=events[:, 1:], casting="unsafe")
        else:
            events[:, 1:] = (after != before) & ~(np.isnan(after) & np.isnan(before))
    running = np.cumsum(events, axis=1)
    result = strip.pick(running, strip.hi - 1) - strip.pick(running, strip.lo)
    return result.astype(float), np.broadcast_to(strip.count >= 1, (strip.height, strip.steps))
