"""Calendar functions: minute, hour, day_of_week, ... of timestamps in seconds, in UTC."""

from __future__ import annotations

import numpy as np

from watchkeeper.engine import labels as label_sets
from watchkeeper.engine.arrays.frame import Frame
from watchkeeper.engine.arrays.math_calls import mapped
from watchkeeper.engine.steps.calendar_time import FUNCTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from watchkeeper.engine.arrays.context import Context
    from watchkeeper.engine.arrays.types import Floats
    from watchkeeper.promql.nodes import Call

# Years 1 to 9999, in seconds since the epoch. Other times are rare, and go to the step-wise evaluator's functions.
_FIRST, _LAST = -62_135_596_800, 253_402_300_799


def _days(seconds: NDArray[Any]) -> NDArray[Any]:
    return seconds // 86_400


def _month_start(seconds: NDArray[Any]) -> NDArray[Any]:
    return seconds.astype("datetime64[s]").astype("datetime64[M]")


def _day_of_month(seconds: NDArray[Any]) -> NDArray[Any]:
    start = _month_start(seconds).astype("datetime64[D]").astype(np.int64)
    return _days(seconds) - start + 1


def _day_of_year(seconds: NDArray[Any]) -> NDArray[Any]:
    start = seconds.astype("datetime64[s]").astype("datetime64[Y]").astype("datetime64[D]").astype(np.int64)
    return _days(seconds) - start + 1


def _days_in_month(seconds: NDArray[Any]) -> NDArray[Any]:
    month = _month_start(seconds)
    following = month + np.timedelta64(1, "M")
    days: NDArray[Any] = following.astype("datetime64[D]") - month.astype("datetime64[D]")
    return days.astype(np.int64)


_FUNCTIONS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "day_of_month": _day_of_month,
    "day_of_week": lambda seconds: (_days(seconds) + 4) % 7,
    "day_of_year": _day_of_year,
    "days_in_month": _days_in_month,
    "hour": lambda seconds: seconds // 3600 % 24,
    "minute": lambda seconds: seconds // 60 % 60,
    "month": lambda seconds: _month_start(seconds).astype(np.int64) % 12 + 1,
    "year": lambda seconds: seconds.astype("datetime64[s]").astype("datetime64[Y]").astype(np.int64) + 1970,
}
NAMES = frozenset(_FUNCTIONS)


def evaluate(context: Context, node: Call) -> Frame:
    """A call of a function in NAMES."""
    function = _FUNCTIONS[node.name]
    if not node.args:
        times = context.grid.times
        # Toward zero, as Go divides.
        values: Floats = function(np.where(times < 0, -(-times // 1000), times // 1000)).astype(float)
        dropped = np.zeros(1, bool) if context.settings.delayed else None
        return Frame([label_sets.EMPTY], values[None, :], np.ones((1, context.steps), bool), dropped)
    frame = context.frame(node.args[0])
    inside = (frame.values >= _FIRST) & (frame.values <= _LAST)
    seconds = np.trunc(np.where(inside, frame.values, 0.0)).astype(np.int64)
    values = function(seconds).astype(float)
    outside = frame.mask & ~inside
    if outside.any():
        values[outside] = mapped(FUNCTIONS[node.name], frame.values, outside)[outside]
    return context.unnamed(frame.with_values(values))
