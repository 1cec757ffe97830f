"""The ..._over_time functions and regressions, on the floats of a window (promql/functions.go)."""

# ruff: noqa: ARG001  (functions and nodes are called alike, whatever they look at)
# ruff: noqa: PLR0124  (x != x asks for NaN)
from __future__ import annotations

import math

from watchkeeper.engine import annotations as texts
from watchkeeper.engine.results import EvalError
from watchkeeper.engine.steps.numbers import INF, NAN, average, average_2, compensated, divide, kahan, kahan_2, quantile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from watchkeeper.engine.steps.range_call import RangeCall
    from watchkeeper.engine.steps.windows import Window


def sum_(window: Window, call: RangeCall) -> float | None:
    if call.context.two:
        total = c = 0.0
        for value in window.floats:
            total, c = kahan_2(value, total, c)
        return total if total in (INF, -INF) else total + c
    return compensated(0.0, window.floats)


def avg(window: Window, call: RangeCall) -> float | None:
    if call.context.two:
        return average_2(window.floats, compensate=True)
    return average(window.floats)


def count(window: Window, call: RangeCall) -> float | None:
    return float(window.hi - window.lo)


def present(window: Window, call: RangeCall) -> float | None:
    return 1.0


def first(window: Window, call: RangeCall) -> float | None:
    return float(window.values[window.lo])


def last(window: Window, call: RangeCall) -> float | None:
    return float(window.values[window.hi - 1])


def maximum(window: Window, call: RangeCall) -> float | None:
    values = window.floats
    found = values[0]
    for value in values:
        if value > found or found != found:
            found = value
    return found


def minimum(window: Window, call: RangeCall) -> float | None:
    values = window.floats
    found = values[0]
    for value in values:
        if value < found or found != found:
            found = value
    return found


def ts_of_first(window: Window, call: RangeCall) -> float | None:
    return window.times[window.lo] / 1000


def ts_of_last(window: Window, call: RangeCall) -> float | None:
    return window.times[window.hi - 1] / 1000


def ts_of_max(window: Window, call: RangeCall) -> float | None:
    """The time of the last of the greatest values."""
    found = window.lo
    values = window.values
    for index in range(window.lo, window.hi):
        if values[index] >= values[found] or values[found] != values[found]:
            found = index
    return window.times[found] / 1000


def ts_of_min(window: Window, call: RangeCall) -> float | None:
    """The time of the last of the smallest values."""
    found = window.lo
    values = window.values
    for index in range(window.lo, window.hi):
        if values[index] <= values[found] or values[found] != values[found]:
            found = index
    return window.times[found] / 1000


def _variance(values: Sequence[float], two: bool) -> float:
    step = kahan_2 if two else kahan
    number = mean = c_mean = aux = c_aux = 0.0
    for value in values:
        number += 1.0
        difference = value - (mean + c_mean)
        mean, c_mean = step(difference / number, mean, c_mean)
        aux, c_aux = step(difference * (value - (mean + c_mean)), aux, c_aux)
    return (aux + c_aux) / number


def stdvar(window: Window, call: RangeCall) -> float | None:
    return _variance(window.floats, call.context.two)


def stddev(window: Window, call: RangeCall) -> float | None:
    variance = _variance(window.floats, call.context.two)
    return math.sqrt(variance) if variance >= 0 else NAN


def mad(window: Window, call: RangeCall) -> float | None:
    """The median absolute deviation from the median."""
    values = list(window.floats)
    if any(value != value for value in values):
        return NAN
    median = quantile(0.5, values)
    return quantile(0.5, [abs(value - median) for value in values])


def quantile_(window: Window, call: RangeCall) -> float | None:
    q = call.arguments[0]
    if not 0 <= q <= 1:
        call.note(texts.invalid_quantile(q), call.argument_places[0])
    return quantile(q, list(window.floats))


def _regression(window: Window, origin: int, two: bool) -> tuple[float, float]:
    """Slope per second and value at the time `origin` of the least-squares line through the samples."""
    values = window.floats
    times = window.times[window.lo : window.hi]
    constant = values[0]
    if all(value == constant for value in values[1:]):
        return (NAN, NAN) if constant in (INF, -INF) else (0.0, constant)
    step = kahan_2 if two else kahan
    n = float(len(values))
    sum_x = c_x = sum_y = c_y = sum_xy = c_xy = sum_x2 = c_x2 = 0.0
    for time, y in zip(times, values, strict=True):
        x = (time - origin) / 1e3
        sum_x, c_x = step(x, sum_x, c_x)
        sum_y, c_y = step(y, sum_y, c_y)
        sum_xy, c_xy = step(x * y, sum_xy, c_xy)
        sum_x2, c_x2 = step(x * x, sum_x2, c_x2)
    sum_x += c_x
    sum_y += c_y
    sum_xy += c_xy
    sum_x2 += c_x2
    covariance = sum_xy - sum_x * sum_y / n
    variance = sum_x2 - sum_x * sum_x / n
    slope = divide(covariance, variance)
    return slope, sum_y / n - slope * sum_x / n


def deriv(window: Window, call: RangeCall) -> float | None:
    if window.hi - window.lo < 2:
        return None
    # The origin is near the samples, or the sums would lose precision.
    return _regression(window, window.times[window.lo], call.context.two)[0]


def predict_linear(window: Window, call: RangeCall) -> float | None:
    if window.hi - window.lo < 2:
        return None
    slope, intercept = _regression(window, call.time, call.context.two)
    return slope * call.arguments[0] + intercept


def double_exponential_smoothing(window: Window, call: RangeCall) -> float | None:
    smoothing, trending = call.arguments
    if smoothing <= 0 or smoothing >= 1:
        raise EvalError(f"invalid smoothing factor. Expected: 0 < sf < 1, got: {smoothing:f}")
    if trending <= 0 or trending >= 1:
        raise EvalError(f"invalid trend factor. Expected: 0 < tf < 1, got: {trending:f}")
    values = window.floats
    if len(values) < 2:
        return None
    before = 0.0
    smooth = values[0]
    trend = values[1] - values[0]
    for index, value in enumerate(values[1:]):
        x = smoothing * value
        if index:
            trend = trending * (smooth - before) + (1 - trending) * trend
        y = (1 - smoothing) * (smooth + trend)
        before, smooth = smooth, x + y
    return smooth


FUNCTIONS: dict[str, Callable[[Window, RangeCall], float | None]] = {
    "avg_over_time": avg,
    "count_over_time": count,
    "deriv": deriv,
    "double_exponential_smoothing": double_exponential_smoothing,
    "first_over_time": first,
    "last_over_time": last,
    "mad_over_time": mad,
    "max_over_time": maximum,
    "min_over_time": minimum,
    "predict_linear": predict_linear,
    "present_over_time": present,
    "quantile_over_time": quantile_,
    "stddev_over_time": stddev,
    "stdvar_over_time": stdvar,
    "sum_over_time": sum_,
    "ts_of_first_over_time": ts_of_first,
    "ts_of_last_over_time": ts_of_last,
    "ts_of_max_over_time": ts_of_max,
    "ts_of_min_over_time": ts_of_min,
}
