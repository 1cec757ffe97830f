"""What is to be done about one object: wanted, live, or both; edited by hand, or held by somebody else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from watchkeeper.sync.canonical import digest
from watchkeeper.sync.diff import differences
from watchkeeper.sync.objects import Change, Live

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from watchkeeper.sync.objects import Thing

__all__ = ["DASHBOARD", "FOLDER", "Kind", "conflict", "judge", "named"]


@dataclass(frozen=True)
class Kind:
    """What must be known of a kind of object.

    `place` is the field that says where it is, so that a change of nothing else is a move; empty where there is none.
    `adopts`: whether one that is as wanted, but without our mark, is marked and so becomes ours.
    """

    name: str
    digest: Callable[[Any], str]
    differences: Callable[[Any, Any], Sequence[str]]
    place: str = ""
    adopts: bool = True


DASHBOARD = Kind("dashboard", digest, differences, "folder")
# Not every server can keep a mark at a folder, and several projects may use one.
FOLDER = Kind("folder", digest, differences, "parent", adopts=False)

_GONE = "no longer in the definitions"


def judge(
    kind: Kind, wanted: Any, live: Live | None, owner: str, *, prune: bool = False, overwrite: bool = False
) -> Change | None:
    """Return what is to be done about one object, None if it is none of our business.

    `prune`: what is ours and no longer wanted is deleted. `overwrite`: somebody has named this one to be written or
    deleted, whoever edited or owns it.
    """
    thing: Thing = live.object if live and wanted is None else wanted
    change = Change(kind.name, "unchanged", thing.uid, thing.title, (), wanted, live)
    if live is None:
        return replace(change, action="created")
    if wanted is None:
        return _unwanted(kind, change, live, owner, prune=prune, overwrite=overwrite)
    now, want, ours = kind.digest(live.object), kind.digest(wanted), live.owner == owner
    edited = now != (live.stored or live.applied)
    if holder := _holder(live):
        return conflict(change, f"{holder}: take it out there, or here")
    if ours and not edited and want in (now, live.applied):
        return change
    if now == want and (ours or not live.owner or not kind.adopts):
        if not ours and not kind.adopts:
            return change
        how = "edited at the server to what the definitions say now" if ours else "it is as the definitions have it"
        return replace(change, action="adopted", detail=(how,))
    reason = ""
    if live.owner and not ours:
        reason = f'it is marked as of "{live.owner}"'
    elif not ours:
        reason = "it has this uid, but other content, and no mark of ours"
    elif edited:
        reason = _edited(live, now)
    found = tuple(kind.differences(live.object, wanted))
    if reason and not overwrite:
        return conflict(change, reason, *found)
    elsewhere = kind.place and getattr(live.object, kind.place) != getattr(wanted, kind.place)
    moved = elsewhere and kind.digest(replace(live.object, **{kind.place: getattr(wanted, kind.place)})) == want
    detail = (f"overwritten, though {reason}", *found) if reason else found
    return replace(change, action="moved" if moved else "changed", detail=detail)


def _unwanted(kind: Kind, change: Change, live: Live, owner: str, *, prune: bool, overwrite: bool) -> Change | None:
    """Return what is done about an object that is not, or no more, in the definitions."""
    if live.owner != owner or _holder(live):
        return None
    if not live.applied:
        # Who copies a dashboard copies its tag: that does not make the copy ours to delete.
        return replace(change, action="orphan", detail=(_GONE, "it has our tag, but we never applied it: a copy?"))
    now = kind.digest(live.object)
    reason = _edited(live, now) if now != (live.stored or live.applied) else ""
    if not prune:
        return replace(change, action="orphan", detail=(_GONE, reason) if reason else (_GONE,))
    if reason and not overwrite:
        return conflict(change, _GONE, reason)
    return replace(change, action="deleted", detail=(_GONE, f"deleted, though {reason}") if reason else (_GONE,))


def conflict(change: Change, *detail: str) -> Change:
    """Return the change as one that can't be made, and why."""
    return replace(change, action="conflict", detail=detail)


def _holder(live: Live) -> str:
    if live.provisioned:
        return "it is provisioned from files"
    return f"it is managed by {live.manager}" if live.manager else ""


def _edited(live: Live, now: str) -> str:
    """Return why an object of ours is not as we applied it."""
    if not live.applied:
        return "it has our tag, but we know of no version that we applied"
    if live.applied.partition("-")[0] != now.partition("-")[0]:
        return "it was applied by another version of Watchkeeper, which compared otherwise"
    return "it was edited at the server since it was applied"


def named(patterns: Iterable[str], thing: Thing) -> bool:
    """Tell whether a pattern names the object, by uid or title: `gpu-*`."""
    names = (thing.uid, thing.title)  # which may hold brackets, that mean something in a pattern
    return any(pattern in names or any(fnmatchcase(name, pattern) for name in names) for pattern in patterns)
