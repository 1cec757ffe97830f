"""Binary operators between scalars, and between a vector and a scalar; and, or, unless."""

from __future__ import annotations

import numpy as np

from watchkeeper.engine.arrays import matching
from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.arrays.frame import Frame
from watchkeeper.engine.arrays.matching import flags_of, keys_of, presence
from watchkeeper.engine.arrays.operators import COMPARISONS, keeps_name, operator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.arrays.context import Context, Value
    from watchkeeper.engine.arrays.types import Floats
    from watchkeeper.promql.nodes import Binary

_SETS = frozenset({"and", "or", "unless"})


def evaluate(context: Context, node: Binary) -> Value:
    """The value of a binary operation."""
    left = context.value(node.lhs)
    right = context.value(node.rhs)
    if isinstance(left, str) or isinstance(right, str):
        raise Unsupported("an operator on strings")
    if isinstance(left, Frame) and isinstance(right, Frame):
        if node.op in _SETS:
            return _set(context, node, left, right)
        return matching.evaluate(context, node, left, right)
    if isinstance(left, Frame):
        assert not isinstance(right, Frame)
        return _with_scalar(context, node, left, right, swapped=False)
    if isinstance(right, Frame):
        return _with_scalar(context, node, right, left, swapped=True)
    if node.op in COMPARISONS:
        return COMPARISONS[node.op](left, right).astype(float)
    return operator(node.op)(left, right)


def _with_scalar(context: Context, node: Binary, frame: Frame, scalar: Floats, swapped: bool) -> Frame:
    """Scalar and vector; a comparison keeps the vector's values, whichever side it is on."""
    left, right = (scalar, frame.values) if swapped else (frame.values, scalar)
    compare = COMPARISONS.get(node.op)
    if compare is None:
        values = operator(node.op)(left, right)
        result = frame.with_values(np.broadcast_to(values, frame.values.shape))
        return result if keeps_name(context, node.op) else context.unnamed(result)
    true = compare(left, right)
    if node.return_bool:
        return context.unnamed(frame.with_values(true.astype(float)))
    # What is kept is the vector's value, on whichever side it stands.
    return frame.with_values(frame.values, frame.mask & true).pruned()


def _set(context: Context, node: Binary, left: Frame, right: Frame) -> Frame:
    assert node.matching is not None
    left_keys = keys_of(node.matching, left)
    right_keys = keys_of(node.matching, right)
    if node.op == "or":
        there = presence(right_keys, left_keys, left.mask)
        rest = right.with_values(right.values, right.mask & ~there).pruned()
        if not len(rest):
            return left
        rank = None
        if left.rank is not None or rest.rank is not None:
            rank = np.concatenate([left.places(), rest.places() + (int(left.places().max(initial=0)) + 1)])
        dropped = None
        if left.dropped is not None or rest.dropped is not None:
            dropped = np.concatenate([flags_of(left), flags_of(rest)])
        return context.unique(
            Frame(
                left.labels + rest.labels,
                np.concatenate([left.values, rest.values]),
                np.concatenate([left.mask, rest.mask]),
                dropped,
                rank,
            )
        )
    there = presence(left_keys, right_keys, right.mask)
    mask = left.mask & (there if node.op == "and" else ~there)
    return left.with_values(left.values, mask).pruned()
