"""Faults by jsonschema, told in our own words: its messages print the whole value, and don't offer the nearest name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watchkeeper.findings import nearest
from watchkeeper.schemas.fault import Fault, path_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema.exceptions import ValidationError

MAX_DEPTH = 100

# After `$` in our patterns: Python lets `$` match before a last newline, other engines don't.
_STRICT_END = r"(?!\n)"


def explain(schema: dict[str, Any], value: object, path: tuple[str | int, ...] = ()) -> list[Fault]:
    """Return every fault of the value, once each, by path."""
    from jsonschema import Draft7Validator

    found: dict[Fault, None] = {}
    deep = _too_deep(value)
    if deep is not None:  # jsonschema would exhaust the stack in printing it
        where = (*path, *deep)
        found[Fault(where, f"{path_text(where)} is nested more than {MAX_DEPTH} levels deep", "flatten it")] = None
        value = _pruned(value, MAX_DEPTH)
    for error in Draft7Validator(schema).iter_errors(value):
        for fault in _faults(error, path):
            found[fault] = None
    return sorted(found, key=lambda fault: (path_text(fault.path), fault.message))


def _too_deep(value: object) -> tuple[str | int, ...] | None:
    """Return where the value nests too deep. Without recursion, since that is the point."""
    level: list[tuple[tuple[str | int, ...], Any]] = [((), value)] if isinstance(value, (dict, list)) else []
    for depth in range(MAX_DEPTH + 1):
        following: list[tuple[tuple[str | int, ...], Any]] = []
        for path, item in level:
            members: Any = item.items() if isinstance(item, dict) else enumerate(item)
            for step, member in members:
                if isinstance(member, (dict, list)):
                    # The path is only told in its first steps, so that paths don't grow with depth squared.
                    following.append((path if depth > 8 else (*path, step), member))
        if not (level := following):
            return None
    return level[0][0] if level else None


def _pruned(value: Any, levels: int) -> Any:
    """Return a copy of the value without what nests deeper."""
    if isinstance(value, dict):
        return {key: _pruned(member, levels - 1) for key, member in value.items()} if levels else {}
    if isinstance(value, list):
        return [_pruned(item, levels - 1) for item in value] if levels else []
    return value


def _faults(error: ValidationError, path: tuple[str | int, ...]) -> Iterator[Fault]:
    if error.context:  # anyOf, oneOf: what the most relevant branch says
        from jsonschema.exceptions import best_match

        error = best_match([error]) or error
    where = (*path, *error.absolute_path)
    value: Any = error.instance
    limit: Any = error.validator_value
    rules: Any = error.schema
    kind = error.validator
    at = path_text(where) or "the document"
    if kind == "additionalProperties":
        known = sorted(rules.get("properties", ()))
        for name in value.keys() - set(known):
            hint = nearest(name, known)
            fix = "take it out" if hint or not known else f"take it out; known here: {_list(known)}"
            yield Fault((*where, name), f'{at} has no member "{_short(name)}"{hint}', fix)
    elif kind == "required":
        for name in limit:
            if name not in value:
                yield Fault((*where, name), f'{at} lacks "{name}"', f'add "{name}"')
    elif kind == "type":
        names = [limit] if isinstance(limit, str) else list(limit)
        yield Fault(where, f"{at} is {_what(value)}, not {_or(names)}", f"make it {_or(names)}")
    elif kind in ("enum", "const"):
        allowed = limit if kind == "enum" else [limit]
        words = [word for word in allowed if isinstance(word, str)]
        hint = nearest(value, words) if isinstance(value, str) else ""
        yield Fault(where, f"{at} is {_what(value)}{hint}", f"use {_list(allowed)}")
    elif kind in ("minimum", "maximum"):
        most = "least" if kind == "minimum" else "most"
        yield Fault(where, f"{at} is {_what(value)}", f"use at {most} {limit}")
    elif kind in ("minLength", "minItems"):
        yield Fault(where, f"{at} is empty", f"give at least {limit}")
    elif kind == "pattern":
        yield Fault(where, f"{at} is {_what(value)}", f"it must match {limit.removesuffix(_STRICT_END)[:200]}")
    else:
        yield Fault(where, f"{at} is {_what(value)}", f"the rule is {kind}: {str(limit)[:200]}")


_NAMES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "text",
}


def _or(names: list[str]) -> str:
    return " or ".join(_NAMES.get(name, name) for name in names)


def _what(value: Any) -> str:
    """Return a few words for a value: itself where it is short."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return f'"{_short(value)}"'
    return (
        {True: "true", False: "false", None: "null"}.get(value, str(value)[:40])
        if _constant(value)
        else f"{value!r:.40}"
    )


def _constant(value: Any) -> bool:
    return value is None or isinstance(value, bool)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}…"


def _list(values: list[Any]) -> str:
    shown = [value if isinstance(value, str) else str(value) for value in values]
    return ", ".join(f'"{word}"' if isinstance(value, str) else word for word, value in zip(shown, values, strict=True))
