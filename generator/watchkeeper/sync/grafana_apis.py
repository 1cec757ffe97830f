"""Grafana's /apis: dashboards and folders as resources, with our mark in their annotations.

A listing has the objects in full, so that a plan needs a request for each page and no more. Writes are locked by
`resourceVersion`: 409 says that somebody else wrote. We never name ourselves the manager of a resource: Grafana would
lock it for people (gcx#837), and refuses to change a manager later (gcx#1324).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from watchkeeper.sync import marks
from watchkeeper.sync.grafana_answers import forbidden, said, stale
from watchkeeper.sync.grafana_history import marks_in_history
from watchkeeper.sync.objects import Dashboard, Folder, Live, Mark, Refused, Stale

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from watchkeeper.sync.http import Answer, Client

__all__ = ["DASHBOARDS", "FOLDERS", "Apis"]

JSON = dict[str, Any]

DASHBOARDS, FOLDERS = "dashboard.grafana.app", "folder.grafana.app"
PAGE = 100  # objects
_MOST_PAGES = 10_000
_KINDS = {"dashboard": (DASHBOARDS, "dashboards", "Dashboard"), "folder": (FOLDERS, "folders", "Folder")}
# Names of annotations: pkg/apimachinery/utils/meta.go
_FOLDER, _MESSAGE = "grafana.app/folder", "grafana.app/message"
_MANAGER, _MANAGER_ID = "grafana.app/managedBy", "grafana.app/managerId"
_FILES = ("classic-file-provisioning", "repo")  # managers that read files


@dataclass(frozen=True)
class _Version:
    """What a server locks by, and what it keeps with the object that is not ours to take away."""

    resource: str
    annotations: Mapping[str, str] = field(compare=False)
    labels: Mapping[str, str] = field(compare=False)
    description: str = field(compare=False)


class Apis:
    """A server with /apis. `versions`: those of the groups, by their names."""

    def __init__(self, client: Client, owner: str, versions: Mapping[str, str], namespace: str) -> None:
        self._client = client
        self._owner = owner
        self._versions = versions
        self._namespace = namespace

    def list(self, kind: str, wanted: Collection[str]) -> list[Live]:
        """Return all objects of a kind; without the models of dashboards neither wanted nor marked."""
        found: dict[str, Live] = {}
        for item in self._items(kind):
            live = self._live(kind, item)
            if kind == "dashboard" and live.object.uid not in wanted and not live.owner:
                live = Live(Dashboard(live.object.uid, live.object.title, live.object.folder, {}))
            found[live.object.uid] = live
        if kind == "dashboard":
            found = self._remembered(found)
        return list(found.values())

    def read(self, kind: str, uid: str) -> Live | None:
        """Return one object as it is now."""
        answer = self._client.request("GET", self._path(kind, uid), expect=(404,))
        if answer.status == 404:
            return None
        live = self._live(kind, _an_object(answer.data, self._client.url))
        return self._remembered({uid: live})[uid] if kind == "dashboard" else live

    def create(self, kind: str, wanted: Any, mark: Mark) -> object:
        """Make an object; Stale where there is one."""
        answer = self._client.request(
            "POST", self._path(kind), body=self._body(kind, wanted, mark), expect=(403, 409, 412)
        )
        return self._written(kind, wanted, answer)

    def update(self, kind: str, wanted: Any, mark: Mark, live: Live) -> object:
        """Change, mark and move an object in one request; Stale where it is not as it was read, or gone."""
        body = self._body(kind, wanted, mark, _held(live))
        answer = self._client.request("PUT", self._path(kind, wanted.uid), body=body, expect=(403, 404, 409, 412))
        return self._written(kind, wanted, answer)

    def delete(self, kind: str, live: Live) -> None:
        """Delete an object; Stale where it is not as it was read, gone, or a folder that holds something."""
        uid, title = live.object.uid, live.object.title
        if kind == "folder":
            self._check_empty(uid, title)
        # Without gracePeriodSeconds: 0 deletes what is in a folder, and what is provisioned.
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"resourceVersion": _held(live).resource},
        }
        answer = self._client.request("DELETE", self._path(kind, uid), body=options, expect=(400, 403, 404, 409, 412))
        if answer.status == 400:
            if "not empty" in said(answer):
                raise Stale("stale", f'the folder "{title}" holds something now: it is kept')
            raise Refused("refused", f'DELETE of {kind} "{title}": 400: {said(answer)}')
        if answer.status == 403:
            raise forbidden(kind, title, answer)
        if answer.status >= 400:
            raise stale(kind, title, answer)

    def _check_empty(self, uid: str, title: str) -> None:
        answer = self._client.request("GET", f"{self._path('folder', uid)}/counts", expect=(404,))
        counts = answer.data.get("counts") if answer.status == 200 and isinstance(answer.data, dict) else []
        held = {one.get("resource"): one.get("count") for one in counts or [] if isinstance(one, dict)}
        if any(held.values()):
            what = ", ".join(f"{count} {name}" for name, count in sorted(held.items()) if count)
            raise Stale("stale", f'the folder "{title}" holds {what}, which would go with it: it is kept')

    def _path(self, kind: str, uid: str = "") -> str:
        group, resource, _ = _KINDS[kind]
        base = f"/apis/{group}/{self._versions[group]}/namespaces/{self._namespace}/{resource}"
        return f"{base}/{quote(uid, safe='')}" if uid else base

    def _items(self, kind: str) -> Iterator[JSON]:
        """Yield all objects of a kind as the server writes them."""
        path = self._path(kind)
        token, seen = "", set()
        for _ in range(_MOST_PAGES):
            params: dict[str, str | int] = {"limit": PAGE, **({"continue": token} if token else {})}
            answer = self._client.request("GET", path, params=params)
            page = _an_object(answer.data, self._client.url)
            items = page.get("items")
            if items is not None and not isinstance(items, list):
                break
            for item in items or []:
                yield _an_object(item, self._client.url)
            token = _inside(page, "metadata").get("continue") or ""
            if not token:
                return
            if token in seen:
                break
            seen.add(token)
        raise Refused("malformed", f"GET {self._client.url}{path}: the list has no end")

    def _live(self, kind: str, item: JSON) -> Live:
        metadata, spec = _inside(item, "metadata"), _inside(item, "spec")
        annotations = _texts(metadata, "annotations")
        uid, version = metadata.get("name"), metadata.get("resourceVersion")
        if not isinstance(uid, str) or not isinstance(version, str):
            raise Refused("malformed", f"{self._client.url}: a {kind} without name or version: is that Grafana?")
        title = spec.get("title")
        title = title if isinstance(title, str) else uid
        place = annotations.get(_FOLDER, "")
        place = "" if place == "general" else place
        description = spec.get("description") if kind == "folder" else None
        description = description if isinstance(description, str) else ""
        mark = marks.from_annotations(annotations)
        if not mark.applied:
            # Grafana 12 may still keep its objects in the tables of /api, which have no column for annotations of ours.
            mark = marks.from_message([description if kind == "folder" else annotations.get(_MESSAGE)])
        thing = Folder(uid, title, place) if kind == "folder" else Dashboard(uid, title, place, spec)
        manager = annotations.get(_MANAGER, "")
        return Live(
            thing,
            mark.owner or (marks.from_tags(spec.get("tags")) if kind == "dashboard" else ""),
            mark.applied,
            mark.stored,
            _Version(version, annotations, _texts(metadata, "labels"), description),
            provisioned=manager in _FILES,
            manager=f"{manager} {annotations.get(_MANAGER_ID, '')}".strip(),
        )

    def _remembered(self, found: dict[str, Live]) -> dict[str, Live]:
        """Return the dashboards, with marks from their history where only a tag says that they are ours."""
        asked = [uid for uid, live in found.items() if live.owner == self._owner and not live.applied]
        for uid, mark in marks_in_history(self._client, asked).items():
            live = found[uid]
            if mark.owner == live.owner:
                found[uid] = replace(live, applied=mark.applied, stored=mark.stored)
        return found

    def _body(self, kind: str, wanted: Any, mark: Mark, held: _Version | None = None) -> JSON:
        group, _, name = _KINDS[kind]
        kept = held.annotations if held else {}
        ours = {_FOLDER, _MESSAGE, marks.OWNER, marks.APPLIED, marks.STORED}
        annotations = {key: value for key, value in kept.items() if key not in ours}
        annotations |= marks.to_annotations(mark)
        if place := wanted.parent if kind == "folder" else wanted.folder:
            annotations[_FOLDER] = place
        metadata: JSON = {"name": wanted.uid, "namespace": self._namespace, "annotations": annotations}
        if held:
            metadata |= {"resourceVersion": held.resource, "labels": dict(held.labels)}
        if kind == "folder":
            spec: JSON = {"title": wanted.title, "description": _description(mark, held)}
        else:
            annotations[_MESSAGE] = marks.message(mark)
            # The name says the uid; id and version are the server's; a number as gnetId is refused (grafana#118604).
            spec = {key: value for key, value in wanted.model.items() if key not in ("id", "uid", "version", "gnetId")}
            spec = marks.tagged(spec, mark.owner)
        return {"apiVersion": f"{group}/{self._versions[group]}", "kind": name, "metadata": metadata, "spec": spec}

    def _written(self, kind: str, wanted: Any, answer: Answer) -> object:
        if answer.status == 403:
            raise forbidden(kind, wanted.title, answer)
        if answer.status >= 400:
            raise stale(kind, wanted.title, answer)
        return self._live(kind, _an_object(answer.data, self._client.url)).version


def _description(mark: Mark, held: _Version | None) -> str:
    """Return a folder's description: somebody's, or our mark for servers that don't keep annotations."""
    given = held.description if held else ""
    return given if given and not marks.from_message([given]).owner else marks.message(mark)


def _held(live: Live) -> _Version:
    if not isinstance(live.version, _Version):
        raise TypeError("an object of another server")
    return live.version


def _an_object(data: Any, url: str) -> JSON:
    if not isinstance(data, dict):
        raise Refused("malformed", f"{url}: not what Grafana answers: is something in between?")
    return data


def _inside(parent: JSON, name: str) -> JSON:
    found = parent.get(name)
    return found if isinstance(found, dict) else {}


def _texts(parent: JSON, name: str) -> dict[str, str]:
    return {key: value for key, value in _inside(parent, name).items() if isinstance(value, str)}
