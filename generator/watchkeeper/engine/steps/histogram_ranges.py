"""Functions of a range vector whose window holds native histograms, perhaps beside floats."""

from __future__ import annotations

import math
from itertools import pairwise

from watchkeeper.engine import annotations as texts
from watchkeeper.engine.histogram import (
    Histogram,
    HistogramMean,
    HistogramSum,
    MixedSchemasError,
    add,
    detect_reset,
    divide,
    multiply,
    rates,
    subtract,
)
from watchkeeper.engine.steps import extended
from watchkeeper.engine.steps.rates import anchored, factor, overlaps, reset_by_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from watchkeeper.engine.results import Value
    from watchkeeper.engine.steps.range_call import RangeCall
    from watchkeeper.engine.steps.windows import Window, WindowSource

    Tell = Callable[[str], None]

_FLOATS_ONLY = frozenset(
    {
        "deriv",
        "double_exponential_smoothing",
        "mad_over_time",
        "max_over_time",
        "min_over_time",
        "predict_linear",
        "quantile_over_time",
        "stddev_over_time",
        "stdvar_over_time",
        "ts_of_max_over_time",
        "ts_of_min_over_time",
    }
)
_TIMES_ONLY = frozenset({"count_over_time", "present_over_time", "ts_of_first_over_time", "ts_of_last_over_time"})


def over_range(window: Window, call: RangeCall) -> Value | None:
    """A function of a range that may hold histograms. None where it gives nothing."""
    name = call.name
    values = window.values[window.lo : window.hi]
    if name in _TIMES_ONLY:
        return call.function(window, call)
    if name == "last_over_time":
        return values[-1]
    if name == "first_over_time":
        return values[0]
    if name in _FLOATS_ONLY:
        return _floats_alone(window, call)
    if name in {"changes", "resets"}:
        return _count(window, call, _changed if name == "changes" else _was_reset)
    if name in {"irate", "idelta"}:
        return _instant(window, call, values)
    if name in {"rate", "increase", "delta"}:
        return _rate(window, call, values)
    if all(type(value) is float for value in values):
        return call.function(window, call)
    if any(type(value) is float for value in values):
        _mixed(window, call)
        return None
    return _total(window, call, values)


def telling(window: Window, call: RangeCall) -> Tell:
    """What adds the annotation for something that `histogram.rates` has to say."""
    name = window.ident.get("__name__")

    def tell(what: str) -> None:
        if what == rates.NOT_A_COUNTER:
            call.note(texts.not_a_counter(name))
        elif what == rates.NOT_A_GAUGE:
            call.note(texts.not_a_gauge(name))
        elif what == rates.MIXED_SCHEMAS:
            call.note(texts.mixed_schemas(name))
        else:
            call.note(texts.mismatched_custom_buckets(what))

    return tell


def _mixed(window: Window, call: RangeCall) -> None:
    call.note(texts.mixed_floats_histograms(window.ident.get("__name__")))


def _floats_alone(window: Window, call: RangeCall) -> Value | None:
    """A function that leaves histograms out, with an info where there are floats beside them."""
    from watchkeeper.engine.steps.windows import Window

    kept = [index for index in range(window.lo, window.hi) if type(window.values[index]) is float]
    if not kept:
        return None
    if len(kept) < window.hi - window.lo:
        call.note(texts.ignored_in_mixed_range(window.ident.get("__name__")))
    values = [window.values[index] for index in kept]
    return call.function(Window(window.ident, [window.times[index] for index in kept], values, None, True), call)


# changes, resets


def _changed(window: Window, index: int) -> bool:
    previous, value = window.values[index - 1], window.values[index]
    if type(previous) is float and type(value) is float and math.isnan(previous) and math.isnan(value):
        return False
    if isinstance(previous, Histogram) and isinstance(value, Histogram):
        return previous.compact() != value.compact()  # storage gives neighbours the same empty buckets
    return type(previous) is not type(value) or previous != value


def _was_reset(window: Window, index: int) -> bool:
    previous, value = window.values[index - 1], window.values[index]
    if type(previous) is not type(value):
        return True
    starts = window.starts
    if starts is not None and reset_by_start(
        window.times[index - 1], window.times[index], starts[index - 1], starts[index]
    ):
        return True
    return detect_reset(value, previous) if isinstance(value, Histogram) else bool(value < previous)


def _count(window: Window, call: RangeCall, test: Callable[[Window, int], bool]) -> float | None:
    found = anchored(window, call)
    if found is None:
        return None
    lo, hi = found
    return float(sum([test(window, index) for index in range(lo + 1, hi)]))


# irate, idelta


def _instant(window: Window, call: RangeCall, values: Sequence[Value]) -> Value | None:
    if len(values) < 2:
        return None
    previous, last = values[-2:]
    if not isinstance(last, Histogram) or not isinstance(previous, Histogram):
        if type(previous) is type(last):
            return call.function(window, call)
        _mixed(window, call)
        return None
    counter = call.name == "irate"
    hi = window.hi
    times = window.times
    starts = window.starts
    started = starts is not None and reset_by_start(times[hi - 2], times[hi - 1], starts[hi - 2], starts[hi - 1])
    result = rates.step(previous, last, telling(window, call), counter=counter, started=started)
    if result is None:
        return None
    result = result.compact()
    return divide(result, (times[hi - 1] - times[hi - 2]) / 1000) if counter else result


# rate, increase, delta


def _rate(window: Window, call: RangeCall, values: Sequence[Value]) -> Value | None:
    counter = call.name != "delta"
    per_second = call.name == "rate"
    result: Value | None
    if call.source.extension:
        result = _extended(window, call, counter)
        if result is not None and per_second and isinstance(result, Histogram):
            return divide(result, call.seconds)
        return result
    histograms = [value for value in values if isinstance(value, Histogram)]
    if not histograms:
        return call.function(window, call)
    if len(histograms) < len(values):
        _mixed(window, call)
        return None
    lo = window.lo
    starts = window.starts
    times = window.times
    from_start = counter and starts is not None and call.source.start < starts[lo] < times[lo]
    if len(histograms) < 2 and not from_start:
        return None
    rise = rates.increase(histograms, telling(window, call), counter=counter, started=_started(window, lo))
    if rise is None:
        return None
    _note_overlaps(window, call)
    if from_start:
        rise = add(rise, histograms[0]).histogram
    by = _factor(window, call, rise.count, histograms[0].count, counter=counter, from_start=from_start)
    return multiply(rise.compact(), by / call.seconds if per_second else by)


def _factor(window: Window, call: RangeCall, rise: float, first: float, *, counter: bool, from_start: bool) -> float:
    """By how much a rise is extrapolated; the zero point is that of the count of observations."""
    lo, hi, times = window.lo, window.hi, window.times
    begin = times[lo]
    spacing = (times[hi - 1] - begin) / 1000 / (hi - lo - 1) if hi - lo > 1 else 0.0
    to_start = (begin - call.source.start) / 1000
    if from_start:
        assert window.starts is not None
        begin = window.starts[lo]
        to_start = 0.0
    seconds = to_start, (times[hi - 1] - begin) / 1000, (call.source.end - times[hi - 1]) / 1000
    # 2.42 did not look for the zero point of histograms.
    return factor(rise, first, seconds, spacing, counter and not call.context.two, call.context.two)


def _note_overlaps(window: Window, call: RangeCall) -> None:
    starts = window.starts
    if starts is None or call.name == "delta":
        return
    for index in range(window.lo + 1, window.hi):
        if overlaps(window.times[index - 1], starts[index - 1], starts[index]) and not _was_reset(window, index):
            call.note(texts.overlapping_start_time(window.ident.get("__name__")))


def _started(window: Window, lo: int) -> Callable[[int], bool] | None:
    """Whether a sample counts anew by its start time; numbered from `lo`."""
    starts = window.starts
    if starts is None:
        return None
    times = window.times
    return lambda number: reset_by_start(
        times[lo + number - 1], times[lo + number], starts[lo + number - 1], starts[lo + number]
    )


def _extended(window: Window, call: RangeCall, counter: bool) -> Value | None:
    """The increase over an anchored or smoothed range."""
    source = call.source
    smoothed = source.extension == "smoothed"
    times = window.times
    found = extended.bounds(times, window.lo, window.hi, source.start, source.end, smoothed)
    if found is None:
        return None
    first, last = found
    samples = [value for value in window.values[first : last + 1] if isinstance(value, Histogram)]
    if not samples:
        return call.function(window, call)
    if len(samples) <= last - first:
        _mixed(window, call)
        return None
    tell = telling(window, call)
    left: Histogram | None = samples[0]
    right: Histogram | None = samples[-1]
    hints = {sample.counter_reset_hint for sample in samples}
    if smoothed and times[first] < source.start:
        share = (source.start - times[first]) / (times[first + 1] - times[first])
        left = rates.between(samples[0], samples[1], share, tell, counter=counter)
    if smoothed and last > 0 and times[last] > source.end:
        share = (source.end - times[last - 1]) / (times[last] - times[last - 1])
        right = rates.between(window.values[last - 1], samples[-1], share, tell, counter=counter)
    if left is None or right is None:
        return None
    inner = samples[1:] if times[first] <= source.start else samples
    if times[last] >= source.end:
        inner = inner[:-1]
    try:
        result = _difference(right, left, tell)
        if counter:
            # A left edge that was interpolated is behind a reset in its interval: what comes next is none.
            line = [*([left] if left is samples[0] else []), *inner, samples[-1]]
            for previous, sample in pairwise(line):
                if sample is not previous and detect_reset(sample, previous):
                    result = _sum(result, previous, tell)
    except MixedSchemasError:
        tell(rates.MIXED_SCHEMAS)
        return None
    if counter and "gauge" in hints:
        tell(rates.NOT_A_COUNTER)
    elif not counter and {samples[0].counter_reset_hint, samples[-1].counter_reset_hint} != {"gauge"}:
        tell(rates.NOT_A_GAUGE)
    return result.with_hint("gauge").compact()


def points(window: Window, source: WindowSource) -> tuple[list[int], list[Value]]:
    """What an anchored or smoothed range shows by itself: a point at each end, and the samples between."""
    smoothed = source.extension == "smoothed"
    times, values = window.times, window.values
    found = extended.bounds(times, window.lo, window.hi, source.start, source.end, smoothed)
    if found is None:
        return [], []
    first, last = found
    left, right = values[first], values[last]
    if smoothed and times[first] < source.start:
        left = _between(window, first, source.start)
    if smoothed and last > 0 and times[last] > source.end:
        right = _between(window, last - 1, source.end)
    inner = range(first + (times[first] <= source.start), last + (times[last] < source.end))
    shown = [(source.start, left), *((times[index], values[index]) for index in inner), (source.end, right)]
    shown = [(time, value) for time, value in shown if value is not None]
    return [time for time, _ in shown], [value for _, value in shown]


def _between(window: Window, index: int, time: int) -> Value | None:
    """The value at `time` on the line from a sample to the next; None between a float and a histogram."""
    t1, t2 = window.times[index : index + 2]
    first, second = window.values[index : index + 2]
    if isinstance(first, Histogram) and isinstance(second, Histogram):
        return rates.between(first, second, (time - t1) / (t2 - t1), lambda _: None)
    if isinstance(first, Histogram) or isinstance(second, Histogram):
        return None
    return extended.interpolate(t1, first, t2, second, time, counter=False)


def _difference(last: Histogram, first: Histogram, tell: Tell) -> Histogram:
    outcome = subtract(last, first)
    if outcome.reconciled:
        tell(rates.RECONCILED_SUBTRACTION)
    return outcome.histogram


def _sum(first: Histogram, second: Histogram, tell: Tell) -> Histogram:
    outcome = add(first, second)
    if outcome.reconciled:
        tell(rates.RECONCILED_ADDITION)
    return outcome.histogram


# sum_over_time, avg_over_time


def _total(window: Window, call: RangeCall, values: Sequence[Histogram]) -> Histogram | None:
    average = call.name == "avg_over_time"
    total = HistogramMean(values[0]) if average else HistogramSum(values[0])
    try:
        for value in values[1:]:
            total.add(value)
    except MixedSchemasError:
        call.note(texts.mixed_schemas(window.ident.get("__name__")))
        return None
    if total.collision:
        call.note(texts.counter_reset_collision("aggregation"))
    if total.reconciled:
        call.note(texts.mismatched_custom_buckets("aggregation"))
    return total.mean() if isinstance(total, HistogramMean) else total.total()
