"""Grafana's folders: the table `folders` of `[tool.watchkeeper]`, by which dashboards name theirs with a uid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from watchkeeper.findings import nearest
from watchkeeper.names import GRAFANA_UID

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Fault = Callable[[str, str, str], None]

__all__ = ["DEEPEST", "Folder", "path", "read"]

DEEPEST = 4  # levels that Grafana nests
# Those that Grafana has itself: pkg/services/folder/model.go, and the top, which it calls general.
_RESERVED = frozenset({"general", "sharedwithme"})
_VALUE = "settings/value"
_FIX = 'write gpu = "GPU", or gpu-memory = {title = "Memory", parent = "gpu"}'


@dataclass(frozen=True)
class Folder:
    """A folder; `parent` is the uid of the one it is in, empty at the top."""

    uid: str
    title: str
    parent: str = ""


def read(table: object, fault: Fault) -> dict[str, Folder]:
    """Return the folders by their uids. `fault` is told the check, the message and the fix of each fault."""
    if not isinstance(table, dict):
        fault(_VALUE, "folders must be a table", f"write [tool.watchkeeper.folders], and below it {_FIX[6:19]}")
        return {}
    found: dict[str, Folder] = {}
    for uid, value in table.items():
        folder = {"title": value} if isinstance(value, str) else value
        if not GRAFANA_UID.fullmatch(uid):
            fault(_VALUE, f'folders: "{uid}" is no uid', "take up to 40 letters, digits, hyphens and underscores")
        elif uid.casefold() in {other.casefold() for other in found}:
            fault(
                _VALUE,
                f'folders: "{uid}" is there twice, capitals aside',
                "Grafana may take both for one: take another uid",
            )
        elif uid in _RESERVED:
            fault(
                _VALUE,
                f'folders: "{uid}" is a folder of Grafana\'s own',
                "take another uid; a dashboard without a folder is at the top",
            )
        elif not isinstance(folder, dict) or not _texts(folder):
            fault(_VALUE, f"folders.{uid} must be a title, or a table of title and parent, not {value!r}", _FIX)
        elif unknown := sorted(folder.keys() - {"title", "parent"}):
            fault("settings/key", f'unknown key "folders.{uid}.{unknown[0]}"', "the keys are title, parent")
        elif not folder.get("title", "").strip():
            fault(_VALUE, f"folders.{uid} has no title", _FIX)
        else:
            # Grafana takes blanks around a title away.
            found[uid] = Folder(uid, folder["title"].strip(), folder.get("parent", ""))
    for folder in found.values():
        _nested(folder, found, table, fault)
    return found


def _texts(folder: Mapping[str, object]) -> bool:
    return all(isinstance(value, str) for value in folder.values())


def _nested(folder: Folder, found: Mapping[str, Folder], table: Mapping[str, object], fault: Fault) -> None:
    if folder.parent and folder.parent not in table:
        message = f'folders.{folder.uid}: there is no folder "{folder.parent}"{nearest(folder.parent, list(found))}'
        fault(_VALUE, message, "name its parent in the same table, or leave parent out")
    elif len(path(found, folder.uid)) > DEEPEST:
        fault(_VALUE, f"folders.{folder.uid} is nested deeper than {DEEPEST} levels, or in itself", "nest it less deep")


def path(folders: Mapping[str, Folder], uid: str) -> tuple[Folder, ...]:
    """Return the folders from the top to this one; none of a uid that there is not, and one too many in a loop."""
    found: list[Folder] = []
    while uid in folders and len(found) <= DEEPEST:
        found.append(folders[uid])
        uid = folders[uid].parent
    return tuple(reversed(found))
