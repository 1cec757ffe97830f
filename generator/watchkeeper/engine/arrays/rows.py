"""Frames to the rows of a result."""

from __future__ import annotations

import numpy as np

from watchkeeper.engine.arrays.frame import Frame
from watchkeeper.engine.arrays.unique import settled
from watchkeeper.engine.results import EvalError
from watchkeeper.engine.steps.nodes import TOO_MANY_SAMPLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.arrays.context import Value
    from watchkeeper.engine.arrays.grid import Grid
    from watchkeeper.engine.arrays.types import Bools
    from watchkeeper.engine.labels import Labels
    from watchkeeper.engine.results import Row


class Rows:
    """The rows of an answer, from frames of one range of steps after the other."""

    __slots__ = ("_kept", "_known", "_limit", "_portions", "rows")

    def __init__(self, limit: int, portions: bool) -> None:
        """`limit` is how many samples there may be; `portions` whether there will be several frames."""
        self._portions = portions
        self.rows: list[Row] = []
        self._known: dict[Labels, Row] = {}
        self._limit = limit
        self._kept = 0

    def add(self, value: Value, grid: Grid) -> None:
        """Append the samples of a vector or a scalar. Raises EvalError for too many, Unsupported for duplicates."""
        if not isinstance(value, Frame):
            assert isinstance(value, np.ndarray)
            value = Frame([()], value[None, :], np.ones((1, len(grid)), bool))
        self._kept += int(np.count_nonzero(value.mask))
        if self._kept > self._limit:
            raise EvalError(TOO_MANY_SAMPLES)
        frame = settled(value)
        times = grid.times.tolist()
        whole: Bools = np.logical_and.reduce(frame.mask, axis=1)
        for row, labels in enumerate(frame.labels):
            if whole[row]:
                self._append(labels, times, frame.values[row].tolist())
                continue
            steps = np.nonzero(frame.mask[row])[0]
            if len(steps):
                self._append(labels, [times[step] for step in steps.tolist()], frame.values[row, steps].tolist())

    def _append(self, labels: Labels, times: list[int], values: list[float]) -> None:
        known = self._known.get(labels)
        if known is None:
            # Rows share the list of times, unless there is more to come.
            row = self._known[labels] = labels, list(times) if self._portions else times, values
            self.rows.append(row)
        else:
            known[1].extend(times)
            known[2].extend(values)
