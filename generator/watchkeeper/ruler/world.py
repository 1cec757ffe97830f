"""The data that rules are evaluated on, and what they added: in plain lists."""

from __future__ import annotations

import operator

from watchkeeper.engine.data import Data
from watchkeeper.engine.engine import Engine
from watchkeeper.engine.results import EvalError
from watchkeeper.promql.nodes import Binary, DurationLiteral, MatrixSelector, NumberLiteral, Paren, VectorSelector, walk
from watchkeeper.ruler import rows as rows_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from watchkeeper.engine.data import Series
    from watchkeeper.engine.labels import Labels
    from watchkeeper.promql.nodes import Expr
    from watchkeeper.ruler.expand import Expander
    from watchkeeper.ruler.history import Outcome
    from watchkeeper.ruler.plan import Plan


COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def unwrapped(tree: Expr) -> Expr:
    """An expression without the parentheses around it."""
    while isinstance(tree, Paren):
        tree = tree.expr
    return tree


class ConflictError(Exception):
    """Two rules, or a rule and the samples, write one series: only time can tell who comes first."""


class World:
    """Series in lists, and expressions evaluated over them by the step-wise evaluator."""

    def __init__(self, data: Data, engine: Engine) -> None:
        self._base = data
        self._data = data
        self._own = False  # whether the data is ours to add to
        self.engine = engine
        self.written: set[int] = set()
        self._compared: dict[tuple[Expr, int], list[rows_of.PlainRow]] = {}

    def add(self, series: Sequence[Series]) -> None:
        """Add what a rule wrote. Raises ConflictError."""
        if not self._own:
            self._own = True
            self._data = Data(self._base.series)
        for one in series:
            if self._data.get(one.labels) is not None:
                raise ConflictError
            self._data.add(one)

    def plain(self, trees: Iterable[Expr] | None) -> Data:  # noqa: ARG002  (as the other world has it)
        """The data as lists; with `trees`, at least what their selectors look at."""
        return self._data

    def settle(self, outcome: Outcome, expander: Expander, read: bool) -> None:
        """Evaluate a rule at all times at once. `read` tells whether other rules read what it writes."""
        try:
            check_limit(outcome, self)
            rows = self._rows(outcome)
        except EvalError:
            from watchkeeper.ruler import steps

            steps.run([outcome], self._data, self.engine, expander)
            write(self, outcome)
            return
        apply(self, outcome, rows, expander, read)

    def _rows(self, outcome: Outcome) -> list[rows_of.PlainRow]:
        """What a rule's expression gives over all times. Raises EvalError.

        What is compared with a number is evaluated once for all rules: packs compare one thing with several.
        """
        tree = unwrapped(outcome.rule.tree)
        if not (isinstance(tree, Binary) and tree.op in COMPARISONS and not tree.return_bool):
            return plain_rows(outcome, tree, self._data, self.engine)
        number = unwrapped(tree.rhs)
        if not isinstance(number, NumberLiteral) or tree.lhs.type != "vector":
            return plain_rows(outcome, tree, self._data, self.engine)
        key = unwrapped(tree.lhs), outcome.group.query_offset_ms
        known = self._compared.get(key)
        if known is None:
            known = self._compared[key] = plain_rows(outcome, key[0], self._data, self.engine)
        passes = COMPARISONS[tree.op]
        found = []
        for row in known:
            if set(map(type, row.values)) > {float}:  # histograms compare in their own way
                return plain_rows(outcome, tree, self._data, self.engine)
            kept = [place for place, value in enumerate(row.values) if passes(value, number.value)]
            if kept:
                indices, values = row.indices, row.values
                found.append(
                    rows_of.PlainRow(row.labels, [indices[place] for place in kept], [values[place] for place in kept])
                )
        return found

    def count(self, name: str | None) -> int:
        """How many series have a name; all for None."""
        return self._data.count(name)

    def instant(self, tree: Expr, text: str, at: float) -> Any:
        """An instant query."""
        return self.engine.instant(self._data, tree, at, text)


def plain_rows(outcome: Outcome, tree: Expr, data: Data, engine: Engine) -> list[rows_of.PlainRow]:
    """What an expression gives at the times of a rule. Raises EvalError."""
    whole = Engine(
        engine.compat,
        engine.delayed_name_removal,
        engine.lookback,
        evaluator="steps",
        subquery_step=engine.subquery_step,
        timeout=engine.timeout,
    )
    clock, offset = outcome.clock, outcome.group.query_offset_ms
    start = clock.times[0] - offset
    step = clock.step
    matrix = whole.range(data, tree, start / 1000, (clock.times[-1] - offset) / 1000, step / 1000)
    return [
        rows_of.PlainRow(labels, [(t - start) // step for t in times], values)
        for labels, times, values in matrix.series
    ]


def check_limit(outcome: Outcome, world: Any) -> None:
    """Raise EvalError where a query over a rule's expression would hold more samples than the engine lets it.

    Evaluating all times at once counts otherwise. So where an expression looks at so many series that it may be near
    the limit, it is evaluated at some times by itself.
    """
    tree, most = outcome.rule.tree, world.engine.max_samples
    bound = 0
    for node in walk(tree):
        if isinstance(node, VectorSelector):
            bound += 2 * world.count(node.metric_name)
        elif isinstance(node, MatrixSelector) and isinstance(node.range, DurationLiteral):
            bound += node.range.ms // 1000  # no more than a sample a second
    if bound <= most:
        return
    from watchkeeper.ruler import steps

    data, times = world.plain([tree]), outcome.clock.times
    for now in (times[0], times[len(times) // 2], times[-1]):
        steps.evaluate(world.engine, data, outcome, now - outcome.group.query_offset_ms)


def write(world: Any, outcome: Outcome) -> None:
    """Add what a rule wrote to a world. Raises ConflictError."""
    world.add(outcome.series())
    world.written.add(outcome.place)


def apply(world: Any, outcome: Outcome, rows: Sequence[rows_of.Row], expander: Expander, read: bool) -> None:
    """Make states or series of rows, and add to the world what is to be read."""
    if outcome.rule.is_alert:
        if rows_of.settle_alerts(outcome, rows, expander):
            if read:
                write(world, outcome)
            return
    else:
        series = rows_of.settle_recording(outcome, rows)
        if series is not None:
            outcome.series = lambda: series
            write(world, outcome)
            return
    from watchkeeper.ruler import steps

    rule = steps.RuleSteps(outcome, expander)
    for index, samples in enumerate(rows_of.by_evaluation(outcome, rows)):
        rule.take(index, samples)
    write(world, outcome)


def run(world: Any, plan: Plan, outcomes: Sequence[Outcome], expander: Expander) -> None:
    """Evaluate all blocks of a plan. Raises ConflictError."""
    for block in plan.blocks:
        if not block.stepped:
            for outcome in block.outcomes:
                world.settle(outcome, expander, outcome in plan.read)
            continue
        from watchkeeper.ruler import steps

        steps.run(block.outcomes, world.plain([one.rule.tree for one in block.outcomes]), world.engine, expander)
        for outcome in block.outcomes:
            write(world, outcome)
    _require_distinct(outcomes)


def _require_distinct(outcomes: Sequence[Outcome]) -> None:
    """Raise ConflictError where alerts of one name share a series of ALERTS.

    Those of two rules do if they have the same labels, and those of one if they differ in a label `alertstate` only.
    """
    names: dict[str, list[Labels]] = {}
    for outcome in outcomes:
        if outcome.rule.is_alert:
            names.setdefault(outcome.rule.name, []).extend(alert.key for alert in outcome.alerts)
    for keys in names.values():
        found = {tuple([pair for pair in key if pair[0] != "alertstate"]) for key in keys}
        if len(found) < len(keys):
            raise ConflictError
