"""Functions of numbers, applied to vectors."""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from watchkeeper.engine.arrays.types import Bools, Floats


def mapped(function: Callable[[float], float], values: Floats, mask: Bools) -> Floats:
    """A plain function of each number under the mask.

    For what NumPy computes with other bits than Python's math module does: transcendental functions.
    """
    result = np.empty(values.shape)
    chosen = values[mask]
    bits, index = np.unique(chosen.view(np.int64), return_inverse=True)
    answers = np.fromiter(map(function, bits.view(np.float64).tolist()), float, len(bits))
    result[mask] = answers[index]
    return result


def sign(values: Floats) -> Floats:
    """sgn: -1, 0 or 1, and NaN of NaN."""
    return np.where(values < 0, -1.0, np.where(values > 0, 1.0, values))
