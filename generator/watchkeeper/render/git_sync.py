"""Dashboards and folders as the resources that Grafana's Git Sync reads from a repository.

The format: https://grafana.com/docs/grafana/latest/as-code/observability-as-code/git-sync/
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from watchkeeper.findings import Finding
from watchkeeper.folders import path as levels
from watchkeeper.render.tables import read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from watchkeeper.folders import Folder
    from watchkeeper.outputs import Made

    Fault = Callable[[str, str, str], None]

FOLDER = "deploy/git-sync"
MOST = 1_000  # resources in one repository

_SINCE = (12, 0)  # of Git Sync
_STABLE = (13, 0)  # from this version on the resources are v1


def options(table: Mapping[str, Any], fault: Fault) -> None:
    """Tell of each key that the table has: there is nothing to choose."""
    read("outputs.git-sync", table, {}, fault)


def files(made: Made, _: None) -> tuple[dict[str, str], list[Finding]]:
    """Return each dashboard as a resource, in folders by their titles, each with what it is in `_folder.json`."""
    from watchkeeper.render.grafana.text import to_text  # settings are read without it

    folders = made.settings.folders
    target = made.settings.targets.grafana
    version = "v1" if target >= _STABLE else "v1beta1"
    used = {
        above.uid: above
        for uid in made.folder_of.values()
        for above in levels(folders, uid)  # those that it is in as well
    }
    paths = _paths(used)
    written: dict[str, str] = {}
    for uid, folder in used.items():
        resource = {
            "apiVersion": f"folder.grafana.app/{version}",
            "kind": "Folder",
            "metadata": {"name": uid},
            "spec": {"title": folder.title},
        }
        written[f"{paths[uid]}/_folder.json"] = to_text(resource)
    for uid, place in made.folder_of.items():
        written[f"{paths.get(place, FOLDER)}/{uid}.json"] = _dashboard(
            uid, version, made.files[f"dashboards/{uid}.json"]
        )
    return written, [*_too_old(target), *_too_many(len(written))]


def _dashboard(uid: str, version: str, text: str) -> str:
    """Return the dashboard's text as the specification of a resource, without reading it: it may be large."""
    from watchkeeper.render.grafana.text import to_text  # as above

    spec = text.rstrip("\n").replace("\n", "\n  ")
    head = {"apiVersion": f"dashboard.grafana.app/{version}", "kind": "Dashboard", "metadata": {"name": uid}}
    return f'{to_text(head).rstrip()[:-2]},\n  "spec": {spec}\n}}\n'


def _paths(folders: Mapping[str, Folder]) -> dict[str, str]:
    """Return where each folder lies. One whose title makes the name of one beside it has its uid in its own too."""
    names: dict[str, str] = {}
    taken: set[tuple[str, str]] = set()
    for uid in sorted(folders):
        parent, title = folders[uid].parent, folders[uid].title
        name = re.sub(r"[^\w -]+", "-", title).strip(" -") or uid
        # The case is folded, since two folders that differ in it alone are one on some file systems.
        if (parent, name.casefold()) in taken:
            name = f"{name} {uid}"
        taken.add((parent, name.casefold()))
        names[uid] = name
    return {uid: "/".join([FOLDER, *(names[above.uid] for above in levels(folders, uid))]) for uid in folders}


def _too_old(target: tuple[int, int]) -> list[Finding]:
    if target >= _SINCE:
        return []
    need = f"{_SINCE[0]}.{_SINCE[1]}"
    what = f"git-sync needs Grafana {need}; the target is {target[0]}.{target[1]}"
    fix = f'take grafana-provisioning, or set targets = {{grafana = "{need}"}} once no older one is in use'
    return [Finding("output/feature", what, why="an older Grafana has no Git Sync, and no such resources", fix=fix)]


def _too_many(count: int) -> list[Finding]:
    if count <= MOST:
        return []
    what = f"git-sync: {count:,} dashboards and folders in one repository"
    why = f"Grafana recommends at most {MOST:,}: each sync looks at all of them"
    fix = "split the pack in two, each with a repository of its own"
    return [Finding("output/size", what, why=why, fix=fix, severity="warning")]
