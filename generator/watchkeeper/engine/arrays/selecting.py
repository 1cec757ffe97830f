"""Aggregations that pick some series of each group and leave them as they are, and count_values."""

from __future__ import annotations

import math

import numpy as np

from watchkeeper.engine import annotations as texts
from watchkeeper.engine import labels as label_sets
from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.arrays.frame import Frame, Groups
from watchkeeper.engine.gofloat import format_f
from watchkeeper.engine.steps.aggregations import is_label_name
from watchkeeper.engine.steps.picks import _heap_of, _heap_of_2, _less_for_bottom, _less_for_top

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from watchkeeper.engine.arrays.context import Context
    from watchkeeper.engine.arrays.types import Bools, Floats, Ints
    from watchkeeper.engine.labels import Labels
    from watchkeeper.promql.nodes import Aggregate

    _Member: TypeAlias = tuple[int, float]  # a row and its value
    _Heap: TypeAlias = Callable[[Any, int, Any], Any]

_NOWHERE = np.iinfo(np.int64).max
_MOST_COUNTS = 50_000_000


def groups_of(node: Aggregate, frame: Frame) -> Groups:
    """The rows by the labels of their group."""
    names = {label.name for label in node.grouping}
    if node.without:
        names.add(label_sets.NAME)
        return Groups([label_sets.without(labels, names) for labels in frame.labels])
    if not names:
        return Groups([label_sets.EMPTY] * len(frame))
    return Groups([label_sets.only(labels, names) for labels in frame.labels])


def _count_values(context: Context, node: Aggregate, frame: Frame) -> Frame:
    assert node.param is not None
    name = context.text(node.param)
    if not is_label_name(name, context.settings.old):
        raise Unsupported("an invalid label name")
    names = {label.name for label in node.grouping}
    if context.settings.old and not node.without and len(node.grouping) & (len(node.grouping) - 1):
        raise Unsupported("count_values of 2.42, which forgets names from step to step")
    names.add(label_sets.NAME if node.without else name)
    known: dict[int, str] = {}
    groups: dict[Labels, int] = {}
    counts: list[Floats] = []
    first: list[Ints] = []  # the place of the first sample of each
    places = frame.places()
    nowhere = int(places.max(initial=0)) + 1
    for labels, values, mask, place in zip(frame.labels, frame.values, frame.mask, places, strict=True):
        # Values are told apart as text: all NaN are one, 0 and -0 are two.
        bits = np.ascontiguousarray(values).view(np.int64)
        for value in np.unique(bits[mask]).tolist():
            text = known.get(value)
            if text is None:
                text = known[value] = format_f(float(np.int64(value).view(np.float64)))
            key = label_sets.set_(labels, name, text)
            key = label_sets.without(key, names) if node.without else label_sets.only(key, names)
            group = groups.setdefault(key, len(counts))
            if group == len(counts):
                counts.append(np.zeros(context.steps))
                first.append(np.full(context.steps, nowhere))
                if len(counts) * context.steps > _MOST_COUNTS:
                    raise Unsupported("very many different values")
            here = mask & (bits == value)
            counts[group] += here
            first[group] = np.minimum(first[group], np.where(here, place, nowhere))
    if not counts:
        return context.none()
    found = np.array(counts)
    dropped = np.zeros(len(groups), bool) if context.settings.delayed else None
    return Frame(list(groups), found, found > 0, dropped).ranked(np.array(first))


def _k(context: Context, node: Aggregate) -> Ints:
    assert node.param is not None
    k = context.scalar(node.param)
    if not bool((np.abs(k) < 2.0**62).all()):
        raise Unsupported("a parameter that is no count")
    return np.trunc(k).astype(np.int64)


def _picked(context: Context, frame: Frame, groups: Groups, mask: Bools, within: Ints | None) -> Frame:
    """The samples under `mask`: group after group as they are met, and in a group by `within` (None: as they were)."""
    result = frame.with_values(frame.values, mask)
    if within is not None or not groups.single:
        place = frame.places()
        nowhere = int(place.max(initial=0)) + 1
        first = np.where(frame.mask, place, nowhere)
        rank = np.empty(frame.values.shape, np.int64)
        for rows in groups.members:
            rank[rows] = first[rows].min(axis=0) * nowhere
        rank += place if within is None else within
        kept = mask.any(axis=1)
        result = Frame(frame.labels, frame.values, mask, frame.dropped, rank)
        result = result if bool(kept.all()) else result.take(np.nonzero(kept)[0])
        if context.steps == 1:
            assert result.rank is not None
            own = result.rank
            result = Frame(result.labels, result.values, result.mask, result.dropped).ranked(own)
        return result
    return result.pruned()


def _limit(context: Context, node: Aggregate, frame: Frame) -> Frame:
    """limitk: the first k of each group."""
    k = _k(context, node)
    groups = groups_of(node, frame)
    mask = np.zeros(frame.mask.shape, bool)
    for rows in groups.members:
        own = frame.mask[rows]
        if frame.rank is None:
            mask[rows] = own & (np.cumsum(own, axis=0) <= k)
        else:
            mask[rows] = own & (_places(np.where(own, frame.rank[rows], _NOWHERE)) < k)
    return _picked(context, frame, groups, mask, None)


def _ratio(context: Context, node: Aggregate, frame: Frame) -> Frame:
    """limit_ratio: the series whose hash lies in the first part of all hashes; a negative ratio takes the others."""
    assert node.param is not None
    ratio = context.scalar(node.param)
    if bool(np.isnan(ratio).any()):
        raise Unsupported("Ratio value is NaN")
    capped = np.clip(ratio, -1.0, 1.0)
    for step in np.nonzero(capped != ratio)[0].tolist():
        context.note(texts.invalid_ratio(float(ratio[step]), float(capped[step])), node.param, step)
    offsets = np.array([label_sets.hash64(labels) / float(2**64 - 1) for labels in frame.labels]).reshape(-1, 1)
    chosen = np.where(capped > 0, offsets < capped, (capped < 0) & (offsets >= 1.0 + capped))
    return frame.with_values(frame.values, frame.mask & chosen).pruned()


def _places(keys: Ints) -> Ints:
    """The place of each number in its column, from 0."""
    return np.argsort(np.argsort(keys, axis=0, kind="stable"), axis=0, kind="stable")


def _top(largest: bool) -> Callable[[Context, Aggregate, Frame], Frame]:
    def select(context: Context, node: Aggregate, frame: Frame) -> Frame:
        """Topk or bottomk: NaN only where there is nothing else."""
        k = _k(context, node)
        groups = groups_of(node, frame)
        places = frame.places()
        mask = np.zeros(frame.mask.shape, bool)
        within = np.zeros(frame.mask.shape, np.int64)
        for rows in groups.members:
            own = frame.mask[rows]
            values = frame.values[rows]
            ranks, tied = _ranks(values, own, places[rows], largest, k)
            chosen = own & (ranks < k)
            few = own.sum(axis=0) <= k
            if not context.grid.single:
                # Where all are taken, they stay in order; else equal ones are as the heap leaves them.
                tied &= ~few
                ranks = np.where(few, _places(np.where(own, places[rows], _NOWHERE)), ranks)
            heap = _heap_of_2 if context.settings.old else _heap_of
            for step in np.nonzero(tied)[0].tolist():
                _untie(step, values, own, places[rows], int(k[step]), largest, heap, chosen, ranks)
            mask[rows] = chosen
            within[rows] = ranks
        return _picked(context, frame, groups, mask, within)

    return select


def _ranks(values: Floats, mask: Bools, places: Ints, largest: bool, k: Ints) -> tuple[Ints, Bools]:
    """The place of each value among those of its column, and where equal values make Prometheus' heap decide."""
    unknown = np.isnan(values)
    key = np.where(unknown, np.inf, -values if largest else values)
    kind = np.where(mask, unknown, 2)
    order = np.lexsort((places, key, kind), axis=0)
    ranks = np.argsort(order, axis=0, kind="stable")
    key = np.take_along_axis(key, order, axis=0)
    kind = np.take_along_axis(kind, order, axis=0)
    number = np.arange(1, len(values))[:, None]
    equal = (key[1:] == key[:-1]) & (kind[1:] == kind[:-1]) & (kind[1:] < 2) & (number <= k)
    return ranks, equal.any(axis=0) & (k > 0)


def _untie(  # noqa: PLR0917
    step: int, values: Floats, mask: Bools, places: Ints, k: int, largest: bool, heap: _Heap, chosen: Bools, ranks: Ints
) -> None:
    """One group at one step, as the step-wise evaluator picks."""
    rows = np.nonzero(mask[:, step])[0]
    rows = rows[np.argsort(places[rows, step], kind="stable")]
    members = list(zip(rows.tolist(), values[rows, step].tolist(), strict=True))
    chosen[:, step] = False
    for place, (row, _) in enumerate(_best(members, min(k, len(members)), largest, heap)):
        chosen[row, step] = True
        ranks[row, step] = place


def _best(members: list[_Member], k: int, largest: bool, heap: _Heap) -> list[_Member]:
    less = _less_for_top if largest else _less_for_bottom
    kept: list[_Member] = heap(members, k, less)
    kept.sort(key=lambda one: math.inf if one[1] != one[1] else -one[1] if largest else one[1])
    kept.sort(key=lambda one: one[1] != one[1])
    return kept


SELECTING: dict[str, Callable[[Context, Aggregate, Frame], Frame]] = {
    "bottomk": _top(largest=False),
    "count_values": _count_values,
    "limit_ratio": _ratio,
    "limitk": _limit,
    "topk": _top(largest=True),
}
