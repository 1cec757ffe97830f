"""Grafana's /api, for versions before 12: our mark is the message of the newest version that we wrote.

Writes are locked by the dashboard's `version`, without `overwrite`: 412 says that somebody else wrote. Deletes have no
lock, so a dashboard is read again just before. At folders there is no place for a mark: none is ever deleted here.
https://grafana.com/docs/grafana/latest/developers/http_api/dashboard/
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from watchkeeper.sync import marks
from watchkeeper.sync.grafana_answers import said, stale
from watchkeeper.sync.grafana_history import WORKERS, mark_in_history
from watchkeeper.sync.objects import Dashboard, Folder, Live, Mark, Refused

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from watchkeeper.sync.http import Answer, Client

__all__ = ["Api"]

JSON = dict[str, Any]

PAGE = 1000  # hits of a search; 5000 are allowed
_MOST_PAGES = 1000


class Api:
    """A server without /apis."""

    def __init__(self, client: Client, owner: str) -> None:
        self._client = client
        self._owner = owner

    def list(self, kind: str, wanted: Collection[str]) -> list[Live]:
        """Return all objects of a kind; those that are wanted or ours in full, with a few requests for each."""
        found: list[Live | None] = []
        whole: list[str] = []
        for hit in self._hits("dash-folder" if kind == "folder" else "dash-db"):
            uid, title, place = (_text(hit, name) for name in ("uid", "title", "folderUid"))
            owner = "" if kind == "folder" else marks.from_tags(hit.get("tags"))
            if uid in wanted or owner == self._owner:
                whole.append(uid)
            elif kind == "folder":
                found.append(Live(Folder(uid, title, place)))
            else:
                found.append(Live(Dashboard(uid, title, place, {}), owner))
        with ThreadPoolExecutor(max_workers=WORKERS) as pool:
            found += pool.map(lambda uid: self.read(kind, uid), whole)
        return [live for live in found if live]

    def read(self, kind: str, uid: str) -> Live | None:
        """Return one object as it is now."""
        return self._folder(uid) if kind == "folder" else self._dashboard(uid)

    def create(self, kind: str, wanted: Any, mark: Mark) -> object:
        """Make an object; Stale where there is one."""
        if kind == "dashboard":
            return self._saved(wanted, mark, None)
        body = {"uid": wanted.uid, "title": wanted.title, **({"parentUid": wanted.parent} if wanted.parent else {})}
        answer = self._client.request("POST", "/api/folders", body=body, expect=(409, 412))
        return self._version(kind, wanted.title, answer)

    def update(self, kind: str, wanted: Any, mark: Mark, live: Live) -> object:
        """Change, mark and move an object; Stale where it is not as it was read, or gone."""
        return self._saved(wanted, mark, live) if kind == "dashboard" else self._changed(wanted, live)

    def delete(self, kind: str, live: Live) -> None:
        """Delete a dashboard; Stale where it is not as it was read, or gone."""
        title = live.object.title
        if kind == "folder":
            raise Refused("refused", f'folder "{title}": this Grafana can\'t tell whose it is, so it is kept')
        uid = live.object.uid
        now = self._dashboard(uid, history=False)
        if now is None or now.version != live.version:
            raise stale(kind, title)
        answer = self._client.request("DELETE", _board(uid), expect=(400, 404))
        if answer.status == 404:
            raise stale(kind, title, answer)
        if answer.status == 400:
            raise Refused("provisioned", f'{kind} "{title}": {said(answer)}: it is kept')

    def _hits(self, type_: str) -> Iterator[JSON]:
        """Yield what a search finds, page by page."""
        for page in range(1, _MOST_PAGES + 1):
            answer = self._client.request("GET", "/api/search", params={"type": type_, "limit": PAGE, "page": page})
            hits = answer.data
            if not isinstance(hits, list):
                raise self._strange("/api/search")
            yield from (hit for hit in hits if isinstance(hit, dict) and _text(hit, "uid"))
            if len(hits) < PAGE:
                return
        raise Refused("malformed", f"GET {self._client.url}/api/search: the list has no end")

    def _dashboard(self, uid: str, *, history: bool = True) -> Live | None:
        answer = self._client.request("GET", _board(uid), expect=(404,))
        if answer.status == 404:
            return None
        data = answer.data if isinstance(answer.data, dict) else {}
        model, meta = data.get("dashboard"), data.get("meta")
        if not isinstance(model, dict) or not isinstance(meta, dict):
            raise self._strange(_board(uid))
        mark = mark_in_history(self._client, uid) if history else Mark("")
        title = _text(model, "title") or uid
        return Live(
            Dashboard(uid, title, _text(meta, "folderUid"), model),
            mark.owner or marks.from_tags(model.get("tags")),
            mark.applied,
            mark.stored,
            _lock(model),
            provisioned=bool(meta.get("provisioned")),
        )

    def _folder(self, uid: str) -> Live | None:
        answer = self._client.request("GET", f"/api/folders/{quote(uid, safe='')}", expect=(404,))
        if answer.status == 404:
            return None
        if not isinstance(answer.data, dict) or not _text(answer.data, "title"):
            raise self._strange("/api/folders")
        found = answer.data
        return Live(Folder(uid, _text(found, "title"), _text(found, "parentUid")), version=_lock(found))

    def _saved(self, wanted: Any, mark: Mark, live: Live | None) -> object:
        # Without its id, a dashboard is found by its uid; of one that there is, no version is another version. With it,
        # one that is gone is not made anew.
        model = {key: value for key, value in wanted.model.items() if key not in ("id", "version")}
        model = {**marks.tagged(model, mark.owner), "uid": wanted.uid}
        if live:
            model |= dict(zip(("id", "version"), _held(live), strict=True))
        body = {"dashboard": model, "folderUid": wanted.folder, "message": marks.message(mark), "overwrite": False}
        answer = self._client.request("POST", "/api/dashboards/db", body=body, expect=(400, 404, 412))
        return self._version("dashboard", wanted.title, answer)

    def _changed(self, wanted: Folder, live: Live) -> object:
        """Move and rename a folder, which are two requests; the first has no lock, so it is read again before."""
        path = f"/api/folders/{quote(wanted.uid, safe='')}"
        lock = _held(live)
        if wanted.parent != live.object.parent:
            now = self._folder(wanted.uid)
            if now is None or (now.version, now.object) != (live.version, live.object):
                raise stale("folder", wanted.title)
            body = {"parentUid": wanted.parent}
            answer = self._client.request("POST", f"{path}/move", body=body, expect=(404,))
            lock = self._version("folder", wanted.title, answer)
        if wanted.title == live.object.title:
            return lock
        renamed = {"title": wanted.title, "version": lock[1]}
        answer = self._client.request("PUT", path, body=renamed, expect=(404, 409, 412))
        return self._version("folder", wanted.title, answer)

    def _version(self, kind: str, title: str, answer: Answer) -> tuple[object, object]:
        """Return the version that a write has made; what it says otherwise is in pkg/services/dashboards/errors.go."""
        data = answer.data if isinstance(answer.data, dict) else {}
        if answer.status < 400:
            return _lock(data)
        told, status = said(answer), _text(data, "status")
        if status == "name-exists" or "name already exists" in told:
            raise Refused("exists", f'{kind} "{title}": its folder holds another one of that title: rename one')
        if "provisioned" in told or status == "plugin-dashboard":
            raise Refused("provisioned", f'{kind} "{title}": {told}: it comes from files or a plugin')
        if answer.status in (409, 412) or status == "not-found" or "same uid already exists" in told:
            raise stale(kind, title, answer)
        raise Refused("refused", f'{kind} "{title}": {answer.status}: {told or "no reason is given"}')

    def _strange(self, path: str) -> Refused:
        return Refused("malformed", f"GET {self._client.url}{path}: not what Grafana answers: is something in between?")


def _board(uid: str) -> str:
    return f"/api/dashboards/uid/{quote(uid, safe='')}"


def _lock(found: JSON) -> tuple[object, object]:
    """Return what tells a version of an object from all others: one that was deleted and made anew begins at 1 too."""
    return found.get("id"), found.get("version")


def _held(live: Live) -> tuple[object, object]:
    if not isinstance(live.version, tuple):
        raise TypeError("an object of another server")
    return live.version


def _text(parent: JSON, name: str) -> str:
    found = parent.get(name)
    return found if isinstance(found, str) else ""
