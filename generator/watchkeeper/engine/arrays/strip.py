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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.engine.arrays.block import Block
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
FEW_STEPS = 48


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
        self._by_step = self.steps < FEW_STEPS
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
