"""What the Grafana on loopback has: dashboards and folders, and what people do with them."""

from __future__ import annotations

import contextlib
import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from standin_server import Reply, Request, Server

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

TOKEN = "glsa_0123456789abcdefghijABCDEFGHIJ01_0a1b2c3d"
_VERBS = ("read", "create", "write", "delete")
ACTIONS = tuple(f"{what}:{verb}" for what in ("dashboards", "folders") for verb in _VERBS)
DASHBOARD, FOLDER = "dashboard.grafana.app", "folder.grafana.app"


@dataclass
class Stored:
    """A dashboard or a folder as the server has it; `version` counts writes, `history` has them all."""

    uid: str
    title: str
    folder: str
    spec: dict[str, Any]
    annotations: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    version: int = 1
    resource_version: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    provisioned: bool = False
    id: int = 0


class Store:
    """A Grafana of one organization.

    `has_apis`: since 12. `keeps_annotations`: not where 12 keeps resources in the tables that /api has. `page`: the
    most items of a list, whatever is asked for. `writes` counts what changed something.
    """

    def __init__(
        self,
        *,
        version: str = "12.3.1",
        has_apis: bool = True,
        keeps_annotations: bool = True,
        namespace: str = "default",
        latency: float = 0.0,
        page: int = 10_000,
    ) -> None:
        self.version = version
        self.has_apis = has_apis
        self.keeps_annotations = keeps_annotations
        self.namespace = namespace
        self.page = page
        self.token = TOKEN
        self.rights = set(ACTIONS)
        self.server = Server(self.answer, latency=latency)
        self.lock = self.server.lock
        self.boards: dict[str, Stored] = {}
        self.folders: dict[str, Stored] = {}
        self.rules: dict[str, int] = {}  # how many alert rules a folder holds
        self.writes = 0
        self._clock = 0

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def faults(self) -> list[Any]:
        return self.server.faults

    @property
    def asked(self) -> list[str]:
        """What it was asked, `GET /api/health`."""
        return [f"{request.method} {request.path}" for request in self.server.requests]

    @contextlib.contextmanager
    def running(self, tls: ssl.SSLContext | None = None) -> Iterator[Any]:
        with self.server.running(tls):
            yield self

    # What people and files do, without a request.

    def edit(self, uid: str, change: Callable[[dict[str, Any]], object], message: str = "") -> None:
        """Save a dashboard as its page does: with the annotations it came with, and a message of one's own."""
        with self.lock:
            board = self.boards[uid]
            board.spec = copy.deepcopy(board.spec)  # an answer may still be under way with the old one
            change(board.spec)
            board.title = board.spec.get("title", board.title)
            # saveDashboard in public/app/features/dashboard/api/v1.ts
            board.annotations.pop("grafana.app/message", None)
            self.wrote(board, message)

    def put(self, uid: str, title: str, folder: str = "", spec: dict[str, Any] | None = None, **more: Any) -> Stored:
        """Make a dashboard, as somebody or a file does."""
        with self.lock:
            board = Stored(uid, title, folder, {"title": title, **(spec or {})}, **more)
            self.boards[uid] = board
            self.wrote(board, "", first=True)
            return board

    def put_folder(self, uid: str, title: str, folder: str = "") -> Stored:
        with self.lock:
            made = self.folders[uid] = Stored(uid, title, folder, {"title": title})
            self.wrote(made, "", first=True)
            return made

    def move(self, uid: str, folder: str) -> None:
        with self.lock:
            self.boards[uid].folder = folder
            self.wrote(self.boards[uid], "")

    def remove(self, uid: str) -> None:
        with self.lock:
            del self.boards[uid]

    def answer(self, request: Request) -> Reply:
        """Answer a request."""
        raise NotImplementedError

    def denied(self, action: str, *, apis: bool = False) -> Reply | None:
        if action in self.rights:
            return None
        if apis:
            # pkg/services/apiserver: apierrors.NewForbidden
            return status(403, "Forbidden", f"forbidden: {action} is needed")
        # pkg/services/accesscontrol/middleware.go: deny
        message = f"You'll need additional permissions to perform this action. Permissions needed: {action}"
        return Reply(403, {"accessErrorId": "ACE0123456789", "title": "Access denied", "message": message})

    def wrote(self, thing: Stored, message: str, *, first: bool = False) -> None:
        self._clock += 1
        thing.id = thing.id or self._clock
        parent = 0 if first else thing.version
        thing.version = 1 if first else thing.version + 1
        thing.resource_version = 1_758_777_451_000_000 + self._clock
        thing.history.append({"version": thing.version, "parentVersion": parent, "message": message})


def status(code: int, reason: str, message: str) -> Reply:
    # Kubernetes' metav1.Status
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return Reply(code, {**status, "message": message, "reason": reason, "code": code})
