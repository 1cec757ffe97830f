"""Operators between vectors: which rows meet, and what the results are called.

Label sets do not change over the steps, so which rows meet is found once for all of them. Where two rows of a side
would meet one of the other at the same step, the step-wise evaluator is left to say what is wrong.
"""

from __future__ import annotations

import numpy as np

from watchkeeper.engine import labels as label_sets
from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.arrays.frame import Frame, Groups
from watchkeeper.engine.arrays.operators import COMPARISONS, keeps_name, operator
from watchkeeper.engine.arrays.unique import require_unique
from watchkeeper.promql.nodes import MANY_TO_ONE, ONE_TO_MANY, ONE_TO_ONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from watchkeeper.engine.arrays.context import Context
    from watchkeeper.engine.arrays.types import Bools
    from watchkeeper.engine.labels import Labels
    from watchkeeper.promql.nodes import Binary, VectorMatching

    _Side: TypeAlias = tuple[Frame, list[Labels], float | None]  # rows, what must agree of each, what stands in


def keys_of(matching: VectorMatching, frame: Frame) -> list[Labels]:
    """What must agree for rows to meet."""
    names = {label.name for label in matching.labels}
    if matching.on:
        return [label_sets.only(labels, names) for labels in frame.labels]
    gone = {*names, label_sets.NAME}
    return [label_sets.without(labels, gone) for labels in frame.labels]


def flags_of(frame: Frame) -> Bools:
    """Which rows' names are to go."""
    return np.zeros(len(frame), bool) if frame.dropped is None else frame.dropped


def presence(wanted: list[Labels], keys: list[Labels], mask: Bools) -> Bools:
    """For each wanted key, where one of the rows with this key has a sample."""
    groups = Groups(keys)
    known = {key: index for index, key in enumerate(groups.keys)}
    some = np.concatenate([groups.any(mask), np.zeros((1, mask.shape[1]), bool)])
    return some[[known.get(key, len(groups)) for key in wanted]]


def evaluate(context: Context, node: Binary, left: Frame, right: Frame) -> Frame:
    """The value of an arithmetic operation or a comparison between vectors."""
    matching = node.matching
    assert matching is not None
    swapped = matching.card == ONE_TO_MANY
    many, one = (right, left) if swapped else (left, right)
    # With group_right Prometheus swaps the sides, but not what fills them: fill_right still fills the one side.
    fill_many, fill_one = matching.fill_left, matching.fill_right
    many_keys = keys_of(matching, many)
    one_keys = keys_of(matching, one)
    groups = Groups(one_keys)
    # At steps at which one side is empty, the other is not looked at, unless it is filled in for.
    looked_at = one.mask if fill_many is not None else one.mask & many.mask.any(axis=0)
    if not groups.single and groups.overlapping(looked_at) is not None:
        raise Unsupported("found duplicate series for the match group")
    if matching.card == ONE_TO_ONE:
        many_groups = Groups(many_keys)
        if not many_groups.single:
            met = many.mask if fill_one is not None else many.mask & presence(many_keys, one_keys, one.mask)
            if many_groups.overlapping(met) is not None:
                raise Unsupported("multiple matches for labels")
    known = dict(zip(groups.keys, groups.members, strict=True))
    pairs = [(row, other) for row, key in enumerate(many_keys) for other in known.get(key, ())]
    if fill_many is None and fill_one is None:
        if not pairs:
            return context.none()
        many, one = many.take([row for row, _ in pairs]), one.take([other for _, other in pairs])
    else:
        many, one = _filled(pairs, (many, many_keys, fill_many), (one, one_keys, fill_one))
    return _paired(context, node, many, one, swapped)


def _filled(pairs: list[tuple[int, int]], many_side: _Side, one_side: _Side) -> tuple[Frame, Frame]:
    """The rows of pairs that meet, and of those where a number stands in for one side where that is missing.

    What stands in is called as what must agree. It comes in the place of what is missing on the side of the one, and
    behind all others on the side of the many.
    """
    many, many_keys, fill_many = many_side
    one, one_keys, fill_one = one_side
    left: list[Frame] = []
    right: list[Frame] = []
    of: dict[int, list[int]] = {}
    for row, other in pairs:
        of.setdefault(row, []).append(other)
    alone = many.mask & ~presence(many_keys, one_keys, one.mask)
    for row, key in enumerate(many_keys):
        own = many.take([row])
        for other in of.get(row, ()):
            left.append(own)
            right.append(one.take([other]))
        if fill_one is not None:
            left.append(own.with_values(own.values, alone[row : row + 1]))
            right.append(_constant(key, fill_one, many.steps))
    if fill_many is not None:
        alone = one.mask & ~presence(one_keys, many_keys, many.mask)
        for row, key in enumerate(one_keys):
            own = one.take([row])
            left.append(_constant(key, fill_many, one.steps))
            right.append(own.with_values(own.values, alone[row : row + 1]))
    return _joined(left, many.steps), _joined(right, many.steps)


def _constant(labels: Labels, value: float, steps: int) -> Frame:
    return Frame([labels], np.full((1, steps), value), np.ones((1, steps), bool))


def _joined(frames: list[Frame], steps: int) -> Frame:
    if not frames:
        return Frame([], np.empty((0, steps)), np.empty((0, steps), bool))
    if any(frame.rank is not None for frame in frames):
        raise Unsupported("fill in an order that changes")
    return Frame(
        [frame.labels[0] for frame in frames],
        np.concatenate([frame.values for frame in frames]),
        np.concatenate([frame.mask for frame in frames]),
        np.concatenate([flags_of(frame) for frame in frames]),
    )


def _paired(context: Context, node: Binary, many: Frame, one: Frame, swapped: bool) -> Frame:
    """The operation between rows that meet, one pair a row."""
    matching = node.matching
    assert matching is not None
    mask = met = many.mask & one.mask
    left, right = (one, many) if swapped else (many, one)
    compare = COMPARISONS.get(node.op)
    if compare is None:
        values = operator(node.op)(left.values, right.values)
    else:
        true = compare(left.values, right.values)
        if node.return_bool:
            values = true.astype(float)
        else:
            values = left.values
            mask = met & true
    nameless = compare is None and not keeps_name(context, node.op)
    labels = [
        _result_labels(context, matching, many.labels[row], one.labels[row], nameless) for row in range(len(many))
    ]
    dropped: Bools | None = None
    if context.settings.delayed:
        if compare is None:
            dropped = np.zeros(len(many), bool)
        else:
            dropped = np.ones(len(many), bool) if node.return_bool else flags_of(many)
    elif node.return_bool:
        labels = [context.nameless(one_labels) for one_labels in labels]
    if matching.card != ONE_TO_ONE:
        # Since 3.10 what a comparison filters away counts as well.
        require_unique(labels, met)
    return context.unique(Frame(labels, values, mask, dropped, many.rank).pruned())


def _result_labels(context: Context, matching: VectorMatching, many: Labels, one: Labels, nameless: bool) -> Labels:
    if nameless:
        many = context.nameless(many)
    names = {label.name for label in matching.labels}
    if matching.card == ONE_TO_ONE:
        keep = label_sets.only if matching.on else label_sets.without
        many = keep(many, names)
    if matching.card in {MANY_TO_ONE, ONE_TO_MANY}:
        for label in matching.include:
            many = label_sets.set_(many, label.name, label_sets.get(one, label.name))
    return many
