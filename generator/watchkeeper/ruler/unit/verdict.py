"""Unit tests run and judged: promtool's verdict, but an unknown alert name in alert_rule_test fails."""

from __future__ import annotations

import math

from watchkeeper.engine.engine import Engine
from watchkeeper.engine.results import EvalError, Scalar, Vector
from watchkeeper.promql import ParseError, parse
from watchkeeper.ruler import world
from watchkeeper.ruler.history import Clock
from watchkeeper.ruler.rules import Fault, RuleError
from watchkeeper.ruler.run import Ruler, work, worth_arrays
from watchkeeper.ruler.unit.documents import Quoted
from watchkeeper.ruler.unit.failures import (
    AlertFailure,
    AmbiguousAlert,
    ExprFailure,
    Outcome,
    RuleFailure,
    UnknownAlert,
)
from watchkeeper.ruler.unit.samples import Samples

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from watchkeeper.engine.labels import Labels
    from watchkeeper.engine.results import Value
    from watchkeeper.promql.nodes import Expr
    from watchkeeper.ruler.history import History
    from watchkeeper.ruler.rules import Rule, RuleGroup
    from watchkeeper.ruler.unit.load import Loaded
    from watchkeeper.ruler.unit.testfile import AlertCase, ExprCase, UnitFile, UnitTest

# What promtool lets a query hold.
MAX_SAMPLES = 10_000


def run(file: UnitFile, test: UnitTest, loaded: Loaded, mode: str = "") -> Outcome:
    """Run one test, in a mode of `Ruler.run_in` or in that which fits its size.

    Raises RuleError for input series that can't be read.
    """
    outcome = Outcome(test)
    start, interval = test.start_ms, file.interval_ms
    clock = Clock(start, start + test.last_ms, interval)
    samples = Samples(test, file.path, clock.times[-1])
    runner = _Runner(file, test, loaded.groups, samples, clock, mode)
    history = runner.past
    failed = history.errors
    # promtool ends the test at the evaluation at which a rule first fails.
    end = clock.index(failed[0].time) if failed else len(clock)
    known = loaded.alerts()
    for case in sorted(test.alert_cases, key=_time):
        index = min(case.eval_ms // interval, len(clock) - 1)
        if index >= end:
            outcome.skipped += 1
            continue
        outcome.checks += 1
        failure = _alert(case, index, history, known)
        if failure is not None:
            outcome.failures.append(failure)
    if failed:
        outcome.failures += [RuleFailure(error) for error in failed if error.time == failed[0].time]
        outcome.skipped += len(test.expr_cases)
    else:
        for expr_case in test.expr_cases:
            outcome.checks += 1
            wrong = runner.expr(expr_case)
            if wrong is not None:
                outcome.failures.append(wrong)
    if outcome.failures:
        outcome.cyclic = runner.cyclic()
    return outcome


def _time(case: AlertCase) -> int:
    return case.eval_ms


def _alert(
    case: AlertCase, index: int, history: History, known: dict[str, list[Rule]]
) -> AlertFailure | UnknownAlert | AmbiguousAlert | None:
    rules = known.get(case.name)
    if rules is None:
        return UnknownAlert(case, list(known))
    if len(rules) > 1 and any(
        dict(one.labels) == dict(other.labels) for one in rules for other in rules if one is not other
    ):
        return AmbiguousAlert(case, rules)
    expected = sorted(
        (tuple(sorted({**one.labels, "alertname": case.name}.items())), tuple(sorted(one.annotations.items())))
        for one in case.expected
    )
    series = history.alerts(case.name)
    firing = [one for one in series if one.state(index) == "firing"]
    if not expected and not firing:
        return None
    fired = sorted((one.key, tuple(sorted(one.annotations(index).items()))) for one in firing)
    return None if fired == expected else AlertFailure(case, expected, fired, rules, series)


class _Runner:
    """One test's data and evaluations."""

    __slots__ = ("clock", "engine", "file", "groups", "past", "samples", "test")

    def __init__(  # noqa: PLR0917
        self, file: UnitFile, test: UnitTest, groups: list[RuleGroup], samples: Samples, clock: Clock, mode: str
    ) -> None:
        self.file = file
        self.test = test
        self.groups = groups
        self.samples = samples
        self.clock = clock
        self.engine = Engine(max_samples=MAX_SAMPLES, subquery_step=file.interval_ms / 1000)
        self.past = self._history(mode)

    def _history(self, mode: str) -> History:
        """Evaluate the rules."""
        if not mode:
            trees = [rule.tree for group in self.groups for rule in group.rules]
            points = len(self.clock) * work(trees, self.samples.count, len(self.samples))
            mode = "arrays" if worth_arrays(points) else "whole"
        ruler = Ruler(
            self.groups,
            engine=self.engine,
            external_labels=self.test.external_labels,
            external_url=self.test.external_url,
            url_functions=False,
        )
        return ruler.run_in(self._world, self.clock, self.file.order, mode)

    def _world(self, mode: str) -> Any:
        if mode == "arrays":
            from watchkeeper.ruler.arrays import World

            return World(*self.samples.blocks(), self.engine)
        return world.World(self.samples.data(), self.engine)

    def expr(self, case: ExprCase) -> ExprFailure | None:
        """Judge one expression, behind all evaluations."""
        try:
            tree = parse(case.expr)
            result = self._query(tree, case)
        except (EvalError, ParseError) as error:
            return ExprFailure(case, [], [], str(error))
        try:
            expected = [(_labels(one.labels), _value(one.value, one.histogram)) for one in case.expected]
        except (ParseError, ValueError) as error:
            return ExprFailure(case, [], [], str(error))
        expected.sort(key=_by_labels)
        result.sort(key=_by_labels)
        same = len(expected) == len(result) and all(
            mine[0] == theirs[0] and _equal(mine[1], theirs[1], self.file.fuzzy)
            for mine, theirs in zip(result, expected, strict=True)
        )
        return None if same else ExprFailure(case, expected, result)

    def _query(self, tree: Expr, case: ExprCase) -> list[tuple[Labels, Value]]:
        result = self.past.instant(tree, case.expr, (self.test.start_ms + case.eval_ms) / 1000)
        if isinstance(result, Vector):
            return [(sample.labels, sample.value) for sample in result.samples]
        if isinstance(result, Scalar):
            return [((), result.value)]
        raise EvalError("rule result is not a vector or scalar")

    def cyclic(self) -> list[Rule]:
        """The rules that read themselves."""
        from watchkeeper.ruler.plan import plan

        return [outcome.rule for outcome in plan(self.past.outcomes).cyclic]


def _by_labels(sample: tuple[Labels, Value]) -> Labels:
    return sample[0]


def _labels(text: str) -> Labels:
    """The labels of an expected sample. Raises ParseError, ValueError."""
    from watchkeeper.engine.read.notation import _Fault as NotationError
    from watchkeeper.engine.read.notation import metric

    stripped = text.strip()
    if stripped in ("", "{}"):
        return ()
    try:
        labels, end = metric(stripped, 0)
    except NotationError as error:
        raise ValueError(f'labels "{text}": {error.message}') from None
    if stripped[end:].strip():
        raise ValueError(f'labels "{text}": unexpected "{stripped[end:].strip()}"')
    return labels


def _value(text: str, histogram: str) -> Value:
    """An expected value. Raises ValueError."""
    if not histogram:
        return number(text)
    from watchkeeper.engine.histogram import parse_histogram

    return parse_histogram(histogram)


def number(text: str) -> float:
    """A number as YAML 1.1 writes it; nothing is 0. Raises ValueError."""
    plain = text.replace("_", "").lower()
    if not isinstance(text, Quoted):
        if not plain:
            return 0.0
        if plain.lstrip("+-") == ".inf":
            return -math.inf if plain.startswith("-") else math.inf
        if plain == ".nan":
            return math.nan
        if plain.lstrip("+-")[:1] in set("0123456789."):
            try:
                body = plain.lstrip("+-")
                if body[:2] in ("0x", "0b", "0o"):
                    return float(int(plain, 0))
                if len(body) > 1 and body[0] == "0" and body.isdecimal() and "8" not in body and "9" not in body:
                    return float(int(body, 8)) * (-1 if plain.startswith("-") else 1)
                return float(plain)
            except ValueError:
                pass
    raise ValueError(f'value: "{text}" is no number')


def _equal(mine: Value, theirs: Value, fuzzy: bool) -> bool:
    if not isinstance(mine, float) or not isinstance(theirs, float):
        if isinstance(mine, float) or isinstance(theirs, float):
            return False
        from watchkeeper.engine.histogram import to_notation

        return to_notation(mine) == to_notation(theirs)
    if mine == theirs:
        return True
    # To promtool a NaN is no other NaN either.
    return fuzzy and math.nextafter(mine, theirs) == theirs


def check_values(file: UnitFile) -> None:
    """Raise RuleError for expected values that are no numbers."""
    faults = []
    for test in file.tests:
        for case in test.expr_cases:
            for one in case.expected:
                if one.value:
                    try:
                        number(one.value)
                    except ValueError as error:
                        faults.append(Fault(str(error), file.path, one.line))
    if faults:
        raise RuleError(faults)
