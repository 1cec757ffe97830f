"""One evaluation after the other: the whole semantics, and what rules need that look at what they wrote themselves."""

from __future__ import annotations

from watchkeeper.engine.data import STALE, Series
from watchkeeper.engine.results import EvalError, Scalar, Vector
from watchkeeper.ruler import expand
from watchkeeper.ruler.growing import Growing
from watchkeeper.ruler.machine import FOR_GRACE_MS, OUTAGE_TOLERANCE_MS, Machine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from watchkeeper.engine.data import Data
    from watchkeeper.engine.engine import Engine
    from watchkeeper.engine.labels import Labels
    from watchkeeper.engine.results import Value
    from watchkeeper.ruler.history import Outcome

# Evaluations of a server after a start before it restores; alerts write nothing in them.
RESTORED_AFTER = 2

_SAME = "vector contains metrics with the same labelset after applying "


class RuleSteps:
    """Turns the samples of one rule, evaluation by evaluation, into states and series."""

    __slots__ = ("_expander", "_previous", "machine", "outcome", "put", "restored", "written")

    def __init__(
        self,
        outcome: Outcome,
        expander: expand.Expander,
        put: Callable[[Labels, int, Value], str] | None = None,
        restored: bool = True,
    ) -> None:
        self.outcome = outcome
        self.machine = Machine(outcome)
        self.put = put
        self.restored = restored
        self.written: dict[Labels, Series] = {}
        self._expander = expander
        self._previous: set[Labels] = set()
        outcome.series = lambda: list(self.written.values())

    def fail(self, index: int, message: str) -> None:
        """An evaluation that has no answer: states stay, nothing is written, nothing ends."""
        self.outcome.errors[index] = message
        if self.outcome.rule.is_alert:
            self.machine.hold(index)

    def take(
        self, index: int, samples: Sequence[tuple[Labels, Value]], query: Callable[[str, int], Any] | None = None
    ) -> None:
        """An evaluation that gave samples."""
        outcome = self.outcome
        now = outcome.clock.times[index]
        if not outcome.rule.is_alert:
            self._record(index, samples)
            return
        found: dict[Labels, tuple[Labels, Value]] = {}
        for labels, value in samples:
            key = self._key(labels, value, now, query)
            if key in found:
                self.fail(index, _SAME + "alert labels")
                return
            found[key] = labels, value
        error = self.machine.step(index, now, found)
        if error:
            outcome.errors[index] = error
            return
        if not self.restored:
            outcome.silent.add(index)
            self._write(index, [])
            return
        written: list[tuple[Labels, Value]] = []
        for key, firing, active_at in self.machine.states():
            state = "firing" if firing else "pending"
            written += (
                (expand.state_labels(outcome.rule, key, "ALERTS", state), 1.0),
                (expand.state_labels(outcome.rule, key, "ALERTS_FOR_STATE"), float(active_at // 1000)),
            )
        self._write(index, written)

    def _key(self, labels: Labels, value: Value, now: int, query: Callable[[str, int], Any] | None) -> Labels:
        ask = None if query is None else lambda text: query(text, now)

        def text_of(text: str) -> str:
            return self._expander.expand(self.outcome.rule, text, labels, value, now, ask)

        return expand.alert_labels(self.outcome.rule, labels, text_of)

    def _record(self, index: int, samples: Sequence[tuple[Labels, Value]]) -> None:
        rule, limit = self.outcome.rule, self.outcome.group.limit
        written = [(expand.recorded_labels(rule, labels), value) for labels, value in samples]
        if len({labels for labels, _ in written}) < len(written):
            self.fail(index, _SAME + "rule labels")
        elif limit and len(written) > limit:
            self.fail(index, f"exceeded limit of {limit} with {len(written)} series")
        else:
            self._write(index, written)

    def _write(self, index: int, samples: list[tuple[Labels, Value]]) -> None:
        time = self.outcome.clock.times[index] - self.outcome.group.query_offset_ms
        current = {labels for labels, _ in samples}
        for labels, value in samples:
            error = self._append(labels, time, value)
            if error:
                self.outcome.errors[index] = error
        for labels in self._previous - current:
            self._append(labels, time, STALE)  # that another rule goes on with a series is no error
        self._previous = current

    def _append(self, labels: Labels, time: int, value: Value) -> str:
        error = "" if self.put is None else self.put(labels, time, value)
        if not error:
            series = self.written.get(labels)
            if series is None:
                self.written[labels] = Series(labels, [time], [value])
            elif series.times[-1] < time:
                series.append(time, value)
        return error


def run(  # noqa: PLR0917
    outcomes: Sequence[Outcome],
    full: Data,
    engine: Engine,
    expander: expand.Expander,
    restore: Data | None = None,
    grace: int = FOR_GRACE_MS,
) -> None:
    """Evaluate rules in their order at each time, each seeing what came of those before it.

    `restore` has ALERTS_FOR_STATE of before a restart, `grace` is a server's rules.alert.for-grace-period in ms.
    """
    trees = [outcome.rule.tree for outcome in outcomes]
    asking = any(expand.asks(text) for outcome in outcomes for text in outcome.rule.labels.values())
    growing = Growing(full, None if asking else trees)
    data = growing.data

    def query(text: str, now: int) -> Any:
        return engine.instant(data, text, now / 1000)

    rules = [RuleSteps(outcome, expander, growing.put, restored=restore is None) for outcome in outcomes]
    for index, now in enumerate(outcomes[0].clock.times if outcomes else ()):
        growing.advance(now)
        for rule in rules:
            at = now - rule.outcome.group.query_offset_ms
            try:
                samples = evaluate(engine, data, rule.outcome, at)
            except EvalError as error:
                rule.fail(index, error.message)
                continue
            rule.take(index, samples, query if asking else None)
        if restore is not None and index == RESTORED_AFTER - 1:
            for rule in rules:
                restore_rule(rule, restore, now, grace)


def restore_rule(rule: RuleSteps, saved: Data, now: int, grace: int) -> None:
    """Let a rule's alerts go on waiting where they were before a restart."""

    def lookup(key: Labels) -> tuple[int, float] | None:
        series = saved.get(expand.state_labels(rule.outcome.rule, key, "ALERTS_FOR_STATE"))
        if series is None:
            return None
        for time, value in zip(reversed(series.times), reversed(series.values), strict=True):
            if time <= now:
                return (time, value) if time >= now - OUTAGE_TOLERANCE_MS and value == value else None  # noqa: PLR0124
        return None

    if rule.outcome.rule.is_alert:
        rule.machine.restore(now, lookup, grace)
        rule.restored = True


def evaluate(engine: Engine, data: Data, outcome: Outcome, at: int) -> list[tuple[Labels, Value]]:
    """The samples that a rule's expression gives at `at` ms. Raises EvalError."""
    rule = outcome.rule
    result = engine.instant(data, rule.tree, at / 1000, rule.expr)
    if isinstance(result, Vector):
        return [(sample.labels, sample.value) for sample in result.samples]
    if isinstance(result, Scalar):
        return [((), result.value)]
    raise EvalError("rule result is not a vector or scalar")
