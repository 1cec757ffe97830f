"""From what a dashboard may be (grafanalib objects, foundation-sdk objects, dicts) to plain JSON values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from math import isfinite
from typing import Any

from watchkeeper.contract import Selectable
from watchkeeper.findings import Place
from watchkeeper.model import DefinitionError

JSON = dict[str, Any]

# Grafana's own dashboards nest about 15 deep; what nests deeper than this is a mistake, or made to exhaust the stack.
MAX_DEPTH = 100

# Where null says something: the base step of thresholds, an open end of a mapped range. Elsewhere it is nothing.
_NULL_SAYS = frozenset({"value", "from", "to"})

_Path = tuple[Any, ...]  # (parent path, key), a linked list: building it costs next to nothing where all is well


def read(source: object, place: Place | None = None) -> JSON:
    """Return the dashboard as plain JSON values in fresh containers, without members that are null and say nothing.

    `source` is a dict, or an object with `to_json_data()` (grafanalib) or `to_json()` (grafana-foundation-sdk).

    Raises:
        DefinitionError: it is neither, or holds what JSON can't say. The message has the path to it.
    """
    where = place or Place("")
    try:
        plain = _plain(source, (), 0)
    except _Unsayable as error:
        if error.path or not error.message.endswith("is not JSON"):
            raise DefinitionError(f"dashboard{_at(error.path)}: {error.message}", where, error.fix) from None
        plain = None  # told below, with what would do
    if not isinstance(plain, dict):
        raise DefinitionError(
            f"a dashboard can't be made of {type(source).__name__}",
            where,
            "return a grafanalib Dashboard, a dict, or an object with to_json_data() or to_json(); build() a builder",
        )
    return plain


class _Unsayable(Exception):  # noqa: N818 - never leaves this module
    def __init__(self, message: str, path: _Path, fix: str = "") -> None:
        super().__init__(message)
        self.message, self.path, self.fix = message, path, fix


def _at(path: _Path) -> str:
    """Return the linked path as `.panels[3].title`."""
    parts: list[str] = []
    while path:
        path, key = path
        parts.append(f"[{key}]" if isinstance(key, int) else f".{key}")
    if len(parts) > 12:
        parts[6:-6] = ["…"]
    return "".join(reversed(parts))


def _plain(value: Any, path: _Path, depth: int) -> Any:
    kind = type(value)
    if kind is str or kind is bool or kind is int or value is None:
        return value
    if depth > MAX_DEPTH:
        raise _Unsayable(f"nested more than {MAX_DEPTH} levels deep", path)
    if kind is dict:
        out: JSON = {}
        odd = False
        for key, member in value.items():
            if type(key) is not str:
                odd = True
                key = _key(key, path)  # noqa: PLW2901 - the key as JSON has it
            kind = type(member)
            if kind is str or kind is bool or kind is int:
                out[key] = member
            elif member is None:
                if key in _NULL_SAYS:
                    out[key] = None
            else:
                out[key] = _plain(member, (path, key), depth + 1)
        if odd:
            _told_apart([_key(key, path) for key in value], path)
        return out
    if kind is list or kind is tuple:
        return [
            item if type(item) is str else _plain(item, (path, number), depth + 1) for number, item in enumerate(value)
        ]
    if kind is float:
        if not isfinite(value):
            raise _Unsayable(f"{value} is not a number that JSON can say", path, "use a finite number, or leave it out")
        return value
    return _odd(value, path, depth)


def _odd(value: Any, path: _Path, depth: int) -> Any:
    """Return the plain form of what is rarer than JSON's own types."""
    for method in ("to_json_data", "to_json"):
        convert = getattr(value, method, None)
        if convert is not None and not isinstance(value, type):
            plain = convert()
            if isinstance(plain, str) and depth == 0:  # JSON text
                try:
                    plain = json.loads(plain, object_pairs_hook=_object)
                except ValueError as error:
                    raise _Unsayable(f"{method}() is not JSON: {error}", path) from None
            return _plain(plain, path, depth + 1)
    if isinstance(value, Enum):
        return _plain(value.value, path, depth + 1)
    if isinstance(value, Selectable):  # a metric or a recording rule stands for its name
        return str(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _plain(float(value), path, depth)
    if isinstance(value, Mapping):
        return _plain(dict(value), path, depth)
    if isinstance(value, (list, tuple)):
        return _plain(list(value), path, depth)
    if isinstance(value, (set, frozenset)):
        raise _Unsayable("a set has no order, so the output would differ between runs", path, "use a list")
    raise _Unsayable(f"{type(value).__name__} is not JSON", path)


def _key(key: Any, path: _Path) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    if isinstance(key, int) and not isinstance(key, bool):
        return str(key)  # {0: {"text": "down"}}, as json.dumps does
    raise _Unsayable(f"the key {key!r:.60} is not a string", path)


def _told_apart(keys: list[str], path: _Path) -> None:
    """Refuse keys that are one key in JSON, such as 1 and "1": one of the members would vanish."""
    if len(set(keys)) < len(keys):
        twice = next(key for number, key in enumerate(keys) if key in keys[:number])
        raise _Unsayable(f'the key "{twice}" is there twice', path, "keep one of them, or give it another key")


def _object(pairs: list[tuple[str, Any]]) -> JSON:
    _told_apart([key for key, _ in pairs], ())
    return dict(pairs)
