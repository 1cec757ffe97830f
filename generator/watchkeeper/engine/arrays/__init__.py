"""The vectorised evaluator: all series and all steps at once, with NumPy.

`evaluate(query)` is what `Engine` calls; it gives None where the step-wise evaluator has to answer the whole query:
native histograms and start timestamps among the series selected, `info`, `histogram_fraction`, `anchored` and
`smoothed`, range vectors as results, and a few rare mixtures. It does so as well where evaluation fails, so that errors
and which of them comes first are told in one place; only limits of samples and of time are told here.

For rules over time there is the layer below. Times are in milliseconds:

    store = Store(data)                                      # series are converted when they are first selected
    evaluator = Evaluator(store, Settings(start, end, step))
    value, notes = evaluator.evaluate(parse(text))           # a Frame, an array of a number for each step, or a string
    value = settled(value)                                   # one row for each label set
    for labels, values, there in zip(value.labels, value.values, value.mask): ...
    store.add(labels, evaluator.grid.times, values, mask, ends=True)      # a rule's result as series; not copied
    tell(notes, annotations)                                 # warnings and infos, with their places in `text`

Expressions that one `Evaluator` evaluates share their equal parts, wherever these stand. What it evaluated it keeps (up
to a budget of memory), so a series has to be registered before an expression that selects it is evaluated first; then
one `Evaluator` serves all rules. `evaluator.over(first, last)` evaluates at some of the steps. A Frame's arrays are
shared: never write to them. `Unsupported` is raised where `evaluate(query)` would give None.

How it is made. `store` finds series and makes blocks of them: `block` has arrays of series x times on shared
timestamps, with gaps, or of series each on its own. `cut` makes strips of the windows of a range vector, `strip`, that
fit the processor's cache; `sums`, `counters` and `overtime` compute on these with the bits of Prometheus' order of
operations. A `frame` is an instant vector over all steps. `evaluator` and `context` go through the tree; `calls` and
the modules named after kinds of calls, `aggregate`, `selecting`, `binary` and `matching` make frames of frames: labels
once, values for all steps.
"""

from __future__ import annotations

from time import monotonic

from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.arrays.evaluator import Evaluator, Settings
from watchkeeper.engine.arrays.frame import Frame
from watchkeeper.engine.arrays.notes import later, tell
from watchkeeper.engine.arrays.rows import Rows
from watchkeeper.engine.arrays.store import Store, store_of
from watchkeeper.engine.arrays.unique import settled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.arrays.notes import Note
    from watchkeeper.engine.engine import Query
    from watchkeeper.engine.results import Row

# Numbers in one array of series x steps; a few such arrays are held at a time.
CELLS = 4_000_000

__all__ = ["Evaluator", "Frame", "Settings", "Store", "Unsupported", "evaluate", "settled", "tell"]


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
