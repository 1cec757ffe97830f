"""Where each character of a YAML scalar or a JSON string is written: quoting, folding and indentation undone."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    # The characters that a piece of source stands for, and where it starts and ends.
    Piece = tuple[str, int, int]
    # The first character of a value and how many follow; where they start and end in the text.
    Run = tuple[int, int, int, int]

_first = itemgetter(0)
_begin = itemgetter(2)

# YAML 1.1 ends lines at these too; the first two are read as a newline.
_BREAKS = "\n\x85\u2028\u2029"
_LINE = re.compile(f"[^{_BREAKS}]*")
_PROPERTIES = re.compile(r"(?:[&!]\S*(?:\s+(?:#.*)?)*)*")  # of a node: `&anchor`, `!tag`
_HEADER = re.compile(f"[|>][^{_BREAKS}]*")
_DOUBLE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)|[^\\]+", re.DOTALL)
_SINGLE = re.compile("''|[^']+")
_PLAIN = re.compile(".+", re.DOTALL)
_JSON = re.compile(
    r'\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^"\\]+', re.DOTALL
)
_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip


def positions(text: str, start: int, end: int, value: str, style: str | None) -> list[Run]:
    """Return where the characters of `value` are, which is written at `text[start:end]`: a few runs for a long text.

    The list is empty where they can't be told.
    """
    quotes = 1 if style in {"'", '"', "json"} else 0
    if value and end - start == len(value) + 2 * quotes and text.startswith(value, start + quotes):
        return [(0, len(value), start + quotes, end - quotes)]  # as it is written: most are
    if style == "json":
        pieces = _json(text, start + 1, end - 1)
    else:
        match = _PROPERTIES.match(text, start, end)
        start = match.end() if match else start
        if style in ("|", ">"):
            pieces = _block(text, start, end, value, folded=style == ">")
        elif style == "'":
            pieces = _flow(text, start + 1, end - 1, _SINGLE)
        elif style == '"':
            pieces = _flow(text, start + 1, end - 1, _DOUBLE)
        else:
            pieces = _flow(text, start, end, _PLAIN)
    found: list[Run] = []
    at = 0
    for characters, begin, stop in pieces:
        if not value.startswith(characters, at):
            return []
        if characters:
            found.append((at, len(characters), begin, stop))
            at += len(characters)
    return found if at == len(value) else []


def place_of(runs: list[Run], at: int) -> tuple[int, int]:
    """Return the start and the end in the text of one character of the value."""
    first, length, begin, stop = runs[bisect_right(runs, at, key=_first) - 1]
    if length != stop - begin:
        return begin, stop  # an escape
    return begin + at - first, begin + at - first + 1


def covers(runs: list[Run], index: int) -> bool:
    """Tell whether a character of the text is part of the value, rather than of the indentation, or a comment."""
    number = bisect_right(runs, index, key=_begin) - 1
    return number >= 0 and index < runs[number][3]


def _lines(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return where the lines of `text[start:end]` start and end, without their breaks."""
    found = []
    while True:
        match = _LINE.match(text, start, end)
        stop = match.end() if match else end
        found.append((start, stop))
        if stop >= end:
            return found
        start = stop + 1


def _break(text: str, at: int) -> Piece:
    return ("\n" if text[at] == "\x85" else text[at]), at, at + 1


def _flow(text: str, start: int, end: int, token: re.Pattern[str]) -> Iterator[Piece]:
    """Plain and quoted scalars: blanks around line breaks go, one break is a blank, of more the first goes."""
    single, double = token is _SINGLE, token is _DOUBLE
    lines = _lines(text, start, end)
    last = len(lines) - 1
    breaks: list[int] = []  # those since the last content
    joined = False  # whether the first of them is escaped: it goes and leaves no blank
    for number, (begin, stop) in enumerate(lines):
        if number:
            while begin < stop and text[begin] in " \t":
                begin += 1  # noqa: PLW2901 - the line without what goes
        escaped = False
        if number < last:
            content = text[begin:stop].rstrip(" \t")
            cut = begin + len(content)
            if double and (len(content) - len(content.rstrip("\\"))) % 2:
                if cut == stop:  # the break is escaped, and blanks before that stay
                    escaped = True
                    cut -= 1
                else:  # a blank is escaped, and stays
                    cut += 1
            stop = cut  # noqa: PLW2901
        # In quotes, a last line without content still ends the breaks: its closing quote stands there.
        if begin < stop or escaped or number in (0, last):
            yield from _folded(text, breaks, joined=joined)
            breaks, joined = [], escaped
            for match in token.finditer(text, begin, stop):
                characters = _unescaped(match[0]) if double else match[0]
                yield "'" if single and characters == "''" else characters, match.start(), match.end()
        if number < last:
            breaks.append(lines[number][1])


def _folded(text: str, breaks: list[int], *, joined: bool) -> Iterator[Piece]:
    if not breaks:
        return
    first, *rest = (_break(text, at) for at in breaks)
    if joined:
        yield from rest
    elif first[0] != "\n":
        yield from (first, *rest)
    elif rest:
        yield from rest
    else:
        yield " ", first[1], first[2]


def _unescaped(written: str) -> str:
    if written[0] != "\\":
        return written
    if len(written) > 2:
        code = int(f"0x{written[2:]}", 0)
        return chr(code) if code <= 0x10FFFF else ""
    return _ESCAPES.get(written[1], written[1])


def _json(text: str, start: int, end: int) -> Iterator[Piece]:
    for match in _JSON.finditer(text, start, end):
        token = match[0]
        yield json.loads(f'"{token}"') if token[0] == "\\" else token, match.start(), match.end()


def _block(text: str, start: int, end: int, value: str, *, folded: bool) -> Iterator[Piece]:
    """Literal and folded blocks. The indentation is that of the first line with content, less what the value has."""
    match = _HEADER.match(text, start, end)
    if match is None or match.end() >= end:
        return
    header = match[0].partition("#")[0]
    lines = _lines(text, match.end() + 1, end)
    if lines[-1][0] == lines[-1][1]:
        lines.pop()  # what follows the last break is not a line of it
    indent = _indent(text, lines, value)
    pending: Piece | None = None  # the break after the last line with content
    trailing: list[Piece] = []  # and those of the empty lines after it
    blank_before = False
    for begin, stop in lines:
        if stop - begin <= indent and not text[begin:stop].strip(" "):
            if stop < len(text) and stop < end:
                trailing.append(_break(text, stop))
            continue
        at = begin + indent
        blank = at < stop and text[at] in " \t"
        if pending:
            if folded and pending[0] == "\n" and not blank_before and not blank:
                if not trailing:
                    yield " ", pending[1], pending[2]
            else:
                yield pending
        yield from trailing
        trailing = []
        blank_before = blank
        yield text[at:stop], at, stop
        pending = _break(text, stop) if stop < end else None
    if pending and "-" not in header:
        yield pending
    if "+" in header:
        yield from trailing


def _indent(text: str, lines: list[tuple[int, int]], value: str) -> int:
    # Folding joins lines, but as many empty ones stand first in the source as in the value.
    content = value.lstrip(_BREAKS)
    first = len(value) - len(content)
    if not content or first >= len(lines):
        return max((stop - begin for begin, stop in lines), default=0)
    begin, stop = lines[first]
    written = text[begin:stop]
    return max(0, (len(written) - len(written.lstrip(" "))) - (len(content) - len(content.lstrip(" "))))
