"""Expressions to frames at the times of one grid: which module evaluates which node."""

from __future__ import annotations

import numpy as np

from watchkeeper.engine import labels as label_sets
from watchkeeper.engine.arrays import aggregate, binary, calls
from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.arrays.frame import Frame, empty
from watchkeeper.engine.arrays.grid import Grid
from watchkeeper.engine.arrays.lookback import latest
from watchkeeper.engine.arrays.notes import FIXED, Note, before, moved, telling
from watchkeeper.engine.arrays.unique import require_unique
from watchkeeper.engine.results import EvalError
from watchkeeper.engine.steps.nodes import TOO_MANY_SAMPLES
from watchkeeper.promql.nodes import (
    Aggregate,
    At,
    Binary,
    Call,
    Expr,
    NumberLiteral,
    Paren,
    StringLiteral,
    Subquery,
    Unary,
    VectorSelector,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from watchkeeper.engine.arrays.evaluator import Evaluator, Settings
    from watchkeeper.engine.arrays.store import Selection
    from watchkeeper.engine.arrays.types import Floats, Ints
    from watchkeeper.engine.labels import Labels

    # A vector; a scalar, one number for each step; or a string.
    Value: TypeAlias = Frame | Floats | str


class Context:
    """Evaluation at the times of one grid: the query's own, or a subquery's."""

    __slots__ = ("_number", "evaluator", "grid", "notes", "settings")

    def __init__(self, evaluator: Evaluator, grid: Grid, number: int) -> None:
        self.evaluator = evaluator
        self.settings: Settings = evaluator.settings
        self.grid = grid
        self.notes: list[Note] = []
        self._number = number

    @property
    def steps(self) -> int:
        return len(self.grid)

    def note(self, message: str, node: Expr, step: int) -> None:
        """Tell something about a node at a step."""
        while isinstance(node, Paren) or (isinstance(node, Unary) and node.op == "+"):
            node = node.expr
        self.notes.append(Note(message, node, step))

    # Values

    def value(self, node: Expr) -> Value:
        """The value of a scalar, string or vector expression."""
        # A long chain of operators leans to the left: its start is evaluated first, so as not to recurse.
        chain: list[Expr] = []
        number = self.evaluator.interner.number
        memo = self.evaluator.memo
        while isinstance(node, Binary | Paren) and (self._number, number(node)) not in memo:
            chain.append(node)
            node = node.lhs if isinstance(node, Binary) else node.expr
        if not chain:
            return self._remembered(node)
        # Each takes over the notes of those below it.
        outer = self.notes
        try:
            for one in (node, *reversed(chain)):
                self.notes = []
                result = self._remembered(one)
            outer += self.notes
        finally:
            self.notes = outer
        return result

    def _remembered(self, node: Expr) -> Value:
        key = self._number, self.evaluator.interner.number(node)
        known = self.evaluator.memo.get(key)
        if known is not None:
            value, notes, root = known
            self.notes += moved(notes, root, node)
            return value
        self.evaluator.check_clock()
        outer, self.notes = self.notes, []
        try:
            if not self.grid.single and self.evaluator.interner.steady(node):
                value = self._steady(node)
            else:
                value = self._evaluate(node)
            self.notes = telling(self.notes)
            self.evaluator.memo.put(key, (value, self.notes, node))
        finally:
            outer += self.notes
            self.notes = outer
        return value

    def frame(self, node: Expr) -> Frame:
        """The value of a vector expression."""
        value = self.value(node)
        if not isinstance(value, Frame):
            raise Unsupported(f"a {node.type} where a vector should be")
        return value

    def scalar(self, node: Expr) -> Floats:
        """The value of a scalar expression: one number for each step."""
        value = self.value(node)
        if not isinstance(value, np.ndarray):
            raise Unsupported(f"a {node.type} where a scalar should be")
        return value

    def text(self, node: Expr) -> str:
        """The value of a string expression."""
        while isinstance(node, Paren):
            node = node.expr
        if not isinstance(node, StringLiteral):
            raise Unsupported(f"a {node.type} where a string should be")
        return node.value

    def _steady(self, node: Expr) -> Value:
        """What is the same at every step: evaluated at the first, and spread."""
        first = self.evaluator.context(Grid(self.grid.times[:1], single=True))
        outer, first.notes = first.notes, []
        try:
            value = first.value(node)
            self.notes += before(first.notes, FIXED)
        finally:
            first.notes = outer
        if isinstance(value, Frame):
            shape = (len(value), self.steps)
            return Frame(
                value.labels, np.broadcast_to(value.values, shape), np.broadcast_to(value.mask, shape), value.dropped
            )  # of one step, so rows are in order
        if isinstance(value, np.ndarray):
            return np.broadcast_to(value, (self.steps,))
        return value

    def _evaluate(self, node: Expr) -> Value:
        if isinstance(node, VectorSelector):
            return self.instant(node)[0]
        if isinstance(node, Binary):
            return binary.evaluate(self, node)
        if isinstance(node, Call):
            return calls.evaluate(self, node)
        if isinstance(node, Aggregate):
            return aggregate.evaluate(self, node)
        if isinstance(node, NumberLiteral):
            return np.broadcast_to(np.float64(node.value), (self.steps,))
        if isinstance(node, Paren):
            return self._remembered(node.expr)
        if isinstance(node, Unary):
            return self._signed(node)
        if isinstance(node, StringLiteral):
            return node.value
        raise Unsupported(f"{type(node).__name__} cannot be evaluated")

    def _signed(self, node: Unary) -> Value:
        value = self.value(node.expr)
        if node.op == "+" or isinstance(value, str):
            return value
        if isinstance(value, Frame):
            return self.unnamed(value.with_values(-value.values), node)
        return -value

    # Selectors

    def select(self, node: VectorSelector) -> Selection:
        """The series that a selector names."""
        return self.evaluator.select(node)

    def moments(self, node: VectorSelector | Subquery) -> Ints:
        """The times at which a selector or a subquery looks, for each step, with `@` and offset."""
        times = self.grid.times
        at = node.at
        if at is not None:
            if not isinstance(at, At):
                raise Unsupported("a dashboard variable as time")
            if at.function == "start":
                moment = self.settings.start
            elif at.function == "end":
                moment = self.settings.end
            else:
                assert at.timestamp_ms is not None
                moment = at.timestamp_ms
            times = np.full(len(times), moment, np.int64)
        return times - self.evaluator.milliseconds(node.offset)

    def instant(self, node: VectorSelector) -> tuple[Frame, Ints]:
        """An instant selector, and the times of its samples in milliseconds (one row for all where shared)."""
        if node.anchored or node.smoothed:
            raise Unsupported("anchored and smoothed")
        selection = self.select(node)
        moments = self.moments(node)
        # Windows are open at their left end in 3.x.
        oldest = moments - self.settings.lookback - (1 if self.settings.closed else 0)
        if len(selection.parts) == 1:
            part = selection.parts[0][1]
            values, mask, when = latest(part, moments, oldest)
        else:
            shape = (len(selection.labels), self.steps)
            values = np.zeros(shape)
            mask = np.zeros(shape, bool)
            when = np.zeros(shape, np.int64)
            for rows, part in selection.parts:
                values[rows], mask[rows], when[rows] = latest(part, moments, oldest)
        kept = np.nonzero(mask.any(axis=1))[0]
        frame = Frame(selection.labels, values, mask)
        if len(kept) < len(selection.labels):
            frame = frame.take(kept)
            if len(when) > 1:
                when = when[kept]
        if len(frame) > self.settings.max_samples:
            self.charge(int(frame.mask.sum(axis=0).max()))
        return frame, when

    def charge(self, samples: int) -> None:
        """Raise EvalError for more samples than may be held at once."""
        if samples > self.settings.max_samples:
            raise EvalError(TOO_MANY_SAMPLES)

    # Names

    def unnamed(self, frame: Frame, node: Expr | None = None) -> Frame:
        """Without the metric's name, or with a mark that it is to go.

        Raises Unsupported where series then collide: at one step, or with `node` at whatever steps of this expression.
        """
        if self.settings.delayed:
            return frame.with_labels(frame.labels, np.ones(len(frame), bool))
        labels = [self.nameless(one) for one in frame.labels]
        if node is not None:
            self.own(node, frame.labels, labels)
        return self.unique(frame.with_labels(labels))

    def own(self, node: Expr, sources: list[Labels], labels: list[Labels]) -> None:
        """Raise Unsupported where an expression gives the same labels for different series, even at different steps."""
        owners = self.evaluator.owners
        number = self.evaluator.interner.number(node)
        if len(set(labels)) < len(labels) or any(
            owners.setdefault((number, one), source) != source for one, source in zip(labels, sources, strict=True)
        ):
            raise Unsupported("vector cannot contain metrics with the same labelset")

    def nameless(self, labels: Labels) -> Labels:
        """A label set without name."""
        return label_sets.without(labels, ("__name__",) if self.settings.old else label_sets.METADATA)

    def unique(self, frame: Frame) -> Frame:
        """The frame itself. Raises Unsupported where two rows with the same labels have samples at one step.

        With delayed name removal that is looked at in the end.
        """
        if not self.settings.delayed:
            require_unique(frame.labels, frame.mask)
        return frame

    def none(self) -> Frame:
        return empty(self.steps)
