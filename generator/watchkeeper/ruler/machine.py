"""The states of one rule's alerts, evaluation after evaluation (Prometheus: AlertingRule.Eval, RestoreForState)."""

from __future__ import annotations

from bisect import bisect_right

from watchkeeper.ruler.history import AlertSeries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from watchkeeper.engine.labels import Labels
    from watchkeeper.engine.results import Value
    from watchkeeper.ruler.history import Outcome

# Prometheus' defaults for restoring `for` after a restart (cmd/prometheus: rules.alert.*), milliseconds.
FOR_GRACE_MS = 600_000
OUTAGE_TOLERANCE_MS = 3_600_000


class ListPoints:
    """What an expression gave for one alert, by number of evaluation."""

    __slots__ = ("indices", "samples")

    def __init__(self) -> None:
        self.indices: list[int] = []
        self.samples: list[tuple[Labels, Value]] = []

    def add(self, index: int, labels: Labels, value: Value) -> None:
        self.indices.append(index)
        self.samples.append((labels, value))

    def at(self, index: int) -> tuple[Labels, Value] | None:
        """The sample of the last evaluation up to `index` that had one."""
        place = bisect_right(self.indices, index) - 1
        return None if place < 0 else self.samples[place]


class _Active:
    __slots__ = ("active_at", "firing", "keep_since", "points", "series")

    def __init__(self, series: AlertSeries, points: ListPoints, active_at: int) -> None:
        self.series = series
        self.points = points
        self.active_at = active_at
        self.firing = False
        self.keep_since: int | None = None

    def extend(self, index: int) -> None:
        """The state holds at the evaluation `index`, too."""
        spans = self.series.spans
        if spans:
            first, last, firing, active_at = spans[-1]
            if last == index - 1 and firing is self.firing and active_at == self.active_at:
                spans[-1] = first, index, firing, active_at
                return
        spans.append((index, index, self.firing, self.active_at))


class Machine:
    """Runs the alerts of one rule through evaluations; times in milliseconds."""

    __slots__ = ("_known", "active", "for_ms", "keep_ms", "limit", "outcome")

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.for_ms = outcome.rule.for_ms
        self.keep_ms = outcome.rule.keep_firing_ms
        self.limit = outcome.group.limit
        self.active: dict[Labels, _Active] = {}
        self._known: dict[Labels, tuple[AlertSeries, ListPoints]] = {}

    def step(self, index: int, now: int, found: Mapping[Labels, tuple[Labels, Value]]) -> str:
        """One evaluation that gave samples, by labels of the alert. Returns the error, "" where there is none."""
        for key, sample in found.items():
            active = self.active.get(key)
            if active is None:
                active = self.active[key] = self._new(key, now)
            active.points.add(index, *sample)
        count = 0
        for key, active in list(self.active.items()):
            if key in found:
                active.keep_since = None
            elif not self._kept(active, now):
                del self.active[key]
                continue
            count += 1
            if not active.firing and now - active.active_at >= self.for_ms:
                active.firing = True
        if self.limit and count > self.limit:
            self.active.clear()
            return f"exceeded limit of {self.limit} with {count} alerts"
        self.hold(index)
        return ""

    def hold(self, index: int) -> None:
        """An evaluation that failed before it came to states: they stay."""
        for active in self.active.values():
            active.extend(index)

    def _kept(self, active: _Active, now: int) -> bool:
        """Whether `keep_firing_for` keeps an alert that is gone from the result."""
        if not active.firing or not self.keep_ms:
            return False
        if active.keep_since is None:
            active.keep_since = now
        return now - active.keep_since < self.keep_ms

    def _new(self, key: Labels, now: int) -> _Active:
        known = self._known.get(key)
        if known is None:
            points = ListPoints()
            known = self._known[key] = AlertSeries(key, points, self.outcome), points
            self.outcome.alerts.append(known[0])
        return _Active(*known, now)

    def states(self) -> Iterator[tuple[Labels, bool, int]]:
        """The active alerts: labels, whether firing, since when active."""
        for key, active in self.active.items():
            yield key, active.firing, active.active_at

    def restore(self, now: int, lookup: Callable[[Labels], tuple[int, float] | None], grace: int) -> None:
        """Give active alerts the time that they waited before a restart.

        `lookup` finds the last sample (time in ms, value) of ALERTS_FOR_STATE for an alert, if it is recent enough.
        Alerts whose `for` is shorter than the grace period (ms) start anew, and others fire that much later at the
        earliest, as in Prometheus.
        """
        if self.for_ms < grace:
            return
        for key, active in self.active.items():
            found = lookup(key)
            if found is None:
                continue
            down_at, value = found
            since = int(value) * 1000
            remaining = self.for_ms - (down_at - since)
            if remaining > 0:
                if remaining < grace:
                    since = now + grace - self.for_ms
                else:
                    since += now - down_at
            active.active_at = since
