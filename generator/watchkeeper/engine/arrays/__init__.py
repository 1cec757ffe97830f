"""The vectorised evaluator: all series and all steps at once, with NumPy.

`evaluate(query)` is what `Engine` calls; it gives None where the step-wise evaluator has to answer the whole query.

For rules over time there is the layer below:

    store = Store(data)                                   # converts series when they are first selected
    evaluator = Evaluator(store, Settings(start, end, step))     # milliseconds
    value, notes = evaluator.evaluate(expr)               # a Frame, a number for each step, or a string
    for labels, row, there in zip(value.labels, value.values, value.mask): ...
    store.add(labels, evaluator.grid.times, values, mask) # a recording rule's result, as new series

Expressions evaluated by one `Evaluator` share their common sub-expressions, positions aside. After `Store.add` a new
`Evaluator` sees the new series; one that has evaluated a selector before gives what it remembers. A Frame's arrays are
shared: never write to them.

`Unsupported` is raised for what only the step-wise evaluator does, and also where evaluation fails, so that errors and
their order come from one place.
"""

from __future__ import annotations

import numpy as np

from watchkeeper.engine import labels as label_sets
from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.arrays.evaluate import Evaluator, Settings
from watchkeeper.engine.arrays.frame import Frame
from watchkeeper.engine.arrays.notes import tell
from watchkeeper.engine.arrays.store import Store
from watchkeeper.engine.arrays.windows import merged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.arrays.types import Bools
    from watchkeeper.engine.engine import Query
    from watchkeeper.engine.results import Row

__all__ = ["Evaluator", "Frame", "Settings", "Store", "Unsupported", "evaluate"]


def evaluate(query: Query) -> list[Row] | None:
    """The rows of a query's answer, or None where the step-wise evaluator has to give it. Raises EvalError."""
    try:
        return _evaluate(query)
    except (Unsupported, RecursionError):
        return None


def _evaluate(query: Query) -> list[Row]:
    settings = Settings(
        query.start,
        query.end,
        query.step,
        lookback=query.lookback,
        subquery_step=query.subquery_step,
        old=query.compat == "2",
        delayed=query.delayed_name_removal,
        max_samples=query.max_samples,
        instant=query.instant,
    )
    evaluator = Evaluator(Store(query.data), settings)
    if query.expr.type not in {"vector", "scalar"}:
        raise Unsupported(query.expr.type)
    value, notes = evaluator.evaluate(query.expr)
    times = evaluator.grid.times.tolist()
    if isinstance(value, np.ndarray):
        rows: list[Row] = [((), times, value.tolist())]
    else:
        assert isinstance(value, Frame)
        rows = _rows(_named(value), times)
    tell(notes, query.annotations)
    return rows


def _named(frame: Frame) -> Frame:
    """With the names removed whose removal was delayed, and one row for each label set."""
    if frame.dropped is not None:
        frame = merged(frame)
        assert frame.dropped is not None
        labels = [
            label_sets.without(one, label_sets.METADATA) if gone else one
            for one, gone in zip(frame.labels, frame.dropped.tolist(), strict=True)
        ]
        frame = Frame(labels, frame.values, frame.mask)
    return merged(frame)


def _rows(frame: Frame, times: list[int]) -> list[Row]:
    rows: list[Row] = []
    whole: Bools = np.logical_and.reduce(frame.mask, axis=1)
    for row, labels in enumerate(frame.labels):
        if whole[row]:
            rows.append((labels, times, frame.values[row].tolist()))
            continue
        steps = np.nonzero(frame.mask[row])[0]
        if len(steps):
            rows.append((labels, [times[step] for step in steps.tolist()], frame.values[row, steps].tolist()))
    return rows
