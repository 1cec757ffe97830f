"""Where the values of a JSON text stand in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    Path = tuple[Any, ...]
    Token = tuple[int, int, str]

# A closing quote is optional, so that each character is looked at once, in what is no JSON too.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


def spans(text: str) -> dict[Path, tuple[int, int]]:
    """Return, for the path to each value, such as `("panels", 0, "title")`, its start and end in the text.

    The text is valid JSON, and nests as deep as the json module allows. Of a key that is there twice the last counts.
    """
    return _read(text)[0]


def doubles(text: str) -> list[tuple[str, int, int]]:
    """Return the keys that are in their object before, and where they stand, of a text that is valid JSON."""
    return _read(text)[1]


def _read(text: str) -> tuple[dict[Path, tuple[int, int]], list[tuple[str, int, int]]]:
    import json

    found: dict[Path, tuple[int, int]] = {}
    twice: list[tuple[str, int, int]] = []
    path: list[Any] = []  # keys and numbers on the way to the next value
    opened: list[tuple[Path, int, set[str]]] = []
    key = False  # whether the next string is one
    for start, end, word in tokens(text):
        if word in "{[":
            opened.append((tuple(path), start, set()))
            key = word == "{"
            path.append(None if key else 0)
        elif word in "}]":
            path.pop()
            whole, begin, _ = opened.pop()
            found[whole] = (begin, end)
            key = False
        elif word == ",":
            key = isinstance(path[-1], str)
            if not key:
                path[-1] += 1
        elif word == ":":
            key = False
        elif key:
            path[-1] = name = json.loads(word)
            keys = opened[-1][2]
            if name in keys:
                twice.append((name, start, end))
            keys.add(name)
        else:
            found[tuple(path)] = (start, end)
    return found, twice


def tokens(text: str) -> Iterator[Token]:
    """Yield the start, the end and the text of each bracket, comma, colon, string and word."""
    for match in _TOKEN.finditer(text):
        yield match.start(), match.end(), match[0]
