"""Functions of a range vector."""

from __future__ import annotations

import numpy as np

from watchkeeper.engine import annotations as texts
from watchkeeper.engine import labels as label_sets
from watchkeeper.engine.arrays import counters, overtime, sums, windows
from watchkeeper.engine.arrays.block import whole
from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.arrays.frame import Frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from watchkeeper.engine.arrays.context import Context
    from watchkeeper.engine.arrays.strip import Strip
    from watchkeeper.engine.arrays.types import Bools, Floats
    from watchkeeper.engine.arrays.windows import Windows
    from watchkeeper.promql.nodes import Call, Expr

    Answer: TypeAlias = tuple[Floats, Bools]
    Kernel: TypeAlias = Callable[["Job", Strip], Answer]

_COUNTER_ENDS = ("_total", "_sum", "_count", "_bucket")


class Job:
    """One call: where it stands, its windows, and its scalar arguments (one number for each step)."""

    __slots__ = ("context", "node", "parameters", "windows")

    def __init__(self, context: Context, node: Call, found: Windows, parameters: list[Floats]) -> None:
        self.context = context
        self.node = node
        self.windows = found
        self.parameters = parameters


def _some(strip: Strip, least: int = 1) -> Bools:
    return np.broadcast_to(strip.count >= least, (strip.height, strip.steps))


def _extrapolated(job: Job, strip: Strip, counter: bool, per_second: bool) -> Answer:
    ends = job.windows.grid.times[strip.span]
    return counters.extrapolated(strip, ends, job.windows.range, counter, per_second, job.context.settings.old)


def _rate(job: Job, strip: Strip) -> Answer:
    return _extrapolated(job, strip, counter=True, per_second=True)


def _increase(job: Job, strip: Strip) -> Answer:
    return _extrapolated(job, strip, counter=True, per_second=False)


def _delta(job: Job, strip: Strip) -> Answer:
    return _extrapolated(job, strip, counter=False, per_second=False)


def _sum(_: Job, strip: Strip) -> Answer:
    return sums.window_sums(strip, bool(whole(strip.values).all())), _some(strip)


def _avg(job: Job, strip: Strip) -> Answer:
    if job.context.settings.old:
        return sums.old_window_means(strip), _some(strip)
    return sums.window_means(strip, bool(whole(strip.values).all())), _some(strip)


def _count(_: Job, strip: Strip) -> Answer:
    return np.broadcast_to(strip.count, (strip.height, strip.steps)).astype(float), _some(strip)


def _present(_: Job, strip: Strip) -> Answer:
    return np.ones((strip.height, strip.steps)), _some(strip)


def _deriv(job: Job, strip: Strip) -> Answer:
    return overtime.regression(strip, strip.first_time(), job.context.settings.old)[0], _some(strip, 2)


def _predict_linear(job: Job, strip: Strip) -> Answer:
    slope, level = overtime.regression(strip, job.context.grid.times[strip.span], job.context.settings.old)
    return slope * job.parameters[0][strip.span] + level, _some(strip, 2)


def _smoothing(job: Job, strip: Strip) -> Answer:
    smoothing, trend = (float(values[0]) for values in job.parameters)
    for values in job.parameters:
        if not bool((values == values[0]).all()) or not 0 < float(values[0]) < 1:
            raise Unsupported("factors that vary, or are not between 0 and 1")
    return overtime.smoothed(strip, smoothing, trend), _some(strip, 2)


def _quantile(job: Job, strip: Strip) -> Answer:
    return overtime.quantiles(strip, job.parameters[0][strip.span]), _some(strip)


def _variance(job: Job, strip: Strip) -> Floats:
    return overtime.variance(strip, job.context.settings.old)


_KERNELS: dict[str, Kernel] = {
    "avg_over_time": _avg,
    "changes": lambda _, strip: counters.counted(strip, resets=False),
    "count_over_time": _count,
    "delta": _delta,
    "deriv": _deriv,
    "double_exponential_smoothing": _smoothing,
    "first_over_time": lambda _, strip: (strip.first(), _some(strip)),
    "idelta": lambda _, strip: counters.instantaneous(strip, counter=False),
    "increase": _increase,
    "irate": lambda _, strip: counters.instantaneous(strip, counter=True),
    "last_over_time": lambda _, strip: (strip.last(), _some(strip)),
    "mad_over_time": lambda _, strip: (overtime.median_deviation(strip), _some(strip)),
    "max_over_time": lambda _, strip: (overtime.extreme(strip, largest=True), _some(strip)),
    "min_over_time": lambda _, strip: (overtime.extreme(strip, largest=False), _some(strip)),
    "predict_linear": _predict_linear,
    "present_over_time": _present,
    "quantile_over_time": _quantile,
    "rate": _rate,
    "resets": lambda _, strip: counters.counted(strip, resets=True),
    "stddev_over_time": lambda job, strip: (np.sqrt(_variance(job, strip)), _some(strip)),
    "stdvar_over_time": lambda job, strip: (_variance(job, strip), _some(strip)),
    "sum_over_time": _sum,
    "ts_of_first_over_time": lambda _, strip: (np.broadcast_to(strip.first_time() / 1000, _shape(strip)), _some(strip)),
    "ts_of_last_over_time": lambda _, strip: (np.broadcast_to(strip.last_time() / 1000, _shape(strip)), _some(strip)),
    "ts_of_max_over_time": lambda _, strip: (overtime.time_of_extreme(strip, largest=True), _some(strip)),
    "ts_of_min_over_time": lambda _, strip: (overtime.time_of_extreme(strip, largest=False), _some(strip)),
}
_KEEP_NAME = frozenset({"last_over_time", "first_over_time"})
NAMES = frozenset({*_KERNELS, "absent_over_time"})


def _shape(strip: Strip) -> tuple[int, int]:
    return strip.height, strip.steps


def evaluate(context: Context, node: Call) -> Frame:
    """A call of a function in NAMES."""
    ranged: Expr | None = None
    parameters: list[Floats] = []
    found: Windows | None = None
    for argument in node.args:
        if argument.type == "matrix":
            ranged = argument
            found = windows.of(context, argument)
        else:
            parameters.append(context.scalar(argument))
    assert ranged is not None
    assert found is not None
    frame = _apply(Job(context, node, found, parameters))
    _annotate(context, node, ranged, frame, parameters)
    if node.name not in _KEEP_NAME:
        return context.unnamed(frame, node)
    if not context.settings.delayed:
        context.own(node, frame.labels, frame.labels)
    return frame


def _apply(job: Job) -> Frame:
    found = job.windows
    kernel = _KERNELS[job.node.name]
    shape = (len(found.labels), job.context.steps)
    limit = job.context.settings.max_samples
    # Rows that no strip covers have no sample in any window.
    values = np.empty(shape)
    mask = np.zeros(shape, bool)
    with np.errstate(all="ignore"):
        for rows, strip in found.strips():
            job.context.evaluator.check_clock()
            # Rows of one part mostly stand together, and are then written without an index.
            place = slice(int(rows[0]), int(rows[-1]) + 1) if int(rows[-1] - rows[0]) == len(rows) - 1 else rows
            values[place, strip.span], mask[place, strip.span] = kernel(job, strip)
            if strip.values.shape[1] > limit:
                job.context.charge(int(strip.count.max()))
    return Frame(found.labels, values, mask, found.dropped).pruned()


def _annotate(context: Context, node: Call, ranged: Expr, frame: Frame, parameters: list[Floats]) -> None:
    if node.name in {"rate", "increase"}:
        _note_non_counters(context, ranged, frame)
    elif node.name == "quantile_over_time":
        q = parameters[0]
        note_quantiles(context, node.args[0], q, np.logical_or.reduce(frame.mask, axis=0))


def note_quantiles(context: Context, node: Expr, q: Floats, where: Bools) -> None:
    """Tell of quantiles that are not between 0 and 1, at the steps given."""
    wrong = where & ~((q >= 0) & (q <= 1))
    if not wrong.any():
        return
    last: dict[str, int] = {}
    for step in np.nonzero(wrong)[0].tolist():
        last[texts.invalid_quantile(float(q[step]))] = step
    for message, step in last.items():
        context.note(message, node, step)


def _note_non_counters(context: Context, node: Expr, frame: Frame) -> None:
    # It is told when a series gives its first result.
    last: dict[str, int] = {}
    for row, labels in enumerate(frame.labels):
        name = label_sets.get(labels, label_sets.NAME)
        if name and not name.endswith(_COUNTER_ENDS):
            last[name] = max(int(np.argmax(frame.mask[row])), last.get(name, 0))
    for name, step in last.items():
        context.note(texts.possible_non_counter(name), node, step)
