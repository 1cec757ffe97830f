"""Where the values of a JSON text stand in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    Path = tuple[Any, ...]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


def spans(text: str) -> dict[Path, tuple[int, int]]:
    """Return, for the path to each value, such as `("panels", 0, "title")`, its start and end in the text.

    The text is valid JSON, and nests as deep as the json module allows. Of a key that is there twice the last counts.
    """
    import json

    found: dict[Path, tuple[int, int]] = {}
    path: list[Any] = []  # keys and numbers on the way to the next value
    opened: list[tuple[Path, int]] = []
    key = False  # whether the next string is one
    for start, end, word in _tokens(text):
        if word in "{[":
            opened.append((tuple(path), start))
            key = word == "{"
            path.append(None if key else 0)
        elif word in "}]":
            path.pop()
            whole, begin = opened.pop()
            found[whole] = (begin, end)
            key = False
        elif word == ",":
            key = isinstance(path[-1], str)
            if not key:
                path[-1] += 1
        elif word == ":":
            key = False
        elif key:
            path[-1] = json.loads(word)
        else:
            found[tuple(path)] = (start, end)
    return found


def _tokens(text: str) -> Iterator[tuple[int, int, str]]:
    for match in _TOKEN.finditer(text):
        yield match.start(), match.end(), match[0]
