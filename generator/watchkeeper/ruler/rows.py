"""What an expression gave at all times, and what a rule makes of it at once: `for` as lengths of runs."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from watchkeeper.engine.data import STALE, Series
from watchkeeper.ruler import expand
from watchkeeper.ruler.history import AlertSeries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Protocol, TypeAlias

    from watchkeeper.engine.labels import Labels
    from watchkeeper.engine.results import Value
    from watchkeeper.ruler.history import Clock, Outcome, Points, Span

    # First and last evaluation of a stretch that has samples at each.
    Run: TypeAlias = tuple[int, int]

    class Row(Points, Protocol):
        """The samples of one label set."""

        labels: Labels
        runs: list[Run]

        def samples(self) -> Iterable[tuple[int, Value]]:
            """Number of the evaluation and value, in order."""


class PlainRow:
    """A row from lists: `indices` are numbers of evaluations, rising."""

    __slots__ = ("indices", "labels", "runs", "values")

    def __init__(self, labels: Labels, indices: Sequence[int], values: Sequence[Value]) -> None:
        self.labels = labels
        self.indices = indices
        self.values = values
        self.runs = runs_of(indices)

    def at(self, index: int) -> tuple[Labels, Value] | None:
        place = bisect_right(self.indices, index) - 1
        return None if place < 0 else (self.labels, self.values[place])

    def samples(self) -> Iterable[tuple[int, Value]]:
        return zip(self.indices, self.values, strict=True)


class _Several:
    """Rows that make one alert at different times."""

    __slots__ = ("rows",)

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows

    def at(self, index: int) -> tuple[Labels, Value] | None:
        latest, found = -1, None
        for row in self.rows:
            place = bisect_right(row.runs, index, key=_start) - 1
            if place >= 0 and min(row.runs[place][1], index) > latest:
                latest, found = min(row.runs[place][1], index), row
        return None if found is None else found.at(index)


def _start(run: Run) -> int:
    return run[0]


def runs_of(indices: Sequence[int]) -> list[Run]:
    """Rising numbers as runs."""
    if not indices:
        return []
    if indices[-1] - indices[0] == len(indices) - 1:
        return [(indices[0], indices[-1])]
    found = []
    first = last = indices[0]
    for index in indices:
        if index > last + 1:
            found.append((first, last))
            first = index
        last = index
    found.append((first, last))
    return found


def spans_of(runs: Sequence[Run], clock: Clock, for_ms: int, keep_ms: int) -> list[Span]:
    """The states of an alert whose expression gives a sample in `runs`."""
    wait = -(-for_ms // clock.step)  # evaluations from the first to that at which it fires
    keep = -(-keep_ms // clock.step)  # how many it outlasts
    spans: list[Span] = []
    position = 0
    while position < len(runs):
        start, last = runs[position]
        position += 1
        fires = start + wait
        if last < fires:
            spans.append((start, last, False, clock.times[start]))
            continue
        while keep and position < len(runs) and runs[position][0] - last - 1 <= keep:
            last = runs[position][1]
            position += 1
        last = min(last + keep, len(clock) - 1)
        if fires > start:
            spans.append((start, fires - 1, False, clock.times[start]))
        spans.append((fires, last, True, clock.times[start]))
    return spans


def grouped(keys: Sequence[Labels], rows: Sequence[Row]) -> dict[Labels, list[Row]] | None:
    """Rows by what they become; None where two of one kind have a sample at the same time."""
    found: dict[Labels, list[Row]] = {}
    for key, row in zip(keys, rows, strict=True):
        found.setdefault(key, []).append(row)
    if len(found) < len(rows):
        for members in found.values():
            runs = _runs(members)
            if any(second[0] <= first[1] for first, second in pairwise(runs)):
                return None
    return found


def _runs(rows: Sequence[Row]) -> list[Run]:
    return rows[0].runs if len(rows) == 1 else sorted(run for row in rows for run in row.runs)


def _joined(runs: list[Run]) -> list[Run]:
    found: list[Run] = []
    for first, last in runs:
        if found and found[-1][1] == first - 1:
            found[-1] = found[-1][0], last
        else:
            found.append((first, last))
    return found


def settle_alerts(outcome: Outcome, rows: Sequence[Row], expander: expand.Expander) -> bool:
    """Give an alerting rule its states. False where that has to be done evaluation by evaluation."""
    rule = outcome.rule
    templates = [text for text in rule.labels.values() if "{{" in text]
    if not all(map(expand.is_steady, templates)):
        return False
    keys = []
    for row in rows:

        def text_of(text: str, labels: Labels = row.labels) -> str:
            return expander.expand(rule, text, labels, 0.0, 0, None)

        keys.append(expand.alert_labels(rule, row.labels, text_of))
    found = grouped(keys, rows)
    if found is None or (outcome.group.limit and len(found) > outcome.group.limit):
        return False
    for key, members in found.items():
        single = len(members) == 1
        runs = members[0].runs if single else _joined(_runs(members))
        spans = spans_of(runs, outcome.clock, rule.for_ms, rule.keep_firing_ms)
        outcome.alerts.append(AlertSeries(key, members[0] if single else _Several(members), outcome, spans))
    outcome.series = lambda: alert_series(outcome)
    return True


def alert_series(outcome: Outcome) -> list[Series]:
    """ALERTS and ALERTS_FOR_STATE of a rule that never failed, staleness markers where a series ends."""
    clock, offset = outcome.clock, outcome.group.query_offset_ms
    found: list[Series] = []
    for alert in outcome.alerts:
        stretches: dict[str, list[tuple[int, int, float]]] = {}
        for first, last, firing, active_at in alert.spans:
            stretches.setdefault("firing" if firing else "pending", []).append((first, last, 1.0))
            stretches.setdefault("", []).append((first, last, float(active_at // 1000)))
        for state, parts in stretches.items():
            name = "ALERTS" if state else "ALERTS_FOR_STATE"
            labels = expand.state_labels(outcome.rule, alert.key, name, state)
            times: list[int] = []
            values: list[Value] = []
            for place, (first, last, value) in enumerate(parts):
                times += [t - offset for t in clock.times[first : last + 1]]
                values += [value] * (last - first + 1)
                if last + 1 < len(clock) and (place + 1 == len(parts) or parts[place + 1][0] > last + 1):
                    times.append(clock.times[last + 1] - offset)
                    values.append(STALE)
            found.append(Series(labels, times, values))
    return found


def settle_recording(outcome: Outcome, rows: Sequence[Row]) -> list[Series] | None:
    """The series that a recording rule makes; None where that has to be found evaluation by evaluation."""
    found = recorded(outcome, rows)
    if found is None:
        return None
    clock, offset = outcome.clock, outcome.group.query_offset_ms
    result = []
    for labels, members in found.items():
        samples = sorted(sample for row in members for sample in row.samples()) if len(members) > 1 else None
        times: list[int] = []
        values: list[Value] = []
        last = -1
        for index, value in members[0].samples() if samples is None else samples:
            if last >= 0 and index > last + 1:
                times.append(clock.times[last + 1] - offset)
                values.append(STALE)
            times.append(clock.times[index] - offset)
            values.append(value)
            last = index
        if 0 <= last < len(clock) - 1:
            times.append(clock.times[last + 1] - offset)
            values.append(STALE)
        if times:
            result.append(Series(labels, times, values))
    return result


def recorded(outcome: Outcome, rows: Sequence[Row]) -> dict[Labels, list[Row]] | None:
    """Rows by the label set that a recording rule gives them; None where some evaluation may fail."""
    limit = outcome.group.limit
    if limit and len(rows) > limit:
        return None
    return grouped([expand.recorded_labels(outcome.rule, row.labels) for row in rows], rows)


def by_evaluation(outcome: Outcome, rows: Sequence[Row]) -> list[list[tuple[Labels, Value]]]:
    """The samples of each evaluation."""
    found: list[list[tuple[Labels, Value]]] = [[] for _ in range(len(outcome.clock))]
    for row in rows:
        for index, value in row.samples():
            found[index].append((row.labels, value))
    return found
