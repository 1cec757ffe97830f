"""What stands between a binary operator and its right side: bool, on, ignoring, group_left, group_right, fill."""

from __future__ import annotations

from watchkeeper.promql.cursor import DIGITS
from watchkeeper.promql.functions import DOCUMENTED, MATRIX, SCALAR, STRING, UNKNOWN, VECTOR
from watchkeeper.promql.nodes import MANY_TO_MANY, MANY_TO_ONE, ONE_TO_MANY, ONE_TO_ONE, Binary, VectorMatching
from watchkeeper.promql.selector_parser import SelectorParser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.promql.errors import ParseError
    from watchkeeper.promql.nodes import Expr, Label

COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
SET_OPERATORS = frozenset({"and", "or", "unless"})
# Without modifiers; shared, as nodes are never changed once they are made.
_ONE_TO_ONE = VectorMatching(ONE_TO_ONE, False, (), (), None, None, 0, 0)
_SET_MATCHING = VectorMatching(MANY_TO_MANY, False, (), (), None, None, 0, 0)
_NO_OPERAND = frozenset({MATRIX, STRING})


class Modifiers:
    """What was written between a binary operator and its right side."""

    __slots__ = (
        "bool_start",
        "card",
        "end",
        "fill_left",
        "fill_right",
        "include",
        "labels",
        "on",
        "return_bool",
        "start",
    )

    def __init__(self, start: int) -> None:
        self.start = self.bool_start = start
        self.end = 0
        self.return_bool = False
        self.on = False
        self.card = ONE_TO_ONE
        self.labels: tuple[Label, ...] = ()
        self.include: tuple[Label, ...] = ()
        self.fill_left: float | None = None
        self.fill_right: float | None = None

    @property
    def filled(self) -> bool:
        return self.fill_left is not None or self.fill_right is not None


class MatchingParser(SelectorParser):
    """Reads the modifiers of binary operators."""

    __slots__ = ()

    def _modifiers(self) -> Modifiers | None:
        """What stands between an operator and its right side; None where that is nothing after all."""
        found = Modifiers(self.starts[self.at])
        low = self.tokens[self.at].lower()
        if low == "bool":
            found.return_bool = True
            self.at += 1
            low = self.tokens[self.at].lower()
            found.start = self.starts[self.at]
        if low in {"on", "ignoring"}:
            found.on = low == "on"
            self._next(found)
            found.labels = self._labels(f" behind {low}")
            found.end = self.starts[self.at - 1] + 1
            low = self.tokens[self.at].lower()
            if low in {"group_left", "group_right"}:
                found.card = MANY_TO_ONE if low == "group_left" else ONE_TO_MANY
                self._next(found)
                if self.tokens[self.at] == "(":
                    found.include = self._labels(f" behind {low}")
                    found.end = self.starts[self.at - 1] + 1
                low = self.tokens[self.at].lower()
        elif low in {"group_left", "group_right"}:
            raise self.unexpected(
                "", ("on(...)", "ignoring(...)", "an expression"), f"{low} follows on(...) or ignoring(...)"
            )
        while low in {"fill", "fill_left", "fill_right"} and self.tokens[self.at + 1] == "(":
            self._fill(low, found)
            low = self.tokens[self.at].lower()
        # Where nothing was found, the keyword is a metric named fill.
        return found if found.end or found.return_bool else None

    def _next(self, found: Modifiers) -> None:
        found.end = self.starts[self.at] + len(self.tokens[self.at])
        self.at += 1

    def _fill(self, low: str, found: Modifiers) -> None:
        start = self.starts[self.at]
        if (found.fill_left is not None and low != "fill_right") or (
            found.fill_right is not None and low != "fill_left"
        ):
            raise self.error(
                "fill is given once: fill(x) for both sides, or fill_left(x) and fill_right(y)", start, start + len(low)
            )
        opening = self.at + 1
        self.at += 2
        sign = 1.0
        if self.tokens[self.at] in {"+", "-"}:
            sign = -1.0 if self.tokens[self.at] == "-" else 1.0
            self.at += 1
        word = self.tokens[self.at]
        if word.lower() in {"inf", "nan"}:
            value = float(word)
        elif word and (word[0] in DIGITS or (word[0] == "." and word != ".")):
            value = self._number(word, self.starts[self.at]).value
        else:
            raise self.unexpected(f" in {low}", ("a number",))
        self.at += 1
        if self.tokens[self.at] != ")":
            if not self.tokens[self.at]:
                raise self.unclosed(self.starts[opening], ")")
            raise self.unexpected(f" in {low}", ('")"',))
        found.end = self.starts[self.at] + 1
        self.at += 1
        value *= sign
        if low != "fill_right":
            found.fill_left = value
        if low != "fill_left":
            found.fill_right = value

    def _matching(self, operator: str, modifiers: Modifiers, card: str, scalar: bool) -> VectorMatching | None:
        if scalar:
            # Empty lists pass, as in `x == on() 1`: Prometheus looks at the labels only.
            if modifiers.labels or modifiers.filled:
                raise self.error(
                    "vector matching is only allowed between instant vectors, and one side is a scalar",
                    modifiers.start,
                    modifiers.end,
                )
            return None
        if operator in SET_OPERATORS:
            if modifiers.card != ONE_TO_ONE:
                raise self.error(f'no grouping allowed for "{operator}"', modifiers.start, modifiers.end)
            if modifiers.filled:
                raise self.error(f'no filling allowed for "{operator}"', modifiers.start, modifiers.end)
        else:
            card = modifiers.card
        if modifiers.on:
            names = {label.name for label in modifiers.labels}
            for label in modifiers.include:
                if label.name in names:
                    raise self.error_at(
                        f'label "{label.name}" must not be in on(...) and group_left or group_right at once', label
                    )
        return VectorMatching(
            card,
            modifiers.on,
            modifiers.labels,
            modifiers.include,
            modifiers.fill_left,
            modifiers.fill_right,
            modifiers.start,
            modifiers.end,
        )

    def _combined(self, operator: str, lhs: Expr, rhs: Expr, position: int, modifiers: Modifiers | None) -> Binary:
        """The binary operation, if Prometheus would take its types (parser.checkAST)."""
        left = lhs.type
        right = rhs.type
        if left in _NO_OPERAND:
            raise self._refuse_side(operator, lhs)
        if right in _NO_OPERAND:
            raise self._refuse_side(operator, rhs)
        return_bool = modifiers is not None and modifiers.return_bool
        scalar = SCALAR in (left, right)
        if operator in COMPARISONS:
            if left == SCALAR and right == SCALAR and not return_bool:
                raise self.error(
                    f"a comparison between scalars must use bool: write {operator} bool",
                    position,
                    position + len(operator),
                )
        elif return_bool:
            assert modifiers is not None
            raise self.error("bool is only allowed behind a comparison", modifiers.bool_start, modifiers.bool_start + 4)
        if operator in SET_OPERATORS:
            if scalar:
                raise self.error(
                    f'the set operator "{operator}" works between instant vectors only, not on a scalar: '
                    f"vector(...) makes a vector of one",
                    position,
                    position + len(operator),
                )
            card = MANY_TO_MANY
        else:
            card = ONE_TO_ONE
        matching: VectorMatching | None = None
        if modifiers is not None and modifiers.end:
            matching = self._matching(operator, modifiers, card, scalar)
        elif not scalar:
            matching = _SET_MATCHING if card == MANY_TO_MANY else _ONE_TO_ONE
        both = left == SCALAR and right == SCALAR
        type_ = VECTOR if VECTOR in (left, right) else SCALAR if both else UNKNOWN
        return Binary(operator, lhs, rhs, return_bool, matching, type_, position)

    def _refuse_side(self, operator: str, side: Expr) -> ParseError:
        return self.error_at(
            f'"{operator}" works on scalars and instant vectors only, got {DOCUMENTED[side.type]}{_range_hint(side)}',
            side,
        )


def _range_hint(side: Expr) -> str:
    return ": put rate or an ..._over_time function around it" if side.type == MATRIX else ""
