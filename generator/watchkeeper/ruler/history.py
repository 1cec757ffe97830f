"""What rules did over time: alerts with their states, errors, and the series that came of it."""

from __future__ import annotations

from bisect import bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol, TypeAlias

    from watchkeeper.engine.data import Data, Series
    from watchkeeper.engine.labels import Labels
    from watchkeeper.engine.results import Matrix, Scalar, String, Value, Vector
    from watchkeeper.promql.nodes import Expr
    from watchkeeper.ruler.rules import Rule, RuleGroup

    # First and last evaluation of a state, whether it is firing, and since when the alert is active (ms).
    Span: TypeAlias = tuple[int, int, bool, int]

    class Points(Protocol):
        """What an expression gave for one alert."""

        def at(self, index: int) -> tuple[Labels, Value] | None:
            """The sample of the last evaluation up to `index` that had one."""

    class Asker(Protocol):
        """Answers queries about what a run knows."""

        def everything(self) -> Data:
            """All series."""

        def instant(self, tree: Expr, text: str, at: float) -> Vector | Scalar | Matrix | String:
            """An instant query."""

    # (rule, index of the evaluation, sample's labels, value) -> annotations
    Annotate: TypeAlias = Callable[["Outcome", int, Labels, Value], dict[str, str]]

INACTIVE = "inactive"
PENDING = "pending"
FIRING = "firing"


class RunError:
    """A rule that failed at one time (seconds), with Prometheus' words."""

    __slots__ = ("group", "message", "rule", "time")

    def __init__(self, rule: Rule, group: RuleGroup, time: float, message: str) -> None:
        self.rule = rule
        self.group = group
        self.time = time
        self.message = message

    def __repr__(self) -> str:
        return f"RunError({self.rule.name} at {self.time:g} s: {self.message})"


class AlertSeries:
    """One alert of a rule, told from others by its `labels`, `alertname` among them.

    Times are seconds. The state at a time is that of the last evaluation up to it.
    """

    __slots__ = ("_outcome", "_points", "clock", "key", "labels", "spans")

    def __init__(self, key: Labels, points: Points, outcome: Outcome, spans: list[Span] | None = None) -> None:
        self.key = key
        self.labels: Mapping[str, str] = dict(key)
        self.spans: list[Span] = [] if spans is None else spans
        self._points = points
        self._outcome = outcome
        self.clock = outcome.clock

    @property
    def rule(self) -> Rule:
        """The rule that it came from."""
        return self._outcome.rule

    def state_at(self, t: float) -> str:
        """The state at a time: "inactive", "pending" or "firing"."""
        return self.state(self.clock.index(t))

    def state(self, index: int) -> str:
        """The state at the evaluation of this number."""
        span = self._span(index)
        return INACTIVE if span is None else FIRING if span[2] else PENDING

    @property
    def firing(self) -> list[tuple[float, float]]:
        """First and last times of the evaluations at which it fires, one pair for each stretch."""
        return self._stretches(True)

    @property
    def pending(self) -> list[tuple[float, float]]:
        """The same for those at which it waits for `for`."""
        return self._stretches(False)

    def active_at(self, t: float) -> float | None:
        """Since when (seconds) it has been active at a time; None where it is not."""
        span = self._span(self.clock.index(t))
        return None if span is None else span[3] / 1000

    def value_at(self, t: float) -> Value | None:
        """The value of the expression; kept while `keep_firing_for` keeps it. None where it is inactive."""
        sample = self.sample(self.clock.index(t))
        return None if sample is None else sample[1]

    def annotations_at(self, t: float) -> dict[str, str]:
        """The annotations, expanded when asked for; empty where it is inactive."""
        return self.annotations(self.clock.index(t))

    def sample(self, index: int) -> tuple[Labels, Value] | None:
        """What the expression gave at the evaluation of this number."""
        return self._points.at(index) if self._span(index) is not None else None

    def annotations(self, index: int) -> dict[str, str]:
        """The annotations at the evaluation of this number."""
        if self._span(index) is None:
            return {}
        found = self._points.at(index)
        return {} if found is None else self._outcome.annotate(self._outcome, index, *found)

    def _span(self, index: int) -> Span | None:
        place = bisect_right(self.spans, index, key=_first) - 1
        if place < 0 or self.spans[place][1] < index:
            return None
        return self.spans[place]

    def _stretches(self, firing: bool) -> list[tuple[float, float]]:
        found: list[tuple[int, int]] = []
        for first, last, state, _ in self.spans:
            if state is not firing:
                continue
            if found and found[-1][1] == first - 1:
                found[-1] = found[-1][0], last
            else:
                found.append((first, last))
        times = self.clock.times
        return [(times[first] / 1000, times[last] / 1000) for first, last in found]

    def __repr__(self) -> str:
        return f"AlertSeries({dict(self.labels)}, firing={self.firing}, pending={self.pending})"


def _first(span: Span) -> int:
    return span[0]


class Clock:
    """The times of evaluation in milliseconds. `step` is the time between them, 0 where it varies."""

    __slots__ = ("step", "times")

    def __init__(self, start: int, end: int, step: int) -> None:
        self.times: Sequence[int] = range(start, end + 1, step)
        self.step = step

    @classmethod
    def irregular(cls, times: Sequence[int]) -> Clock:
        """Times as a server had them that missed some; rules are then evaluated one time after the other."""
        clock = cls(0, 0, 1)
        clock.times = times
        clock.step = 0
        return clock

    def index(self, t: float) -> int:
        """The number of the last evaluation up to `t` seconds; -1 before the first."""
        ms = round(t * 1000)
        if not self.step or not self.times:
            return bisect_right(self.times, ms) - 1
        return max(-1, min((ms - self.times[0]) // self.step, len(self.times) - 1))

    def __len__(self) -> int:
        return len(self.times)


class Outcome:
    """What came of one rule.

    `errors` are messages by number of evaluation; `silent` the numbers of those that wrote nothing without failing (an
    alert whose state was not yet restored). `series` gives what the rule wrote; it is asked for late.
    """

    __slots__ = ("alerts", "annotate", "clock", "errors", "group", "place", "rule", "series", "silent")

    def __init__(self, rule: Rule, group: RuleGroup, place: int, clock: Clock, annotate: Annotate) -> None:
        self.rule = rule
        self.group = group
        self.place = place  # in the order of evaluation
        self.clock = clock
        self.annotate = annotate
        self.alerts: list[AlertSeries] = []
        self.errors: dict[int, str] = {}
        self.silent: set[int] = set()
        self.series: Callable[[], Sequence[Series]] = list


class History:
    """What all rules did, evaluation after evaluation; `times` are in seconds."""

    __slots__ = ("_asker", "_by_name", "_series", "clock", "outcomes")

    def __init__(self, clock: Clock, outcomes: list[Outcome], asker: Asker) -> None:
        self.clock = clock
        self.outcomes = outcomes
        self._asker = asker
        self._series: Data | None = None
        self._by_name: dict[str, list[Outcome]] = {}
        for outcome in outcomes:
            if outcome.rule.is_alert:
                self._by_name.setdefault(outcome.rule.name, []).append(outcome)

    @property
    def times(self) -> list[float]:
        """The times of evaluation."""
        return [t / 1000 for t in self.clock.times]

    @property
    def names(self) -> list[str]:
        """The names of all alerting rules, in the order of evaluation."""
        return list(self._by_name)

    def alerts(self, name: str) -> list[AlertSeries]:
        """The alerts that a rule ever had, by their labels. Raises KeyError where there is no rule of that name."""
        found = self._by_name.get(name)
        if found is None:
            from watchkeeper.findings import nearest

            raise KeyError(f'no alert has the name "{name}"{nearest(name, self.names)}')
        return sorted(
            (series for outcome in found for series in outcome.alerts if series.spans), key=lambda series: series.key
        )

    @property
    def errors(self) -> list[RunError]:
        """The rules that failed, by time."""
        times = self.clock.times
        found = [
            (index, outcome.place, outcome, message)
            for outcome in self.outcomes
            for index, message in outcome.errors.items()
        ]
        found.sort(key=lambda one: one[:2])
        return [RunError(one.rule, one.group, times[index] / 1000, message) for index, _, one, message in found]

    @property
    def series(self) -> Data:
        """The samples that rules were evaluated on, what recording rules made of them, ALERTS and ALERTS_FOR_STATE."""
        if self._series is None:
            self._series = self._asker.everything()
        return self._series

    def instant(self, tree: Expr, text: str, at: float) -> Vector | Scalar | Matrix | String:
        """An instant query at `at` seconds, on the samples and all that rules made of them. Raises EvalError."""
        return self._asker.instant(tree, text, at)
