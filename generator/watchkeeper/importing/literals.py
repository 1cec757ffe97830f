"""Texts as Python literals: the same characters, easy to read, and laid out as `ruff format` and `black` leave them."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDTH = 120

_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_WORDS = re.compile(r"[^ \n]*(?: +|\n)|[^ \n]+")
_PARTS = re.compile(r"[^,|]*[,|]|[^,|]+")  # of a word too long for a line: a regular expression, a list of labels
# What reads better at the beginning of a line than at the end of one, and what belongs to what is around it.
_SETS = frozenset(("and", "or", "unless"))
_BINARY = frozenset((*_SETS, "+", "-", "*", "/", "%", "^", "<", "<=", ">", ">=", "==", "!="))
_MODIFIERS = frozenset(("on", "ignoring", "by", "without", "group_left", "group_right", "bool"))


def width(text: str) -> int:
    """Return the columns that the text takes: wide characters take two."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c) for c in text)


def literal(text: str) -> str:
    """Return the text as a literal on one line: raw where backslashes abound, in the quotes that need less escaping."""
    # A backslash before a quote is left to escaping: in a raw string it reads as if the quote were escaped.
    if "\\" in text and text.isprintable() and not text.endswith("\\") and '\\"' not in text:
        for quote in "\"'":
            if quote not in text:
                return f"r{quote}{text}{quote}"
    quote = "'" if text.count('"') > text.count("'") else '"'
    escaped = text.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    if not escaped.isprintable():
        escaped = "".join(c if c.isprintable() else _escape(c) for c in escaped)
    return quote + escaped + quote


def _escape(c: str) -> str:
    """Return what can't be seen written out: no text may look like another."""
    if c in _ESCAPES:
        return _ESCAPES[c]
    code = ord(c)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def argument(head: str, text: str, indent: str) -> list[str]:
    """Return the lines of an argument or an item: `head`, such as `expr=`, the literal, and a comma.

    It is one line where that fits, else a block in triple quotes for a text of several lines, else pieces in
    parentheses.
    """
    whole = literal(text)
    one = f"{indent}{head}{whole},"
    lines = text.rstrip("\n").count("\n") + 1
    if lines > 1 and (block := _block(text)):
        return f"{indent}{head}{block},".split("\n")
    if width(one) <= WIDTH:
        return [one]
    room = WIDTH - len(indent) - 4
    pieces = [whole] if head and width(whole) <= room else list(_pieces(text, room))
    if len(pieces) < 2 and width(whole) > room:
        return [one]
    return [f"{indent}{head}(", *(f"{indent}    {piece}" for piece in pieces), f"{indent}),"]


def _block(text: str) -> str:
    """Return the text in triple quotes, nothing where one could not see what it is."""
    lines = text.split("\n")
    plain = all(line.isprintable() and line == line.rstrip() for line in lines)
    if not plain or '"""' in text or text.endswith(('"', "\\")):
        return ""
    if "\\" not in text:
        return f'"""\\\n{text}"""'
    return "" if text.startswith('"') else f'r"""{text}"""'


def _pieces(text: str, room: int) -> Iterator[str]:
    """Yield literals that make the text together, broken behind line ends and spaces, best outside of parentheses."""
    held: list[str] = []
    for word in _words(text, room):
        while held and width(literal("".join(held) + word)) > room:
            number = _break(held, word)
            yield literal("".join(held[:number]))
            held = held[number:]
        held.append(word)
        if word.endswith("\n"):
            yield literal("".join(held))
            held = []
    if held:
        yield literal("".join(held))


def _break(words: list[str], after: str) -> int:
    """Return how many words fill a line: over a third of it, outside of parentheses, before an operator."""
    ends: list[tuple[int, int, int]] = []
    depth = at = 0
    for word, behind in zip(words, [*words[1:], after], strict=True):
        depth += word.count("(") + word.count("{") - word.count(")") - word.count("}")
        at += len(word)
        ends.append((depth, _parting(word.rstrip(), behind.rstrip()), at))
    full = [number for number, (_, _, end) in enumerate(ends, 1) if 3 * end >= at]
    return min(full, key=lambda number: (*ends[number - 1][:2], -number))


def _parting(word: str, behind: str) -> int:
    """Return how bad it is to part two words."""
    if behind in _BINARY:
        return 0 if behind in _SETS else 1
    return 3 if word in _BINARY or word in _MODIFIERS or behind in _MODIFIERS else 2


def _words(text: str, room: int) -> Iterator[str]:
    for match in _WORDS.finditer(text):
        if len(match[0]) <= room:
            yield match[0]
        else:
            yield from _PARTS.findall(match[0])
