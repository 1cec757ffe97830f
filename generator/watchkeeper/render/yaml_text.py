"""Plain data as YAML: block style, keys in their order, quotes where a text would be read as something else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

# A value in this form needs no quotes: it can't be read as a number, a boolean, a date or YAML's own syntax.
_PLAIN = re.compile(r"(?:[A-Za-z_(](?:(?!: | #)[\x20-\x7e])*(?<![ :])|(?:\d+(?:ms|[smhdwy]))+)\Z")
_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
# What a YAML reader refuses or changes inside a literal block or single quotes.
_UNSAFE = re.compile(r"[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|\x85")


def to_yaml(document: Mapping[str, Any], header: str) -> str:
    """Return YAML with header as a comment: block style, keys as ordered, strings quoted where YAML needs it."""
    lines = [f"# {line}".rstrip() for line in header.splitlines()]
    _mapping(document, "", lines)
    return "\n".join(lines) + "\n"


def _mapping(mapping: Mapping[str, Any], indent: str, lines: list[str]) -> None:
    for key, value in mapping.items():
        name = _double_quoted(key) if "\n" in key else _scalar(key, indent)  # a block can't be a key
        _entry(f"{indent}{name}:", value, indent, lines)


def _entry(head: str, value: Any, indent: str, lines: list[str]) -> None:
    if isinstance(value, Mapping):
        if value:
            lines.append(head)
            _mapping(value, indent + "  ", lines)
        else:
            lines.append(f"{head} {{}}")
    elif isinstance(value, Sequence) and not isinstance(value, str):
        if value:
            lines.append(head)
            for item in value:
                _item(item, indent, lines)
        else:
            lines.append(f"{head} []")
    else:
        lines.append(f"{head} {_scalar(value, indent)}")


def _item(item: Any, indent: str, lines: list[str]) -> None:
    if isinstance(item, str) or not isinstance(item, (Mapping, Sequence)) or not item:
        _entry(f"{indent}-", item, indent, lines)
        return
    start, deeper = len(lines), indent + "  "
    if isinstance(item, Mapping):
        _mapping(item, deeper, lines)
    else:
        for inner in item:
            _item(inner, deeper, lines)
    lines[start] = f"{indent}- {lines[start][len(deeper) :]}"  # the first line stands behind the dash


def _scalar(value: Any, indent: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    text = str(value)
    if _PLAIN.match(text) and text.lower() not in _WORDS:
        return text
    if _UNSAFE.search(text.replace("\n", "")):
        return _double_quoted(text)
    if "\n" not in text:
        return "'" + text.replace("'", "''") + "'"
    if text.startswith((" ", "\n")) or any(line != line.rstrip() for line in text.split("\n")):
        return _double_quoted(text)  # a block would need an indentation indicator, or hide spaces at line ends
    body = text.rstrip("\n")
    keep = {0: "-", 1: ""}.get(len(text) - len(body), "+")
    block = "\n".join(f"{indent}  {line}".rstrip() for line in text.removesuffix("\n").split("\n"))
    return f"|{keep}\n{block}"


def _double_quoted(text: str) -> str:
    return '"' + "".join(_escape(c) for c in text) + '"'


def _escape(c: str) -> str:
    if c in '\\"':
        return "\\" + c
    if c == "\n":
        return "\\n"
    if not _UNSAFE.match(c):
        return c
    return f"\\x{ord(c):02x}" if ord(c) < 0x100 else f"\\u{ord(c):04x}"
