"""The engine: settings, and queries of one time or of many."""

from __future__ import annotations

from watchkeeper.engine.annotations import Annotations
from watchkeeper.engine.results import EvalError, Matrix, Sample, Scalar, String, Vector
from watchkeeper.promql import parse
from watchkeeper.promql.nodes import Expr, Paren, StringLiteral, VectorSelector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.data import Data
    from watchkeeper.engine.labels import Labels
    from watchkeeper.engine.results import Row

# Above so many series x steps NumPy is worth its import (measured: facts of the project, "crossover").
_ARRAYS_FROM = 10_000
MAX_STEPS = 11_000_000


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
        at_ms = round(at * 1000)
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
        step_ms = round(step * 1000)
        if step_ms <= 0:
            raise EvalError("zero or negative query resolution step widths are not accepted. Try a positive integer")
        start_ms = round(start * 1000)
        end_ms = round(end * 1000)
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


def _is_large(query: Query) -> bool:
    """Whether NumPy would win: roughly by selected series times steps."""
    if query.step == 0:
        return False
    steps = (query.end - query.start) // query.step + 1
    if steps * len(query.data) < _ARRAYS_FROM:
        return False
    from watchkeeper.promql import walk

    series = 0
    for node in walk(query.expr):
        if isinstance(node, VectorSelector):
            series += query.data.count(node.metric_name)
    return series * steps >= _ARRAYS_FROM
