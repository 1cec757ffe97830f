"""rate, increase, delta, irate, idelta: extrapolation, counter resets, start timestamps (promql/functions.go)."""

# ruff: noqa: ARG001  (functions and nodes are called alike, whatever they look at)
# ruff: noqa: PLR0124  (x != x asks for NaN)
# ruff: noqa: PLR0917  (positions are plain here)
from __future__ import annotations

from watchkeeper.engine import annotations as texts
from watchkeeper.engine.steps.extended import extended_rate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from watchkeeper.engine.steps.range_call import RangeCall
    from watchkeeper.engine.steps.windows import Window


def rate(window: Window, call: RangeCall) -> float | None:
    return _extrapolated(window, call, counter=True, per_second=True)


def increase(window: Window, call: RangeCall) -> float | None:
    return _extrapolated(window, call, counter=True, per_second=False)


def delta(window: Window, call: RangeCall) -> float | None:
    return _extrapolated(window, call, counter=False, per_second=False)


def reset_by_start(previous: int, time: int, previous_start: int, start: int) -> bool:
    """Whether a counter began anew between samples at `previous` and `time`, told by their start timestamps (ms).

    A start right at the previous sample is a reset only if that sample had an earlier start of its own: OpenTelemetry
    marks an unknown start by a first sample that starts at its own time.
    """
    if not start or start >= time or start < previous:
        return False
    return start > previous or 0 < previous_start < previous


def overlaps(previous: int, previous_start: int, start: int) -> bool:
    return bool(start) and start < previous and start != previous_start


def _increase(window: Window, call: RangeCall, lo: int, hi: int) -> float:
    """Last - first, with what each reset of the counter hid."""
    values = window.values
    first = values[lo]
    result: float = values[hi - 1] - first
    starts = window.starts
    previous: float = first
    if starts is None:
        for value in values[lo + 1 : hi]:
            if value < previous:
                result += previous
            previous = value
        return result
    times = window.times
    for index in range(lo + 1, hi):
        value = values[index]
        before = times[index - 1]
        if value < previous or reset_by_start(before, times[index], starts[index - 1], starts[index]):
            result += previous
        elif overlaps(before, starts[index - 1], starts[index]):
            call.note(texts.overlapping_start_time(window.ident.get("__name__")))
        previous = value
    return result


def _extrapolated(window: Window, call: RangeCall, counter: bool, per_second: bool) -> float | None:
    source = call.source
    if source.extension:
        smoothed = source.extension == "smoothed"
        extended = extended_rate(
            window.times, window.values, window.lo, window.hi, source.start, source.end, smoothed, counter
        )
        return extended / call.seconds if extended is not None and per_second else extended
    lo = window.lo
    hi = window.hi
    times = window.times
    from_start = counter and window.starts is not None and source.start < window.starts[lo] < times[lo]
    count = hi - lo - 1
    if count < 1 and not from_start:
        return None
    values = window.values
    first = values[lo]
    result = _increase(window, call, lo, hi) if counter else values[hi - 1] - first
    sampled = (times[hi - 1] - times[lo]) / 1000
    to_start = (times[lo] - source.start) / 1000
    to_end = (source.end - times[hi - 1]) / 1000
    spacing = sampled / count if count else 0.0
    if from_start:
        # The counter was 0 at a known time within the range: that is its first sample, and nothing lies before it.
        assert window.starts is not None
        result += first
        sampled = (times[hi - 1] - window.starts[lo]) / 1000
        to_start = 0.0
    by = factor(result, first, (to_start, sampled, to_end), spacing, counter, call.context.two)
    if per_second:
        by /= call.seconds
    value: float = result * by
    return value


def factor(
    result: float, first: float, seconds: tuple[float, float, float], spacing: float, counter: bool, two: bool
) -> float:
    """By how much the increase between the samples grows over the whole range."""
    to_start, sampled, to_end = seconds
    threshold = spacing * 1.1
    if two:
        # Before 2.51 (#13725) the zero point of a counter was looked at first, and could hide a gap at the start.
        if counter and result > 0 and first >= 0:
            to_start = min(to_start, sampled * (first / result))
        interval = sampled
        interval += to_start if to_start < threshold else spacing / 2
        interval += to_end if to_end < threshold else spacing / 2
        return interval / sampled
    if to_start >= threshold:
        to_start = spacing / 2
    if counter:
        to_zero = to_start
        if result > 0 and first >= 0:
            to_zero = sampled * (first / result)
        to_start = min(to_start, to_zero)
    if to_end >= threshold:
        to_end = spacing / 2
    return (sampled + to_start + to_end) / sampled


def irate(window: Window, call: RangeCall) -> float | None:
    hi = window.hi
    if hi - window.lo < 2:
        return None
    last = window.values[hi - 1]
    previous = window.values[hi - 2]
    times = window.times
    reset = last < previous
    if window.starts is not None and not reset:
        reset = reset_by_start(times[hi - 2], times[hi - 1], window.starts[hi - 2], window.starts[hi - 1])
    value = last if reset else last - previous
    # Seconds as a float of their own: Prometheus divides twice.
    return float(value / ((times[hi - 1] - times[hi - 2]) / 1000))


def idelta(window: Window, call: RangeCall) -> float | None:
    if window.hi - window.lo < 2:
        return None
    return float(window.values[window.hi - 1] - window.values[window.hi - 2])


def anchored(window: Window, call: RangeCall) -> tuple[int, int] | None:
    """The samples that changes and resets look at; the last one before an anchored range is among them."""
    if call.source.extension != "anchored":
        return window.lo, window.hi
    times = window.times
    start = call.source.start
    if window.hi == window.lo or times[window.hi - 1] <= start:
        return None
    lo = window.lo
    while lo + 1 < window.hi and times[lo + 1] <= start:
        lo += 1
    return lo, window.hi


def resets(window: Window, call: RangeCall) -> float | None:
    found = anchored(window, call)
    if found is None:
        return None
    lo, hi = found
    values: Sequence[float] = window.values
    starts = window.starts
    if starts is None:
        return float(sum([values[index] < values[index - 1] for index in range(lo + 1, hi)]))
    times = window.times
    return float(
        sum(
            [
                values[index] < values[index - 1]
                or reset_by_start(times[index - 1], times[index], starts[index - 1], starts[index])
                for index in range(lo + 1, hi)
            ]
        )
    )


def changes(window: Window, call: RangeCall) -> float | None:
    found = anchored(window, call)
    if found is None:
        return None
    lo, hi = found
    count = 0
    previous = window.values[lo]
    for value in window.values[lo + 1 : hi]:
        if value != previous and (value == value or previous == previous):
            count += 1
        previous = value
    return float(count)


FUNCTIONS: dict[str, Callable[[Window, RangeCall], float | None]] = {
    "changes": changes,
    "delta": delta,
    "idelta": idelta,
    "increase": increase,
    "irate": irate,
    "rate": rate,
    "resets": resets,
}
