"""Samples of many series as arrays: on shared timestamps (`Block`), or each series on its own (`Ragged`).

Both give the same two views. *Packed* samples stand at the left of each row in order of time, without gaps and without
staleness markers: row s has samples 0 .. count[s]-1. Windows are then half-open index ranges into the rows.
"""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.arrays.types import Bools, Floats, Ints


class Block:
    """Series on shared timestamps.

    `times` are rising milliseconds, one a column; `values` is series x columns; `present` is where there is a sample
    (None: everywhere), `stale` where there is a staleness marker instead (None: nowhere). What stands in `values` where
    nothing is present has no meaning.
    """

    __slots__ = ("_counts", "_integers", "_last", "_packed", "period", "present", "stale", "times", "values")

    def __init__(self, times: Ints, values: Floats, present: Bools | None, stale: Bools | None) -> None:
        self.times = times
        self.values = values
        self.present = present
        self.stale = stale
        gaps = np.diff(times)
        # Milliseconds between columns; 0 where they differ.
        self.period = int(gaps[0]) if len(gaps) and bool((gaps == gaps[0]).all()) else 0
        self._packed: tuple[Floats, Ints] | None = None
        self._counts: Ints | None = None
        self._last: tuple[Ints, Bools | None] | None = None
        self._integers: Bools | None = None

    @property
    def rows(self) -> int:
        return len(self.values)

    def take(self, rows: Ints) -> Block:
        """Some of the series, in the order of `rows`."""
        if len(rows) == self.rows and bool((rows == np.arange(self.rows)).all()):
            return self
        first, count = int(rows[0]), len(rows)
        # A run of rows is a view.
        index = slice(first, first + count) if bool((rows == np.arange(first, first + count)).all()) else rows
        present = None if self.present is None else self.present[index]
        stale = None if self.stale is None else self.stale[index]
        if present is not None and bool(present.all()):
            present = stale = None
        elif stale is not None and not bool(stale.any()):
            stale = None
        return Block(self.times, self.values[index], present, stale)

    @property
    def counts(self) -> Ints:
        """counts[s, c]: how many samples row s has before column c; one column more than there are."""
        if self._counts is None:
            assert self.present is not None
            counts = np.zeros((self.rows, len(self.times) + 1), np.int64)
            np.cumsum(self.present, axis=1, out=counts[:, 1:])
            self._counts = counts
        return self._counts

    @property
    def packed(self) -> tuple[Floats, Ints]:
        """Packed values and their times; times have one row for all where nothing is missing."""
        if self.present is None:
            return self.values, self.times[None, :]
        if self._packed is None:
            row, column = np.nonzero(self.present)
            at = self.counts[row, column]
            width = int(self.counts[:, -1].max(initial=0))
            values = np.zeros((self.rows, width))
            times = np.zeros((self.rows, width), np.int64)
            values[row, at] = self.values[row, column]
            times[row, at] = self.times[column]
            self._packed = values, times
        return self._packed

    @property
    def last(self) -> tuple[Ints, Bools | None]:
        """For each cell, the column of the last sample or marker up to there (-1: none); and where markers are."""
        if self._last is None:
            assert self.present is not None
            known = self.present if self.stale is None else self.present | self.stale
            columns = np.where(known, np.arange(len(self.times)), -1)
            self._last = np.maximum.accumulate(columns, axis=1, out=columns), self.stale
        return self._last

    @property
    def integers(self) -> Bools:
        """Rows of whole numbers so small that sums over them are exact in any order."""
        if self._integers is None:
            self._integers = whole(self.values if self.present is None else np.where(self.present, self.values, 0.0))
        return self._integers


class Ragged:
    """Series each on its own timestamps: packed rows, with `counts` of them, markers apart in `stale`.

    `times` and `values` hold samples and staleness markers; `stale` says which are markers (None: none is).
    """

    __slots__ = ("_packed", "lengths", "stale", "times", "values")

    def __init__(self, times: Ints, values: Floats, lengths: Ints, stale: Bools | None) -> None:
        self.times = times
        self.values = values
        self.lengths = lengths
        self.stale = stale
        self._packed: tuple[Floats, Ints, Ints] | None = None

    @property
    def rows(self) -> int:
        return len(self.values)

    def take(self, rows: Ints) -> Ragged:
        """Some of the series, in the order of `rows`."""
        if len(rows) == self.rows and bool((rows == np.arange(self.rows)).all()):
            return self
        stale = None if self.stale is None else self.stale[rows]
        if stale is not None and not bool(stale.any()):
            stale = None
        return Ragged(self.times[rows], self.values[rows], self.lengths[rows], stale)

    @property
    def packed(self) -> tuple[Floats, Ints, Ints]:
        """Values, times and lengths of the rows without staleness markers."""
        if self.stale is None:
            return self.values, self.times, self.lengths
        if self._packed is None:
            keep = ~self.stale & (np.arange(self.times.shape[1]) < self.lengths[:, None])
            row, column = np.nonzero(keep)
            before = np.cumsum(keep, axis=1) - 1
            values = np.zeros_like(self.values)
            times = np.zeros_like(self.times)
            values[row, before[row, column]] = self.values[row, column]
            times[row, before[row, column]] = self.times[row, column]
            self._packed = values, times, keep.sum(axis=1)
        return self._packed


def whole(values: Floats) -> Bools:
    """Rows of whole numbers whose sums stay below 2**53, so that any order of summation gives the same bits."""
    with np.errstate(invalid="ignore", over="ignore"):
        few = values[:, :8]
        if not bool((np.rint(few) == few).all(axis=1).any()):
            return np.zeros(len(values), bool)
        rounded: Bools = (np.rint(values) == values).all(axis=1)
        negative_zero = (np.signbit(values) & (values == 0)).any(axis=1)
        small: Bools = np.abs(values).sum(axis=1) < 2.0**53
        result: Bools = rounded & ~negative_zero & small
        return result
