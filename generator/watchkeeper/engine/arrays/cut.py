"""The windows of a range vector, cut into strips."""

from __future__ import annotations

import numpy as np

from watchkeeper.engine.arrays import strip as layout
from watchkeeper.engine.arrays.block import Block, Ragged
from watchkeeper.engine.arrays.strip import DenseStrip, Strip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from watchkeeper.engine.arrays.grid import Grid
    from watchkeeper.engine.arrays.types import Floats, Ints


def strips(part: Block | Ragged, grid: Grid, start: int, end: int, closed: bool) -> Iterator[Strip]:
    """The windows from `start` to `end` milliseconds behind each step, `start` itself only where `closed`."""
    low = grid.times - start
    high = grid.times - end
    if isinstance(part, Ragged):
        yield from _ragged(part, low, high, closed)
        return
    if not len(part.times) or not part.rows:
        return
    side: Literal["left", "right"] = "left" if closed else "right"
    lo: Ints = np.searchsorted(part.times, low, side)
    hi: Ints = np.searchsorted(part.times, high, "right")
    if not bool((hi > lo).any()):
        return
    dense = _slicing(part, grid, start, end, closed)
    if dense is None:
        yield from _plain(part, lo, hi)
        return
    base, stride, window = dense
    # Steps whose windows begin before the samples do are dealt with apart: all other windows are alike.
    head = min(len(grid), max(0, -(base // stride)))
    for first, last in ((0, head), (head, len(grid))):
        if last > first and bool((hi[first:last] > lo[first:last]).any()):
            slicing = base + first * stride, stride, window
            yield from _dense(part, slice(first, last), lo[first:last], hi[first:last], slicing)


def _dense(part: Block, span: slice, lo: Ints, hi: Ints, slicing: tuple[int, int, int]) -> Iterator[Strip]:
    steps = len(lo)
    _, stride, window = slicing
    height = max(1, layout.CHUNK // (steps if steps < layout.FEW_STEPS else steps + window // stride))
    for rows, values, times, own_lo, own_hi in _packed(part, lo, hi, height):
        yield DenseStrip(rows, span, values, times, own_lo, own_hi, part, *slicing)


def _plain(part: Block, lo: Ints, hi: Ints) -> Iterator[Strip]:
    for rows, values, times, own_lo, own_hi in _packed(part, lo, hi, max(1, layout.CHUNK // len(lo))):
        yield Strip(rows, slice(0, len(lo)), values, times, own_lo, own_hi)


def _packed(part: Block, lo: Ints, hi: Ints, height: int) -> Iterator[tuple[slice, Floats, Ints, Ints, Ints]]:
    """Some rows at a time: which, their packed values and times, and the bounds of their windows."""
    values, times = part.packed
    if not values.shape[1]:
        return
    for first in range(0, part.rows, height):
        rows = slice(first, min(first + height, part.rows))
        if part.present is None:
            yield rows, values[rows], times, lo, hi
        else:
            counts = part.counts[rows]
            yield rows, values[rows], times[rows], counts[:, lo], counts[:, hi]


def _slicing(block: Block, grid: Grid, start: int, end: int, closed: bool) -> tuple[int, int, int] | None:
    """Where windows are slices: the column of the first one's first sample, columns from step to step, their width."""
    period = block.period
    steps = len(grid)
    if not period or (steps > 1 and (not grid.period or grid.period % period)):
        return None
    origin = int(block.times[0])
    low = int(grid.times[0]) - start - origin
    base = -(-low // period) if closed else low // period + 1
    window = (int(grid.times[0]) - end - origin) // period + 1 - base
    stride = grid.period // period if steps > 1 else 1
    if window < 1 or (steps + window // stride) * stride > 4 * (len(block.times) + steps + window):
        return None
    return base, stride, window


def _ragged(part: Ragged, low: Ints, high: Ints, closed: bool) -> Iterator[Strip]:
    values, times, lengths = part.packed
    if not values.shape[1]:
        return
    side: Literal["left", "right"] = "left" if closed else "right"
    height = max(1, layout.CHUNK // len(low))
    for first in range(0, part.rows, height):
        rows = slice(first, min(first + height, part.rows))
        lo = np.empty((rows.stop - first, len(low)), np.int64)
        hi = np.empty_like(lo)
        for index, row in enumerate(range(first, rows.stop)):
            own = times[row, : lengths[row]]
            lo[index] = np.searchsorted(own, low, side)
            hi[index] = np.searchsorted(own, high, "right")
        yield Strip(rows, slice(0, len(low)), values[rows], times[rows], lo, hi)
