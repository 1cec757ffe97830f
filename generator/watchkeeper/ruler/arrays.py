"""The data that rules are evaluated on as arrays: each rule at all times at once, with NumPy."""

from __future__ import annotations

import numpy as np

from watchkeeper.engine import labels as label_sets
from watchkeeper.engine.arrays import Evaluator, Frame, Settings, Store, Unsupported
from watchkeeper.engine.data import STALE, Data, Series
from watchkeeper.engine.results import EvalError, Sample, Vector
from watchkeeper.ruler import rows as rows_of
from watchkeeper.ruler import steps, world
from watchkeeper.ruler.expand import recorded_labels
from watchkeeper.ruler.growing import selectors, tests_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, TypeAlias

    from numpy.typing import NDArray

    from watchkeeper.engine.engine import Engine
    from watchkeeper.engine.labels import Labels
    from watchkeeper.promql.nodes import Expr
    from watchkeeper.ruler.expand import Expander
    from watchkeeper.ruler.history import Outcome

    Array: TypeAlias = NDArray[Any]


class Block:
    """Series on shared times (ms): values and `present` are series x times; None is present everywhere."""

    __slots__ = ("labels", "present", "times", "values")

    def __init__(self, labels: list[Labels], times: Array, values: Array, present: Array | None) -> None:
        self.labels = labels
        self.times = times
        self.values = values
        self.present = present

    def series(self, row: int) -> Series:
        """One of them as lists."""
        if self.present is None:
            return Series(self.labels[row], self.times.tolist(), self.values[row].tolist())
        there = self.present[row]
        return Series(self.labels[row], self.times[there].tolist(), self.values[row][there].tolist())


class ArrayRow:
    """A row of a frame."""

    __slots__ = ("frame", "labels", "row", "runs")

    def __init__(self, frame: Frame, row: int, runs: list[rows_of.Run]) -> None:
        self.frame = frame
        self.row = row
        self.labels = frame.labels[row]
        self.runs = runs

    def at(self, index: int) -> tuple[Labels, float] | None:
        there = np.nonzero(self.frame.mask[self.row, : index + 1])[0]
        return (self.labels, float(self.frame.values[self.row, there[-1]])) if len(there) else None

    def samples(self) -> Iterable[tuple[int, float]]:
        there = np.nonzero(self.frame.mask[self.row])[0]
        return zip(there.tolist(), self.frame.values[self.row, there].tolist(), strict=True)


class World:
    """Series as arrays beside those in lists (histograms, ALERTS), and expressions evaluated over them."""

    def __init__(self, data: Data, blocks: Sequence[Block], engine: Engine) -> None:
        self._data = Data(data.series)
        self._store = Store(self._data)
        self._blocks: list[Block] = []
        self._known: set[Labels] = set()
        self._names: dict[str, int] = {}
        self._evaluators: dict[int, Evaluator] = {}
        self.engine = engine
        self.written: set[int] = set()
        for block in blocks:
            self.add_block(block)

    def add(self, series: Sequence[Series]) -> None:
        """Add what a rule wrote. Raises ConflictError."""
        for one in series:
            if one.labels in self._known or self._data.get(one.labels) is not None:
                raise world.ConflictError
            self._data.add(one)

    def add_block(self, block: Block) -> None:
        """Add series as arrays. Raises ConflictError."""
        try:
            self._store.add(block.labels, block.times, block.values, block.present)
        except ValueError:
            raise world.ConflictError from None
        self._blocks.append(block)
        self._known.update(block.labels)
        for labels in block.labels:
            name = label_sets.get(labels, label_sets.NAME)
            self._names[name] = self._names.get(name, 0) + 1

    def plain(self, trees: Iterable[Expr] | None) -> Data:
        """The data as lists; with `trees`, only what their selectors look at."""
        found = Data(self._data.series)
        wanted: list[Any] | None = []
        for tree in trees or ():
            more = selectors(tree)
            wanted = None if more is None or wanted is None else [*wanted, *more]
        tests = None if trees is None or wanted is None else list(map(tests_of, wanted))
        for block in self._blocks:
            for row, labels in enumerate(block.labels):
                values = dict(labels)
                if tests is None or any(all(test(values.get(name, "")) for name, test in one) for one in tests):
                    found.add(block.series(row))
        return found

    def settle(self, outcome: Outcome, expander: Expander, read: bool) -> None:
        """Evaluate a rule at all times at once. `read` tells whether other rules read what it writes."""
        try:
            world.check_limit(outcome, self)
            frame = self._frame(outcome)
        except (Unsupported, EvalError, RecursionError):
            self._settle_plain(outcome, expander, read)
            return
        if outcome.rule.is_alert:
            rows = _rows(frame)
            if not rows:
                return
            world.apply(self, outcome, rows, expander, read)
        elif not self._record(outcome, frame):
            world.apply(self, outcome, _rows(frame), expander, read)

    def _settle_plain(self, outcome: Outcome, expander: Expander, read: bool) -> None:
        data = self.plain([outcome.rule.tree])
        try:
            world.check_limit(outcome, self)
            rows = world.plain_rows(outcome, outcome.rule.tree, data, self.engine)
        except EvalError:
            steps.run([outcome], data, self.engine, expander)
            world.write(self, outcome)
            return
        world.apply(self, outcome, rows, expander, read)

    def _frame(self, outcome: Outcome) -> Frame:
        """What an expression gives. Raises Unsupported, EvalError."""
        tree = outcome.rule.tree
        if tree.type not in {"vector", "scalar"}:
            raise Unsupported(tree.type)
        offset = outcome.group.query_offset_ms
        evaluator = self._evaluators.get(offset)
        if evaluator is None:
            clock = outcome.clock
            settings = self._settings(clock.times[0] - offset, clock.times[-1] - offset, clock.step)
            evaluator = self._evaluators[offset] = Evaluator(self._store, settings)
        value, _ = evaluator.evaluate(tree)
        if isinstance(value, str):
            raise Unsupported("a string")
        if not isinstance(value, Frame):
            value = Frame([()], value[None, :], np.ones((1, len(value)), bool))
        if value.dropped is not None:
            raise Unsupported("names whose removal is delayed")
        return value

    def _settings(self, start: int, end: int, step: int) -> Settings:
        engine = self.engine
        return Settings(
            start,
            end,
            step,
            lookback=round(engine.lookback * 1000),
            subquery_step=round(engine.subquery_step * 1000),
            old=engine.compat == "2",
            delayed=engine.delayed_name_removal,
            max_samples=engine.max_samples,
            timeout=engine.timeout,
        )

    def _record(self, outcome: Outcome, frame: Frame) -> bool:
        """Add the series of a recording rule; False where that has to be done evaluation by evaluation."""
        frame = frame.pruned()
        limit = outcome.group.limit
        labels = [recorded_labels(outcome.rule, one) for one in frame.labels]
        if (limit and len(labels) > limit) or len(set(labels)) < len(labels):
            return False
        if not labels:
            return True
        times = np.array(outcome.clock.times, np.int64) - outcome.group.query_offset_ms
        ends = np.zeros(frame.mask.shape, bool)
        ends[:, 1:] = frame.mask[:, :-1] & ~frame.mask[:, 1:]
        if bool(ends.any()):
            block = Block(labels, times, np.where(ends, STALE, frame.values), frame.mask | ends)
        else:
            block = Block(labels, times, np.ascontiguousarray(frame.values), frame.mask)
        self.add_block(block)
        outcome.series = lambda: [block.series(row) for row in range(len(block.labels))]
        return True

    def count(self, name: str | None) -> int:
        """How many series have a name; all for None."""
        if name is None:
            return len(self._data) + len(self._known)
        return self._data.count(name) + self._names.get(name, 0)

    def instant(self, tree: Expr, text: str, at: float) -> Any:
        """An instant query."""
        moment = round(at * 1000)
        if tree.type == "vector":
            try:
                value, _ = Evaluator(self._store, self._settings(moment, moment, 0)).evaluate(tree)
            except (Unsupported, EvalError, RecursionError):
                value = ""
            if isinstance(value, Frame) and value.dropped is None:
                samples = [
                    Sample(labels, float(value.values[row, 0]))
                    for row, labels in enumerate(value.labels)
                    if value.mask[row, 0]
                ]
                return Vector(samples, at)
        return self.engine.instant(self.plain([tree]), tree, at, text)


def _rows(frame: Frame) -> list[rows_of.Row]:
    """The rows that have a sample, with their runs."""
    mask = frame.mask
    some = np.nonzero(mask.any(axis=1))[0]
    if not len(some):
        return []
    padded = np.zeros((len(some), mask.shape[1] + 2), np.int8)
    padded[:, 1:-1] = mask[some]
    edges = np.diff(padded, axis=1)
    row_of, firsts = np.nonzero(edges == 1)
    lasts = np.nonzero(edges == -1)[1] - 1
    runs: list[list[rows_of.Run]] = [[] for _ in some]
    for row, first, last in zip(row_of.tolist(), firsts.tolist(), lasts.tolist(), strict=True):
        runs[row].append((first, last))
    return [ArrayRow(frame, row, own) for row, own in zip(some.tolist(), runs, strict=True)]
