"""histogram_quantile and histogram_quantiles over classic buckets, for all steps at once."""

from __future__ import annotations

import re

import numpy as np

from watchkeeper.engine import annotations as texts
from watchkeeper.engine import labels as label_sets
from watchkeeper.engine.arrays import range_calls
from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.arrays.frame import Frame, Groups
from watchkeeper.engine.gofloat import format_f
from watchkeeper.engine.steps.aggregations import is_label_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.arrays.context import Context
    from watchkeeper.engine.arrays.types import Bools, Floats
    from watchkeeper.engine.labels import Labels
    from watchkeeper.promql.nodes import Call, Expr

_BOUND = re.compile(
    r"[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|inf|infinity)", re.ASCII | re.IGNORECASE
)
_TOLERANCE = 1e-12
_SMALLEST = 2.2250738585072014e-308  # the smallest number with all its bits
_LARGEST = 1.7976931348623157e308


def quantile(context: Context, node: Call) -> Frame:
    """The value of histogram_quantile(q, buckets)."""
    q = context.scalar(node.args[0])
    return _of_buckets(context, node.args[1], [q], [node.args[0]], None)


def quantiles(context: Context, node: Call) -> Frame:
    """The value of histogram_quantiles(buckets, label, q, ...)."""
    label = context.text(node.args[1])
    if not is_label_name(label, context.settings.old):
        raise Unsupported("an invalid label name")
    qs = [context.scalar(argument) for argument in node.args[2:]]
    if any(bool((q != q[0]).any()) and not bool(np.isnan(q).all()) for q in qs):
        raise Unsupported("quantiles that vary")
    return _of_buckets(context, node.args[0], qs, list(node.args[2:]), label)


def _of_buckets(context: Context, argument: Expr, qs: list[Floats], places: list[Expr], label: str | None) -> Frame:
    """Some quantiles of each histogram; `label` is where to put which one it is, None to leave that out."""
    frame = context.frame(argument)
    for q, place in zip(qs, places, strict=True):
        range_calls.note_quantiles(context, place, q, np.ones(context.steps, bool))
    bounds: list[float] = []
    for one in frame.labels:
        text = label_sets.get(one, "le")
        if not _BOUND.fullmatch(text):
            raise Unsupported("a bucket whose label le is no plain number")
        bounds.append(float(text))
    groups = Groups([label_sets.without(one, ("le",)) for one in frame.labels])
    if frame.rank is not None and len(set(zip(groups.index, bounds, strict=True))) < len(bounds):
        raise Unsupported("buckets to be added up, in an order that changes")
    values = np.empty((len(groups), len(qs), context.steps))
    forced = np.zeros(values.shape, bool)
    labels: list[Labels] = []
    for group, rows in enumerate(groups.members):
        ordered = sorted(rows, key=bounds.__getitem__)
        own = np.array([bounds[row] for row in ordered])
        key: Labels = groups.keys[group]  # type: ignore[assignment]
        for number, q in enumerate(qs):
            _group(
                own, frame.values[ordered], frame.mask[ordered], q,
                context.settings.old, values[group, number], forced[group, number],
            )  # fmt: skip
            labels.append(key if label is None else label_sets.set_(key, label, format_f(float(q[0]))))
    _note_forced(context, argument, groups, np.logical_or.reduce(forced, axis=1))
    shape = (len(labels), context.steps)
    mask, rank = groups.any(frame.mask), groups.rank(frame)
    if len(qs) != 1:
        mask = np.repeat(mask, len(qs), axis=0)
        if rank is not None:
            rank = np.repeat(rank, len(qs), axis=0) * len(qs) + np.tile(np.arange(len(qs)), len(groups))[:, None]
    return context.unnamed(Frame(labels, values.reshape(shape), mask, None, rank))


def _note_forced(context: Context, node: Expr, groups: Groups, forced: Bools) -> None:
    for group in np.nonzero(forced.any(axis=1))[0].tolist():
        name = label_sets.get(groups.keys[group], label_sets.NAME)  # type: ignore[arg-type]
        step = int(np.nonzero(forced[group])[0][-1])
        context.note(texts.forced_monotonicity(name), node, step)


def _group(  # noqa: PLR0917
    bounds: Floats, counts: Floats, mask: Bools, q: Floats, old: bool, values: Floats, forced: Bools
) -> None:
    """One histogram: which buckets there are may differ from step to step."""
    if bool(mask.all()):
        values[:], forced[:] = _quantiles(bounds, counts, q, old)
        return
    patterns, which = np.unique(mask, axis=1, return_inverse=True)
    which = which.reshape(-1)
    for index in range(patterns.shape[1]):
        there = patterns[:, index]
        if there.any():
            steps = which == index
            values[steps], forced[steps] = _quantiles(bounds[there], counts[there][:, steps], q[steps], old)


def _quantiles(bounds: Floats, counts: Floats, q: Floats, old: bool) -> tuple[Floats, Bools]:
    """Prometheus' BucketQuantile: `bounds` rising, `counts` buckets x steps. With where counts had to be mended."""
    steps = len(q)
    inside = (q >= 0) & (q <= 1)
    outside = np.where(q < 0, -np.inf, np.where(q > 1, np.inf, np.nan))
    nothing = np.zeros(steps, bool)
    if bounds[-1] != np.inf:
        return np.where(inside, np.nan, outside), nothing
    bounds, counts = _coalesced(bounds, counts)
    if len(bounds) < 2:
        return np.where(inside, np.nan, outside), nothing
    if old:
        counts, forced = _old_monotonic(counts), nothing
    else:
        counts, forced = _monotonic(counts)
    forced = forced & inside & (counts[-1] != 0)
    observations = counts[-1]
    rank = np.where(inside, q, 0.0) * observations
    bucket = _search(counts, rank)
    before = np.maximum(bucket - 1, 0)
    every = np.arange(steps)
    start = np.where(bucket > 0, bounds[before], 0.0)
    below = np.where(bucket > 0, counts[before, every], 0.0)
    end = bounds[bucket]
    with np.errstate(all="ignore"):
        count = np.where(bucket > 0, counts[bucket, every] - below, counts[bucket, every])
        result = start + (end - start) * (np.where(bucket > 0, rank - below, rank) / count)
    result = np.where((bucket == 0) & (bounds[0] <= 0), bounds[0], result)
    result = np.where(bucket == len(bounds) - 1, bounds[-2], result)
    result = np.where(observations == 0, np.nan, result)
    return np.where(inside, result, outside), forced


def _coalesced(bounds: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Buckets with one bound become one."""
    if bool((np.diff(bounds) > 0).all()):
        return bounds, counts.copy()
    kept: list[int] = []
    merged: list[Floats] = []
    for index in range(len(bounds)):
        if kept and bounds[kept[-1]] == bounds[index]:
            merged[-1] = merged[-1] + counts[index]
        else:
            kept.append(index)
            merged.append(counts[index])
    return bounds[kept], np.array(merged)


def _monotonic(counts: Floats) -> tuple[Floats, Bools]:
    """Counts that don't fall; differences that come of rounding are ignored. With where a fall was mended."""
    forced = np.zeros(counts.shape[1], bool)
    previous = counts[0]
    with np.errstate(all="ignore"):
        for index in range(1, len(counts)):
            current = counts[index]
            near = _almost_equal(previous, current)
            falls = ~near & (current < previous)
            forced |= falls
            previous = np.where(near | falls, previous, current)
            counts[index] = previous
    return counts, forced


def _old_monotonic(counts: Floats) -> Floats:
    """As in Prometheus 2.42: no tolerance, and NaN is passed over."""
    most = np.full(counts.shape[1], -np.inf)
    for index, current in enumerate(counts):
        most = np.fmax(most, current)
        counts[index] = np.where(np.isnan(current), current, most)
    return counts


def _almost_equal(one: Floats, other: Floats) -> Bools:
    """Equal up to 1e-12 of their sum (util/almost)."""
    total = np.abs(one) + np.abs(other)
    difference = np.abs(one - other)
    tiny = (one == 0) | (other == 0) | (total < _SMALLEST)
    near = np.where(tiny, difference < _TOLERANCE * _SMALLEST, difference / np.minimum(total, _LARGEST) < _TOLERANCE)
    result: Bools = near | (one == other) | (np.isnan(one) & np.isnan(other))
    return result


def _search(counts: Floats, rank: Floats) -> Floats:
    """Go's sort.Search for the first bucket but the last whose count reaches the rank, of all steps at once."""
    steps = np.arange(len(rank))
    low = np.zeros(len(rank), np.int64)
    high = np.full(len(rank), len(counts) - 1, np.int64)
    while True:
        open_ = low < high
        if not open_.any():
            return low
        middle = (low + high) >> 1
        reached = counts[middle, steps] >= rank
        low = np.where(open_ & ~reached, middle + 1, low)
        high = np.where(open_ & reached, middle, high)
