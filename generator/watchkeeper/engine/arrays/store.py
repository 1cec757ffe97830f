"""Series as arrays: what a `Data` holds, and blocks registered beside it."""

from __future__ import annotations

import contextlib

import numpy as np

from watchkeeper.engine import labels as label_sets
from watchkeeper.engine.arrays.block import Block, Ragged
from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.data import Data, test_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from watchkeeper.engine.arrays.types import Bools, Floats, Ints
    from watchkeeper.engine.data import Series
    from watchkeeper.engine.labels import Labels
    from watchkeeper.promql.nodes import Matcher

_STALE_BITS = np.uint64(0x7FF0000000000002)
# A grid is made where at least one cell in so many holds a sample.
_SPARSEST = 4
_SELECTIONS_KEPT = 256


def store_of(data: Data) -> Store:
    """The store of a data set: kept with it where there is room, so that series are converted once."""
    store = getattr(data, "arrays", None)
    if not isinstance(store, Store):
        store = Store(data)
        with contextlib.suppress(AttributeError):
            data.arrays = store  # type: ignore[attr-defined, unused-ignore]
    return store


class Selection:
    """What matchers found: label sets in order, and for each part of them its rows in that order and its samples.

    Rows rise within a part, so where there is but one part its rows are those of `labels`.
    """

    __slots__ = ("labels", "parts")

    def __init__(self, labels: list[Labels], parts: list[tuple[Ints, Block | Ragged]]) -> None:
        self.labels = labels
        self.parts = []
        for rows, part in parts:
            order = np.argsort(rows)
            self.parts.append((rows[order], part.take(order)))


class _Added:
    """Series that were registered as arrays."""

    __slots__ = ("block", "labels")

    def __init__(self, labels: list[Labels], block: Block) -> None:
        self.labels = labels
        self.block = block


class Store:
    """Series as arrays, found by matchers.

    `data` may grow between queries: what was converted is converted again where a series has more samples by then.
    """

    __slots__ = ("_added", "_known", "_selections", "data")

    def __init__(self, data: Data) -> None:
        self.data = data
        self._added: list[_Added] = []
        self._known: set[Labels] = set()
        self._selections: dict[tuple[tuple[str, str, str], ...], tuple[list[Series], list[int], int, Selection]] = {}

    def add(
        self,
        labels: Sequence[Labels],
        times: Ints,
        values: Floats,
        present: Bools | None = None,
        ends: bool = False,
    ) -> None:
        """Register series that are arrays already: `times` rising ms, `values` and `present` series x times.

        The arrays are kept, not copied. Staleness markers among the values are seen; with `ends` every cell without a
        sample is one, so that a series ends where it is missing, as rules write it. Raises ValueError where one of the
        label sets is known already: such series have to become one before.
        """
        for one in labels:
            if one in self._known or self.data.get(one) is not None:
                raise ValueError(f"{label_sets.format_series(one)} is known already")
            self._known.add(one)
        block = _block(times, values, present)
        if ends and block.present is not None:
            block = Block(times, values, block.present, ~block.present)
        self._added.append(_Added(list(labels), block))

    def select(self, matchers: Sequence[Matcher]) -> Selection:
        """The series that match, in order of their labels. Raises Unsupported for histograms and start timestamps."""
        key = tuple([(matcher.label, matcher.op, matcher.value) for matcher in matchers])
        found = self.data.select(matchers)
        lengths = [len(series.times) for series in found]
        known = self._selections.get(key)
        if (
            known is not None
            and known[2] == len(self._added)
            and known[1] == lengths
            and all(map(_same, known[0], found))
        ):
            return known[3]
        if not all(series.floats_only for series in found):
            raise Unsupported("native histograms")
        if any(series.starts is not None for series in found):
            raise Unsupported("start timestamps")
        selection = _convert(found)
        if self._added:
            selection = self._with_added(selection, matchers)
        if len(self._selections) >= _SELECTIONS_KEPT:
            self._selections.clear()
        self._selections[key] = found, lengths, len(self._added), selection
        return selection

    def _with_added(self, selection: Selection, matchers: Sequence[Matcher]) -> Selection:
        tests = [(matcher.label, test_of(matcher)) for matcher in matchers]
        labels = list(selection.labels)
        parts = list(selection.parts)
        for added in self._added:
            rows = [
                row
                for row, one in enumerate(added.labels)
                if all(test(label_sets.get(one, name)) for name, test in tests)
            ]
            if rows:
                first = len(labels)
                labels += [added.labels[row] for row in rows]
                parts.append((np.arange(first, len(labels)), added.block.take(np.array(rows))))
        order = sorted(range(len(labels)), key=labels.__getitem__)
        places = np.empty(len(labels), np.int64)
        places[order] = np.arange(len(labels))
        return Selection([labels[row] for row in order], [(places[rows], part) for rows, part in parts])


def _same(one: Series, other: Series) -> bool:
    return one is other


def _block(times: Ints, values: Floats, present: Bools | None) -> Block:
    stale: Bools = np.ascontiguousarray(values).view(np.uint64) == _STALE_BITS
    if present is not None:
        stale &= present
    if bool(stale.any()):
        present = ~stale if present is None else present & ~stale
        return Block(times, values, present, stale)
    if present is not None and bool(present.all()):
        present = None
    return Block(times, values, present, None)


def _convert(found: list[Series]) -> Selection:
    labels = [series.labels for series in found]
    if not found:
        return Selection(labels, [])
    first = found[0].times
    if all(series.times is first or (len(series.times) == len(first) and series.times == first) for series in found):
        values = np.array([series.values for series in found], np.float64).reshape(len(found), len(first))
        return Selection(labels, [(np.arange(len(found)), _block(np.array(first, np.int64), values, None))])
    times = [np.array(series.times, np.int64) for series in found]
    grids: dict[tuple[int, int], list[int]] = {}
    alone: list[int] = []
    for row, own in enumerate(times):
        key = _grid_of(own)
        if key is None:
            alone.append(row)
        else:
            grids.setdefault(key, []).append(row)
    if alone and grids:
        alone = [row for row in alone if not _fits(times[row], row, grids)]
    parts: list[tuple[Ints, Block | Ragged]] = []
    for (period, _), rows in grids.items():
        start = min(int(times[row][0]) for row in rows)
        end = max(int(times[row][-1]) for row in rows)
        width = (end - start) // period + 1
        if len(rows) * width > 1000 + _SPARSEST * sum(len(times[row]) for row in rows):
            alone += rows
            continue
        grid = start + period * np.arange(width, dtype=np.int64)
        values = np.zeros((len(rows), width))
        present = np.zeros((len(rows), width), bool)
        for index, row in enumerate(rows):
            columns = (times[row] - start) // period
            values[index, columns] = found[row].values
            present[index, columns] = True
        parts.append((np.array(rows), _block(grid, values, present)))
    if alone:
        parts.append((np.array(alone), _ragged([found[row] for row in alone], [times[row] for row in alone])))
    return Selection(labels, parts)


def _grid_of(times: Ints) -> tuple[int, int] | None:
    """The period and phase of the regular grid that a series fills well enough; None where there is none."""
    if len(times) < 2:
        return None
    period = int(np.gcd.reduce(np.diff(times)))
    if (int(times[-1]) - int(times[0])) // period + 1 > _SPARSEST * len(times):
        return None
    return period, int(times[0]) % period


def _fits(times: Ints, row: int, grids: dict[tuple[int, int], list[int]]) -> bool:
    """Put a series on another's grid, if all of its samples lie on one."""
    for (period, phase), rows in grids.items():
        if len(times) and bool((times % period == phase).all()):
            rows.append(row)
            return True
    return False


def _ragged(found: list[Series], times: list[Ints]) -> Ragged:
    lengths = np.array([len(own) for own in times], np.int64)
    width = max(1, int(lengths.max(initial=0)))
    all_times = np.zeros((len(found), width), np.int64)
    values = np.zeros((len(found), width))
    for row, (series, own) in enumerate(zip(found, times, strict=True)):
        all_times[row, : len(own)] = own
        values[row, : len(own)] = series.values
    stale: Bools = values.view(np.uint64) == _STALE_BITS
    return Ragged(all_times, values, lengths, stale if bool(stale.any()) else None)
