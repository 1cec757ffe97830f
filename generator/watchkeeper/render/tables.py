"""Reading the table of an output in the settings: which keys it may have, and what their values may be."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from watchkeeper.findings import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Fault = Callable[[str, str, str], None]

__all__ = ["COUNT", "DURATION", "FLAG", "TEXT", "TEXTS", "Kind", "read"]


@dataclass(frozen=True)
class Kind:
    """What a value may be: a test, and the words for it, with an example."""

    fits: Callable[[Any], bool]
    words: str
    example: str


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.strip() != ""


TEXT = Kind(_is_text, "a text", '"..."')
FLAG = Kind(lambda value: isinstance(value, bool), "true or false", "true")
COUNT = Kind(lambda value: type(value) is int and value > 0, "a number from 1", "1")
TEXTS = Kind(lambda value: isinstance(value, list) and all(map(_is_text, value)), "a list of texts", '["..."]')
DURATION = Kind(
    lambda value: isinstance(value, str) and re.fullmatch(r"(?:[1-9]\d*(?:ms|[smhdwy]))+", value) is not None,
    "a duration",
    '"15s"',
)


def read(where: str, table: Mapping[str, Any], kinds: Mapping[str, Kind], fault: Fault) -> dict[str, Any]:
    """Return the values of the table that fit; `fault` is told check, message and fix of each that does not."""
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in kinds:
            message = f'unknown key "{where}.{key}"{nearest(key, list(kinds))}'
            fault("settings/key", message, f"the keys are {', '.join(kinds)}" if kinds else "it has no keys")
        elif not kinds[key].fits(value):
            message = f"{where}.{key} must be {kinds[key].words}, not {value!r}"
            fault("settings/value", message, f"write {key} = {kinds[key].example}")
        else:
            values[key] = value
    return values
