"""What the parts of a sync share: objects wanted and live, changes between them, and what a server must offer.

`plan` makes changes of objects, `apply` makes them at a `Server`, which the adapters are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from watchkeeper.folders import Folder

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = [
    "ACTIONS", "Change", "Dashboard", "Folder", "Live", "Mark", "Refused", "Server", "Stale", "Thing", "Unsure",
]  # fmt: skip


class Thing(Protocol):
    """What can be wanted, and be live: a dashboard, a folder, a group of rules."""

    @property
    def uid(self) -> str: ...
    @property
    def title(self) -> str: ...


@dataclass(frozen=True)
class Dashboard:
    """A dashboard in the classic model. `folder` is the uid of the one it is in, empty at the top."""

    uid: str
    title: str
    folder: str
    model: Mapping[str, Any]


@dataclass(frozen=True)
class Mark:
    """What we leave at an object: whose it is, and the digest of what we applied last.

    `stored` is the digest of what the server made of that, where it keeps it in a form of its own.
    """

    owner: str
    applied: str = ""
    stored: str = ""


@dataclass(frozen=True)
class Live:
    """An object as it is at the server.

    `owner`, `applied` and `stored` are those of its mark, empty where there is none: the owner also if only its tag
    tells it, the digests of the newest version that we wrote, however many of others' came after it. `version` is what
    the server locks by. `provisioned` and `manager`: files or another tool hold it, so that it can't be written.
    """

    object: Any  # the Thing, of the type that its kind has
    owner: str = ""
    applied: str = ""
    stored: str = ""
    version: object = None
    provisioned: bool = False
    manager: str = ""


# What a change does. The first five are writes; an orphan is ours, no longer wanted, and kept without --prune.
ACTIONS = ("created", "changed", "moved", "adopted", "deleted", "conflict", "orphan", "unchanged")
WRITES = frozenset(ACTIONS[:5])


@dataclass(frozen=True)
class Change:
    """What is done about one object, or why nothing is. `detail`: the differences and reasons, a line each."""

    kind: str  # folder, dashboard, or rule group
    action: str
    uid: str
    title: str
    detail: tuple[str, ...] = ()
    wanted: Any = None
    live: Live | None = None

    @property
    def writes(self) -> bool:
        return self.action in WRITES


class Refused(Exception):  # noqa: N818 - what the server did
    """A remote refused or failed; the message is one line with what to do. `reason` is one of few words."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Stale(Refused):
    """Nothing is written: the object was changed, made, deleted or filled by someone else since it was read."""


class Unsure(Refused):
    """The connection ended after a write was sent: it may have been made or not, so the object must be read again."""


class Server(Protocol):
    """What an adapter offers. All may be called by several threads at once.

    `create` of what there is, and `update` or `delete` of what has another version than that read, raise Stale. So
    does `delete` of a folder with anything left in it, whoever's: it would go with the folder. The mark is written
    with the object, in one request (`marks.to_annotations`, or `marks.message`), and for dashboards as the tag too
    (`marks.tagged`). `create` and `update` return the version that the object has now, None if the answer tells none.
    """

    def list(self, kind: str, wanted: Collection[str]) -> list[Live]:
        """Return all objects of a kind. The model may be left empty of those neither wanted (by uid) nor ours."""

    def read(self, kind: str, uid: str) -> Live | None:
        """Return one object as it is now."""

    def create(self, kind: str, wanted: Any, mark: Mark) -> object: ...
    def update(self, kind: str, wanted: Any, mark: Mark, live: Live) -> object: ...
    def delete(self, kind: str, live: Live) -> None: ...
