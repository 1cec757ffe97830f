"""The durations in `[5m]`, `[5m * 2:1m]` and `offset (1h - step())`.

A language of its own in Prometheus' grammar: numbers are seconds, and only arithmetic, step(), range(), min_of() and
max_of() are in it. Prometheus 3.4 brought it, 3.14 made it stable.
"""

from __future__ import annotations

from watchkeeper.promql import durations, lexer
from watchkeeper.promql.cursor import MAX_DEPTH, UNIT_WORDS, Cursor
from watchkeeper.promql.nodes import DurationExpr, DurationLiteral

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.promql.errors import ParseError
    from watchkeeper.promql.nodes import Duration

_STRENGTHS = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "^": 3}
_MULTIPLIED = 2
_EXPECTED = ("a duration such as 5m", "a number of seconds", "step()", "range()", '"("')


class DurationParser(Cursor):
    """Reads one duration, or the two in brackets, from `at` on.

    `closing` is what ends the tokens: "]", or "" for the end of the input. `where` goes into messages.
    """

    __slots__ = ("closing", "where")

    def __init__(self, outer: Cursor, tokens: list[str], starts: list[int], where: str, closing: str) -> None:
        super().__init__(outer.text, tokens, starts, outer.variables)
        self.depth = outer.depth
        self.where = where
        self.closing = closing

    def describe(self, word: str) -> str:
        return super().describe(word or self.closing)

    def brackets(self, opening: int) -> tuple[Duration, bool, Duration | None]:
        """The range, whether a colon follows it, and the step. `opening` is the offset of the "["."""
        if not self.tokens[self.at] and not self.closing:
            raise self.unclosed(opening, "]")
        range_ = self._positive()
        step: Duration | None = None
        colon = self.tokens[self.at] == ":"
        if colon:
            self.at += 1
            if self.tokens[self.at]:
                step = self._positive()
        if self.tokens[self.at]:
            raise self._refuse_rest(colon)
        if not self.closing:
            raise self.unclosed(opening, "]")
        return range_, colon, step

    def _refuse_rest(self, colon: bool) -> ParseError:
        word = self.tokens[self.at]
        hint = ""
        before = self.tokens[self.at - 1]
        if word in UNIT_WORDS and before[-1:].isdigit():
            hint = f'write the duration without a space, "{before}{word}"'
        return self.unexpected(self.where, ("an operator", '"]"') if colon else ("an operator", '":"', '"]"'), hint)

    def _positive(self) -> Duration:
        duration = self._duration(0)
        # Prometheus, too, looks at literals only: what an expression comes to is found out when it is evaluated.
        if type(duration) is DurationLiteral and duration.seconds <= 0:
            raise self.error_at("a duration in brackets must be greater than 0", duration)
        return duration

    def offset(self) -> Duration:
        """What `offset` takes: arithmetic only in parentheses, so that `x offset 5m - 1` is a difference."""
        return self._signed(None)

    def _duration(self, strength: int) -> Duration:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.too_deep()
        lhs = self._signed(_MULTIPLIED)
        while True:
            operator = self.tokens[self.at]
            bound = _STRENGTHS.get(operator, 0)
            if bound <= strength:
                self.depth -= 1
                return lhs
            position = self.starts[self.at]
            self.at += 1
            rhs = self._duration(bound - 1 if operator == "^" else bound)
            if operator in {"/", "%"} and type(rhs) is DurationLiteral and rhs.seconds == 0:
                raise self.error("division by zero" if operator == "/" else "modulo by zero", position, rhs.end)
            lhs = DurationExpr(operator, lhs, rhs, lhs.start, rhs.end)

    def _signed(self, strength: int | None) -> Duration:
        """Signs and what they stand before: an operand, or with a strength also what binds tighter (`-2^2`)."""
        signs: list[tuple[str, int]] = []
        while self.tokens[self.at] in {"+", "-"}:
            signs.append((self.tokens[self.at], self.starts[self.at]))
            self.at += 1
            if len(signs) > MAX_DEPTH:
                raise self.too_deep()
        operand = self._operand() if strength is None or not signs else self._duration(strength)
        for sign, start in reversed(signs):
            if type(operand) is DurationLiteral:
                factor = -1 if sign == "-" else 1
                ms, seconds = factor * operand.ms, factor * operand.seconds
                operand = DurationLiteral(ms, seconds, operand.unit, start, operand.end)
            else:
                operand = DurationExpr(sign, None, operand, start, operand.end)
        return operand

    def _operand(self) -> Duration:
        word = self.tokens[self.at]
        start = self.starts[self.at]
        if word and word[0] in ".0123456789" and word != "." and not self.is_variable(word):
            self.at += 1
            return self._literal(word, start)
        if word == "(":
            self.at += 1
            inner = self._duration(0)
            end = self._close(start)
            if type(inner) is DurationLiteral:
                return DurationLiteral(inner.ms, inner.seconds, inner.unit, start, end)
            return DurationExpr("()", None, inner, start, end)
        if word and self.is_variable(word):
            self.at += 1
            return self.stand_in(word, start)
        low = word.lower()
        if low in {"step", "range", "min_of", "max_of"} and self.tokens[self.at + 1] == "(":
            opening = self.starts[self.at + 1]
            self.at += 2
            if low in {"step", "range"}:
                return DurationExpr(low, None, None, start, self._close(opening))
            lhs = self._duration(0)
            if self.tokens[self.at] != ",":
                raise self.unexpected(f" in {low}", ('","',))
            self.at += 1
            rhs = self._duration(0)
            return DurationExpr(low, lhs, rhs, start, self._close(opening))
        raise self.unexpected(self.where, _EXPECTED)

    def _close(self, opening: int) -> int:
        if self.tokens[self.at] != ")":
            if not self.tokens[self.at] and not self.closing:
                raise self.unclosed(opening, ")")
            raise self.unexpected(self.where, ('")"',))
        self.at += 1
        return self.starts[self.at - 1] + 1

    def _literal(self, word: str, start: int) -> DurationLiteral:
        end = start + len(word)
        try:
            if lexer.is_duration(word):
                ms = durations.parse_duration(word)
                return DurationLiteral(ms, durations.seconds_of(ms), True, start, end)
            seconds = lexer.number(word)
            return DurationLiteral(durations.milliseconds(seconds), seconds, False, start, end)
        except lexer.LexError as error:
            message = error.message
        except durations.DurationError as error:
            message = str(error)
        raise self.error(message, start, end)
