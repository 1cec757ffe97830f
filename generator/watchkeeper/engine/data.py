"""The series that queries look at."""

from __future__ import annotations

from struct import Struct

from watchkeeper.engine import labels as label_sets
from watchkeeper.engine import regex
from watchkeeper.engine.labels import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from watchkeeper.engine.labels import Labels
    from watchkeeper.engine.results import Value
    from watchkeeper.promql.nodes import Matcher

_BITS = Struct("<Q")
_FLOAT = Struct("<d")
_STALE_BITS = 0x7FF0000000000002
_pack = _FLOAT.pack
_STALE_BYTES = _BITS.pack(_STALE_BITS)

# The marker for "this series ends here": a NaN of its own bits. Only `is_stale` tells it from other NaNs.
STALE: float = _FLOAT.unpack(_STALE_BYTES)[0]


def is_stale(value: Value) -> bool:
    """Whether a value is the staleness marker."""
    return value != value and type(value) is float and _pack(value) == _STALE_BYTES  # noqa: PLR0124


class Series:
    """One series: `times` in rising milliseconds since the epoch, and a value for each: a float or a Histogram.

    `starts`, where there is one, holds for each sample the time in milliseconds from which its counter counts, 0 where
    that is not known.
    """

    __slots__ = ("_stored", "floats_only", "labels", "starts", "times", "values")

    def __init__(
        self,
        labels: Labels | Mapping[str, str],
        times: Sequence[int],
        values: Sequence[Value],
        starts: Sequence[int] | None = None,
    ) -> None:
        """The sequences are kept, not copied. Raises ValueError where their lengths differ or times don't rise."""
        self.labels: Labels = labels if type(labels) is tuple else label_sets.make(labels)
        self.times = times
        if len(times) != len(values) or (starts is not None and len(starts) != len(times)):
            raise ValueError(f"{label_sets.format_series(self.labels)}: there must be one value for each time")
        if any(map(int.__ge__, times, times[1:])):
            raise ValueError(f"{label_sets.format_series(self.labels)}: times must rise")
        types = set(map(type, values))
        if not types <= {float}:
            values = [float(value) if isinstance(value, int | float) else value for value in values]
            types = set(map(type, values))
        self.floats_only = types <= {float}
        self.values = values
        self.starts = starts
        self._stored: list[Value] = []

    @property
    def stored(self) -> Sequence[Value]:
        """The values as a server's storage gives them back: histograms have its counter-reset hints."""
        if self.floats_only:
            return self.values
        if len(self._stored) < len(self.values):
            from watchkeeper.engine.histogram import stored_hints

            done = len(self._stored)
            previous = self.values[done - 1] if done else None
            self._stored += stored_hints(self.values[done:], previous)
        return self._stored

    def like(self, values: Sequence[Value]) -> Series:
        """The same series with other values at the same times, no fewer and no more."""
        new = Series.__new__(Series)
        new.labels = self.labels
        new.times = self.times
        new.values = values
        new.starts = self.starts
        new.floats_only = self.floats_only
        new._stored = []  # noqa: SLF001  (of this class)
        return new

    @staticmethod
    def load(text: str, interval: str | float = "15s") -> Data:
        """The same as `Data.load`."""
        return Data.load(text, interval)

    def append(self, time: int, value: Value) -> None:
        """Add a later sample; only to a series that was made of lists."""
        if self.times and time <= self.times[-1]:
            raise ValueError(f"{label_sets.format_series(self.labels)}: times must rise")
        if self.starts is not None:
            self.starts.append(0)  # type: ignore[attr-defined]
        self.times.append(time)  # type: ignore[attr-defined]
        self.values.append(value)  # type: ignore[attr-defined]
        if type(value) is not float:
            self.floats_only = False

    def __repr__(self) -> str:
        return f"Series({label_sets.format_series(self.labels)}, {len(self.times)} samples)"


class Data:
    """A set of series, found by matchers. Several series of the same labels become one; the later value wins."""

    __slots__ = ("_by_labels", "_by_name", "arrays")

    def __init__(self, series: Iterable[Series] = ()) -> None:
        self._by_labels: dict[Labels, Series] = {}
        self._by_name: dict[str, list[Series]] = {}
        self.arrays: object = None  # what the vectorised evaluator keeps of them; it sees for itself whether they grew
        for one in series:
            self.add(one)

    @staticmethod
    def load(text: str, interval: str | float = "15s") -> Data:
        """Data of series notation, one series a line: `x_total{gpu="0"} 0+30x40`; see `engine.read.notation`.

        Values are `interval` apart (a duration such as "15s", or seconds), from 0 on. Raises read.ReadError.
        """
        from watchkeeper.engine.read import notation

        return notation.load(text, interval)

    @property
    def series(self) -> list[Series]:
        """All series, in the order in which they came."""
        return list(self._by_labels.values())

    @property
    def floats_only(self) -> bool:
        """Whether there is no histogram."""
        return all(one.floats_only for one in self._by_labels.values())

    def __len__(self) -> int:
        return len(self._by_labels)

    def count(self, name: str | None) -> int:
        """How many series have this metric name; all of them for None."""
        return len(self._by_labels) if name is None else len(self._by_name.get(name, ()))

    def get(self, labels: Labels) -> Series | None:
        """The series of exactly these labels."""
        return self._by_labels.get(labels)

    def add(self, series: Series) -> None:
        """Add a series, or its samples where there is one of the same labels."""
        labels = series.labels
        known = self._by_labels.get(labels)
        if known is None:
            self._by_labels[labels] = series
            self._by_name.setdefault(label_sets.get(labels, NAME), []).append(series)
            return
        merged = _merged(known, series)
        self._by_labels[labels] = merged
        named = self._by_name[label_sets.get(labels, NAME)]
        named[[one.labels for one in named].index(labels)] = merged

    def select(self, matchers: Iterable[Matcher]) -> list[Series]:
        """The series that match all of `matchers` (see `promql.nodes.Matcher`), in order of their labels.

        Raises regex.RegexError.
        """
        candidates: list[Series] | None = None
        tests: list[tuple[str, Callable[[str], bool]]] = []
        for matcher in matchers:
            test = test_of(matcher)
            if matcher.label == NAME:
                if matcher.op == "=" and candidates is None:
                    candidates = self._by_name.get(matcher.value, [])
                    continue
                if candidates is None:
                    candidates = []
                    for name, named in self._by_name.items():
                        if test(name):
                            candidates += named
                    continue
            tests.append((matcher.label, test))
        found = list(self._by_labels.values()) if candidates is None else candidates
        if tests:
            found = [series for series in found if _passes(series.labels, tests)]
        return sorted(found, key=_labels_of)


def _labels_of(series: Series) -> Labels:
    return series.labels


def _passes(labels: Labels, tests: list[tuple[str, Callable[[str], bool]]]) -> bool:
    values = dict(labels)
    return all(test(values.get(name, "")) for name, test in tests)


def test_of(matcher: Matcher) -> Callable[[str], bool]:
    """What a label's value must pass."""
    value = matcher.value
    if matcher.op == "=":
        return value.__eq__
    if matcher.op == "!=":
        return value.__ne__
    matches = regex.predicate(value)
    if matcher.op == "=~":
        return matches
    return lambda text: not matches(text)


def _merged(first: Series, second: Series) -> Series:
    starts: dict[int, int] = {}
    for series in (first, second):
        if series.starts is not None:
            starts.update(zip(series.times, series.starts, strict=True))
        elif starts:
            starts.update(dict.fromkeys(series.times, 0))
    samples = dict(zip(first.times, first.values, strict=True))
    samples.update(zip(second.times, second.values, strict=True))
    times = sorted(samples)
    return Series(
        first.labels,
        times,
        [samples[time] for time in times],
        [starts.get(time, 0) for time in times] if starts else None,
    )
