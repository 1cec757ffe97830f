"""The referee of `sync_memory` for the adapters at a Grafana on loopback: it sees what each request changes."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from standin_grafana import Fault, Grafana, Reply
from sync_memory import Crash, Record, essence

from watchkeeper.sync import marks
from watchkeeper.sync.grafana import DELETES, connect
from watchkeeper.sync.objects import Dashboard, Folder, Live, Mark

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from standin_grafana import Stored
    from standin_server import Request

    from watchkeeper.sync.http import Client

Key = tuple[str, str]
_FAULTS = {
    "down": Fault("reply", Reply(500, {"message": "database is locked"})),
    "lost": Fault("cut-before"),
    "late": Fault("cut-before"),
    "cut": Fault("cut-after"),
}


class Remote:
    """A server as `Memory` is one, with an adapter between it and the tool."""

    odd = False

    def __init__(self, grafana: Grafana, client: Client, owner: str) -> None:
        grafana.boards.clear()
        grafana.folders.clear()
        grafana.faults.clear()
        grafana.server.requests.clear()
        grafana.server.answer = self._answer
        self.grafana = grafana
        self.adapter = connect(client, owner, target=(11, 0), rights=DELETES)
        self.annotates = grafana.has_apis
        self.keeps_owner = grafana.has_apis and grafana.keeps_annotations
        self.fault: Callable[[], str] = lambda: ""
        self.wrongs: list[str] = []
        self.allowed: set[str] = set()
        self._ours: dict[Key, Any] = {}
        self._touched: set[Key] = set()

    @property
    def writes(self) -> int:
        return self.grafana.writes

    @property
    def records(self) -> dict[Key, Record]:
        return {key: self._record(key, stored) for key, stored in self._stored().items()}

    # What the tool calls.

    def list(self, kind: str, wanted: Collection[str]) -> list[Live]:
        return self.adapter.list(kind, wanted)

    def read(self, kind: str, uid: str) -> Live | None:
        return self.adapter.read(kind, uid)

    def create(self, kind: str, wanted: Any, mark: Mark) -> object:
        return self._write("POST", lambda: self.adapter.create(kind, wanted, mark))

    def update(self, kind: str, wanted: Any, mark: Mark, live: Live) -> object:
        method = "PUT" if self.annotates else "POST"
        return self._write(method, lambda: self.adapter.update(kind, wanted, mark, live))

    def delete(self, kind: str, live: Live) -> None:
        self._write("DELETE", lambda: self.adapter.delete(kind, live))

    def _write(self, method: str, call: Callable[[], object]) -> object:
        fault = self.fault()
        if fault == "crash":
            raise Crash
        if fault in _FAULTS:
            self.grafana.faults.append(replace(_FAULTS[fault], method=method))
        try:
            return call()
        finally:
            self.grafana.faults.clear()
            if fault == "crash after":
                raise Crash

    # What somebody does at the server.

    def put(self, kind: str, record: Record) -> None:
        thing = record.thing
        key = kind, thing.uid
        if kind == "folder":
            self.grafana.put_folder(thing.uid, thing.title, thing.parent)
        else:
            annotations = marks.to_annotations(record.mark) if self.annotates else {}
            if record.manager and self.annotates:  # /api does not tell
                annotations |= {"grafana.app/managedBy": record.manager, "grafana.app/managerId": "x"}
            held = {"provisioned": record.provisioned, "annotations": annotations}
            self.grafana.put(thing.uid, thing.title, thing.folder, copy.deepcopy(dict(thing.model)), **held)
        self._ours.pop(key, None)
        self._touched.discard(key)

    def by_hand(self, kind: str, uid: str, thing: Any) -> None:
        stored = self._stored()[kind, uid]
        stored.title = thing.title
        if kind == "folder":
            stored.folder = thing.parent
            stored.spec = {**stored.spec, "title": thing.title}
        else:
            stored.folder = thing.folder
            stored.spec = {key: value for key, value in thing.model.items() if key not in ("id", "uid", "version")}
            stored.annotations.pop("grafana.app/message", None)
        self.grafana.wrote(stored, "")
        self._touched.add((kind, uid))

    def remove(self, kind: str, uid: str) -> None:
        if kind == "folder":
            inside = [key for key, stored in self._stored().items() if stored.folder == uid]
            for key in inside:
                self.remove(*key)
            del self.grafana.folders[uid]
        else:
            del self.grafana.boards[uid]
        self._ours.pop((kind, uid), None)

    # The referee.

    def _stored(self) -> dict[Key, Stored]:
        folders = {("folder", uid): stored for uid, stored in self.grafana.folders.items()}
        return {**folders, **{("dashboard", uid): stored for uid, stored in self.grafana.boards.items()}}

    def _record(self, key: Key, stored: Stored) -> Record:
        mark = marks.from_annotations(stored.annotations)
        return Record(
            _thing(key, stored), stored.resource_version, mark, [], self._ours.get(key), key in self._touched,
            stored.provisioned, stored.annotations.get("grafana.app/managedBy", ""),
        )  # fmt: skip

    def _answer(self, request: Request) -> Reply:
        if request.method == "GET":
            return self.grafana.answer(request)
        with self.grafana.lock:
            before = self.records
            reply = self.grafana.answer(request)
            after = self.records
            for key in before.keys() | after.keys():
                was, now = before.get(key), after.get(key)
                if was is None or now is None or was.version != now.version:
                    self._judge(key, was, now)
        return reply

    def _judge(self, key: Key, was: Record | None, now: Record | None) -> None:
        if was and not (now and essence(now.thing) == essence(was.thing)) and key[1] not in self.allowed:
            verb = "overwrote" if now else "deleted"
            if was.ours is None:
                self.wrongs.append(f"{verb} a foreign {key}")
            elif essence(was.thing) != essence(was.ours):
                self.wrongs.append(f"{verb} an edited {key}")
        if was and (was.provisioned or was.manager):
            self.wrongs.append(f"wrote a held {key}")
        self._touched.discard(key)
        if now:
            self._ours[key] = now.thing
        else:
            self._ours.pop(key, None)


def _thing(key: Key, stored: Stored) -> Any:
    if key[0] == "folder":
        return Folder(stored.uid, stored.title, stored.folder)
    return Dashboard(stored.uid, stored.title, stored.folder, copy.deepcopy(stored.spec))
