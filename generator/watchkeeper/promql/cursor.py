"""A place in a list of tokens, and the errors that can be raised there."""

from __future__ import annotations

from watchkeeper.promql import lexer
from watchkeeper.promql.errors import LimitError, ParseError, line_and_column
from watchkeeper.promql.nodes import Template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.promql.nodes import Node, Variable

# Three Python frames a level, well under the interpreter's 1,000; Prometheus' own corpus nests 8 deep.
MAX_DEPTH = 128

IDENTIFIER_START = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_:")
DIGITS = frozenset("0123456789")
QUOTES = frozenset("\"'`")
UNIT_WORDS = frozenset({"ms", "s", "m", "h", "d", "w", "y"})


class Cursor:
    """Tokens of `text`, where each starts, and the index `at` of the one at hand. An empty token ends them."""

    __slots__ = ("at", "depth", "lenient", "starts", "text", "tokens", "variables")

    def __init__(self, text: str, tokens: list[str], starts: list[int], variables: bool) -> None:
        self.text = text
        self.tokens = tokens
        self.starts = starts
        self.variables = variables
        self.at = 0
        self.depth = 0
        # Whether selectors that select everything pass for now.
        self.lenient = False

    def error(self, message: str, start: int, end: int, expected: tuple[str, ...] = ()) -> ParseError:
        return ParseError(message, start, end, self.text, expected)

    def error_at(self, message: str, node: Node) -> ParseError:
        return ParseError(message, node.start, node.end, self.text)

    def too_deep(self) -> ParseError:
        start = self.starts[self.at]
        end = start + len(self.tokens[self.at])
        return LimitError(f"nested too deep: more than {MAX_DEPTH} levels", start, end, self.text)

    def describe(self, word: str) -> str:
        if not word:
            return "end of input"
        shown = lexer.shown(word)
        return f"string {shown}" if word[0] in QUOTES else f'"{shown}"'

    def unexpected(self, where: str, expected: tuple[str, ...], hint: str = "") -> ParseError:
        """The error for the token at hand. `where` is "" or starts with a space."""
        word = self.tokens[self.at]
        start = self.starts[self.at]
        if word and (word[0] in "$\\;?&|~" or not word[0].isascii()):
            return self.refuse_character(word, start, hint)
        wanted = " or ".join(expected) if len(expected) < 3 else ", ".join(expected[:-1]) + " or " + expected[-1]
        message = f"unexpected {self.describe(word)}{where}"
        if wanted:
            message += f", expected {wanted}"
        if hint:
            message += f": {hint}"
        return self.error(message, start, start + len(word), expected)

    def refuse_character(self, word: str, start: int, hint: str = "") -> ParseError:
        """The error for a token that no expression has in it."""
        char = word[0]
        if char == "$" and not self.variables:
            return self.error(
                'unexpected "$": variables such as $__rate_interval are for dashboards only',
                start,
                lexer.variable_end(self.text, start),
            )
        if "\ud800" <= char <= "\udfff":
            return self.error("invalid UTF-8", start, start + 1)
        if not hint and not char.isascii():
            hint = 'a name with such characters is written in quotes, as in {"name", "label"="value"}'
        return self.error(f'unexpected character "{char}"' + (f": {hint}" if hint else ""), start, start + 1)

    def unclosed(self, opening: int, closing: str) -> ParseError:
        """The error for the end of input inside brackets that were opened at the offset `opening`."""
        line, column = line_and_column(self.text, opening)
        end = len(self.text)
        return self.error(
            f'unexpected end of input, expected a closing "{closing}" '
            f'for the "{self.text[opening]}" at {line}:{column}',
            end,
            end,
            (f'"{closing}"',),
        )

    def is_variable(self, word: str) -> bool:
        """Whether a token has dashboard variables in it, outside of quotes."""
        return self.variables and ("$" in word or "[[" in word) and word[0] not in QUOTES

    def variables_of(self, word: str, start: int) -> tuple[Variable, ...]:
        """The dashboard variables in a token that has some."""
        found = lexer.variables_at(word, start)
        if not found:
            raise self.error(f'"{word}" is not a variable: its name must not be a number', start, start + len(word))
        return tuple(found)

    def stand_in(self, word: str, start: int) -> Variable | Template:
        """The node for a token with dashboard variables in it."""
        found = self.variables_of(word, start)
        if len(found) == 1 and found[0].start == start and found[0].end == start + len(word):
            return found[0]
        return Template(word, found, start, start + len(word))
