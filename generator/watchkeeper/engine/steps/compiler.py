"""Syntax tree to program: nodes in order, equal sub-expressions once, what does not depend on time apart.

The tree is walked with a stack of its own, for a chain of operators is as deep as it is long.
"""

from __future__ import annotations

from watchkeeper.engine.results import EvalError
from watchkeeper.engine.steps.build import build, build_info, unwrapped
from watchkeeper.engine.steps.nodes import Context, Frame, Node
from watchkeeper.engine.steps.windows import Subquery, Timing
from watchkeeper.promql import nodes as tree
from watchkeeper.promql.durations import DurationError, resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable

    from watchkeeper.engine.engine import Query

# Their results depend on the time of the evaluation even where their arguments do not (AtModifierUnsafeFunctions).
_TIMED = frozenset({"time", "timestamp", "predict_linear"})
_CALENDAR = frozenset(
    {"day_of_month", "day_of_week", "day_of_year", "days_in_month", "hour", "minute", "month", "year"}
)


class Program:
    """A compiled query: nodes of `fixed` are computed once, those of `frame` at each time."""

    __slots__ = ("context", "fixed", "frame")

    def __init__(self, query: Query) -> None:
        self.context = Context(query)
        self.fixed = Frame(self.context)
        self.frame = Frame(self.context)
        for frame in (self.fixed, self.frame):
            frame.start = query.start
            frame.interval = query.step or 1
        self.fixed.end = query.start
        self.frame.end = query.end
        if not query.data.floats_only:
            from watchkeeper.engine.steps.histogram_series import without_buckets

            self.context.without_buckets = without_buckets(query.expr)
        self.frame.root = _Compiler(self).compile(query.expr)


class Compiled:
    """A node, a number that equal ones share, and whether it is the same at all times."""

    __slots__ = ("fixed", "key", "node")

    def __init__(self, node: Node, key: int, fixed: bool) -> None:
        self.node = node
        self.key = key
        self.fixed = fixed


class _Compiler:
    """Compiles one expression. `todo` is what is asked for, `done` what came of it, both innermost last."""

    __slots__ = ("context", "done", "known", "program", "todo")

    def __init__(self, program: Program) -> None:
        self.program = program
        self.context = program.context
        self.known: dict[Hashable, Compiled] = {}
        # An expression, the frame it belongs to, and once its operands are done: how many, and a subquery's own frame.
        self.todo: list[tuple[tree.Expr, Frame, int, Frame]] = []
        self.done: list[Compiled] = []

    def compile(self, root: tree.Expr) -> Node:
        frame = self.program.frame
        self.todo.append((root, frame, -1, frame))
        while self.todo:
            expr, outer, count, inner = self.todo.pop()
            if count < 0:
                expr = unwrapped(expr)
                operands = _operands(expr)
                inner = Frame(self.context) if isinstance(expr, tree.Subquery) else outer
                self.todo.append((expr, outer, len(operands), inner))
                self.todo += [(operand, inner, -1, inner) for operand in reversed(operands)]
            else:
                operands_done = self.done[len(self.done) - count :]
                del self.done[len(self.done) - count :]
                self.done.append(self._finished(expr, outer, inner, operands_done))
        return self.done[0].node

    def _finished(self, expr: tree.Expr, outer: Frame, inner: Frame, operands: list[Compiled]) -> Compiled:
        timing, range_, step = self._times(expr)
        fixed = _is_fixed(expr, operands, timing)
        if isinstance(expr, tree.Subquery) and timing is not None:
            fixed = timing.at is not None
        info_timings: list[Timing] = []
        if isinstance(expr, tree.Call) and expr.name == "info":
            info_timings = self._info_timings(expr.args[0])
            fixed = operands[0].fixed and any(one.at is not None for one in info_timings)
        home = self.program.fixed if fixed else outer
        at = None if timing is None else (timing.at, timing.offset, range_, step)
        operand_keys = tuple([operand.key for operand in operands])
        selector = expr.selector if isinstance(expr, tree.MatrixSelector) else expr
        stats = id(selector) in self.context.without_buckets
        key = (id(home), type(expr), _own(expr), at, operand_keys, stats)
        found = self.known.get(key)
        if found is not None:
            if not isinstance(expr, tree.Subquery):
                found.node.place = expr.start  # annotations tell the place that comes last
            return found
        nodes = [operand.node for operand in operands]
        node: Node
        if isinstance(expr, tree.Subquery):
            assert timing is not None
            inner.root = nodes[0]
            # Prometheus forgets where a subquery stands and tells the start of the expression.
            node = Subquery(self.context, inner, timing, range_, step, 0)
        elif isinstance(expr, tree.Call) and expr.name == "info":
            node = build_info(self.context, expr, nodes[0], info_timings)
        else:
            node = build(self.context, expr, nodes, timing, range_)
        home.nodes.append(node)
        compiled = self.known[key] = Compiled(node, len(self.known), fixed)
        return compiled

    def _times(self, expr: tree.Expr) -> tuple[Timing | None, int, int]:
        """Where a selector or subquery looks, how far back, and a subquery's step; ms."""
        if isinstance(expr, tree.MatrixSelector):
            return self._timing(expr.selector), self._length(expr.range), 0
        if isinstance(expr, tree.VectorSelector):
            return self._timing(expr), 0, 0
        if isinstance(expr, tree.Subquery):
            step = self.context.query.subquery_step if expr.step is None else self._length(expr.step)
            return self._timing(expr), self._length(expr.range), step
        if isinstance(expr, tree.Call) and expr.name in {"timestamp", "start_timestamp"}:
            argument = unwrapped(expr.args[0])
            if isinstance(argument, tree.VectorSelector):
                return self._timing(argument), 0, 0
        return None, 0, 0

    def _info_timings(self, argument: tree.Expr) -> list[Timing]:
        """From the evaluation to the time of the first selector in an argument, which info series are looked up at."""
        todo: list[tuple[tree.Node, list[Timing]]] = [(argument, [])]
        while todo:
            node, path = todo.pop()
            if isinstance(node, tree.VectorSelector):
                return [*path, self._timing(node)]
            if isinstance(node, tree.Subquery):
                path = [*path, self._timing(node)]
            todo += [(child, path) for child in reversed(node.children())]
        return []

    def _timing(self, node: tree.VectorSelector | tree.Subquery) -> Timing:
        query = self.context.query
        offset = 0 if node.offset is None else self._resolved(node.offset)
        at = node.at
        if at is None:
            return Timing(None, offset)
        if not isinstance(at, tree.At):
            raise EvalError("a dashboard variable has no value", node.start)
        if at.timestamp_ms is not None:
            return Timing(at.timestamp_ms, offset)
        return Timing(query.start if at.function == "start" else query.end, offset)

    def _length(self, duration: tree.Duration) -> int:
        ms = self._resolved(duration)
        if ms <= 0:
            raise EvalError("duration must be greater than 0", duration.start)
        return ms

    def _resolved(self, duration: tree.Duration) -> int:
        query = self.context.query
        if isinstance(duration, tree.DurationLiteral):
            return duration.ms
        try:
            return resolve(duration, step=query.step / 1000, range_=(query.end - query.start) / 1000)
        except DurationError as error:
            raise EvalError(str(error), duration.start) from None


def _operands(expr: tree.Expr) -> list[tree.Expr]:
    """What is to be compiled before an expression."""
    if isinstance(expr, tree.Binary):
        return [expr.lhs, expr.rhs]
    if isinstance(expr, tree.Unary | tree.Subquery):
        return [expr.expr]
    if isinstance(expr, tree.Aggregate):
        return [expr.expr] if expr.param is None else [expr.param, expr.expr]
    if isinstance(expr, tree.Call):
        if expr.name == "info":
            return [expr.args[0]]
        if expr.name in {"timestamp", "start_timestamp"} and isinstance(unwrapped(expr.args[0]), tree.VectorSelector):
            return []
        return list(expr.args)
    return []


def _is_fixed(expr: tree.Expr, operands: list[Compiled], timing: Timing | None) -> bool:
    """Whether the value is the same at all times."""
    if timing is not None:
        return timing.at is not None
    if isinstance(expr, tree.Call) and (expr.name in _TIMED or (expr.name in _CALENDAR and not expr.args)):
        return False
    return all(operand.fixed for operand in operands)


def _own(expr: tree.Expr) -> Hashable:
    """What tells an expression from another of the same operands."""
    if isinstance(expr, tree.NumberLiteral):
        return repr(expr.value)
    if isinstance(expr, tree.StringLiteral):
        return expr.value
    if isinstance(expr, tree.Binary):
        return expr.op, expr.return_bool, expr.matching, expr.type
    if isinstance(expr, tree.Unary):
        return expr.op
    if isinstance(expr, tree.Aggregate):
        return expr.op, expr.modifier, expr.grouping
    if isinstance(expr, tree.VectorSelector):
        return expr.name, expr.matchers, expr.anchored, expr.smoothed
    if isinstance(expr, tree.MatrixSelector):
        return _own(expr.selector)
    if isinstance(expr, tree.Subquery):
        return id(expr)  # a frame of its own
    if isinstance(expr, tree.Call):
        # absent, timestamp and info also look at how their argument is written.
        spelled = expr.name in {"absent", "absent_over_time", "timestamp", "start_timestamp", "info"}
        return expr.name, expr.args if spelled else None
    return id(expr)
