"""What operators do with two arrays of numbers."""

from __future__ import annotations

import math

import numpy as np

from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.arrays.math_calls import mapped
from watchkeeper.engine.steps.numbers import power

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from watchkeeper.engine.arrays.context import Context
    from watchkeeper.engine.arrays.types import Bools, Floats

COMPARISONS: dict[str, Callable[[Floats, Floats], Bools]] = {
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


def operator(op: str) -> Callable[[Floats, Floats], Floats]:
    """Arithmetic. Raises Unsupported for operators of histograms."""
    found = _ARITHMETIC.get(op)
    if found is None:
        raise Unsupported(f"the operator {op}")
    return found


def keeps_name(context: Context, op: str) -> bool:
    """2.42 forgets to drop the name behind one operator."""
    return context.settings.old and op == "atan2"
