"""Lone surrogates: halves of a character, which a Python string can hold and a file can't."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from watchkeeper.findings import Finding, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Place
    from watchkeeper.model import Group
    from watchkeeper.project import Project
    from watchkeeper.render.grafana import Rendered

ID = "text/unicode"

_SURROGATE = re.compile("[\ud800-\udfff]")
# What the writers of YAML and JSON make of one: a file without it needs no closer look.
_ESCAPED = "\\ud"

_Path = tuple[str | int, ...]


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each text of a rule, a dashboard or a runbook page that has one in it."""
    for group, document in project.documents:
        if _ESCAPED in project.files.get(f"rules/{group.name}.yaml", _ESCAPED):
            yield from _of_group(group, document["groups"][0])
    for dashboard in project.dashboards:
        if _ESCAPED in project.files.get(f"dashboards/{dashboard.uid}.json", _ESCAPED):
            yield from _of_dashboard(dashboard)
    for page in project.pack.runbooks or () if project.documents else ():  # not once more for each part
        for text in (page.name, page.text):
            if found := _SURROGATE.search(text):
                yield _finding(f"runbook {page.name}", found, page.place)


def _of_group(group: Group, document: dict[str, Any]) -> Iterator[Finding]:
    for path, found in _texts({name: value for name, value in document.items() if name != "rules"}, ()):
        yield _finding(f"group {group.name}{_where(path)}", found, group.place)
    for rule, data in zip(group.rules, document["rules"], strict=True):
        kind = "alert" if "alert" in data else "recording rule"
        for path, found in _texts(data, ()):
            yield _finding(f"{kind} {rule.name}{_where(path)}", found, rule.place)


def _of_dashboard(dashboard: Rendered) -> Iterator[Finding]:
    for path, found in _texts(dashboard.model, ()):
        board = f"dashboard {dashboard.uid}"
        owner, place, size = board, dashboard.place, 0
        for panel in dashboard.panels:  # the innermost one that the path leads into
            if size < len(panel.path) and path[: len(panel.path)] == panel.path:
                owner, place, size = f'panel "{panel.title}" of {board}', panel.place, len(panel.path)
        yield _finding(f"{owner}{_where(path[size:])}", found, place)


def _texts(value: Any, path: _Path) -> Iterator[tuple[_Path, re.Match[str]]]:
    """Yield the way to each string in value that has a surrogate in it, keys included, and the first one there."""
    if isinstance(value, str):
        if found := _SURROGATE.search(value):
            yield path, found
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from _texts(key, path)
            yield from _texts(member, (*path, key))
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from _texts(item, (*path, number))


def _where(path: _Path) -> str:
    return ", " + ".".join(map(str, path)) if path else ""


def _finding(owner: str, found: re.Match[str], place: Place) -> Finding:
    code = f"\\u{ord(found[0]):04x}"
    return Finding(
        ID,
        f"{printable(owner)}: the surrogate {code} is half of a character",
        place,
        why="no UTF-8 holds it: Prometheus refuses such a file, Grafana shows something else",
        fix="write the character itself, or \\U and its eight digits",
    )
