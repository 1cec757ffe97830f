"""Numbers followed through an expression, as far as a comparison can't be true whatever the data is.

Bounds are (lowest, whether that one is left out, highest, whether that one is left out). A result lies between them or
is NaN, which no comparison but != lets through.
"""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.proof.branches import Bounds

ANY: Bounds = (-math.inf, False, math.inf, False)


def point(value: float) -> Bounds | None:
    """The bounds of a number; None for NaN."""
    return (value, False, value, False) if value == value else None  # noqa: PLR0124 - asks for NaN


def constant(bounds: Bounds | None) -> float | None:
    """The only number between bounds, if there is only one."""
    return bounds[0] if bounds is not None and bounds[0] == bounds[2] else None


def compared(op: str, bounds: Bounds | None, number: float) -> Bounds | None:
    """The bounds of what passes `op number`: impossible ones (see `is_empty`) if nothing does. None: not known."""
    if op == "!=":
        return (number, True, number, True) if constant(bounds) == number else bounds
    low, low_open, high, high_open = bounds or ANY
    if op in {"==", ">=", ">"}:
        low, low_open = max((low, low_open), (number, op == ">"))
    if op in {"==", "<=", "<"}:
        high, open_ = min((high, not high_open), (number, op != "<"))
        high_open = not open_
    return low, low_open, high, high_open


def is_empty(bounds: Bounds | None) -> bool:
    """Whether no number lies between bounds."""
    if bounds is None:
        return False
    low, low_open, high, high_open = bounds
    return low > high or (low == high and (low_open or high_open))


def overlap(one: Bounds, other: Bounds) -> Bounds:
    """What lies between both bounds."""
    low, low_open = max(one[:2], other[:2])
    high, closed = min((one[2], not one[3]), (other[2], not other[3]))
    return low, low_open, high, not closed


def hull(one: Bounds | None, other: Bounds | None) -> Bounds | None:
    """What holds for results of one or the other."""
    if one is None or other is None:
        return None
    low, not_low_open = min((one[0], one[1]), (other[0], other[1]))
    high, closed = max((one[2], not one[3]), (other[2], not other[3]))
    return low, not_low_open, high, not closed
