"""The timestamps that an expression is evaluated at."""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.arrays.types import Ints


class Grid:
    """Rising timestamps in milliseconds. `period` is the time between them where it is constant, else 0.

    `single` is whether they begin where they end, as those of an instant query do: sort and topk then show an order.
    """

    __slots__ = ("period", "single", "times")

    def __init__(self, times: Ints, single: bool | None = None) -> None:
        self.times = times
        self.single = len(times) == 1 if single is None else single
        if len(times) < 2:
            self.period = 0
        else:
            period = int(times[1] - times[0])
            self.period = period if bool((np.diff(times) == period).all()) else 0

    def __len__(self) -> int:
        return len(self.times)

    @property
    def key(self) -> tuple[bytes, bool]:
        """What tells this grid from others."""
        return self.times.tobytes(), self.single


def regular(start: int, end: int, step: int) -> Grid:
    """`start`, `start + step`, ... up to `end`; one timestamp where `step` is 0."""
    if step <= 0:
        return Grid(np.array([start], np.int64))
    return Grid(np.arange(start, end + 1, step, dtype=np.int64), start == end)
