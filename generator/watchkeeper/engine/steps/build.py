"""The node for one expression whose operands are nodes already."""

from __future__ import annotations

from watchkeeper.engine.labels import NAME, make
from watchkeeper.engine.results import EvalError
from watchkeeper.engine.steps.aggregations import CountValues, Fold, names_of
from watchkeeper.engine.steps.binary import Negation, ScalarBinary, VectorScalar
from watchkeeper.engine.steps.calls import (
    EXTRACTIONS,
    Absent,
    Clamp,
    Clock,
    DateNow,
    Extraction,
    Map,
    OfTwo,
    Round,
    Timestamp,
    ToScalar,
    ToVector,
)
from watchkeeper.engine.steps.formulas import MAPS
from watchkeeper.engine.steps.grouping import Grouping
from watchkeeper.engine.steps.nodes import Constant, Context, Node
from watchkeeper.engine.steps.windows import InstantSelector, RangeSelector, Timing, WindowSource
from watchkeeper.promql import nodes as tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from watchkeeper.engine.steps.idents import Ident

_PICKS = frozenset({"topk", "bottomk", "limitk", "limit_ratio"})


def unwrapped(expr: tree.Expr) -> tree.Expr:
    """An expression without the parentheses around it."""
    while isinstance(expr, tree.Paren):
        expr = expr.expr
    return expr


def build(context: Context, expr: tree.Expr, operands: list[Node], timing: Timing | None, range_: int) -> Node:
    """The node of an expression. Raises EvalError for what has no value, such as a dashboard variable."""
    place = expr.start
    if isinstance(expr, tree.NumberLiteral | tree.StringLiteral):
        return Constant(context, place, expr.value)
    if isinstance(expr, tree.VectorSelector):
        assert timing is not None
        _refuse_variables(expr)
        return InstantSelector(context, expr, timing, "")
    if isinstance(expr, tree.MatrixSelector):
        assert timing is not None
        _refuse_variables(expr.selector)
        return RangeSelector(context, expr.selector, timing, range_, place)
    if isinstance(expr, tree.Unary):
        return operands[0] if expr.op == "+" else Negation(context, place, operands[0])
    if isinstance(expr, tree.Binary):
        return _binary(context, expr, operands)
    if isinstance(expr, tree.Aggregate):
        return _aggregate(context, expr, operands)
    if isinstance(expr, tree.Call) and expr.function is not None:
        maker = _MAKERS.get(expr.name)
        if maker is not None:
            return maker(context, expr, operands, timing)
        return _call(context, expr, operands)
    raise EvalError("a dashboard variable has no value", place)


def _refuse_variables(selector: tree.VectorSelector) -> None:
    if selector.variables or any(matcher.variables for matcher in selector.matchers):
        raise EvalError("a dashboard variable has no value", selector.start)


def _binary(context: Context, expr: tree.Binary, operands: list[Node]) -> Node:
    lhs, rhs = operands
    place = expr.start
    left, right = expr.lhs.type, expr.rhs.type
    if left == right == "scalar":
        if expr.op in {"</", ">/"}:  # the parser of Prometheus takes it, and every evaluation fails
            raise EvalError(f'operator "{expr.op}" not allowed for Scalar operations', place)
        return ScalarBinary(context, place, expr.op, lhs, rhs)
    if left == "scalar":
        return VectorScalar(context, place, expr.op, rhs, lhs, expr.return_bool, swapped=True)
    if right == "scalar":
        return VectorScalar(context, place, expr.op, lhs, rhs, expr.return_bool, swapped=False)
    from watchkeeper.engine.steps.matching import Match, SetOperation

    if expr.op in {"and", "or", "unless"}:
        return SetOperation(context, place, expr, lhs, rhs)
    return Match(context, place, expr, lhs, rhs)


def _aggregate(context: Context, expr: tree.Aggregate, operands: list[Node]) -> Node:
    names = names_of(expr.grouping)
    place = expr.start
    argument = operands[-1]
    if expr.op == "count_values":
        return CountValues(context, place, argument, names, expr.without, operands[0])
    grouping = Grouping(context, names, expr.without)
    param_place = place if expr.param is None else unwrapped(expr.param).start
    if expr.op in _PICKS:
        from watchkeeper.engine.steps.picks import Pick

        return Pick(context, place, expr.op, argument, grouping, operands[0], param_place)
    param = None if expr.param is None else operands[0]
    return Fold(context, place, expr.op, argument, grouping, param, param_place)


def _call(context: Context, expr: tree.Call, operands: list[Node]) -> Node:
    name = expr.name
    place = expr.start
    if name in MAPS:
        if operands:
            return Map(context, place, name, operands[0])
        return DateNow(context, place, name)
    if name in EXTRACTIONS:
        return Extraction(context, place, name, operands[0])
    from watchkeeper.engine.steps.range_call import FUNCTIONS, RangeCall

    if name in FUNCTIONS:
        at = next(index for index, node in enumerate(operands) if isinstance(node, WindowSource))
        source = operands[at]
        assert isinstance(source, WindowSource)
        scalars = operands[:at] + operands[at + 1 :]
        places = [arg.start for index, arg in enumerate(expr.args) if index != at]
        return RangeCall(context, place, name, source, scalars, places)
    raise EvalError(f"unknown function with name {name!r}", place)


def _wanted_labels(context: Context, argument: tree.Expr) -> Ident:
    """The labels that absent() gives: those that the selector asks for by `=`, each once."""
    argument = unwrapped(argument)
    if isinstance(argument, tree.MatrixSelector):
        argument = argument.selector
    wanted: dict[str, str] = {}
    seen = set()
    if isinstance(argument, tree.VectorSelector):
        for matcher in argument.matchers:
            if matcher.label == NAME:
                continue
            if matcher.op == "=" and matcher.label not in seen:
                wanted[matcher.label] = matcher.value
                seen.add(matcher.label)
            else:
                wanted.pop(matcher.label, None)
    return context.idents.of(make(wanted))


def _absent(context: Context, expr: tree.Call, operands: list[Node], _: Timing | None) -> Node:
    return Absent(context, expr.start, operands[0], _wanted_labels(context, expr.args[0]))


def _absent_over_time(context: Context, expr: tree.Call, operands: list[Node], _: Timing | None) -> Node:
    from watchkeeper.engine.steps.range_call import AbsentOverTime

    source = operands[0]
    assert isinstance(source, WindowSource)
    return AbsentOverTime(context, expr.start, source, _wanted_labels(context, expr.args[0]))


def _timestamp(context: Context, expr: tree.Call, operands: list[Node], timing: Timing | None) -> Node:
    if timing is None:
        return Timestamp(context, expr.start, operands[0])
    selector = unwrapped(expr.args[0])
    assert isinstance(selector, tree.VectorSelector)
    return InstantSelector(context, selector, timing, "time")


def _start_timestamp(context: Context, expr: tree.Call, _: list[Node], timing: Timing | None) -> Node:
    if timing is None:
        return _constant_vector(context, expr.start)
    selector = unwrapped(expr.args[0])
    assert isinstance(selector, tree.VectorSelector)
    return InstantSelector(context, selector, timing, "start")


def _constant_vector(context: Context, place: int) -> Node:
    """A vector without samples."""
    node = Constant(context, place, "")
    node.out = []
    return node


def _clamp(context: Context, expr: tree.Call, operands: list[Node], _: Timing | None) -> Node:
    return Clamp(context, expr.start, expr.name, operands)


def _round(context: Context, expr: tree.Call, operands: list[Node], _: Timing | None) -> Node:
    return Round(context, expr.start, operands)


def _scalar(context: Context, expr: tree.Call, operands: list[Node], _: Timing | None) -> Node:
    return ToScalar(context, expr.start, operands[0])


def _vector(context: Context, expr: tree.Call, operands: list[Node], _: Timing | None) -> Node:
    return ToVector(context, expr.start, operands[0])


def _time(context: Context, expr: tree.Call, _: list[Node], __: Timing | None) -> Node:
    return Clock(context, expr.start)


def _of_two(context: Context, expr: tree.Call, operands: list[Node], _: Timing | None) -> Node:
    return OfTwo(context, expr.start, expr.name, operands)


def _number(context: Context, expr: tree.Call, _: list[Node], __: Timing | None) -> Node:
    query = context.query
    values = {
        "pi": 3.141592653589793,
        "start": query.start / 1000,
        "end": query.end / 1000,
        "range": (query.end - query.start) / 1000,
        "step": query.step / 1000,
    }
    return Constant(context, expr.start, values[expr.name])


def _sort(context: Context, expr: tree.Call, operands: list[Node], _: Timing | None) -> Node:
    from watchkeeper.engine.steps.label_calls import Sort

    return Sort(context, expr.start, expr.name, operands[0], [node.out for node in operands[1:]])


def _label_replace(context: Context, expr: tree.Call, operands: list[Node], _: Timing | None) -> Node:
    from watchkeeper.engine.steps.label_calls import LabelReplace

    return LabelReplace(context, expr.start, operands[0], [node.out for node in operands[1:]])


def _label_join(context: Context, expr: tree.Call, operands: list[Node], _: Timing | None) -> Node:
    from watchkeeper.engine.steps.label_calls import LabelJoin

    return LabelJoin(context, expr.start, operands[0], [node.out for node in operands[1:]])


def _histogram_quantile(context: Context, expr: tree.Call, operands: list[Node], _: Timing | None) -> Node:
    from watchkeeper.engine.steps.classic import Quantiles

    return Quantiles(context, expr.start, operands[1], [operands[0]], [expr.args[0].start], None)


def _histogram_quantiles(context: Context, expr: tree.Call, operands: list[Node], _: Timing | None) -> Node:
    from watchkeeper.engine.steps.classic import Quantiles

    places = [arg.start for arg in expr.args[2:]]
    return Quantiles(context, expr.start, operands[0], operands[2:], places, operands[1].out)


def _histogram_fraction(context: Context, expr: tree.Call, operands: list[Node], _: Timing | None) -> Node:
    from watchkeeper.engine.steps.classic import Fraction

    return Fraction(context, expr.start, operands[2], operands[0], operands[1])


def build_info(context: Context, expr: tree.Call, argument: Node, timings: list[Timing]) -> Node:
    """info(); `timings` lead to the time that the selector in its first argument looks at."""
    from watchkeeper.engine.steps.info import Info

    selector = unwrapped(expr.args[1]) if len(expr.args) > 1 else None
    assert selector is None or isinstance(selector, tree.VectorSelector)
    return Info(context, expr.start, argument, selector, timings)


_MAKERS: dict[str, Callable[[Context, tree.Call, list[Node], Timing | None], Node]] = {
    "absent": _absent,
    "absent_over_time": _absent_over_time,
    "clamp": _clamp,
    "clamp_max": _clamp,
    "clamp_min": _clamp,
    "end": _number,
    "histogram_fraction": _histogram_fraction,
    "histogram_quantile": _histogram_quantile,
    "histogram_quantiles": _histogram_quantiles,
    "label_join": _label_join,
    "label_replace": _label_replace,
    "max_of": _of_two,
    "min_of": _of_two,
    "pi": _number,
    "range": _number,
    "round": _round,
    "scalar": _scalar,
    "sort": _sort,
    "sort_by_label": _sort,
    "sort_by_label_desc": _sort,
    "sort_desc": _sort,
    "start": _number,
    "start_timestamp": _start_timestamp,
    "step": _number,
    "time": _time,
    "timestamp": _timestamp,
    "vector": _vector,
}
