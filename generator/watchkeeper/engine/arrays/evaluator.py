"""Expressions over one store and one range of steps, and what is shared between them."""

from __future__ import annotations

import math
from time import monotonic

import numpy as np

from watchkeeper.engine import regex
from watchkeeper.engine.arrays.context import Context
from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.arrays.grid import Grid, regular
from watchkeeper.engine.arrays.intern import Interner
from watchkeeper.engine.arrays.memo import Memo
from watchkeeper.engine.results import EvalError
from watchkeeper.engine.steps.nodes import TIMED_OUT
from watchkeeper.promql import durations, walk
from watchkeeper.promql.nodes import DurationLiteral, Matcher, VectorSelector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.arrays.context import Value
    from watchkeeper.engine.arrays.notes import Note
    from watchkeeper.engine.arrays.store import Selection, Store
    from watchkeeper.engine.labels import Labels
    from watchkeeper.promql.nodes import Duration, Expr


class Settings:
    """What holds for all expressions of an evaluator. Times in milliseconds."""

    __slots__ = (
        "closed",
        "delayed",
        "end",
        "lookback",
        "max_samples",
        "old",
        "start",
        "step",
        "subquery_step",
        "timeout",
    )

    def __init__(  # noqa: PLR0917
        self,
        start: int,
        end: int,
        step: int,
        lookback: int = 300_000,
        subquery_step: int = 60_000,
        old: bool = False,
        delayed: bool = False,
        max_samples: int = 50_000_000,
        timeout: float = 120.0,
    ) -> None:
        """`old` is compat "2"; `delayed` the delayed removal of names; `timeout` is in seconds, for one expression."""
        self.start = start
        self.end = end
        self.step = step
        self.lookback = lookback
        self.subquery_step = subquery_step
        self.old = old
        self.closed = old
        self.delayed = delayed
        self.max_samples = max_samples
        self.timeout = timeout


class Evaluator:
    """Evaluates expressions over one store and one range of steps; what they share is evaluated once.

    `grid` is all steps of the query, or some of them: `over` makes an evaluator for others.
    """

    __slots__ = (
        "_contexts",
        "_deadline",
        "_numbered",
        "_widths",
        "grid",
        "interner",
        "memo",
        "owners",
        "settings",
        "store",
    )

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self.grid = regular(settings.start, settings.end, settings.step)
        self.interner = Interner()
        # By the number of an expression and labels that it gives: the labels that these came from.
        self.owners: dict[tuple[int, Labels], Labels] = {}
        self._contexts: dict[tuple[bytes, bool], Context] = {}
        self._deadline = math.inf
        self._numbered = 0
        self._widths: dict[int, int] = {}  # of selectors, by their numbers: how many series they find
        self.memo = Memo()

    def over(self, first: int, last: int) -> Evaluator:
        """An evaluator of the same query at the steps from the number `first` up to, not including, `last`."""
        other = Evaluator.__new__(Evaluator)
        other.store = self.store
        other.settings = self.settings
        other.grid = Grid(self.grid.times[first:last], self.grid.single)
        other.interner = self.interner
        other.owners = self.owners
        other._contexts = {}  # noqa: SLF001
        other._deadline = math.inf  # noqa: SLF001
        other._numbered = 0  # noqa: SLF001
        other._widths = self._widths  # noqa: SLF001
        other.memo = Memo()
        return other

    def evaluate(self, expr: Expr, deadline: float | None = None) -> tuple[Value, list[Note]]:
        """The value of an expression and what is to be told of it. Raises Unsupported, EvalError.

        `deadline` is when to give up, on the clock of `time.monotonic`; None is as far off as the settings allow.
        """
        self.interner.number(expr)
        self._deadline = monotonic() + self.settings.timeout if deadline is None else deadline
        context = self.context(self.grid)
        outer, context.notes = context.notes, []
        try:
            with np.errstate(all="ignore"):
                value = context.value(expr)
            return value, context.notes
        finally:
            context.notes = outer

    def check_clock(self) -> None:
        """Raise EvalError where the time is over."""
        if monotonic() > self._deadline:
            raise EvalError(TIMED_OUT)

    def series(self, expr: Expr) -> int:
        """How many series the selector in an expression that finds most of them finds."""
        known = self._widths
        most = 0
        for node in walk(expr):
            if isinstance(node, VectorSelector):
                number = self.interner.number(node)
                if number not in known:
                    known[number] = len(self.select(node).labels)
                most = max(most, known[number])
        return most

    def select(self, node: VectorSelector) -> Selection:
        """The series that a selector names."""
        matchers = node.matchers
        if node.name is not None:
            matchers = (Matcher("__name__", "=", node.name, node.start, node.start, node.start, node.start), *matchers)
        try:
            return self.store.select(matchers)
        except regex.RegexError as error:
            raise Unsupported(str(error)) from None

    def context(self, grid: Grid, passing: bool = False) -> Context:
        """Evaluation at the times of a grid; `passing` where it won't be asked for again."""
        key = grid.key
        found = self._contexts.get(key)
        if found is None:
            self._numbered += 1
            found = Context(self, grid, self._numbered)
            if not passing:
                self._contexts[key] = found
        return found

    def milliseconds(self, duration: Duration | None) -> int:
        """The length of a duration in this query."""
        if duration is None:
            return 0
        if isinstance(duration, DurationLiteral):
            return duration.ms
        settings = self.settings
        try:
            return durations.resolve(duration, step=settings.step / 1000, range_=(settings.end - settings.start) / 1000)
        except durations.DurationError as error:
            raise Unsupported(str(error)) from None
