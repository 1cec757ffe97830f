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

from time import monotonic

from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.arrays.evaluate import Evaluator, Settings
from watchkeeper.engine.arrays.frame import Frame
from watchkeeper.engine.arrays.notes import later, tell
from watchkeeper.engine.arrays.rows import Rows
from watchkeeper.engine.arrays.store import Store, store_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.arrays.notes import Note
    from watchkeeper.engine.engine import Query
    from watchkeeper.engine.results import Row

# Numbers in one array of series x steps; a few such arrays are held at a time.
CELLS = 4_000_000

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
        timeout=query.timeout,
    )
    deadline = monotonic() + query.timeout
    if query.expr.type not in {"vector", "scalar"}:
        raise Unsupported(query.expr.type)
    whole = Evaluator(store_of(query.data), settings)
    notes: list[Note] = []
    steps = len(whole.grid)
    # Some steps at a time where there are very many, so that memory is bounded.
    width = max(1, CELLS // max(1, whole.series(query.expr)))
    rows = Rows(query.max_samples, portions=width < steps)
    for first in range(0, steps, width):
        evaluator = whole if width >= steps else whole.over(first, min(first + width, steps))
        value, found = evaluator.evaluate(query.expr, deadline)
        notes += later(found, first)
        rows.add(value, evaluator.grid)
    tell(notes, query.annotations)
    return rows.rows
