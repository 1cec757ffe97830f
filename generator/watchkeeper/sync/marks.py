"""Our mark at an object: whose it is, and what was applied last. Written and read in the forms that servers keep."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from watchkeeper.sync.objects import Mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "APPLIED",
    "OWNER",
    "STORED",
    "TAG",
    "from_annotations",
    "from_message",
    "from_tags",
    "message",
    "tagged",
    "to_annotations",
]  # fmt: skip

TAG = "watchkeeper:"  # and the owner behind it: the tag of a dashboard, which lists of dashboards show
OWNER = "watchkeeper.io/owner"  # annotations of an object in Grafana's /apis
APPLIED = "watchkeeper.io/applied"
STORED = "watchkeeper.io/stored"
_MESSAGE = re.compile(r"watchkeeper (\S+) (\S+)(?: (\S+))?")


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
    return " ".join(word for word in ("watchkeeper", mark.owner, mark.applied, mark.stored) if word)


def from_message(texts: Iterable[object]) -> Mark:
    """Return the mark in the first message that holds one: give those of the newest version first."""
    for text in texts:
        if isinstance(text, str) and (found := _MESSAGE.fullmatch(text)):
            return Mark(found[1], found[2], found[3] or "")
    return Mark("")


def to_annotations(mark: Mark) -> dict[str, str]:
    """Return the annotations of an object in Grafana's /apis; take the others of these names away."""
    named = {OWNER: mark.owner, APPLIED: mark.applied, STORED: mark.stored}
    return {name: value for name, value in named.items() if value}


def from_annotations(found: Mapping[str, object]) -> Mark:
    """Return the mark in the annotations of an object."""
    owner, applied, stored = (found.get(name) for name in (OWNER, APPLIED, STORED))
    return Mark(*(value if isinstance(value, str) else "" for value in (owner, applied, stored)))
