"""What is to be done so that a server has what the definitions say. Pure: what is wanted and live in, changes out."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from watchkeeper import folders
from watchkeeper.sync.judge import DASHBOARD, FOLDER, conflict, judge, named
from watchkeeper.sync.objects import Change, Dashboard, Folder, Live

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from watchkeeper.sync.judge import Kind

__all__ = ["is_drift", "phase", "plan"]


@dataclass
class _State:
    """What is wanted and live, by uid."""

    folders: dict[str, Folder] = field(default_factory=dict)
    boards: dict[str, Dashboard] = field(default_factory=dict)
    live_folders: dict[str, Live] = field(default_factory=dict)
    live_boards: dict[str, Live] = field(default_factory=dict)

    def add(self, thing: Folder | Dashboard) -> None:
        if isinstance(thing, Folder):
            self.folders[thing.uid] = thing
        else:
            self.boards[thing.uid] = thing


def plan(
    wanted: Iterable[Folder | Dashboard],
    live: Iterable[Live],
    owner: str,
    *,
    prune: bool = False,
    only: Collection[str] = (),
    overwrite: Collection[str] = (),
) -> list[Change]:
    """Return what is done about each folder and dashboard, in an order that survives a crash.

    Folders are made from the top down, before what is in them; deleted is at the end, folders from the bottom up.
    `prune` deletes what is ours and no longer wanted. `overwrite` and `only` are patterns of uids and titles: what may
    be written in spite of a conflict, and what it is about at all, with the missing folders that this needs.
    """
    state = _State()
    for thing in wanted:
        state.add(thing)
    for one in live:
        (state.live_folders if isinstance(one.object, Folder) else state.live_boards)[one.object.uid] = one
    needed = _needed(state, only)
    found: list[Change] = []
    kinds: tuple[tuple[Kind, Mapping[str, Folder | Dashboard], dict[str, Live]], ...] = (
        (FOLDER, state.folders, state.live_folders),
        (DASHBOARD, state.boards, state.live_boards),
    )
    for kind, wants, lives in kinds:
        for uid in sorted(wants.keys() | lives.keys()):
            said = wants[uid] if uid in wants else lives[uid].object
            if only and not named(only, said) and not (kind is FOLDER and uid in needed):
                continue
            if change := judge(
                kind, wants.get(uid), lives.get(uid), owner, prune=prune, overwrite=named(overwrite, said)
            ):
                found.append(_homed(change, state))
    return sorted(_filled(found, state), key=lambda change: (phase(change), _rank(change, state), change.uid))


def phase(change: Change) -> int:
    """Return when a change is made: those of one phase may be made at once, but those of folders one by one."""
    deleted = change.action == "deleted"
    if change.kind == FOLDER.name:
        return 3 if deleted else 0
    return 2 if deleted else 1


def is_drift(change: Change) -> bool:
    """Tell whether the server differs from the definitions. Somebody's copy of a dashboard is none of it."""
    copied = change.action == "orphan" and not (change.live and change.live.applied)
    return change.action != "unchanged" and not copied


def _needed(state: _State, only: Collection[str]) -> set[str]:
    """Return the folders that are not there yet, above what is named."""
    at = [board.folder for board in state.boards.values() if named(only, board)]
    at += [folder.parent for folder in state.folders.values() if named(only, folder)]
    return {folder.uid for uid in at for folder in folders.path(state.folders, uid)} - state.live_folders.keys()


def _homed(change: Change, state: _State) -> Change:
    """Return a conflict for a dashboard that would be put into a folder that there is not."""
    if change.kind == FOLDER.name or not change.writes or change.wanted is None:
        return change
    uid = change.wanted.folder
    if not uid or uid in state.folders or uid in state.live_folders:
        return change
    return conflict(change, f'there is no folder "{uid}": add it to [tool.watchkeeper.folders]')


def _filled(changes: list[Change], state: _State) -> list[Change]:
    """Return the changes, without deletes of folders in which something stays: it would go with its folder."""
    writes = {(change.kind, change.uid): change for change in changes if change.writes}
    inside: dict[str, list[str]] = defaultdict(list)
    for uid in state.boards.keys() | state.live_boards.keys():
        change = writes.get((DASHBOARD.name, uid))
        live = state.live_boards.get(uid)
        board = change.wanted if change else live.object if live else None
        if board is not None:
            inside[board.folder].append(board.title)
    full: set[str] = set()
    for uid in sorted(
        state.folders.keys() | state.live_folders.keys(), key=lambda uid: -_depth(uid, state.live_folders)
    ):
        change, live = writes.get((FOLDER.name, uid)), state.live_folders.get(uid)
        folder = change.wanted if change else live.object if live else None
        if folder is None and live and inside[uid]:
            full.add(uid)
            folder = live.object
        if folder is not None:
            inside[folder.parent].append(folder.title)
    return [
        replace(change, action="orphan", detail=(*change.detail, _holding(inside[change.uid])))
        if phase(change) == 3 and change.uid in full
        else change
        for change in changes
    ]


def _holding(titles: list[str]) -> str:
    first, *others = sorted(titles)
    return f'kept: "{first}" is in it' + (f" and {len(others)} more" if others else "")


def _depth(uid: str, live: dict[str, Live]) -> int:
    """Return how deep a folder is at the server; a loop there ends."""
    seen: set[str] = set()
    while uid in live and uid not in seen:
        seen.add(uid)
        uid = live[uid].object.parent
    return len(seen)


def _rank(change: Change, state: _State) -> int:
    """Return the place of a folder among those of its phase."""
    if change.kind != FOLDER.name:
        return 0
    if change.action == "deleted":
        return -_depth(change.uid, state.live_folders)
    return len(folders.path(state.folders, change.uid))
