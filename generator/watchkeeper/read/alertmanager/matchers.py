"""Alertmanager's matchers in both their syntaxes.

Before 0.27 there is the classic syntax. Since then a text is read by a UTF-8 parser too: what only one of them takes
means what that says, and where both take it and disagree, the classic one holds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.engine.regex import RegexError as Unmatchable
from watchkeeper.engine.regex import alternatives, predicate
from watchkeeper.promql.lexer import LexError, unquote
from watchkeeper.promql.regex import RegexError, check
from watchkeeper.proof.routing import Matcher

if TYPE_CHECKING:
    from watchkeeper.subject import Text


class MatcherError(ValueError):
    """What is wrong with a text of matchers, at `start` to `end` in it."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.start = start
        self.end = end


def make(  # noqa: PLR0917 - the first three read as the matcher does
    name: str, op: str, value: str, text: Text, start: int = 0, end: int | None = None
) -> Matcher:
    """Return a matcher that stands at `text.value[start:end]`. Raises MatcherError for a bad regular expression."""
    if op[-1] != "~":
        return Matcher(name, op, value, frozenset({value}).__contains__, frozenset({value}), text, start, end)
    stop = len(text.value) if end is None else end
    try:
        check(value)
        values = alternatives(value)
        # Unlike Prometheus, Alertmanager does not let the dot match a line break.
        accepts = predicate(f"(?-s:{value})" if "." in value and values is None else value)
    except (RegexError, Unmatchable) as error:
        raise MatcherError(f"not a regular expression: {error}", start, stop) from None
    return Matcher(name, op, value, accepts, None if values is None else frozenset(values), text, start, end)


def matchers(text: Text) -> list[Matcher]:
    """Return the matchers of a text, such as `severity="page", team=~"a|b"`. Raises MatcherError."""
    try:
        new = _utf8(text)
    except MatcherError as error:
        try:
            return _classic(text)
        except MatcherError:
            raise error from None  # it says where
    try:
        old = _classic(text)
    except MatcherError:
        return new
    return new if list(map(str, new)) == list(map(str, old)) else old


# The UTF-8 syntax. Without quotes a name or a value is anything but blanks and what has a meaning.
_TOKEN = re.compile(r"""\s*(?:(=~|!~|!=|=)|([{},])|("(?:[^"\\]|\\.)*")|([^\s{}!=~,\\"'`]+)|(\S|$))""", re.DOTALL)


def _utf8(text: Text) -> list[Matcher]:
    tokens = [(m.lastindex or 0, m[m.lastindex or 0], m.start(m.lastindex or 0)) for m in _TOKEN.finditer(text.value)]
    tokens = [token for token in tokens if token[1]]
    found: list[Matcher] = []
    at = 1 if tokens and tokens[0][1] == "{" else 0
    braced = at == 1

    def word(what: str) -> tuple[str, int, int]:
        nonlocal at
        kind, token, start = tokens[at] if at < len(tokens) else (0, "", len(text.value))
        if kind not in (3, 4):
            raise _expected(what, token, start)
        at += 1
        return _unquoted(token, start) if kind == 3 else token, start, start + len(token)

    while at < len(tokens) and tokens[at][1] != "}":
        name, start, _ = word("a label name")
        kind, op, place = tokens[at] if at < len(tokens) else (0, "", len(text.value))
        if kind != 1:
            raise _expected("=, !=, =~ or !~", op, place)
        at += 1
        value, _, end = word("a value")
        found.append(make(name, op, value, text, start, end))
        if at < len(tokens) and tokens[at][1] != "}":
            if tokens[at][1] != ",":
                raise _expected("a comma", *tokens[at][1:])
            at += 1
    if braced:
        if at >= len(tokens):
            raise _expected("}", "", len(text.value))
        at += 1
    if at < len(tokens):
        raise _expected("the end", *tokens[at][1:])
    return found


def _unquoted(token: str, start: int) -> str:
    if "\n" in token:
        raise MatcherError("a line break inside quotes: write \\n", start, start + len(token))
    try:
        value = unquote(token)
    except LexError as error:
        raise MatcherError(str(error), start, start + len(token)) from None
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise MatcherError("invalid UTF-8 inside quotes", start, start + len(token))
    return value


def _expected(what: str, token: str, start: int) -> MatcherError:
    found = f", not {token}" if token else ", not the end"
    return MatcherError(f"expected {what}{found}", start, start + len(token))


# The classic syntax: commas outside quotes part the matchers, and a value may go without quotes.
_CLASSIC = re.compile(
    r"[\t\n\f\r ]*([a-zA-Z_:][a-zA-Z0-9_:]*)[\t\n\f\r ]*(=~|=|!=|!~)[\t\n\f\r ]*(.*?)[\t\n\f\r ]*", re.DOTALL
)


def _classic(text: Text) -> list[Matcher]:
    found: list[Matcher] = []
    for start, end in _parts(text.value):
        piece = text.value[start:end]
        match = _CLASSIC.fullmatch(piece)
        if match is None:
            raise MatcherError('not a matcher: write name="value"', start, end)
        value = _classic_value(match[3], start + match.start(3))
        stop = start + match.end(3)
        found.append(make(match[1], match[2], value, text, start + match.start(1), stop))
    return found


def _parts(value: str) -> list[tuple[int, int]]:
    begin = 1 if value.startswith("{") else 0
    stop = len(value) - 1 if value.endswith("}") and len(value) > begin else len(value)
    parts = []
    quoted = escaped = False
    start = begin
    for at in range(begin, stop):
        char = value[at]
        if char == ",":
            if not quoted:
                parts.append((start, at))
                start = at + 1
        elif char == '"':
            quoted = quoted if escaped else not quoted
            escaped = False
        else:
            escaped = char == "\\" and not escaped
    if value[start:stop].strip():
        parts.append((start, stop))
    return parts


def _classic_value(written: str, start: int) -> str:
    body = written[1:] if written[:1] == '"' else written
    opened = body is not written
    pieces: list[str] = []
    at = 0
    while at < len(body):
        char = body[at]
        at += 1
        if char == "\\" and at < len(body):
            escape = body[at]
            at += 1
            pieces.append({"n": "\n", '"': '"', "\\": "\\"}.get(escape, f"\\{escape}"))
        elif char == '"':
            if not opened or at < len(body):
                raise MatcherError('a " inside the value: write \\"', start, start + len(written))
            return "".join(pieces)
        else:
            pieces.append(char)
    if opened:
        raise MatcherError('a value without its closing "', start, start + len(written))
    return "".join(pieces)
