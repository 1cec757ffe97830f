"""Our mark at an object: whose it is, and what was applied last. Written and read in the forms that servers keep."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from watchkeeper.sync.objects import Mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["APPLIED", "OWNER", "TAG", "from_message", "from_tags", "message", "tagged"]

TAG = "watchkeeper:"  # and the owner behind it: the tag of a dashboard, which lists of dashboards show
OWNER = "watchkeeper.io/owner"  # annotations of an object in Grafana's /apis
APPLIED = "watchkeeper.io/applied"
_MESSAGE = re.compile(r"watchkeeper (\S+) (\S+)")


def tagged(model: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Return the model of a dashboard with the owner's tag, and no other owner's."""
    given = model.get("tags")
    tags = [tag for tag in given if not _is_mark(tag)] if isinstance(given, list) else []
    return {**model, "tags": [*tags, TAG + owner]}


def from_tags(tags: object) -> str:
    """Return whose the tags say that a dashboard is: nobody's, or of several owners that of no single one."""
    found = {tag.removeprefix(TAG) for tag in tags if _is_mark(tag)} if isinstance(tags, list) else set()
    return ", ".join(sorted(found))


def _is_mark(tag: object) -> bool:
    return isinstance(tag, str) and tag.startswith(TAG)


def message(mark: Mark) -> str:
    """Return what is written as the message of a version, where a server keeps no annotations."""
    return f"watchkeeper {mark.owner} {mark.applied}"


def from_message(texts: Iterable[object]) -> Mark:
    """Return the mark in the first message that holds one: give those of the newest version first."""
    for text in texts:
        if isinstance(text, str) and (found := _MESSAGE.fullmatch(text)):
            return Mark(found[1], found[2])
    return Mark("")
