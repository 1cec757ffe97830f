"""Binary operators: between scalars, between a vector and a scalar, and between vectors.

Label sets do not change over the steps, so which rows meet is found once for all of them. Where two rows of a side
would meet one of the other at the same step, the step-wise evaluator is left to say what is wrong.
"""

from __future__ import annotations

import math

import numpy as np

from watchkeeper.engine import labels as label_sets
from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.arrays.frame import Frame, Groups
from watchkeeper.engine.arrays.math_calls import mapped
from watchkeeper.engine.arrays.windows import require_unique
from watchkeeper.engine.steps.numbers import power
from watchkeeper.promql.nodes import MANY_TO_ONE, ONE_TO_MANY, ONE_TO_ONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from watchkeeper.engine.arrays.evaluate import Context, Value
    from watchkeeper.engine.arrays.types import Bools, Floats
    from watchkeeper.engine.labels import Labels
    from watchkeeper.promql.nodes import Binary, VectorMatching

_COMPARISONS: dict[str, Callable[[Floats, Floats], Bools]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def _power(left: Floats, right: Floats) -> Floats:
    return _pairwise(power, left, right)


def _atan2(left: Floats, right: Floats) -> Floats:
    return _pairwise(math.atan2, left, right)


def _pairwise(function: Callable[[float, float], float], left: Floats, right: Floats) -> Floats:
    """A plain function of pairs: NumPy's own may differ in the last bit."""
    if right.size and bool((right == right.flat[0]).all()):
        constant = float(right.flat[0])
        return mapped(lambda value: function(value, constant), left, np.ones(left.shape, bool))
    left, right = np.broadcast_arrays(left, right)
    pairs = map(function, left.ravel().tolist(), right.ravel().tolist())
    return np.fromiter(pairs, float, left.size).reshape(left.shape)


_ARITHMETIC: dict[str, Callable[[Floats, Floats], Floats]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
    "^": _power,
    "atan2": _atan2,
}
_SETS = frozenset({"and", "or", "unless"})


def evaluate(context: Context, node: Binary) -> Value:
    """The value of a binary operation."""
    left = context.value(node.lhs)
    right = context.value(node.rhs)
    if isinstance(left, str) or isinstance(right, str):
        raise Unsupported("an operator on strings")
    if isinstance(left, Frame) and isinstance(right, Frame):
        assert node.matching is not None
        if node.op in _SETS:
            return _set(context, node, left, right)
        return _vectors(context, node, node.matching, left, right)
    if isinstance(left, Frame):
        assert not isinstance(right, Frame)
        return _with_scalar(context, node, left, right, swapped=False)
    if isinstance(right, Frame):
        return _with_scalar(context, node, right, left, swapped=True)
    if node.op in _COMPARISONS:
        return _COMPARISONS[node.op](left, right).astype(float)
    return _operator(node.op)(left, right)


def _operator(op: str) -> Callable[[Floats, Floats], Floats]:
    found = _ARITHMETIC.get(op)
    if found is None:
        raise Unsupported(f"the operator {op}")
    return found


def _with_scalar(context: Context, node: Binary, frame: Frame, scalar: Floats, swapped: bool) -> Frame:
    """Scalar and vector; a comparison keeps the vector's values, whichever side it is on."""
    left, right = (scalar, frame.values) if swapped else (frame.values, scalar)
    compare = _COMPARISONS.get(node.op)
    if compare is None:
        values = _operator(node.op)(left, right)
        result = frame.with_values(np.broadcast_to(values, frame.values.shape))
        return result if _keeps_name(context, node.op) else context.unnamed(result)
    true = compare(left, right)
    if node.return_bool:
        return context.unnamed(frame.with_values(true.astype(float)))
    # What is kept is the vector's value, on whichever side it stands.
    return frame.with_values(frame.values, frame.mask & true).pruned()


def _keeps_name(context: Context, op: str) -> bool:
    """2.42 forgets to drop the name behind one operator."""
    return context.settings.old and op == "atan2"


# Between vectors


def _keys(matching: VectorMatching, frame: Frame) -> list[Labels]:
    """What must agree for rows to meet."""
    names = {label.name for label in matching.labels}
    if matching.on:
        return [label_sets.only(labels, names) for labels in frame.labels]
    gone = {*names, label_sets.NAME}
    return [label_sets.without(labels, gone) for labels in frame.labels]


def _set(context: Context, node: Binary, left: Frame, right: Frame) -> Frame:
    assert node.matching is not None
    left_keys = _keys(node.matching, left)
    right_keys = _keys(node.matching, right)
    if node.op == "or":
        there = _presence(right_keys, left_keys, left.mask, context.steps)
        rest = right.with_values(right.values, right.mask & ~there).pruned()
        if not len(rest):
            return left
        rank = None
        if left.rank is not None or rest.rank is not None:
            rank = np.concatenate([left.places(), rest.places() + (int(left.places().max(initial=0)) + 1)])
        dropped = None
        if left.dropped is not None or rest.dropped is not None:
            dropped = np.concatenate([_flags(left), _flags(rest)])
        return context.unique(
            Frame(
                left.labels + rest.labels,
                np.concatenate([left.values, rest.values]),
                np.concatenate([left.mask, rest.mask]),
                dropped,
                rank,
            )
        )
    there = _presence(left_keys, right_keys, right.mask, context.steps)
    mask = left.mask & (there if node.op == "and" else ~there)
    return left.with_values(left.values, mask).pruned()


def _flags(frame: Frame) -> Bools:
    return np.zeros(len(frame), bool) if frame.dropped is None else frame.dropped


def _presence(wanted: list[Labels], keys: list[Labels], mask: Bools, steps: int) -> Bools:
    """For each wanted key, where one of the rows with this key has a sample."""
    groups = Groups(keys)
    known = {key: index for index, key in enumerate(groups.keys)}
    some = np.concatenate([groups.any(mask), np.zeros((1, steps), bool)])
    return some[[known.get(key, len(groups)) for key in wanted]]


def _vectors(context: Context, node: Binary, matching: VectorMatching, left: Frame, right: Frame) -> Frame:
    if matching.fill_left is not None or matching.fill_right is not None:
        raise Unsupported("fill")
    swapped = matching.card == ONE_TO_MANY
    many, one = (right, left) if swapped else (left, right)
    many_keys = _keys(matching, many)
    one_keys = _keys(matching, one)
    groups = Groups(one_keys)
    # At steps at which one side is empty, the other is not looked at.
    if not groups.single and groups.overlapping(one.mask & many.mask.any(axis=0)) is not None:
        raise Unsupported("found duplicate series for the match group")
    if matching.card == ONE_TO_ONE:
        many_groups = Groups(many_keys)
        if not many_groups.single:
            met = many.mask & _presence(many_keys, one_keys, one.mask, context.steps)
            if many_groups.overlapping(met) is not None:
                raise Unsupported("multiple matches for labels")
    known = dict(zip(groups.keys, groups.members, strict=True))
    pairs = [(row, other) for row, key in enumerate(many_keys) for other in known.get(key, ())]
    if not pairs:
        return context.none()
    context.charge(len(pairs) * context.steps)
    many = many.take([row for row, _ in pairs])
    one = one.take([other for _, other in pairs])
    return _paired(context, node, matching, many, one, swapped)


def _paired(  # noqa: PLR0917
    context: Context, node: Binary, matching: VectorMatching, many: Frame, one: Frame, swapped: bool
) -> Frame:
    """The operation between rows that meet, one pair a row."""
    mask = many.mask & one.mask
    left, right = (one, many) if swapped else (many, one)
    compare = _COMPARISONS.get(node.op)
    if compare is None:
        values = _operator(node.op)(left.values, right.values)
    else:
        true = compare(left.values, right.values)
        if node.return_bool:
            values = true.astype(float)
        else:
            values = left.values
            mask &= true
    delayed = context.settings.delayed
    nameless = compare is None and not _keeps_name(context, node.op)
    labels = [
        _result_labels(context, matching, many.labels[row], one.labels[row], nameless) for row in range(len(many))
    ]
    dropped: Bools | None = None
    if delayed:
        dropped = np.zeros(len(many), bool)
        if node.return_bool:
            dropped[:] = True
        elif compare is not None:
            dropped |= _flags(many)
    elif node.return_bool:
        labels = [context.nameless(one_labels) for one_labels in labels]
    result = Frame(labels, values, mask, dropped, many.rank).pruned()
    if matching.card != ONE_TO_ONE:
        require_unique(result.labels, result.mask)
    return context.unique(result)


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
