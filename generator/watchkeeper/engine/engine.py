"""The engine: settings, and queries of one time or of many."""

from __future__ import annotations

from watchkeeper.engine.annotations import Annotations
from watchkeeper.engine.results import EvalError, Matrix, Sample, Scalar, String, Vector
from watchkeeper.promql import parse
from watchkeeper.promql.nodes import DurationLiteral, Expr, Node, Paren, StringLiteral, Subquery, VectorSelector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.data import Data
    from watchkeeper.engine.labels import Labels
    from watchkeeper.engine.results import Row

# Above so many series x steps NumPy is worth its import (measured: facts of the project, "crossover").
_ARRAYS_FROM = 10_000
MAX_STEPS = 11_000_000
# Times in seconds that queries are asked for: 30 million years, far within what milliseconds in 64 bits hold.
MAX_TIME = 1e15


class Query:
    """One query for an evaluator. All times are in milliseconds.

    `start == end` for one time; `instant` tells such a query from a range of one step, whose order and `step()`
    differ. `step` is what `step()` sees and what subqueries without a step fall back on only through
    `subquery_step`. Evaluators add to `annotations` and raise EvalError.
    """

    __slots__ = (
        "annotations",
        "closed",
        "compat",
        "data",
        "delayed_name_removal",
        "end",
        "expr",
        "instant",
        "lookback",
        "max_samples",
        "start",
        "step",
        "subquery_step",
        "timeout",
    )

    def __init__(  # noqa: PLR0917
        self, engine: Engine, data: Data, expr: Expr, text: str | None, start: int, end: int, step: int, instant: bool
    ) -> None:
        self.data = data
        self.expr = expr
        self.start = start
        self.end = end
        self.step = step
        self.instant = instant
        self.annotations = Annotations(text)
        self.compat = engine.compat
        self.closed = engine.compat == "2"  # windows include their left end
        self.delayed_name_removal = engine.delayed_name_removal
        self.lookback = round(engine.lookback * 1000)
        self.max_samples = engine.max_samples
        self.subquery_step = round(engine.subquery_step * 1000)
        self.timeout = engine.timeout  # seconds


class Engine:
    """Evaluates PromQL as Prometheus does.

    `compat` "3" is Prometheus 3.14; "2" is 2.42, with ranges closed on both sides and its arithmetic. `lookback` and
    `subquery_step` (of subqueries that give no step: Prometheus' global evaluation interval) are in seconds.
    A query that holds more than `max_samples` samples at once or takes more than `timeout` seconds is given up.
    `evaluator`: "steps" in plain Python, "arrays" with NumPy, "auto" by the amount of work.
    """

    __slots__ = ("compat", "delayed_name_removal", "evaluator", "lookback", "max_samples", "subquery_step", "timeout")

    def __init__(  # noqa: PLR0917  (settings, given by name)
        self,
        compat: str = "3",
        delayed_name_removal: bool = False,
        lookback: float = 300.0,
        max_samples: int = 50_000_000,
        evaluator: str = "auto",
        subquery_step: float = 60.0,
        timeout: float = 120.0,
    ) -> None:
        if compat not in {"2", "3"}:
            raise ValueError(f'compat is "2" or "3", not {compat!r}')
        if evaluator not in {"auto", "steps", "arrays"}:
            raise ValueError(f'evaluator is "auto", "steps" or "arrays", not {evaluator!r}')
        for name, seconds in (("lookback", lookback), ("subquery_step", subquery_step)):
            if not 0.001 <= seconds <= MAX_TIME:
                raise ValueError(f"{name} is a number of seconds, a millisecond or more, not {seconds!r}")
        self.compat = compat
        self.delayed_name_removal = delayed_name_removal
        self.lookback = lookback
        self.max_samples = max_samples
        self.evaluator = evaluator
        self.subquery_step = subquery_step
        self.timeout = timeout

    def instant(
        self, data: Data, expr: str | Expr, at: float, text: str | None = None
    ) -> Vector | Matrix | Scalar | String:
        """The answer at `at` seconds; a Matrix for a range selector. `text` is what a tree was parsed from.

        Raises ParseError for what is no PromQL, EvalError for what has no answer.
        """
        expr, text = _parsed(expr, text)
        at_ms = _milliseconds(at, "the time of the query")
        at = at_ms / 1000
        literal = expr
        while isinstance(literal, Paren):
            literal = literal.expr
        result: Vector | Matrix | Scalar | String
        if isinstance(literal, StringLiteral):
            return String(literal.value, at)
        query = Query(self, data, expr, text, at_ms, at_ms, 0, instant=True)
        rows = self._rows(query)
        if expr.type == "matrix":
            result = Matrix(sorted(rows))
        elif expr.type == "scalar":
            result = Scalar(rows[0][2][0], at)
        else:
            result = Vector([Sample(labels, values[0]) for labels, _, values in rows], at)
        if self.compat != "2":  # 2.42 had no annotations yet
            result.warnings = query.annotations.warnings
            result.infos = query.annotations.infos
        return result

    def range(  # noqa: PLR0917
        self, data: Data, expr: str | Expr, start: float, end: float, step: float, text: str | None = None
    ) -> Matrix:
        """The answers at start, start + step, ... up to `end`, all in seconds. Raises as `instant` does."""
        expr, text = _parsed(expr, text)
        if expr.type not in {"scalar", "vector"}:
            raise EvalError(
                f'invalid expression type "{_DOCUMENTED.get(expr.type, expr.type)}" for range query, '
                "must be Scalar or instant Vector"
            )
        if step <= 0:
            raise EvalError("zero or negative query resolution step widths are not accepted. Try a positive integer")
        step_ms = _milliseconds(step, "the step")
        if step_ms == 0:
            raise EvalError(f"the step is {step!r} seconds: it must be a millisecond or more")
        start_ms = _milliseconds(start, "the start")
        end_ms = _milliseconds(end, "the end")
        if end_ms < start_ms:
            raise EvalError("end timestamp must not be before start time")
        if (end_ms - start_ms) // step_ms >= MAX_STEPS:
            raise EvalError(f"a range query of more than {MAX_STEPS} steps is refused")
        query = Query(self, data, expr, text, start_ms, end_ms, step_ms, instant=False)
        result = Matrix(sorted(self._rows(query), key=_labels_of))
        if self.compat != "2":  # 2.42 had no annotations yet
            result.warnings = query.annotations.warnings
            result.infos = query.annotations.infos
        return result

    def _rows(self, query: Query) -> list[Row]:
        if self.evaluator != "steps" and (self.evaluator == "arrays" or _is_large(query)):
            from watchkeeper.engine import arrays

            rows: list[Row] | None = arrays.evaluate(query)  # type: ignore[attr-defined, unused-ignore]
            if rows is not None:
                return rows
        from watchkeeper.engine import steps

        return steps.evaluate(query)


_DOCUMENTED = {"matrix": "range vector", "string": "string", "unknown": "unknown"}


def _labels_of(row: Row) -> Labels:
    return row[0]


def _parsed(expr: str | Expr, text: str | None) -> tuple[Expr, str | None]:
    return (parse(expr), expr) if isinstance(expr, str) else (expr, text)


def _milliseconds(seconds: float, what: str) -> int:
    """A time of the caller's, rounded. Raises EvalError for NaN and for what is out of all range."""
    if not -MAX_TIME <= seconds <= MAX_TIME:
        raise EvalError(f"{what} is {seconds!r}: it must be a number of seconds, within {MAX_TIME:.0e} of 0")
    return round(seconds * 1000)


def _is_large(query: Query) -> bool:
    """Whether NumPy would win: roughly by selected series times the steps at which they are looked at."""
    work = 0
    # Each node with the span of time over which it is evaluated, and the step.
    todo: list[tuple[Node, int, int]] = [(query.expr, query.end - query.start, query.step)]
    while todo:
        node, span, step = todo.pop()
        if isinstance(node, VectorSelector):
            if step:  # of one time there is not enough to do
                work += (span // step + 1) * query.data.count(node.metric_name)
        elif isinstance(node, Subquery):
            if isinstance(node.range, DurationLiteral):
                span += node.range.ms
            step = node.step.ms if isinstance(node.step, DurationLiteral) else query.subquery_step
            if step <= 0:
                return False
            work += span // step
        if work >= _ARRAYS_FROM:
            return True
        todo += [(child, span, step) for child in node.children()]
    return False
