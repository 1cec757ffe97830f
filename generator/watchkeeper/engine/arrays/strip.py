"""Windows over samples, a few rows at a time.

A `Strip` is some rows of a block and, for each of the T steps, the window of samples that belongs to it. It is small
enough for its temporary arrays to stay in the processor's cache: they are what time goes into.

Functions that look at the ends of a window pick packed samples by index. Functions that go through all samples of a
window, in order, loop over offsets: the k-th sample of all windows at once. On a regular grid that is a slice, which is
why `offsets` hands out arrays in a layout of its own; accumulate in arrays of their shape and give the result to
`unfold`.
"""

from __future__ import annotations

import numpy as np

from watchkeeper.engine.arrays.block import Block, Ragged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from watchkeeper.engine.arrays.grid import Grid
    from watchkeeper.engine.arrays.types import Bools, Floats, Ints


def as_slice(columns: Ints) -> Ints | slice:
    """A slice where the columns are evenly spaced, so that what is picked is a view."""
    if len(columns) < 2:
        return columns
    stride = int(columns[1] - columns[0])
    if stride > 0 and bool((columns[1:] - columns[:-1] == stride).all()):
        return slice(int(columns[0]), int(columns[-1]) + 1, stride)
    return columns


# Numbers in one temporary array: a handful of them fit the second-level cache.
CHUNK = 16_000
# Fewer steps than this, and samples are laid out step by step instead of row by row.
_FEW_STEPS = 48


class Strip:
    """Windows of some rows at some steps. `rows` and `span` say which of the block's rows and the grid's steps.

    `values` and `times` are packed samples (times may be one row for all); `lo` and `hi` are the half-open index range
    of each window, one row for all or one each.
    """

    __slots__ = ("count", "hi", "lo", "rows", "span", "steps", "times", "values")

    def __init__(self, rows: slice, span: slice, values: Floats, times: Ints, lo: Ints, hi: Ints) -> None:  # noqa: PLR0917
        self.rows = rows
        self.span = span
        self.values = values
        self.times = times
        self.lo = lo
        self.hi = hi
        self.steps: int = lo.shape[-1]
        self.count: Ints = hi - lo

    @property
    def height(self) -> int:
        height: int = self.rows.stop - self.rows.start
        return height

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what `offsets` gives."""
        return self.height, self.steps

    def pick(self, values: Floats | Ints, index: Ints) -> Floats:
        """values[row, index[row, step]]; an index out of bounds gives any value."""
        width = values.shape[1]
        index = np.clip(index, 0, width - 1)
        if index.ndim == 1 or len(index) == 1:
            picked: Floats = values[:, as_slice(index.reshape(-1))]
            return picked
        if len(values) == 1:
            only: Floats = values[0][index]
            return only
        return np.take_along_axis(values, index, axis=1)

    def first(self) -> Floats:
        return self.pick(self.values, self.lo)

    def last(self) -> Floats:
        return self.pick(self.values, self.hi - 1)

    def first_time(self) -> Ints:
        return self.pick(self.times, self.lo)

    def last_time(self) -> Ints:
        return self.pick(self.times, self.hi - 1)

    @property
    def width(self) -> int:
        """How many offsets there are: the samples in the fullest window."""
        return int(self.count.max(initial=0))

    def offsets(self, fill: float) -> Iterator[Floats]:
        """The first samples of all windows, the second ones, ...; `fill` where a window has fewer."""
        for offset in range(self.width):
            index = self.lo + offset
            yield np.where(index < self.hi, self.pick(self.values, index), fill)

    def masked(self) -> Iterator[tuple[Floats, Bools]]:
        """Like `offsets`, with where there is a sample."""
        for offset in range(self.width):
            index = self.lo + offset
            inside = index < self.hi
            yield self.pick(self.values, index), np.broadcast_to(inside, self.shape)

    def timed(self) -> Iterator[tuple[Floats, Ints, Bools]]:
        """Values, times and presence of the first samples of all windows, the second ones, ...; height x steps."""
        for offset in range(self.width):
            index = self.lo + offset
            inside = np.broadcast_to(index < self.hi, (self.height, self.steps))
            times = np.broadcast_to(self.pick(self.times, index), (self.height, self.steps))
            yield self.pick(self.values, index), times, inside

    def unfold(self, result: Floats) -> Floats:
        """A view of what was accumulated over `offsets`, as height x steps."""
        return result


class DenseStrip(Strip):
    """A strip whose windows are slices: a regular grid of steps over a regular grid of samples, gaps included.

    Column `base + step * stride + offset` of the block, which may lie outside of it, is a window's sample or gap.
    """

    __slots__ = ("_base", "_block", "_by_step", "_padded_width", "_stride", "_window")

    def __init__(  # noqa: PLR0917
        self,
        rows: slice,
        span: slice,
        values: Floats,
        times: Ints,
        lo: Ints,
        hi: Ints,
        block: Block,
        base: int,
        stride: int,
        window: int,
    ) -> None:
        super().__init__(rows, span, values, times, lo, hi)
        self._block = block
        self._base = base
        self._stride = stride
        self._window = window
        self._by_step = self.steps < _FEW_STEPS
        self._padded_width = self.steps + (window - 1) // stride  # columns of one phase of the stride

    @property
    def shape(self) -> tuple[int, ...]:
        if self._by_step:
            return self.steps, self.height
        return (self.height * self._padded_width - (self._window - 1) // self._stride,)

    @property
    def width(self) -> int:
        return self._window

    def _laid_out(self, values: Floats | Bools, fill: float | bool, present: Bools | None) -> Floats:
        """The columns from `base` on, split by their remainder modulo `stride`, so that steps lie side by side."""
        width = self._padded_width * self._stride
        padded = np.full((self.height, width), fill, values.dtype)
        start = max(0, -self._base)
        low = max(0, self._base)
        high = min(values.shape[1], self._base + width)
        if high > low:
            target = padded[:, start : start + high - low]
            if present is None:
                target[...] = values[self.rows, low:high]
            else:
                np.copyto(target, values[self.rows, low:high], where=present[self.rows, low:high])
        if self._by_step:
            return np.ascontiguousarray(padded.T)
        if self._stride == 1:
            return padded.reshape(1, -1)
        phases = padded.reshape(self.height, self._padded_width, self._stride).transpose(2, 0, 1)
        return np.ascontiguousarray(phases).reshape(self._stride, -1)

    def columns(self, fill: float) -> tuple[Floats, int, int]:
        """The samples that windows look at as rows of columns, gaps filled; columns from step to step, and in a window.

        The first window starts at the first column.
        """
        width = (self.steps - 1) * self._stride + self._window
        padded = np.full((self.height, width), fill)
        values, present = self._block.values, self._block.present
        low, high = max(0, self._base), min(values.shape[1], self._base + width)
        target = padded[:, low - self._base : high - self._base]
        if present is None:
            target[...] = values[self.rows, low:high]
        else:
            np.copyto(target, values[self.rows, low:high], where=present[self.rows, low:high])
        return padded, self._stride, self._window

    def _slices(self, laid_out: Floats) -> Iterator[Floats]:
        if self._by_step:
            reach = (self.steps - 1) * self._stride + 1
            for offset in range(self._window):
                yield laid_out[offset : offset + reach : self._stride]
            return
        length = self.shape[0]
        for offset in range(self._window):
            shift, phase = divmod(offset, self._stride)
            yield laid_out[phase, shift : shift + length]

    def offsets(self, fill: float) -> Iterator[Floats]:
        return self._slices(self._laid_out(self._block.values, fill, self._block.present))

    def masked(self) -> Iterator[tuple[Floats, Bools]]:
        present = self._block.present
        if present is None:
            present = np.ones((1, len(self._block.times)), bool)
            present = np.broadcast_to(present, self._block.values.shape)
        values = self._laid_out(self._block.values, 0.0, self._block.present)
        return zip(self._slices(values), self._slices(self._laid_out(present, False, None)), strict=True)

    def unfold(self, result: Floats) -> Floats:
        if self._by_step:
            return result.T
        item = result.itemsize
        return np.lib.stride_tricks.as_strided(result, (self.height, self.steps), (self._padded_width * item, item))


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
    height = max(1, CHUNK // (steps if steps < _FEW_STEPS else steps + window // stride))
    for rows, values, times, own_lo, own_hi in _packed(part, lo, hi, height):
        yield DenseStrip(rows, span, values, times, own_lo, own_hi, part, *slicing)


def _plain(part: Block, lo: Ints, hi: Ints) -> Iterator[Strip]:
    for rows, values, times, own_lo, own_hi in _packed(part, lo, hi, max(1, CHUNK // len(lo))):
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
    height = max(1, CHUNK // len(low))
    for first in range(0, part.rows, height):
        rows = slice(first, min(first + height, part.rows))
        lo = np.empty((rows.stop - first, len(low)), np.int64)
        hi = np.empty_like(lo)
        for index, row in enumerate(range(first, rows.stop)):
            own = times[row, : lengths[row]]
            lo[index] = np.searchsorted(own, low, side)
            hi[index] = np.searchsorted(own, high, "right")
        yield Strip(rows, slice(0, len(low)), values[rows], times[rows], lo, hi)
