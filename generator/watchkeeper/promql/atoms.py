"""Numbers, strings and lists of labels."""

from __future__ import annotations

from watchkeeper.promql import durations, lexer
from watchkeeper.promql.cursor import DIGITS, IDENTIFIER_START, QUOTES, Cursor
from watchkeeper.promql.nodes import Label, NumberLiteral

_SURELY_FINITE = 300  # characters


class AtomParser(Cursor):
    """What has no expression inside."""

    __slots__ = ()

    def _number(self, word: str, start: int) -> NumberLiteral:
        # Plain decimals, spelt out: Go's other notations cost a regular expression or two.
        whole, point, fraction = word.partition(".")
        if whole.isdigit() and len(word) < _SURELY_FINITE:
            if point:
                if fraction.isdigit():
                    return NumberLiteral(float(word), start, start + len(word))
            elif word[0] != "0":
                return NumberLiteral(float(word), start, start + len(word))
        end = start + len(word)
        try:
            if word[-1] in DIGITS or not lexer.is_duration(word):
                return NumberLiteral(lexer.number(word), start, end)
            return NumberLiteral(durations.seconds_of(durations.parse_duration(word)), start, end, True)
        except lexer.LexError as error:
            message = error.message
        except durations.DurationError as error:
            message = str(error)
        raise self.error(message, start, end)

    def _string(self, word: str, start: int) -> str:
        # The common case, spelt out: it saves a call and its exception handler.
        if "\\" not in word and len(word) > 1 and word[-1] == word[0] and word.isascii():
            return word[1:-1]
        try:
            return lexer.unquote(word)
        except lexer.LexError as error:
            end = len(word) if error.end is None else error.end
            raise self.error(error.message, start + error.position, start + end) from None

    def _labels(self, where: str) -> tuple[Label, ...]:
        """`(a, "b.c",)`, the parentheses included."""
        opening = self.at
        if self.tokens[opening] != "(":
            raise self.unexpected(where, ('"("',))
        self.at += 1
        labels: list[Label] = []
        while True:
            word = self.tokens[self.at]
            start = self.starts[self.at]
            if word == ")":
                break
            labels.append(self._label(word, start, where, opening))
            self.at += 1
            word = self.tokens[self.at]
            if word == ",":
                self.at += 1
            elif word != ")":
                if not word:
                    raise self.unclosed(self.starts[opening], ")")
                raise self.unexpected(f" in the labels{where}", ('","', '")"'))
        self.at += 1
        return tuple(labels)

    def _label(self, word: str, start: int, where: str, opening: int) -> Label:
        end = start + len(word)
        char = word[:1]
        if self.is_variable(word):
            return Label(word, start, end, self.variables_of(word, start))
        if char and char in IDENTIFIER_START:
            low = word.lower()
            # Prometheus' grammar forgot `without` among the keywords that may be labels, and reads inf and nan as
            # numbers.
            if low in {"without", "inf", "nan"}:
                raise self.unexpected(
                    f" in the labels{where}", ("a label name",), f'write the label in quotes, "{word}"'
                )
            return Label(word, start, end)
        if char and char in QUOTES:
            name = self._string(word, start)
            if not name:
                raise self.error("a label name must not be empty", start, end)
            if not _is_utf8(name):
                raise self.error("a label name must be valid UTF-8", start, end)
            return Label(name, start, end)
        if not word:
            raise self.unclosed(self.starts[opening], ")")
        raise self.unexpected(f" in the labels{where}", ("a label name",))


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
