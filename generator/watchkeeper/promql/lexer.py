"""Text to tokens, numbers and strings as Go reads them, and dashboard variables.

A token is just its text. One regular expression cuts the whole input in a single `findall`, every character included,
so positions are running sums; that is three times as fast as asking a match object for each token.
"""

from __future__ import annotations

import re

from watchkeeper.promql.nodes import Variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# What Grafana takes for a variable (public/app/features/variables/utils.ts), with ASCII \w as in JavaScript.
_VARIABLE = r"\$\w+|\[\[\w+?(?::\w+)?\]\]|\$\{\w+(?:\.[^:^}]+)?(?::[^}]+)?\}"
_VARIABLE_PARTS = r"(?a:\$(\w+)|\[\[(\w+?)(?::(\w+))?\]\]|\$\{(\w+)(?:\.([^:^}]+))?(?::([^}]+))?\})"

_SPACE = r"[ \t\r\n]+|\#[^\r\n]*"
# Closing marks are optional, so that an unclosed string or bracket is one token and costs no second look at the rest.
_STRINGS = r'"[^"\\\n]*(?:\\.?[^"\\\n]*)*"?' + r"|'[^'\\\n]*(?:\\.?[^'\\\n]*)*'?" + r"|`[^`]*`?"
_NUMBER = r"0[xX]\w*|\.?[0-9](?:[eE][+-][0-9]|[\w.])*"
_OPERATORS = r"=~|!~|==|!=|<=|>=|</|>/|."

_RANGE = r"\[[^\[\]#]*(?:#[^\r\n]*[^\[\]#]*)*\]?"
_FLAGS = re.ASCII | re.DOTALL
_PLAIN = rf"{_SPACE}|[a-zA-Z_:][\w:]*|{_NUMBER}|{_STRINGS}|{_RANGE}|{_OPERATORS}"
_WITH_VARIABLES = (
    rf"{_SPACE}|[\w:]*(?:{_VARIABLE})(?:{_VARIABLE}|[\w:])*|[a-zA-Z_:][\w:]*|{_NUMBER}|{_STRINGS}"
    rf"|\[(?:{_VARIABLE}|#[^\r\n]*|[^\[\]#])*\]?|{_OPERATORS}"
)
# Inside brackets a colon parts the range from the step; elsewhere it is a letter of metric names.
_BRACKET = rf"{_SPACE}|[a-zA-Z_]\w*|{_NUMBER}|{_STRINGS}|."
_BRACKET_WITH_VARIABLES = rf"{_SPACE}|[\w.]*(?:{_VARIABLE})(?:{_VARIABLE}|[\w.])*|[a-zA-Z_]\w*|{_NUMBER}|{_STRINGS}|."

_D = r"[0-9]+(?:_[0-9]+)*"
# These few are left to re's own cache: most programs never meet them, and compiling costs at every start.
_GO_NUMBER = rf"0[xX]_?[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*|(?:{_D}(?:\.(?:{_D})?)?|\.{_D})(?:[eE][+-]?{_D})?"
_OCTAL = r"0[0-7_]+"
_DURATION_LIKE = r"[0-9]+[smhdwy]s?(?:[0-9]+[smhdw]s?)*"
_DURATION_START = r"[0-9.]+[smhdwy]"
# What a byte that is not UTF-8 looks like here, and to Go, which takes a literal U+FFFD for one.
_SURROGATE = "[\ud800-\udfff\ufffd]"

_INT64_DIGITS = 24
_SHOWN = 40  # characters
_UNITS_MS = {"s]": 1000, "m]": 60_000, "h]": 3_600_000, "d]": 86_400_000, "w]": 604_800_000}
_FEW_DIGITS = 4  # of any unit, these are in range

_ESCAPES = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
}
_NUMERIC_ESCAPES = {"x": (2, 16, 255), "u": (4, 16, 0x10FFFF), "U": (8, 16, 0x10FFFF)}


class LexError(ValueError):
    """A token is not well formed. `position` is an offset into the token."""

    def __init__(self, message: str, position: int = 0, end: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.end = end


def _cutter(pattern: str) -> Callable[..., tuple[list[str], list[int]]]:
    findall: Callable[[str], list[str]] | None = None

    def cut(text: str, position: int = 0) -> tuple[list[str], list[int]]:
        nonlocal findall
        if findall is None:
            findall = re.compile(pattern, _FLAGS).findall
        tokens: list[str] = []
        starts: list[int] = []
        for word in findall(text):
            # Most tokens start with a character beyond those of space and comments.
            if word > "$" or word[0] not in " \t\r\n#":
                tokens.append(word)
                starts.append(position)
            position += len(word)
        tokens.append("")
        starts.append(position)
        return tokens, starts

    return cut


# (text, position of its first character) -> tokens and where they start; both end with an empty token for the end.
cut_plain = _cutter(_PLAIN)
cut_with_variables = _cutter(_WITH_VARIABLES)
cut_bracket = _cutter(_BRACKET)
cut_bracket_with_variables = _cutter(_BRACKET_WITH_VARIABLES)


def shown(token: str) -> str:
    """A token as messages show it, cut where it is long."""
    return token if len(token) <= _SHOWN else f"{token[:_SHOWN]}..."


def is_duration(token: str) -> bool:
    """Whether a token that starts with a digit is meant as a duration, such as 5m, and not as a number."""
    return re.fullmatch(_DURATION_LIKE, token) is not None


def number(token: str) -> float:
    """The value of a number as Go's strconv reads it. Raises LexError."""
    if re.fullmatch(_GO_NUMBER, token) is None:
        hint = ""
        if re.match(_DURATION_START, token):
            hint = ": a duration is written as whole numbers with the units y, w, d, h, m, s, ms, such as 1h30m"
        raise LexError(f'"{shown(token)}" is not a number or a duration{hint}')
    digits = token.replace("_", "")
    if token[0] == "0" and len(token) > 1:
        if token[1] in "xX":
            value = int(digits, 16)
            # Go falls back to reading a float, and a hexadecimal float needs an exponent.
            if value >= 2**63:
                raise LexError(f"{shown(token)} is out of range: a hexadecimal number has at most 63 bits")
            return float(value)
        if re.fullmatch(_OCTAL, token) and len(token) < _INT64_DIGITS:
            value = int(digits, 8)
            if value < 2**63:
                return float(value)
    result = float(digits)
    if result in (float("inf"), float("-inf")):
        raise LexError(f"{shown(token)} is out of range: the largest number is about 1.8e308")
    return result


def simple_range(token: str) -> int | None:
    """For a bracket token such as `[5m]`, without space in it, the milliseconds; None for all others.

    Most ranges are like this, and take a fifth of the time of the parser for durations.
    """
    unit = _UNITS_MS.get(token[-2:])
    digits = token[1:-2]
    if unit is None or len(digits) > _FEW_DIGITS or not (digits.isdigit() and digits.isascii()):
        return None
    return int(digits) * unit


def unquote(token: str) -> str:
    """The value of a string token, escapes resolved by Go's rules. Raises LexError.

    Escapes that give bytes which are not UTF-8 come out as lone surrogates, as `surrogateescape` makes them; a lone
    surrogate in the text itself is a byte that is not UTF-8 and is refused.
    """
    quote = token[0]
    surrogate = None if token.isascii() else re.search(_SURROGATE, token)
    if surrogate:
        raise LexError("invalid UTF-8 in a string", surrogate.start(), surrogate.end())
    if "\\" not in token or quote == "`":
        if len(token) < 2 or token[-1] != quote:
            raise LexError(f"unterminated string: expected a closing {quote}", 0, 1)
        return token[1:-1]
    return _unescape(token, quote)


def _unescape(token: str, quote: str) -> str:
    pieces: list[bytes] = []
    position = 1
    size = len(token)
    while True:
        backslash = token.find("\\", position)
        if backslash < 0:
            break
        pieces.append(token[position:backslash].encode())
        piece, position = _escape(token, backslash, size, quote)
        pieces.append(piece)
    if position >= size or token[-1] != quote:
        raise LexError(f"unterminated string: expected a closing {quote}", 0, 1)
    pieces.append(token[position:-1].encode())
    return b"".join(pieces).decode(errors="surrogateescape")


def _escape(token: str, backslash: int, size: int, quote: str) -> tuple[bytes, int]:
    """The bytes of the escape sequence at `backslash`, and the position behind it."""
    at = backslash + 1
    if at >= size:
        raise LexError("escape sequence not terminated", backslash, size)
    char = token[at]
    if char == quote:
        return quote.encode(), at + 1
    if char in _ESCAPES:
        return _ESCAPES[char].encode(), at + 1
    if char in "01234567":
        length, base, limit = 3, 8, 255
    elif char in _NUMERIC_ESCAPES:
        length, base, limit = _NUMERIC_ESCAPES[char]
        at += 1
    else:
        raise LexError(
            f'unknown escape sequence "\\{char}": write "\\\\{char}" for a backslash, or put the string in backticks',
            backslash,
            at + 1,
        )
    digits = token[at : at + length]
    allowed = "01234567" if base == 8 else "0123456789abcdefABCDEF"
    for index, digit in enumerate(digits):
        if digit not in allowed:
            raise LexError(f'illegal character "{digit}" in an escape sequence', at + index, at + index + 1)
    if len(digits) < length:
        raise LexError("escape sequence not terminated", backslash, size)
    value = int(digits, base)
    if value > limit or 0xD800 <= value < 0xE000:
        raise LexError("escape sequence is not a Unicode code point", backslash, at + length)
    encoded = bytes([value]) if limit == 255 else chr(value).encode()
    return encoded, at + length


def variables(text: str) -> list[Variable]:
    """Every use of a dashboard variable in a text, wherever Grafana would replace one, strings and comments included.

    `$1`, `${1}` and the like are left out: they are group references of label_replace.
    """
    return variables_at(text, 0)


def variables_at(text: str, position: int) -> list[Variable]:
    """The same for a piece of text that starts at `position`."""
    found = []
    for match in re.finditer(_VARIABLE_PARTS, text):
        plain, square, square_format, curly, field, curly_format = match.groups()
        name = plain or square or curly
        if not name.isdigit():
            found.append(
                Variable(
                    name,
                    field or "",
                    square_format or curly_format or "",
                    position + match.start(),
                    position + match.end(),
                )
            )
    return found


def variable_end(text: str, start: int) -> int:
    """Where the variable that starts at `start` with a "$" ends."""
    match = re.match(_VARIABLE_PARTS, text[start:])
    return start + (match.end() if match else 1)


def without_variables(text: str, sample: str) -> str:
    """A text with every variable replaced by a sample value."""
    return re.sub(
        _VARIABLE_PARTS, lambda match: match.group() if match.group(1) and match.group(1).isdigit() else sample, text
    )


def has_variables(text: str) -> bool:
    return ("$" in text or "[[" in text) and bool(variables_at(text, 0))
