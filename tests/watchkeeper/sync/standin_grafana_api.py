"""The /api of the Grafana on loopback, as it is until 11, and deprecated since 13.

Each answer cites where it is from, in https://github.com/grafana/grafana unless it says otherwise.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from standin_grafana_store import Store, Stored
from standin_server import Reply

if TYPE_CHECKING:
    from standin_server import Request


class LegacyApi(Store):
    """What is below /api."""

    def legacy_routes(self):
        return [
            ("GET", "/api/search", self._search),
            ("POST", "/api/dashboards/db", self._save),
            ("GET", "/api/dashboards/uid/([^/]+)", self._get),
            ("DELETE", "/api/dashboards/uid/([^/]+)", self._delete),
            ("GET", "/api/dashboards/uid/([^/]+)/versions", self._versions),
            ("GET", r"/api/dashboards/uid/([^/]+)/versions/(\d+)", self._one_version),
            ("POST", "/api/folders", self._create_folder),
            ("GET", "/api/folders/([^/]+)", self._get_folder),
            ("PUT", "/api/folders/([^/]+)", self._rename_folder),
            ("POST", "/api/folders/([^/]+)/move", self._move_folder),
            ("DELETE", "/api/folders/([^/]+)", self._delete_folder),
        ]

    def _search(self, request: Request) -> Reply:
        # docs: http-api/folder_dashboard_search.md: page begins at 1, limit is 1000 unless given and 5000 at most
        folders = request.params.get("type") == "dash-folder"
        if denied := self.denied("folders:read" if folders else "dashboards:read"):
            return denied
        found = list((self.folders if folders else self.boards).values())
        limit, page = min(int(request.params.get("limit", 1000)), 5000), int(request.params.get("page", 1))
        # pkg/services/search/model: Hit; what is at the top has no folderUid
        return Reply(
            200,
            [
                {
                    "id": 1,
                    "uid": one.uid,
                    "title": one.title,
                    "type": request.params.get("type"),
                    "tags": one.spec.get("tags", []),
                    **({"folderUid": one.folder} if one.folder else {}),
                }
                for one in found[(page - 1) * limit : page * limit]
            ],
        )

    def _get(self, request: Request) -> Reply:
        [uid] = request.parts
        if denied := self.denied("dashboards:read"):
            return denied
        board = self.boards.get(uid)
        if board is None:
            # pkg/api/dashboard.go: getDashboardHelper
            return Reply(404, {"message": "Dashboard not found"})
        # pkg/api/dashboard.go: GetDashboard sets the model's version to that of the row
        model = {**board.spec, "uid": uid, "id": board.id, "version": board.version}
        meta = {"folderUid": board.folder, "provisioned": board.provisioned, "version": board.version, "type": "db"}
        return Reply(200, {"dashboard": model, "meta": meta})

    def _save(self, request: Request) -> Reply:
        if denied := self.denied("dashboards:write"):
            return denied
        given = request.json
        model, uid = dict(given["dashboard"]), given["dashboard"].get("uid", "")
        board = self.boards.get(uid)
        # pkg/services/dashboards/errors.go, of all that follows
        if not model.get("title"):
            return Reply(400, {"status": "empty-name", "message": "Dashboard title cannot be empty"})
        if not re.fullmatch(r"[a-zA-Z0-9\-_]{1,40}", uid):
            return Reply(400, {"message": "uid contains illegal characters"})
        if len(given.get("message", "")) > 500:
            return Reply(400, {"message": "message too long, max 500 characters"})
        if given.get("folderUid") and given["folderUid"] not in self.folders:
            # pkg/api/apierrors/dashboard.go: ErrFolderNotFound
            return Reply(400, {"message": "folder not found"})
        if board and board.provisioned:
            return Reply(400, {"message": "Cannot save provisioned dashboard"})
        # pkg/services/dashboards/database/database.go: getExistingDashboardByIDOrUIDForUpdate, of the next three
        if model.get("id") and not any(one.id == model["id"] for one in self.boards.values()):
            return Reply(404, {"status": "not-found", "message": "Dashboard not found"})
        if model.get("id") and board and board.id != model["id"]:
            return Reply(400, {"message": "A dashboard with the same uid already exists"})
        # without a version, it is 0, and so another one
        if board and not given.get("overwrite") and model.get("version", 0) != board.version:
            message = "The dashboard has been changed by someone else"
            return Reply(412, {"status": "version-mismatch", "message": message})
        twins = [one for one in self.boards.values() if one.title == model["title"] and one.uid != uid]
        # until 10: database.go, getExistingDashboardByTitleAndFolder
        if self.version.startswith("9.") and any(one.folder == given.get("folderUid", "") for one in twins):
            message = "A dashboard with the same name in the folder already exists"
            return Reply(412, {"status": "name-exists", "message": message})
        for name in ("id", "uid", "version"):
            model.pop(name, None)
        self.writes += 1
        if board is None:
            board = self.boards[uid] = Stored(uid, model["title"], "", {})
        first = not board.history
        board.title, board.spec, board.folder = model["title"], model, given.get("folderUid", "")
        self.wrote(board, given.get("message", ""), first=first)
        # pkg/api/dashboard.go: postDashboard
        saved = {"status": "success", "slug": "slug", "url": f"/d/{uid}/slug", "folderUid": board.folder}
        return Reply(200, {**saved, "id": board.id, "uid": uid, "version": board.version})

    def _delete(self, request: Request) -> Reply:
        [uid] = request.parts
        if denied := self.denied("dashboards:delete"):
            return denied
        board = self.boards.get(uid)
        if board is None:
            return Reply(404, {"message": "Dashboard not found"})
        if board.provisioned:
            # errors.go: ErrDashboardCannotDeleteProvisionedDashboard
            return Reply(400, {"message": "provisioned dashboard cannot be deleted"})
        self.writes += 1
        del self.boards[uid]
        return Reply(200, {"title": board.title, "message": f"Dashboard {board.title} deleted", "uid": uid})

    def _versions(self, request: Request) -> Reply:
        [uid] = request.parts
        # pkg/api/dashboard.go: CanSave is needed
        if denied := self.denied("dashboards:write"):
            return denied
        board = self.boards.get(uid)
        if board is None:
            return Reply(404, {"message": "Dashboard not found"})
        found = []
        for one in reversed(board.history):
            # pkg/api/dashboard.go: GetDashboardVersions says so of the first, whatever its message is
            message = "Initial save" if one["parentVersion"] == 0 else one["message"]
            found.append({"id": 1, **one, "message": message, "createdBy": "admin"})
        found = found[: int(request.params.get("limit", 1000))]
        # pkg/services/dashboardversion/model.go: DashboardVersionResponseMeta, an object around them since 11.6
        return Reply(200, {"continueToken": "", "versions": found} if self.has_apis else found)

    def _one_version(self, request: Request) -> Reply:
        uid, version = request.parts
        if denied := self.denied("dashboards:write"):
            return denied
        history = self.boards[uid].history if uid in self.boards else []
        found = next((one for one in history if one["version"] == int(version)), None)
        if found is None:
            # pkg/api/dashboard.go: GetDashboardVersion
            return Reply(500, {"message": f"Dashboard version {version} not found for dashboardId 7"})
        return Reply(200, {"id": 1, **found, "data": {}})

    def _folder_dto(self, folder: Stored) -> Reply:
        # pkg/api/dtos/folder.go: no description
        parent = {"parentUid": folder.folder} if folder.folder else {}
        return Reply(
            200, {"id": folder.id, "uid": folder.uid, "title": folder.title, "version": folder.version, **parent}
        )

    def _create_folder(self, request: Request) -> Reply:
        if denied := self.denied("folders:create"):
            return denied
        given = request.json
        # pkg/api/apierrors/folder.go, of all that follows
        if not given.get("title"):
            return Reply(400, {"message": "folder title cannot be empty"})
        if given["uid"] in self.folders or given["uid"] in self.boards:
            return Reply(409, {"message": "a folder/dashboard with the same uid already exists"})
        if given.get("parentUid") and given["parentUid"] not in self.folders:
            return Reply(404, {"status": "not-found", "message": "folder not found"})
        self.writes += 1
        folder = Stored(given["uid"], given["title"], given.get("parentUid", ""), {"title": given["title"]})
        self.folders[folder.uid] = folder
        self.wrote(folder, "", first=True)
        return self._folder_dto(folder)

    def _get_folder(self, request: Request) -> Reply:
        [uid] = request.parts
        if denied := self.denied("folders:read"):
            return denied
        folder = self.folders.get(uid)
        return self._folder_dto(folder) if folder else _no_folder()

    def _rename_folder(self, request: Request) -> Reply:
        [uid] = request.parts
        if denied := self.denied("folders:write"):
            return denied
        folder, given = self.folders.get(uid), request.json
        if folder is None:
            return _no_folder()
        if not given.get("overwrite") and given.get("version") != folder.version:
            message = "the folder has been changed by someone else"
            return Reply(412, {"status": "version-mismatch", "message": message})
        self.writes += 1
        folder.title = folder.spec["title"] = given["title"]
        self.wrote(folder, "")
        return self._folder_dto(folder)

    def _move_folder(self, request: Request) -> Reply:
        [uid] = request.parts
        if denied := self.denied("folders:write"):
            return denied
        folder, parent = self.folders.get(uid), request.json.get("parentUid", "")
        if folder is None or (parent and parent not in self.folders):
            return _no_folder()
        self.writes += 1
        folder.folder = parent
        self.wrote(folder, "")
        return self._folder_dto(folder)

    def _delete_folder(self, request: Request) -> Reply:
        [uid] = request.parts
        if denied := self.denied("folders:delete"):
            return denied
        if uid not in self.folders:
            return _no_folder()
        # pkg/api/folder.go: "along with all dashboards (and their alerts) stored in the folder"
        self.writes += 1
        gone = {uid}
        while more := {one.uid for one in self.folders.values() if one.folder in gone} - gone:
            gone |= more
        self.folders = {key: one for key, one in self.folders.items() if key not in gone}
        self.boards = {key: one for key, one in self.boards.items() if one.folder not in gone}
        return Reply(200, {"message": "Folder deleted"})


def _no_folder() -> Reply:
    # pkg/api/apierrors/folder.go: ErrFolderNotFound
    return Reply(404, {"status": "not-found", "message": "folder not found"})
