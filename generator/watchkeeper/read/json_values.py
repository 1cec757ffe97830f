"""JSON texts as values, or one line that says why not, and where."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from watchkeeper.findings import Excerpt, Finding

if TYPE_CHECKING:
    from watchkeeper.read.source import File

    Pairs = list[tuple[str, Any]]

__all__ = ["PARSE", "value_of"]

PARSE = "json/parse"
_WHY = "Grafana can't load it"
_CONSTANTS = frozenset({"NaN", "Infinity", "-Infinity"})
_COMMENT = re.compile(r"//|/\*|#")
_BARE = re.compile(r"[A-Za-z_]\w*\s*:|'")
_LONGEST = 300  # digits; a number of Go's, and of JavaScript's, has at most 309


def value_of(file: File) -> tuple[Any, list[Finding]]:
    """Return the JSON value of a file's text, and what is wrong with it: None where it is no JSON."""
    doubled: list[bool] = []

    def pairs(listed: Pairs) -> dict[str, Any]:
        value = dict(listed)
        if len(value) != len(listed):
            doubled.append(True)
        return value

    try:
        value = json.loads(file.text, parse_constant=_refuse, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        return None, [_fault(file, *_explained(file.text, error))]
    except RecursionError:
        return None, [_fault(file, "it is nested too deeply to be read", _deepest(file.text))]
    except ValueError:  # what `_refuse` raises, or an integer of thousands of digits
        return None, [_fault(file, *_number(file.text))]
    return value, _twice(file) if doubled else []


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _fault(file: File, message: str, start: int, end: int = 0, fix: str = "") -> Finding:
    excerpt = Excerpt(file.text, start, end or start + 1)
    return Finding(PARSE, f"not JSON: {message}", file.place(start), excerpt, _WHY, fix)


def _explained(text: str, error: json.JSONDecodeError) -> tuple[str, int, int, str]:
    """Return the message, the place and the fix: Python's own words differ from version to version."""
    for words, message, fix in _IN_STRINGS:
        if error.msg.startswith(words):
            return message, error.pos, 0, fix
    at = error.pos
    while at < len(text) and text[at] in " \t\n":  # some versions point behind the comma, some to the next word
        at += 1
    if at >= len(text):
        end = len(text.rstrip())
        if not end:
            return "the file is empty", 0, 0, "write a dashboard into it, or take it away"
        return "it ends before all brackets are closed", end - 1, 0, ""
    comma = at if text[at] == "," else len(text[:at].rstrip()) - 1
    closing = text[comma + 1 :].lstrip()[:1]
    if comma >= 0 and text[comma] == "," and closing in ("]", "}"):
        return f'a comma before the closing "{closing}"', comma, 0, "take the comma out"
    if _COMMENT.match(text, at):
        return "a comment", at, 0, "take it out: JSON has none"
    if _BARE.match(text, at):
        return "a key or a string without double quotes", at, 0, 'write it in double quotes, such as "title"'
    for words, message, fix in _BETWEEN:
        if error.msg.startswith(words):
            return message, at, 0, fix
    return error.msg, at, 0, ""


# How the json module's messages begin, what we say, and the fix.
_IN_STRINGS = (
    ("Unterminated string", "a string without a closing quote", ""),
    ("Invalid control character", "a line break or a control character inside a string", "write it as \\n or \\u00XX"),
    ("Invalid \\uXXXX", "\\u without four hexadecimal digits behind it", "write \\\\ for a backslash"),
    ("Invalid \\", "a backslash that begins no escape sequence", "write \\\\ for a backslash"),
)
_BETWEEN = (
    ("Extra data", "something follows the end of the value", "a file holds one value"),
    ("Expecting ','", 'expected "," or a closing bracket', ""),
    ("Expecting ':'", 'expected ":" behind the key', ""),
    ("Expecting value", "expected a value", ""),
    ("Expecting property name", "expected a key in double quotes", ""),
)


def _deepest(text: str) -> int:
    """Return where a text nests deepest."""
    from watchkeeper.read.json_places import tokens

    depth = most = at = 0
    for start, _, word in tokens(text):
        if word in "{[":
            depth += 1
            if depth > most:
                most, at = depth, start
        elif word in "}]":
            depth -= 1
    return at


def _number(text: str) -> tuple[str, int, int, str]:
    from watchkeeper.read.json_places import tokens

    for start, end, word in tokens(text):
        if word in _CONSTANTS:
            return f"{word} is no number in JSON", start, end, "write null, or a number"
        if end - start > _LONGEST and word[0] in "-0123456789":
            return f"a number of {end - start} digits", start, start + 1, "no number is as large"
    return "it holds a number that can't be read", 0, 0, ""


def _twice(file: File) -> list[Finding]:
    from watchkeeper.read.json_places import doubles

    found = []
    for name, start, end in doubles(file.text):
        what = f'the key "{name}" is there before in the same object'
        why = "Grafana takes the last one, and says nothing of the others"
        excerpt = Excerpt(file.text, start, end)
        found.append(Finding(PARSE, what, file.place(start), excerpt, why, "take one of them out", "warning"))
    return found
