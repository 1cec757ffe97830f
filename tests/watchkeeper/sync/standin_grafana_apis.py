"""The /apis of the Grafana on loopback, as since 12: resources, in the manner of Kubernetes.

Each answer cites where it is from, in https://github.com/grafana/grafana unless it says otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from standin_grafana_store import DASHBOARD, FOLDER, Store, Stored, status
from standin_server import Reply

if TYPE_CHECKING:
    from standin_server import Request


class ResourceApi(Store):
    """What is below /apis."""

    def resource_routes(self):
        base = r"/apis/([\w.]+)/(v\w+)/namespaces/([^/]+)/(dashboards|folders)"
        return [
            ("GET", "/apis", self._groups),
            ("GET", base, self._list),
            ("POST", base, self._create),
            ("GET", f"{base}/([^/]+)", self._read),
            ("PUT", f"{base}/([^/]+)", self._replace),
            ("DELETE", f"{base}/([^/]+)", self._remove),
            ("GET", f"{base}/([^/]+)/counts", self._counts),
        ]

    def _groups(self, _request: Request) -> Reply:
        # Kubernetes' discovery, APIGroupList; the versions as in docs: http-api/apis.md
        names = {DASHBOARD: ["v2beta1", "v1beta1", "v0alpha1"], FOLDER: ["v1beta1"]}
        if int(self.version.partition(".")[0]) >= 13:
            names = {DASHBOARD: ["v2", "v1", "v1beta1", "v0alpha1"], FOLDER: ["v1", "v1beta1"]}
        groups = [
            {"name": name, "versions": [{"groupVersion": f"{name}/{one}", "version": one} for one in versions]}
            for name, versions in names.items()
        ]
        return Reply(200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})

    def _resource(self, thing: Stored, group: str, version: str) -> dict[str, Any]:
        annotations = dict(thing.annotations)
        if not self.keeps_annotations:
            # pkg/registry/apis/dashboard/legacy/sql_dashboards.go: a row has no place for them
            annotations = {key: value for key, value in annotations.items() if key.startswith("grafana.app/")}
            annotations.pop("grafana.app/message", None)
        if thing.folder:
            annotations["grafana.app/folder"] = thing.folder
        if thing.provisioned:
            # sql_dashboards.go: ManagerKindClassicFP
            annotations |= {"grafana.app/managedBy": "classic-file-provisioning", "grafana.app/managerId": "files"}
        return {
            "kind": "Dashboard" if group == DASHBOARD else "Folder",
            "apiVersion": f"{group}/{version}",
            "metadata": {
                "name": thing.uid,
                "namespace": self.namespace,
                "uid": f"db323171-{thing.uid}",
                "resourceVersion": str(thing.resource_version),
                "generation": thing.version,
                "creationTimestamp": "2026-01-23T22:06:40Z",
                "labels": {"grafana.app/deprecatedInternalID": "7", **thing.labels},
                "annotations": annotations,
            },
            "spec": thing.spec,
        }

    def _list(self, request: Request) -> Reply:
        group, version, _, resource = request.parts
        if denied := self.denied(f"{resource}:read", apis=True):
            return denied
        found = list((self.boards if resource == "dashboards" else self.folders).values())
        limit = min(int(request.params.get("limit", 500)), self.page)
        begin = int(request.params.get("continue", 0))
        items = [self._resource(one, group, version) for one in found[begin : begin + limit]]
        # Kubernetes' API concepts, "Retrieving large results sets in chunks"
        metadata: dict[str, Any] = {"resourceVersion": str(self._clock)}
        if begin + limit < len(found):
            metadata["continue"] = str(begin + limit)
        return Reply(200, {"kind": "List", "apiVersion": f"{group}/{version}", "metadata": metadata, "items": items})

    def _things(self, resource: str) -> dict[str, Stored]:
        return self.boards if resource == "dashboards" else self.folders

    def _create(self, request: Request) -> Reply:
        group, version, _, resource = request.parts
        if denied := self.denied(f"{resource}:create", apis=True):
            return denied
        given = request.json
        uid, things = given["metadata"]["name"], self._things(resource)
        if uid in things:
            # pkg/storage/unified/apistore/store.go: NewKeyExistsError
            return status(409, "AlreadyExists", f'{resource}.{group} "{uid}" already exists')
        if refused := self._invalid(given, resource):
            return refused
        thing = things[uid] = Stored(uid, "", "", {})
        self._take(thing, given, first=True)
        return Reply(201, self._resource(thing, group, version))

    def _read(self, request: Request) -> Reply:
        group, version, _, resource, uid = request.parts
        if denied := self.denied(f"{resource}:read", apis=True):
            return denied
        thing = self._things(resource).get(uid)
        return Reply(200, self._resource(thing, group, version)) if thing else absent(group, resource, uid)

    def _replace(self, request: Request) -> Reply:
        group, version, _, resource, uid = request.parts
        if denied := self.denied(f"{resource}:write", apis=True):
            return denied
        thing, given = self._things(resource).get(uid), request.json
        if thing is None:
            return absent(group, resource, uid)
        if refused := self._invalid(given, resource):
            return refused
        wanted = given["metadata"].get("resourceVersion")
        if wanted and wanted != str(thing.resource_version):
            return conflict(group, resource, uid)
        kept = thing.annotations.get("grafana.app/managedBy")
        if thing.provisioned or (
            kept and kept != given["metadata"].get("annotations", {}).get("grafana.app/managedBy")
        ):
            # pkg/storage/unified/apistore/managed.go
            message = "Cannot change resource manager; remove the existing manager first, then add the new one"
            return status(403, "Forbidden", message)
        self._take(thing, given)
        return Reply(200, self._resource(thing, group, version))

    def _remove(self, request: Request) -> Reply:
        group, _, _, resource, uid = request.parts
        if denied := self.denied(f"{resource}:delete", apis=True):
            return denied
        things, options = self._things(resource), request.json or {}
        thing = things.get(uid)
        if thing is None:
            return absent(group, resource, uid)
        wanted = options.get("preconditions", {}).get("resourceVersion")
        if wanted and wanted != str(thing.resource_version):
            # Kubernetes' DeleteOptions: "the resourceVersion must match"
            return conflict(group, resource, uid)
        forced = options.get("gracePeriodSeconds") == 0
        if thing.provisioned and not forced:
            # pkg/registry/apis/dashboard/register.go: validateDelete
            return status(400, "BadRequest", "provisioned dashboard cannot be deleted")
        if resource == "folders" and not forced and any(self._held(uid).values()):
            # pkg/registry/apis/folders/validate.go: validateOnDelete
            return status(400, "BadRequest", "Folder cannot be deleted: folder is not empty")
        self.writes += 1
        del things[uid]
        return Reply(200, {"kind": "Status", "apiVersion": "v1", "status": "Success", "details": {"name": uid}})

    def _held(self, uid: str) -> dict[str, int]:
        return {
            "dashboards": sum(one.folder == uid for one in self.boards.values()),
            "folders": sum(one.folder == uid for one in self.folders.values()),
            "alertrules": self.rules.get(uid, 0),
        }

    def _counts(self, request: Request) -> Reply:
        group, _, _, resource, uid = request.parts
        if uid not in self.folders:
            return absent(group, resource, uid)
        # pkg/registry/apis/folders/sub_count.go: DescendantCounts
        counts = [{"group": "", "resource": name, "count": count} for name, count in self._held(uid).items()]
        return Reply(200, {"kind": "DescendantCounts", "counts": counts})

    def _invalid(self, given: dict[str, Any], resource: str) -> Reply | None:
        annotations = given["metadata"].get("annotations", {})
        if annotations.get("grafana.app/folder", "") not in {"", *self.folders}:
            # pkg/registry/apis/dashboard/register.go: validateFolderExists
            return status(404, "NotFound", "folder not found")
        if isinstance(given["spec"].get("gnetId"), (int, float)):
            # grafana#118604
            return status(422, "Invalid", "spec.gnetId: conflicting values string and int")
        if not given["spec"].get("title"):
            return status(400, "BadRequest", f"{resource.removesuffix('s')} title cannot be empty")
        return None

    def _take(self, thing: Stored, given: dict[str, Any], *, first: bool = False) -> None:
        self.writes += 1
        annotations = dict(given["metadata"].get("annotations", {}))
        thing.folder = annotations.pop("grafana.app/folder", "")
        thing.annotations = annotations
        thing.spec = dict(given["spec"])
        # sql_dashboards.go: "Ignore any saved values for id/version/uid"
        for name in ("id", "uid", "version"):
            thing.spec.pop(name, None)
        thing.title = thing.spec["title"]
        self.wrote(thing, annotations.get("grafana.app/message", ""), first=first)


def absent(group: str, resource: str, uid: str) -> Reply:
    return status(404, "NotFound", f'{resource}.{group} "{uid}" not found')


def conflict(group: str, resource: str, uid: str) -> Reply:
    # Kubernetes' registry/store.go: OptimisticLockErrorMsg
    text = "the object has been modified; please apply your changes to the latest version and try again"
    return status(409, "Conflict", f'Operation cannot be fulfilled on {resource}.{group} "{uid}": {text}')
