"""Aggregations: sum, avg, topk, ... over groups of series, for all steps at once.

Groups are gone through in layers: the first member of every group, then the second ones, and so on, each layer for all
groups and steps at a time. That is the order in which the step-wise evaluator adds up.
"""

from __future__ import annotations

import numpy as np

from watchkeeper.engine.arrays import overtime, range_calls
from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.arrays.frame import Frame, Groups
from watchkeeper.engine.arrays.selecting import SELECTING, groups_of
from watchkeeper.engine.arrays.sums import MeanOf, OldMean, Sum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from watchkeeper.engine.arrays.context import Context
    from watchkeeper.engine.arrays.types import Bools, Floats, Ints
    from watchkeeper.engine.labels import Labels
    from watchkeeper.promql.nodes import Aggregate


def evaluate(context: Context, node: Aggregate) -> Frame:
    """The value of an aggregation."""
    frame = context.frame(node.expr)
    if node.op in SELECTING:
        return SELECTING[node.op](context, node, frame)
    reduce = (_REDUCING_OLD if context.settings.old else _REDUCING).get(node.op)
    groups = groups_of(node, frame)
    if reduce is not None:
        values = reduce(_in_order(frame, groups), groups)
    elif node.op == "quantile":
        assert node.param is not None
        q = context.scalar(node.param)
        range_calls.note_quantiles(context, node.param, q, np.ones(context.steps, bool))
        values = _quantile(frame, groups, q)
    else:
        raise Unsupported(node.op)
    labels: list[Labels] = groups.keys  # type: ignore[assignment]
    dropped = _dropped(frame, groups) if context.settings.delayed else None
    return Frame(labels, values, groups.any(frame.mask), dropped, groups.rank(frame))


def _dropped(frame: Frame, groups: Groups) -> Bools:
    """A group's name is to go where that of one of its members is."""
    dropped = np.zeros(len(groups), bool)
    if frame.dropped is not None:
        for group, rows in enumerate(groups.members):
            flags = frame.dropped[rows]
            if bool(flags.any()) and not bool(flags.all()):
                raise Unsupported("a group of which some lose their name")
            dropped[group] = flags[0]
    return dropped


def _in_order(frame: Frame, groups: Groups) -> Frame:
    """With the samples of each group moved so that the order of its rows is their order at every step."""
    if frame.rank is None or groups.single:
        return frame
    values = frame.values.copy()
    mask = frame.mask.copy()
    for rows in groups.members:
        order = np.argsort(np.where(frame.mask[rows], frame.rank[rows], np.iinfo(np.int64).max), axis=0)
        values[rows] = np.take_along_axis(frame.values[rows], order, axis=0)
        mask[rows] = np.take_along_axis(frame.mask[rows], order, axis=0)
    return Frame(frame.labels, values, mask)


# One number for each group


def _layers(frame: Frame, groups: Groups) -> Iterator[tuple[Ints, Floats, Bools]]:
    """(groups, values, mask) of their first members, of their second ones, ..."""
    for which, rows in groups.layers():
        yield which, frame.values[rows], frame.mask[rows]


def _shape(frame: Frame, groups: Groups) -> tuple[int, int]:
    return len(groups), frame.steps


def _count(frame: Frame, groups: Groups) -> Floats:
    if groups.single:
        return np.ones(frame.values.shape)
    return np.array([frame.mask[rows].sum(axis=0, dtype=float) for rows in groups.members]).reshape(
        _shape(frame, groups)
    )


def _sum(frame: Frame, groups: Groups) -> Floats:
    return _sums(frame, groups).result()


def _sums(frame: Frame, groups: Groups) -> Sum:
    """Compensated sums, started by the first value, so that a lone -0 stays one."""
    total = Sum(_shape(frame, groups), -0.0)
    layers = groups.layers()
    for which, rows in layers:
        values = np.where(frame.mask[rows], frame.values[rows], -0.0)
        if len(which) == len(groups):
            total.add(values)
        else:
            _add_some(total, which, values)
    return total


def _add_some(total: Sum, which: Ints, values: Floats) -> None:
    part = Sum((len(which), values.shape[1]))
    part.total = total.total[which]
    part.correction = total.correction[which]
    part.add(values)
    total.total[which] = part.total
    total.correction[which] = part.correction


def _avg(frame: Frame, groups: Groups) -> Floats:
    sums = _sums(frame, groups)
    count = np.maximum(_count(frame, groups), 1.0)
    result: Floats = sums.total / count + sums.correction / count
    odd = np.isinf(sums.total) | np.isnan(sums.total)
    if odd.any():
        for group in np.nonzero(odd.any(axis=1))[0].tolist():
            result[group] = _full_mean(frame, groups.members[group])
    return result


def _full_mean(frame: Frame, rows: list[int]) -> Floats:
    """The average of one group in full generality."""
    started = np.zeros(frame.steps, bool)
    mean = MeanOf(np.zeros(frame.steps))
    for row in rows:
        values, mask = frame.values[row], frame.mask[row]
        starting = mask & ~started
        mean.add(values, mask & started)
        np.copyto(mean.total, values, where=starting)
        started |= mask
    return mean.result()


def _plain_sum(frame: Frame, groups: Groups) -> Floats:
    """As Prometheus 2.42 adds up."""
    total = np.full(_shape(frame, groups), -0.0)
    for which, values, mask in _layers(frame, groups):
        total[which] += np.where(mask, values, -0.0)
    return total


def _plain_avg(frame: Frame, groups: Groups) -> Floats:
    """As Prometheus 2.42 averages: by an incremental mean."""
    mean = OldMean(_shape(frame, groups), compensated=False)
    for which, values, mask in _layers(frame, groups):
        mean.add(values, mask, which)
    return mean.result()


def _extreme(better: Callable[[Floats, Floats], Bools]) -> Callable[[Frame, Groups], Floats]:
    def reduce(frame: Frame, groups: Groups) -> Floats:
        # NaN is worse than all else, and the first of equals stays.
        result = np.full(_shape(frame, groups), np.nan)
        for which, values, mask in _layers(frame, groups):
            best = result[which]
            take = mask & (better(values, best) | np.isnan(best))
            np.copyto(best, values, where=take)
            result[which] = best
        return result

    return reduce


def _variance(frame: Frame, groups: Groups, old: bool = False) -> Floats:
    """Welford's update. In 2.42 (`old`) a first value that is not finite deviates by 0, as any other does."""
    count = np.zeros(_shape(frame, groups))
    mean = np.zeros(count.shape)
    squares = np.zeros(count.shape)
    for which, values, mask in _layers(frame, groups):
        own_count = count[which] + mask
        own_mean = mean[which]
        first = own_count == 1
        delta = values - own_mean
        new_mean = np.where(first, values, own_mean + delta / own_count)
        start = 0.0 if old else np.where(np.isfinite(values), 0.0, np.nan)
        change = np.where(first, start, delta * (values - new_mean))
        count[which] = own_count
        mean[which] = np.where(mask, new_mean, own_mean)
        squares[which] += np.where(mask, change, 0.0)
    return squares / count


def _quantile(frame: Frame, groups: Groups, q: Floats) -> Floats:
    result = np.empty(_shape(frame, groups))
    for group, rows in enumerate(groups.members):
        values = np.ascontiguousarray(frame.values[rows].T)
        mask = np.ascontiguousarray(frame.mask[rows].T)
        ordered = overtime.sorted_nan_first(values, mask)
        result[group] = overtime.quantile_of_sorted(ordered, mask.sum(axis=1), q)
    return result


_REDUCING: dict[str, Callable[[Frame, Groups], Floats]] = {
    "avg": _avg,
    "count": _count,
    "group": lambda frame, groups: np.ones(_shape(frame, groups)),
    "max": _extreme(np.greater),
    "min": _extreme(np.less),
    "stddev": lambda frame, groups: np.sqrt(_variance(frame, groups)),
    "stdvar": _variance,
    "sum": _sum,
}
_REDUCING_OLD: dict[str, Callable[[Frame, Groups], Floats]] = {
    **_REDUCING,
    "avg": _plain_avg,
    "stddev": lambda frame, groups: np.sqrt(_variance(frame, groups, old=True)),
    "stdvar": lambda frame, groups: _variance(frame, groups, old=True),
    "sum": _plain_sum,
}
