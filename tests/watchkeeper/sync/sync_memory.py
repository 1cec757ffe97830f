"""A Grafana in memory that offers what an adapter does, and a referee that knows who wrote what without any mark."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from watchkeeper.sync import marks
from watchkeeper.sync.objects import Dashboard, Folder, Live, Mark, Refused, Stale, Unsure

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


class Crash(BaseException):
    """The process that syncs is gone."""


NONE = Mark("")


@dataclass
class Record:
    """One object at the server. `ours`: what it was when we last wrote it; `touched`: somebody else did since."""

    thing: Any
    version: int
    mark: Mark = NONE
    messages: list[str] = field(default_factory=list)
    ours: Any = None
    touched: bool = False
    provisioned: bool = False
    manager: str = ""


def essence(thing: Any) -> tuple:
    """What a person sees of an object, in its simplest form: this must not be lost."""
    if isinstance(thing, Folder):
        return thing.uid, thing.title, thing.parent
    panels = sorted((panel["id"], panel["title"], panel["targets"][0]["expr"]) for panel in thing.model["panels"])
    return thing.uid, thing.title, thing.folder, tuple(panels)


def saved(model: dict[str, Any]) -> dict[str, Any]:
    """The model as Grafana saves it: numbered, with defaults, without nulls, and in the order of the places."""
    model = json.loads(json.dumps(model))
    panels = sorted(model["panels"], key=lambda panel: (panel["gridPos"]["y"], panel["gridPos"]["x"]))
    for panel in panels:
        panel.pop("description", None) if not panel.get("description") else None
        panel |= {"pluginVersion": "13.1.0", "transparent": False}
    return {**model, "panels": panels, "id": 7, "schemaVersion": 43, "liveNow": False, "weekStart": "", "version": 3}


class Memory:
    """`annotates`: marks are kept as annotations, on folders too; else as messages of versions, on dashboards only.

    `odd`: the server makes of what it is given more than anybody knows. `allowed`: uids that may be overwritten.
    """

    def __init__(self, *, annotates: bool, odd: bool = False) -> None:
        self.annotates, self.odd = annotates, odd
        self.keeps_owner = annotates  # of a dashboard without the tag
        self.records: dict[tuple[str, str], Record] = {}
        self.writes = 0
        self.fault: Callable[[], str] = lambda: ""
        self.wrongs: list[str] = []
        self.allowed: set[str] = set()
        self._late: list[Callable[[], object]] = []
        self._lock = Lock()
        self._versions = 0

    # What an adapter offers.

    def list(self, kind: str, wanted: Collection[str]) -> list[Live]:
        with self._lock:
            self._arrive()
            found = [self._live(key, record) for key, record in self.records.items() if key[0] == kind]
        return [
            replace(live, object=replace(live.object, model={}))
            if kind == "dashboard" and not live.owner and live.object.uid not in wanted
            else live
            for live in found
        ]

    def read(self, kind: str, uid: str) -> Live | None:
        with self._lock:
            self._arrive()
            record = self.records.get((kind, uid))
            return self._live((kind, uid), record) if record else None

    def create(self, kind: str, wanted: Any, mark: Mark) -> object:
        return self._write(lambda: self._create(kind, wanted, mark))

    def update(self, kind: str, wanted: Any, mark: Mark, live: Live) -> object:
        return self._write(lambda: self._update(kind, wanted, mark, live))

    def delete(self, kind: str, live: Live) -> None:
        self._write(lambda: self._delete(kind, live))

    # What is behind it.

    def _write(self, make: Callable[[], object]) -> object:
        with self._lock:
            self._arrive()
            fault = self.fault()
            if fault == "down":
                raise Refused("server", "503")
            if fault == "lost":
                raise Unsure("unsure", "cut off before it arrived")
            if fault == "late":
                self._late.append(make)
                raise Unsure("unsure", "cut off, and it arrives later")
            if fault == "crash":
                raise Crash
            made = make()
            if fault == "cut":
                raise Unsure("unsure", "cut off after it was made")
            if fault == "crash after":
                raise Crash
            return made

    def _arrive(self) -> None:
        late, self._late = self._late, []
        for make in late:
            with suppress(Refused):
                make()

    def _live(self, key: tuple[str, str], record: Record) -> Live:
        mark = record.mark if self.annotates else marks.from_message(reversed(record.messages))
        tag = marks.from_tags(record.thing.model.get("tags")) if key[0] == "dashboard" else ""
        owner = tag if not self.annotates else mark.owner or tag
        held = {"provisioned": record.provisioned, "manager": record.manager}
        return Live(record.thing, owner, mark.applied, mark.stored, record.version, **held)

    def _create(self, kind: str, wanted: Any, mark: Mark) -> int:
        if (kind, wanted.uid) in self.records:
            raise Stale("stale", "there is one of that uid")
        return self._keep(kind, Record(None, 0), wanted, mark)

    def _update(self, kind: str, wanted: Any, mark: Mark, live: Live) -> int:
        record = self._locked(kind, wanted.uid, live)
        now = essence(record.thing)
        if now != essence(wanted) and wanted.uid not in self.allowed:
            if record.ours is None:
                self.wrongs.append(f"overwrote a foreign {kind} {wanted.uid}")
            elif now != essence(record.ours):
                self.wrongs.append(f"overwrote an edit of {kind} {wanted.uid}")
        if record.provisioned or record.manager:
            self.wrongs.append(f"wrote a held {kind} {wanted.uid}")
        tags = record.thing.model["tags"] if kind == "dashboard" else []
        if "watchkeeper:other" in tags and wanted.uid not in self.allowed:
            self.wrongs.append(f"took {kind} {wanted.uid} of another owner")
        return self._keep(kind, record, wanted, mark)

    def _delete(self, kind: str, live: Live) -> None:
        uid = live.object.uid
        record = self._locked(kind, uid, live)
        if record.ours is None:
            self.wrongs.append(f"deleted a foreign {kind} {uid}")
        elif essence(record.thing) != essence(record.ours) and uid not in self.allowed:
            self.wrongs.append(f"deleted an edited {kind} {uid}")
        if kind == "folder" and self.inside(uid):
            raise Stale("stale", "it is not empty")
        del self.records[kind, uid]
        self.writes += 1

    def _locked(self, kind: str, uid: str, live: Live) -> Record:
        record = self.records.get((kind, uid))
        if record is None or record.version != live.version:
            raise Stale("stale", "version-mismatch")
        return record

    def _keep(self, kind: str, record: Record, wanted: Any, mark: Mark) -> int:
        above = wanted.parent if kind == "folder" else wanted.folder
        if above and ("folder", above) not in self.records:
            raise Refused("refused", f"there is no folder {above}")
        if kind == "folder" and wanted.uid in self._above(above):
            raise Refused("loop", f"folder {wanted.uid} would be in itself")
        if kind == "dashboard":
            model = saved(marks.tagged(wanted.model, mark.owner))
            if self.odd:
                model["panels"] = [{**panel, "grafanaMigrated": {"by": 44}} for panel in model["panels"]]
            wanted = replace(wanted, model=model)
        record.thing = record.ours = wanted
        record.touched = False
        record.mark = mark if self.annotates else Mark("")
        record.messages.append(marks.message(mark))
        self.put(kind, record)
        self.writes += 1
        return record.version

    def put(self, kind: str, record: Record) -> None:
        self._versions += 1
        record.version = self._versions
        self.records[kind, record.thing.uid] = record

    def by_hand(self, kind: str, uid: str, thing: Any) -> None:
        """Somebody saves the object: without a message of ours, but all annotations as they were."""
        record = self.records[kind, uid]
        record.thing, record.touched = thing, True
        record.messages.append("")
        self.put(kind, record)

    def inside(self, uid: str) -> list[tuple[str, str]]:
        """The objects that are in a folder."""
        return [
            key
            for key, record in self.records.items()
            if (record.thing.parent if key[0] == "folder" else record.thing.folder) == uid
        ]

    def remove(self, kind: str, uid: str) -> None:
        """Somebody deletes an object, and what is in it."""
        for key in self.inside(uid) if kind == "folder" else []:
            self.remove(*key)
        del self.records[kind, uid]

    def _above(self, uid: str) -> list[str]:
        found: list[str] = []
        while uid and uid not in found:
            found.append(uid)
            record = self.records.get(("folder", uid))
            uid = record.thing.parent if record else ""
        return found


def board(uid: str, title: str, folder: str, *exprs: str) -> Dashboard:
    """A dashboard with a panel for each expression."""
    panels = [
        {
            "id": number, "type": "timeseries", "title": f"Panel {number}", "description": None,
            "gridPos": {"x": 0, "y": 8 * number, "h": 8, "w": 12},
            "targets": [{"refId": "A", "expr": expr}],
        }
        for number, expr in enumerate(exprs, 1)
    ]  # fmt: skip
    return Dashboard(uid, title, folder, {"title": title, "uid": uid, "tags": ["gpu"], "panels": panels})
