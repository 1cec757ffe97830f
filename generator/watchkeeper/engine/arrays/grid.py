"""The timestamps that an expression is evaluated at."""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.arrays.types import Ints


class Grid:
    """Rising timestamps in milliseconds. `period` is the time between them where it is constant, else 0."""

    __slots__ = ("period", "times")

    def __init__(self, times: Ints) -> None:
        self.times = times
        if len(times) < 2:
            self.period = 0
        else:
            period = int(times[1] - times[0])
            self.period = period if bool((np.diff(times) == period).all()) else 0

    def __len__(self) -> int:
        return len(self.times)

    @property
    def key(self) -> bytes:
        """What tells this grid from others."""
        return self.times.tobytes()


def regular(start: int, end: int, step: int) -> Grid:
    """`start`, `start + step`, ... up to `end`; one timestamp where `step` is 0."""
    if step <= 0:
        return Grid(np.array([start], np.int64))
    return Grid(np.arange(start, end + 1, step, dtype=np.int64))
