"""Shapes that memory may have had between two points of a log: none of them is recorded.

A shape is a function of the share of time that has passed, in seconds before the end, and gives how far growth has come
from 0 to 1.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    # (seconds since the start, seconds from start to end) -> 0 to 1
    Shape: TypeAlias = Callable[[float, float], float]

DOUBLING = 15.0  # seconds


def linear(time: float, length: float) -> float:
    """Growth at one rate."""
    return min(max(time / length, 0.0), 1.0)


def exponential(time: float, length: float) -> float:
    """Growth that doubles every 15 s, as a loop that calls itself twice."""
    return float(2.0 ** ((min(max(time, 0.0), length) - length) / DOUBLING)) if time >= 0 else 0.0


def stepped(step: float) -> Shape:
    """Growth in requests of one size, its share of all growth being `step`. The last is refused, at the end.

    The first step is what is left over, so that whole ones follow.
    """

    def shape(time: float, length: float) -> float:
        whole = int(1.0 / step + 1e-9)
        count = whole + (1 if 1.0 - whole * step > 1e-9 else 0)  # requests that were granted
        passed = int(max(time, 0.0) / (length / (count + 1)) + 1e-9)
        granted = min(passed, count)
        return max(0.0, 1.0 - (count - granted) * step) if granted else 0.0

    return shape
