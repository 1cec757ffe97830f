"""Selectors: what is looked up for instants, and the windows of range selectors and subqueries."""

# ruff: noqa: PLR0124  (x != x asks for NaN)
# ruff: noqa: PLR0917  (positions are plain here)
from __future__ import annotations

from bisect import bisect_left, bisect_right

from watchkeeper.engine.data import is_stale
from watchkeeper.engine.labels import NAME
from watchkeeper.engine.results import EvalError
from watchkeeper.engine.steps.extended import smoothed_value
from watchkeeper.engine.steps.nodes import Context, Frame, Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from watchkeeper.engine.data import Series
    from watchkeeper.engine.results import Value
    from watchkeeper.engine.steps.idents import Ident
    from watchkeeper.promql.nodes import VectorSelector


def select(context: Context, selector: VectorSelector) -> list[Series]:
    """The series that a selector names. Raises EvalError for a regular expression that can't be matched."""
    from watchkeeper.engine.regex import RegexError
    from watchkeeper.promql.nodes import Matcher

    matchers = selector.matchers
    if selector.name is not None:
        matchers = (Matcher(NAME, "=", selector.name, 0, 0, 0, 0), *matchers)
    try:
        return context.query.data.select(matchers)
    except RegexError as error:
        raise EvalError(f"error parsing regexp: {error}", selector.start) from None


class Timing:
    """Which time a selector or subquery looks at: a fixed one (`at`) or that of the evaluation, less an offset; ms."""

    __slots__ = ("at", "offset")

    def __init__(self, at: int | None, offset: int) -> None:
        self.at = at
        self.offset = offset

    def of(self, t: int) -> int:
        """The time looked at when evaluating at `t`."""
        return (t if self.at is None else self.at) - self.offset


class InstantSelector(Node):
    """`metric{...}`: of each series the last sample within the lookback, unless it is a staleness marker."""

    __slots__ = ("found", "selector", "timestamps", "timing")

    def __init__(self, context: Context, selector: VectorSelector, timing: Timing, timestamps: str) -> None:
        """`timestamps` is "" for the values, "time" for the times of the samples, "start" for their start times."""
        super().__init__(context, selector.start)
        self.selector = selector
        self.timing = timing
        self.timestamps = timestamps
        self.found: list[tuple[Ident, Series]] = []

    def begin(self, frame: Frame) -> None:
        of = self.context.idents.of
        self.found = []
        for series in select(self.context, self.selector):
            if not series.floats_only:
                first = self.timing.of(frame.start) - self.context.query.lookback
                series = series.like(_histograms_of(self.context, self.selector, series, first))  # noqa: PLW2901
            self.found.append((of(series.labels), series))

    def step(self, t: int) -> None:
        time = self.timing.of(t)
        lookback = self.context.query.lookback
        oldest = time - lookback if self.context.closed else time - lookback + 1
        out = []
        if self.selector.smoothed:
            for ident, series in self.found:
                value = smoothed_value(series, time, lookback, self)
                if value is not None:
                    out.append((ident, value))
        elif self.timestamps:
            at = self.timing.at
            if at is not None and self.timestamps == "time":
                # Prometheus looks for the sample at the time of `@` without the offset, but among those alone that it
                # has loaded, which are of the offset's time (2.42 and 3.5; it comes of the mend of its issue 8433).
                oldest += max(0, at - time)
                time = min(time, at)
            out = self._times(time, oldest)
        else:
            for ident, series in self.found:
                times = series.times
                index = bisect_right(times, time) - 1
                if index >= 0 and times[index] >= oldest:
                    value = series.values[index]
                    if value == value or not is_stale(value):
                        out.append((ident, value))
        self.context.check(len(out))
        self.out = out

    def _times(self, time: int, oldest: int) -> list[tuple[Ident, float]]:
        out = []
        drop = self.context.drop
        for ident, series in self.found:
            index = bisect_right(series.times, time) - 1
            if index < 0 or series.times[index] < oldest or is_stale(series.values[index]):
                continue
            if self.timestamps == "time":
                out.append((drop(ident), series.times[index] / 1000))
            else:
                # 0 tells that the start is not known: `start_timestamp(x) != 0` finds those that have one.
                out.append((drop(ident), series.starts[index] / 1000 if series.starts is not None else 0.0))
        self.context.unique(out)
        return out


class Window:
    """Part of a series: samples `lo` to `hi` (exclusive) of `times` and `values`, which hold no staleness markers."""

    __slots__ = ("floats_only", "hi", "ident", "lo", "starts", "times", "values")

    def __init__(
        self,
        ident: Ident,
        times: Sequence[int],
        values: Sequence[Value],
        starts: Sequence[int] | None,
        floats_only: bool,
    ) -> None:
        self.ident = ident
        self.times = times
        self.values = values
        self.starts = starts
        self.floats_only = floats_only
        self.lo = 0
        self.hi = len(times)

    @property
    def floats(self) -> Sequence[float]:
        """The values in the window, where all are floats."""
        return self.values[self.lo : self.hi]


class WindowSource(Node):
    """What a range is taken from. `step` only moves the bounds: the range is `start` (exclusive) to `end`, in ms.

    `range` is its length in ms. `windows` are all series, those without a sample in the range among them.
    """

    __slots__ = ("end", "range", "start", "timing", "windows")

    def __init__(self, context: Context, place: int, timing: Timing, range_: int) -> None:
        super().__init__(context, place)
        self.timing = timing
        self.range = range_
        self.start = 0
        self.end = 0
        self.windows: list[Window] = []

    # What an extended range needs before and behind its bounds, ms.
    before = 0
    behind = 0
    extension = ""

    def step(self, t: int) -> None:
        end = self.timing.of(t)
        start = end - self.range
        self.start = start
        self.end = end
        low = start - self.before
        high = end + self.behind
        lower = bisect_left if self.context.closed else bisect_right
        most = 0
        for window in self.windows:
            times = window.times
            window.hi = hi = bisect_right(times, high)
            window.lo = lo = lower(times, low, 0, hi)
            most = max(most, hi - lo)
        self.context.check(most)


class RangeSelector(WindowSource):
    """`metric{...}[range]`, perhaps anchored or smoothed."""

    __slots__ = ("before", "behind", "extension", "selector")

    def __init__(self, context: Context, selector: VectorSelector, timing: Timing, range_: int, place: int) -> None:
        super().__init__(context, place, timing, range_)
        self.selector = selector
        lookback = context.query.lookback
        self.extension = "anchored" if selector.anchored else "smoothed" if selector.smoothed else ""
        self.before = lookback if self.extension else 0
        self.behind = lookback if selector.smoothed else 0

    def begin(self, frame: Frame) -> None:
        of = self.context.idents.of
        first = self.timing.of(frame.start) - self.range - self.before
        last = self.timing.of(frame.last) + self.behind
        self.windows = []
        for series in select(self.context, self.selector):
            values = series.values
            if not series.floats_only:
                values = _histograms_of(self.context, self.selector, series, first)
            window = _window(series, values, of(series.labels), first, last)
            if window is not None:
                self.windows.append(window)


def _histograms_of(context: Context, selector: VectorSelector, series: Series, first: int) -> Sequence[Value]:
    """The values of a series with histograms, as a query sees them from `first` on."""
    from watchkeeper.engine.steps.histogram_series import values_of

    return values_of(series, first, stats=id(selector) in context.without_buckets)


def _window(series: Series, values: Sequence[Value], ident: Ident, first: int, last: int) -> Window | None:
    """The samples of a series that windows from `first` to `last` can hold, without staleness markers."""
    times = series.times
    lo = bisect_left(times, first)
    hi = bisect_right(times, last)
    if lo == hi:
        return None
    starts = series.starts
    if lo or hi < len(times):
        times = times[lo:hi]
        values = values[lo:hi]
        starts = starts[lo:hi] if starts is not None else None
    if any(value != value and is_stale(value) for value in values):
        kept = [index for index, value in enumerate(values) if not is_stale(value)]
        times = [times[index] for index in kept]
        values = [values[index] for index in kept]
        starts = [starts[index] for index in kept] if starts is not None else None
    floats_only = series.floats_only or set(map(type, values)) <= {float}
    return Window(ident, times, values, starts, floats_only)


class Subquery(WindowSource):
    """`expr[range:step]`: the expression evaluated at the multiples of the step, over all ranges at once."""

    __slots__ = ("frame", "interval")

    def __init__(self, context: Context, frame: Frame, timing: Timing, range_: int, interval: int, place: int) -> None:
        super().__init__(context, place, timing, range_)
        self.frame = frame
        self.interval = interval

    def begin(self, frame: Frame) -> None:
        inner = self.frame
        first = self.timing.of(frame.start) - self.range
        if not self.context.closed:
            first += 1
        inner.start = -(-first // self.interval) * self.interval
        inner.end = self.timing.of(frame.last)
        inner.interval = self.interval
        self.context.check((inner.end - inner.start) // self.interval)
        rows: dict[Ident, Window] = {}
        context = self.context
        for t in inner.times():
            out = inner.root.out
            if type(out) is float:
                out = [(context.idents.of(()), out)]
            context.kept += len(out)
            context.check(0)
            for ident, value in out:
                row = rows.get(ident.plain)
                if row is None:
                    row = rows[ident.plain] = Window(ident, [], [], None, True)
                row.times.append(t)  # type: ignore[attr-defined]
                row.values.append(value)  # type: ignore[attr-defined]
        self.windows = list(rows.values())
        for window in self.windows:
            window.floats_only = set(map(type, window.values)) <= {float}
            if not window.floats_only:
                from watchkeeper.engine.histogram import unhinted

                window.values = unhinted(window.values)
