"""What differs between two dashboards, by panel and field, or between two folders: a line each, for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from watchkeeper.findings import printable
from watchkeeper.sync.canonical import simplified
from watchkeeper.sync.objects import Dashboard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.sync.objects import Folder

__all__ = ["differences", "values"]

JSON = dict[str, Any]

LINES = 40  # of one object; a board that was made anew would fill the screen
_WIDTH = 60  # characters of a value
_ABSENT = object()

# What tells the items of a list apart, and what an item is called.
_NAMED = {
    "panels": ("id", "panel"),
    "targets": ("refId", "query"),
    "list": ("name", ""),
    "links": ("title", "link"),
    "steps": ("value", "step"),
    "options": ("value", "option"),
}
_PARTS = {"templating": "variable", "annotations": "annotation"}


def differences(old: Dashboard | Folder, new: Dashboard | Folder) -> tuple[str, ...]:
    """Return what differs in the new one, without what only Grafana makes of it."""
    lines: list[str] = []
    if isinstance(old, Dashboard) and isinstance(new, Dashboard):
        if old.folder != new.folder:
            lines.append(f"folder: {_shown(old.folder)} -> {_shown(new.folder)}")
        before, after = simplified(old.model), simplified(new.model)
        lines += _placed(_flat(before), _flat(after))
        lines += values(before, after)
    elif not isinstance(old, Dashboard) and not isinstance(new, Dashboard):
        if old.title != new.title:
            lines.append(f"title: {_shown(old.title)} -> {_shown(new.title)}")
        if old.parent != new.parent:
            lines.append(f"parent: {_shown(old.parent)} -> {_shown(new.parent)}")
    if len(lines) > LINES:
        lines[LINES - 1 :] = [f"and {len(lines) - LINES + 1} more differences"]
    return tuple(printable(line) for line in lines)


def values(old: object, new: object, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield what differs between two JSON values; `path` is where they are."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            if name == "gridPos" and path[-1:] and path[-1].startswith("panel "):
                continue  # told for all panels in one
            yield from values(old.get(name, _ABSENT), new.get(name, _ABSENT), (*path, name))
    elif isinstance(old, list) and isinstance(new, list):
        yield from _lists(old, new, path)
    elif old is _ABSENT:
        yield f"{_where(path)}: {_shown(new)} added"
    elif new is _ABSENT:
        yield f"{_where(path)}: {_shown(old)} removed"
    elif old != new or type(old) is not type(new):
        first, second = _around(old, new)
        yield f"{_where(path)}: {first} -> {second}"


def _lists(old: list[Any], new: list[Any], path: tuple[str, ...]) -> Iterator[str]:
    """Yield what differs between two lists: items that have names by these, others by their number."""
    key, word = _NAMED.get(path[-1] if path else "", ("", ""))
    word = word or _PARTS.get(path[-2] if len(path) > 1 else "", "item")
    before, after = _by(old, key), _by(new, key)
    if not key or before is None or after is None:
        if len(old) == len(new):
            for number, (one, other) in enumerate(zip(old, new, strict=True)):
                yield from values(one, other, (*path[:-1], f"{path[-1]}[{number}]"))
        elif old != new:
            first, second = _around(old, new)
            yield f"{_where(path)}: {first} -> {second}"
        return
    parent = path[:-2] if path[-1] == "list" else path[:-1]
    for name in [*before, *(name for name in after if name not in before)]:
        item = after.get(name) or before[name]
        at = (*parent, f"{word} {_called(item, name)}")
        if name not in after:
            yield f"{_where(at)}: removed"
        elif name not in before:
            yield f"{_where(at)}: added"
        else:
            yield from values(before[name], after[name], at)
    if word != "panel" and list(before) != list(after) and before.keys() == after.keys():
        yield f"{_where(path)}: in another order"


def _by(items: list[Any], key: str) -> dict[str, JSON] | None:
    """Return the items by what tells them apart, or None where it does not."""
    found = {json.dumps(item.get(key)): item for item in items if isinstance(item, dict)}
    return found if len(found) == len(items) else None


def _called(item: JSON, name: str) -> str:
    """Return what people call an item: its title where it has one."""
    title = item.get("title") or item.get("name")
    if isinstance(title, str) and title:
        return _shown(title)
    kind = item.get("type")
    return f"{name} ({kind})" if isinstance(kind, str) else name


def _flat(model: JSON) -> dict[str, JSON]:
    """Return all panels by id, those in collapsed rows too."""
    found: dict[str, JSON] = {}
    todo = list(model.get("panels", []))
    while todo:
        panel = todo.pop()
        if isinstance(panel, dict):
            found[json.dumps(panel.get("id"))] = panel
            todo += panel.get("panels", []) if isinstance(panel.get("panels"), list) else []
    return found


def _placed(old: dict[str, JSON], new: dict[str, JSON]) -> list[str]:
    """Return which panels stand elsewhere: each where they are few, for one that is put in moves all below it."""
    moved = [
        _called(new[name], name) for name in old if name in new and old[name].get("gridPos") != new[name].get("gridPos")
    ]
    if not moved:
        return []
    shown = ", ".join(sorted(moved)[:3])
    return [f"place or size of {shown}" + (f" and {len(moved) - 3} more panels" if len(moved) > 3 else "")]


def _where(path: tuple[str, ...]) -> str:
    """Return a path: `panel "Free", query "A", expr`, and members joined with dots."""
    said = ""
    for step in path:
        separator = "" if not said else ", " if " " in step or said.endswith(('"', ")")) else "."
        said += separator + step
    return said or "value"


def _around(old: object, new: object) -> tuple[str, str]:
    """Return two values, of long ones the part where they begin to differ."""
    first, second = _text(old), _text(new)
    if max(len(first), len(second)) <= _WIDTH:
        return first, second
    same = next(
        (number for number, (one, other) in enumerate(zip(first, second, strict=False)) if one != other),
        min(len(first), len(second)),
    )
    start = max(0, same - _WIDTH // 3)
    return _cut(first, start), _cut(second, start)


def _cut(text: str, start: int) -> str:
    end = start + _WIDTH
    return ("..." if start else "") + text[start:end] + ("..." if end < len(text) else "")


def _shown(value: object) -> str:
    return _cut(_text(value), 0)


def _text(value: object) -> str:
    """Return a value as JSON; a text as it is, since PromQL is full of quotes."""
    return f'"{value}"' if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
