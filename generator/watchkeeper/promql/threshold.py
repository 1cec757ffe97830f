"""The threshold of an alert: the number in the one comparison that decides whether it fires."""

from __future__ import annotations

import math

from watchkeeper.promql.errors import ParseError
from watchkeeper.promql.nodes import Binary, NumberLiteral, Paren, Unary
from watchkeeper.promql.parser import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.promql.nodes import Expr

_MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_INT64 = 2**63


class ThresholdError(ValueError):
    """An expression has no single threshold. The message says why and what to do; `position` and `end` where."""

    def __init__(self, message: str, position: int, end: int) -> None:
        super().__init__(message, position, end)
        self.message = message
        self.position = position
        self.end = end

    def __str__(self) -> str:
        return self.message


class Threshold:
    """`op` reads "value of the series OP threshold"; `start` to `end` is the number in the text, its sign included."""

    __slots__ = ("end", "op", "start", "value")

    def __init__(self, value: float, op: str, start: int, end: int) -> None:
        self.value = value
        self.op = op
        self.start = start
        self.end = end

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Threshold):
            return NotImplemented
        # By text, so that a NaN equals itself.
        return (repr(self.value), self.op, self.start, self.end) == (
            repr(other.value),
            other.op,
            other.start,
            other.end,
        )

    def __hash__(self) -> int:
        return hash((repr(self.value), self.op, self.start, self.end))

    def __repr__(self) -> str:
        return f"Threshold({self.value!r}, {self.op!r}, start={self.start}, end={self.end})"


class Condition(Threshold):
    """A threshold, and how much of the text is the comparison with it: `cut` to `resume`."""

    __slots__ = ("cut", "resume")

    def __init__(self, found: Threshold, cut: int, resume: int) -> None:
        super().__init__(found.value, found.op, found.start, found.end)
        self.cut = cut
        self.resume = resume

    def without(self, text: str) -> str:
        """Return the text without the comparison: what it compares, of all series."""
        return text[: self.cut] + text[self.resume :]


def threshold(expr: Expr) -> Threshold:
    """The number that the one top-level comparison of an alert's expression compares with.

    Looks through parentheses, and at the left side of `and` and `unless`, whose value is the left side's. Raises
    ThresholdError where there is no such comparison or more than one.
    """
    return condition(expr)


def condition(expr: Expr) -> Condition:
    """The one top-level comparison with its number, as `threshold` finds it, and with the same errors."""
    comparison = _comparison(expr)
    if comparison is None:
        found = _stripped(expr)
        if isinstance(found, Binary) and found.op == "or":
            why = 'both sides of "or" may fire, each with a threshold of its own: make them two alerts'
        else:
            why = "there is no comparison at the top of the expression, such as `... > 5`"
        raise ThresholdError(f"the expression has no single threshold: {why}{_OTHERWISE}", found.start, found.end)
    left, right = _literal(comparison.lhs), _literal(comparison.rhs)
    if left is not None and right is not None:
        raise _ambiguous("both sides of the comparison are numbers", comparison)
    if left is None and right is None:
        raise _ambiguous("neither side of the comparison is a plain number", comparison)
    if comparison.return_bool:
        raise _ambiguous(
            "a comparison with bool gives 0 or 1 and never filters, so the alert would always fire: leave bool out",
            comparison,
        )
    series = comparison.rhs if right is None else comparison.lhs
    second = _comparison(series)
    if second is not None and not second.return_bool and (_literal(second.lhs) or _literal(second.rhs)):
        raise _ambiguous("two comparisons with a number follow each other: join them with `and`", comparison)
    if right is not None:
        value, start, end = right
        return Condition(Threshold(value, comparison.op, start, end), comparison.lhs.end, comparison.end)
    assert left is not None
    value, start, end = left
    mirrored = Threshold(value, _MIRRORED[comparison.op], start, end)
    return Condition(mirrored, comparison.start, comparison.rhs.start)


_OTHERWISE = "; or write the alert with a function that takes the threshold as a parameter"


def _ambiguous(why: str, node: Expr) -> ThresholdError:
    return ThresholdError(f"the expression has no single threshold: {why}{_OTHERWISE}", node.start, node.end)


def _stripped(expr: Expr) -> Expr:
    """An expression without parentheses around it and without what `and` and `unless` only narrow."""
    while True:
        if isinstance(expr, Paren):
            expr = expr.expr
        elif isinstance(expr, Binary) and expr.op in {"and", "unless"}:
            expr = expr.lhs
        else:
            return expr


def _comparison(expr: Expr) -> Binary | None:
    expr = _stripped(expr)
    return expr if isinstance(expr, Binary) and expr.op in _MIRRORED else None


def _literal(expr: Expr) -> tuple[float, int, int] | None:
    """The value of a number with signs and parentheses, and the part of the text to replace by another."""
    while isinstance(expr, Paren):
        expr = expr.expr
    start, end = expr.start, expr.end
    sign = 1
    while isinstance(expr, Unary | Paren):
        if isinstance(expr, Unary) and expr.op == "-":
            sign = -sign
        expr = expr.expr
    return (sign * expr.value, start, end) if isinstance(expr, NumberLiteral) else None


def go_number(value: float) -> str:
    """A number as PromQL reads it: whole numbers without a point, `+Inf` and `-Inf`. Raises ValueError for NaN."""
    if isinstance(value, int) and -_INT64 < value < _INT64:
        return str(int(value))
    value = float(value)
    if math.isnan(value):
        raise ValueError("NaN is no threshold: nothing compares with it, and the alert would never fire")
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    text = repr(value)
    return text.removesuffix(".0")


def splice(text: str, found: Threshold, new_value: float) -> str:
    """The author's text with another number in the place of its threshold, and nothing else changed.

    Raises ValueError for NaN, and for a text that the threshold was not found in.
    """
    number = go_number(new_value)
    old = text[found.start : found.end]
    try:
        literal = _literal(parse(old))
    except ParseError:
        literal = None
    if literal is None or repr(literal[0]) != repr(found.value):
        raise ValueError(
            f"the text has {old!r} where the threshold {found.value!r} should be: it is not the text it was found in"
        )
    return text[: found.start] + number + text[found.end :]
