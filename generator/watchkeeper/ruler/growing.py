"""Data as it is known at a time: samples are added as time goes on, so that no expression sees the future."""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from struct import pack

from watchkeeper.engine.data import Data, Series, test_of
from watchkeeper.engine.labels import NAME
from watchkeeper.engine.regex import RegexError
from watchkeeper.promql.nodes import Call, Matcher, VectorSelector, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from watchkeeper.engine.labels import Labels
    from watchkeeper.engine.results import Value
    from watchkeeper.promql.nodes import Expr


class Growing:
    """A `data` that holds the samples of another up to `advance`'s time, and what is `put` into it."""

    __slots__ = ("_sources", "data")

    def __init__(self, full: Data, trees: Iterable[Expr] | None) -> None:
        """With `trees`, only the series that their selectors may find are taken along."""
        self.data = Data()
        self._sources: list[tuple[Series, Series, list[int]]] = []
        for series in full.series if trees is None else selected(full, trees):
            own = Series(series.labels, [], [], None if series.starts is None else [])
            self.data.add(own)
            self._sources.append((series, own, [0]))

    def advance(self, now: int) -> None:
        """Let time go on to `now` (ms)."""
        for full, own, cursor in self._sources:
            done = cursor[0]
            until = bisect_right(full.times, now, done)
            if until == done:
                continue
            cursor[0] = until
            own.times.extend(full.times[done:until])  # type: ignore[attr-defined]
            own.values.extend(full.values[done:until])  # type: ignore[attr-defined]
            if own.starts is not None and full.starts is not None:
                own.starts.extend(full.starts[done:until])  # type: ignore[attr-defined]
            if not full.floats_only:
                own.floats_only = False

    def put(self, labels: Labels, time: int, value: Value) -> str:
        """Add a sample. Returns a storage's error where the series has another one already that is as late."""
        series = self.data.get(labels)
        if series is None:
            self.data.add(Series(labels, [time], [value]))
        elif not series.times or series.times[-1] < time:
            series.append(time, value)
        elif series.times[-1] > time:
            return "out of order sample"
        elif not _same(series.values[-1], value):
            return "duplicate sample for timestamp"
        return ""


def _same(one: Value, other: Value) -> bool:
    if type(one) is float and type(other) is float:
        return pack("<d", one) == pack("<d", other)
    return bool(one == other)


def selectors(tree: Expr) -> list[tuple[Matcher, ...]] | None:
    """The matchers of all selectors in an expression, that for the name among them; None where info() reads others."""
    found = []
    for node in walk(tree):
        if isinstance(node, VectorSelector):
            name = () if node.name is None else (Matcher(NAME, "=", node.name, 0, 0, 0, 0),)
            found.append((*name, *node.matchers))
        elif isinstance(node, Call) and node.name == "info":
            return None
    return found


def tests_of(matchers: Sequence[Matcher]) -> list[tuple[str, Callable[[str], bool]]]:
    """What labels must pass; nothing where a regular expression can't be matched: the evaluation tells it."""
    try:
        return [(matcher.label, test_of(matcher)) for matcher in matchers]
    except RegexError:
        return []


def selected(full: Data, trees: Iterable[Expr]) -> list[Series]:
    """The series that expressions may look at."""
    found: dict[Labels, Series] = {}
    for tree in trees:
        wanted = selectors(tree)
        if wanted is None:
            return full.series
        for matchers in wanted:
            with suppress(RegexError):  # the evaluation tells it
                found.update((series.labels, series) for series in full.select(matchers))
    return list(found.values())
