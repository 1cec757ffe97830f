"""Subqueries: an expression evaluated at the multiples of a step, as series for windows to look at."""

from __future__ import annotations

import numpy as np

from watchkeeper.engine.arrays.block import Block, Ragged
from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.arrays.frame import Frame
from watchkeeper.engine.arrays.grid import Grid
from watchkeeper.engine.arrays.notes import INSIDE, before
from watchkeeper.engine.arrays.unique import merged
from watchkeeper.engine.arrays.windows import Windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.arrays.context import Context
    from watchkeeper.engine.arrays.types import Bools, Floats, Ints
    from watchkeeper.engine.labels import Labels
    from watchkeeper.promql.nodes import Expr, Subquery

# Numbers in one array of series x steps; beyond that, some steps at a time are evaluated.
CELLS = 8_000_000
# Beyond so many cells for a sample, series are kept without their gaps.
_SPARSEST = 8


def windows(context: Context, node: Subquery) -> Windows:
    """The range vector of a subquery."""
    evaluator = context.evaluator
    settings = context.settings
    length = evaluator.milliseconds(node.range)
    step = settings.subquery_step if node.step is None else evaluator.milliseconds(node.step)
    if length <= 0 or step <= 0:
        raise Unsupported("a range or a step that is not positive")
    moments = context.moments(node)
    # Steps are multiples of `step`; a window holds those in (t - range, t], or in [t - range, t] where closed.
    # What lies between windows is evaluated too, as Prometheus does: errors and annotations arise there as well.
    first = int(moments[0]) - length + (0 if settings.closed else 1)
    first = -(-first // step)
    count = int(moments[-1]) // step - first + 1
    if count < 1:
        raise Unsupported("a subquery without steps")
    context.charge(count - 1)
    times = step * (first + np.arange(count, dtype=np.int64))
    inside = _Inside(Grid(times, first * step == int(moments[-1])))
    width = max(1, CELLS // max(1, evaluator.series(node.expr)))
    for start in range(0, count, width):
        part = inside.grid if width >= count else Grid(times[start : start + width], inside.grid.single)
        own = evaluator.context(part, passing=width < count)
        outer, own.notes = own.notes, []
        try:
            inside.add(_as_frame(own, node.expr), start)
            context.notes += before(own.notes, INSIDE)
        finally:
            own.notes = outer
        context.charge(inside.samples)
    parts: list[tuple[Ints, Block | Ragged]] = []
    if inside.labels:
        parts.append((np.arange(len(inside.labels)), inside.part()))
    dropped = np.array(inside.dropped, bool) if settings.delayed else None
    return Windows(inside.labels, parts, Grid(moments), length, settings.closed, dropped)


def _as_frame(context: Context, node: Expr) -> Frame:
    value = context.value(node)
    if isinstance(value, Frame):
        return value
    if isinstance(value, str):
        raise Unsupported("a subquery of a string")
    return Frame([()], value[None, :], np.ones((1, context.steps), bool))


class _Inside:
    """The series that an inner expression gives, in the order in which they are first met."""

    __slots__ = ("_pieces", "_rows", "dropped", "grid", "labels", "samples")

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.labels: list[Labels] = []
        self.dropped: list[bool] = []
        self.samples = 0
        self._rows: dict[Labels, int] = {}
        self._pieces: list[tuple[int, list[int], Floats, Bools]] = []

    def add(self, frame: Frame, start: int) -> None:
        """The values at the steps from the number `start` on."""
        frame = merged(frame)
        if not len(frame):
            return
        frame = frame.take(np.argsort(frame.mask.argmax(axis=1), kind="stable"))
        flags = [False] * len(frame) if frame.dropped is None else frame.dropped.tolist()
        rows = []
        for labels, gone in zip(frame.labels, flags, strict=True):
            row = self._rows.setdefault(labels, len(self.labels))
            if row == len(self.labels):
                self.labels.append(labels)
                self.dropped.append(gone)
            elif self.dropped[row] != gone:
                raise Unsupported("rows with the same labels of which some lose their name")
            rows.append(row)
        self.samples += int(np.count_nonzero(frame.mask))
        self._pieces.append((start, rows, frame.values, frame.mask))

    def part(self) -> Block | Ragged:
        """All series, on the grid of all steps; or each without its gaps, where these are most."""
        if len(self._pieces) == 1 and len(self.grid) == self._pieces[0][2].shape[1]:
            _, _, values, mask = self._pieces[0]
            return Block(self.grid.times, np.ascontiguousarray(values), None if bool(mask.all()) else mask, None)
        shape = len(self.labels), len(self.grid)
        if shape[0] * shape[1] > CELLS and shape[0] * shape[1] > _SPARSEST * self.samples:
            return self._ragged()
        values = np.zeros(shape)
        mask = np.zeros(shape, bool)
        for start, rows, own_values, own_mask in self._pieces:
            span = slice(start, start + own_values.shape[1])
            values[rows, span] = own_values
            mask[rows, span] = own_mask
        return Block(self.grid.times, values, None if bool(mask.all()) else mask, None)

    def _ragged(self) -> Ragged:
        times: list[list[Ints]] = [[] for _ in self.labels]
        values: list[list[Floats]] = [[] for _ in self.labels]
        for start, rows, own_values, own_mask in self._pieces:
            own_times = self.grid.times[start : start + own_values.shape[1]]
            for index, row in enumerate(rows):
                times[row].append(own_times[own_mask[index]])
                values[row].append(own_values[index][own_mask[index]])
        lengths = np.array([sum(map(len, own)) for own in times], np.int64)
        width = int(lengths.max())
        all_times = np.zeros((len(self.labels), width), np.int64)
        all_values = np.zeros((len(self.labels), width))
        for row, length in enumerate(lengths.tolist()):
            all_times[row, :length] = np.concatenate(times[row])
            all_values[row, :length] = np.concatenate(values[row])
        return Ragged(all_times, all_values, lengths, None)
