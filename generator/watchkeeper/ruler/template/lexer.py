"""Text of a template into tokens, as Go's text/template/parse reads it.

All at once and on one master regex; what it does not match is looked at by hand, to say what is wrong with it.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    # Kind, text, offset of its first character.
    Token: TypeAlias = tuple[str, str, int]

# The kinds, named as in messages or by what they are; keywords are their own kind.
EOF = "EOF"
ERROR = "error"
TEXT = "text"
LEFT = "{{"
RIGHT = "}}"
SPACE = "space"
VARIABLE = "variable"
FIELD = "field"
DOT = "."
IDENTIFIER = "identifier"
BOOL = "bool"
NUMBER = "number"
CHAR_CONSTANT = "char constant"
COMPLEX = "complex"
STRING = "string"
RAW_STRING = "raw string"
PIPE = "|"
OPEN = "("
CLOSE = ")"
DECLARE = ":="
ASSIGN = "="
CHAR = "char"
NIL = "nil"
# By their text, so that a kind can be told by identity.
KEYWORDS = {
    word: word
    for word in ("block", "break", "continue", "define", "else", "end", "if", "range", "template", "with", NIL, DOT)
}

_BLANK = " \t\r\n"
_END = r"(?=[ \t\r\n.,|:()]|\}\}|\Z)"
_ITEM = re.compile(
    r"([ \t\r\n]-\}\}[ \t\r\n]*)"  # 1: the end of an action that trims what follows
    r"|([ \t\r\n]+(?=[ \t\r\n]-\}\})|[ \t\r\n]+)"
    r"|(\}\})"
    rf"|(\$\w*){_END}"  # 4
    rf"|(\.(?![0-9])\w*){_END}"
    r"|([0-9]+(?:\.[0-9]+)?)(?=[ \t\r\n|()]|\}\}|\Z)"  # 6: a plain number
    rf"|([^\W0-9]\w*){_END}"
    r"|(\"(?:[^\"\\\n]|\\[^\n])*\")"  # 8
    r"|(`[^`]*`)"
    r"|('(?:[^'\\\n]|\\[^\n])*')"  # 10
    r"|(\|)|(\()|(\))"
    r"|(:=)|(=)",  # 14, 15
)
_KINDS = (
    "", RIGHT, SPACE, RIGHT, VARIABLE, FIELD, NUMBER, IDENTIFIER, STRING, RAW_STRING, CHAR_CONSTANT, PIPE, OPEN, CLOSE,
    DECLARE, ASSIGN,
)  # fmt: skip
_SCAN_NUMBER = (
    r"[+-]?(?:0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][+-]?[0-9_]*)?|0[oO][0-7_]*(?:\.[0-7_]*)?"
    r"|0[bB][01_]*(?:\.[01_]*)?|[0-9_]*(?:\.[0-9_]*)?(?:[eE][+-]?[0-9_]*)?)i?"
)


def unicode_point(char: str) -> str:
    """A character by fmt's %#U: U+003D '='."""
    code = f"U+{ord(char):04X}"
    return f"{code} '{char}'" if char.isprintable() else code


def quote(text: str) -> str:
    """Text by fmt's %q."""
    from watchkeeper.engine.labels import quote as quoted

    return quoted(text)


def tokens_of(text: str) -> list[Token]:
    """The tokens of a template. The last is EOF, or an ERROR whose text says what is wrong."""
    tokens: list[Token] = []
    add = tokens.append
    position = 0
    size = len(text)
    match_at = _ITEM.match
    while True:
        start = text.find(LEFT, position)
        if start < 0:
            if position < size:
                add((TEXT, text[position:], position))
            add((EOF, "", size))
            return tokens
        trims = text[start + 2 : start + 3] == "-" and text[start + 3 : start + 4] in _BLANK and start + 3 < size
        if start > position:
            before = text[position:start]
            if trims:
                before = before.rstrip(_BLANK)
            if before:
                add((TEXT, before, position))
        position = start + 4 if trims else start + 2
        if text.startswith("/*", position):
            end = _after_comment(text, position)
            if isinstance(end, str):
                add((ERROR, end, position))
                return tokens
            position = end
            continue
        add((LEFT, LEFT, start))
        depth = 0
        while True:
            match = match_at(text, position)
            if match is None:
                token = _by_hand(text, position)
                add(token)
                if token[0] is ERROR:
                    return tokens
                position = token[2] + len(token[1])
                continue
            index: int = match.lastindex  # type: ignore[assignment]
            kind = _KINDS[index]
            item = match[index]
            if kind is IDENTIFIER:
                fault = None if item.isascii() else _not_a_letter(item)
                if fault:
                    what = "unrecognized character in action:" if fault == item[0] else "bad character"
                    add((ERROR, f"{what} {unicode_point(fault)}", position))
                    return tokens
                if item in KEYWORDS:
                    kind = KEYWORDS[item]
                elif item in {"true", "false"}:
                    kind = BOOL
            elif kind is FIELD or kind is VARIABLE:
                if item == DOT:
                    kind = NUMBER if position == size - 1 else DOT  # at the very end Go expects digits behind it
                fault = None if item.isascii() else _not_a_letter(item[1:])
                if fault:
                    add((ERROR, f"bad character {unicode_point(fault)}", position))
                    return tokens
            elif kind is RIGHT:
                if depth:
                    add((ERROR, "unclosed left paren", position))
                    return tokens
                add((RIGHT, RIGHT, position + 2 if index == 1 else position))
                position = match.end()
                break
            elif kind is OPEN:
                depth += 1
            elif kind is CLOSE:
                depth -= 1
                if depth < 0:
                    add((ERROR, "unexpected right paren", position))
                    return tokens
            add((kind, item, position))
            position = match.end()


def _after_comment(text: str, position: int) -> int | str:
    """Where the text goes on behind the comment that begins at `position`; or what is wrong with it."""
    end = text.find("*/", position + 2)
    if end < 0:
        return "unclosed comment"
    end += 2
    if text.startswith(RIGHT, end):
        return end + 2
    if text[end : end + 1] in _BLANK and text.startswith("-}}", end + 1):
        rest = text[end + 4 :]
        return len(text) - len(rest.lstrip(_BLANK))
    return "comment ends before closing delimiter"


def _is_alphanumeric(char: str) -> bool:
    return char == "_" or char.isalpha() or char.isdecimal()


def _not_a_letter(word: str) -> str | None:
    """The first character that Python takes for one of a word and Go does not, such as a superscript."""
    return next((char for char in word if not _is_alphanumeric(char)), None)


def _by_hand(text: str, position: int) -> Token:
    """A token that the master regex does not know: a number, a stray character, or what is wrong here."""
    if position >= len(text):
        return ERROR, "unclosed action", position
    char = text[position]
    following = text[position + 1 : position + 2]
    if char in "+-0123456789" or (char == "." and following in tuple("0123456789")):
        return _number(text, position)
    if char == ":":
        return ERROR, "expected :=", position
    if char == '"':
        return ERROR, "unterminated quoted string", position
    if char == "`":
        return ERROR, "unterminated raw quoted string", position
    if char == "'":
        return ERROR, "unterminated character constant", position
    if char in "$." or _is_alphanumeric(char):
        end = position + 1
        while end < len(text) and _is_alphanumeric(text[end]):
            end += 1
        if end == len(text) or text[end] in " \t\r\n.,|:()" or text.startswith(RIGHT, end):
            return IDENTIFIER, text[position:end], position  # one that begins with a digit of another script
        return ERROR, f"bad character {unicode_point(text[end])}", position
    if " " <= char <= "~":
        return CHAR, char, position
    return ERROR, f"unrecognized character in action: {unicode_point(char)}", position


def _number(text: str, position: int) -> Token:
    end = _scan(text, position)
    if end < 0:
        return ERROR, f"bad number syntax: {quote(text[position:-end])}", position
    if text[end : end + 1] in tuple("+-"):
        end = _scan(text, end)
        if end < 0 or text[end - 1] != "i":
            return ERROR, f"bad number syntax: {quote(text[position : abs(end)])}", position
        return COMPLEX, text[position:end], position
    return NUMBER, text[position:end], position


def _scan(text: str, position: int) -> int:
    """The end of a number; negative, and one letter on, where a letter follows it."""
    match = re.compile(_SCAN_NUMBER).match(text, position)
    assert match is not None
    end = match.end()
    if end < len(text) and _is_alphanumeric(text[end]):
        return -(end + 1)
    return end
