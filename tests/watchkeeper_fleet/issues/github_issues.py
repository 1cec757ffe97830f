"""A stand-in for GitHub's issues API on loopback, of the shape that its documentation has and its answers had.

Lists by label, state and `since`, in pages with Link headers and ETags; issues, comments, and what goes wrong: an
answer in place of the next one, one that is lost after the work was done, a token without the right to set labels.
"""

from __future__ import annotations

import hashlib
import http.server
import itertools
import json
import re
import threading
import time
import urllib.parse
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN = "ghp_secretsecretsecret"
LOGIN = "watchkeeper-bot"


class Fault(NamedTuple):
    """What is answered in place of what was asked for."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = MappingProxyType({})
    # Only to these; "POST" for what writes.
    methods: tuple[str, ...] = ("GET", "POST", "PATCH")
    is_done: bool = False  # the work is done, and then the answer is another


class GitHubIssues:
    """The state of the repository o/r, and a server of it. `now` is its clock."""

    def __init__(self) -> None:
        self.now = time.time
        self.issues: dict[int, dict[str, Any]] = {}
        self.comments: dict[int, list[dict[str, Any]]] = {}
        self.requests: list[tuple[str, str, int]] = []
        self.faults: list[Fault] = []
        self.may_set_labels = True
        self.numbers = itertools.count(101)
        self.lock = threading.Lock()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Handler,), {"github": self}))
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def iso(self, at: float | None = None) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.now() if at is None else at))

    def add(self, title: str, body: str, labels: list[str], *, login: str = LOGIN, **more: Any) -> dict[str, Any]:
        number = next(self.numbers)
        issue = {
            "number": number,
            "title": title,
            "body": body,
            "state": "open",
            "labels": [{"name": name} for name in labels],
            "user": {"login": login, "type": "User"},
            "author_association": "NONE",
            "created_at": self.iso(),
            "updated_at": self.iso(),
            "closed_at": None,
            **more,
        }
        self.issues[number] = issue
        self.comments[number] = []
        return issue

    def bodies(self, number: int) -> list[str]:
        return [comment["body"] for comment in self.comments[number]]

    def writes(self) -> list[tuple[str, str]]:
        return [(method, path) for method, path, _ in self.requests if method != "GET"]

    def do(self, method: str, path: str, query: dict[str, str], data: Any) -> tuple[int, Any, bool]:
        """Return status, data, and whether there is a next page."""
        if path == "/user":
            return 200, {"login": LOGIN, "type": "User"}, False
        match = re.fullmatch(r"/repos/o/r/issues(?:/(\d+)(/comments)?)?", path)
        if not match:
            return 404, {"message": "Not Found"}, False
        number = int(match[1] or 0)
        if number and number not in self.issues:
            return 404, {"message": "Not Found"}, False
        if match[2]:
            return self._comments(method, number, query, data)
        if number:
            return 200, self._changed(self.issues[number], data), False
        if method == "POST":
            if len(data["title"]) > 256 or len(data["body"]) > 65_536:
                return 422, {"message": "Validation Failed"}, False
            return 201, self.add(data["title"], data["body"], data["labels"] if self.may_set_labels else []), False
        return self._listed(query)

    def _comments(self, method: str, number: int, query: dict[str, str], data: Any) -> tuple[int, Any, bool]:
        comments = self.comments[number]
        if method == "POST":
            comments.append({"id": len(comments) + 1, "body": data["body"], "updated_at": self.iso()})
            self.issues[number]["updated_at"] = self.iso()
            return 201, comments[-1], False
        found = [one for one in comments if one["updated_at"] >= query.get("since", "")]
        return 200, *_page(found, query)

    def _changed(self, issue: dict[str, Any], data: Any) -> dict[str, Any]:
        if data.get("state", issue["state"]) != issue["state"]:
            issue["closed_at"] = self.iso() if data["state"] == "closed" else None
        issue.update(data)
        issue["updated_at"] = self.iso()
        return issue

    def _listed(self, query: dict[str, str]) -> tuple[int, Any, bool]:
        wanted = set(query["labels"].split(","))
        found = [
            issue
            for issue in reversed(self.issues.values())
            if wanted <= {label["name"] for label in issue["labels"]}
            and issue["state"] == query["state"]
            and issue["updated_at"] >= query.get("since", "")
        ]
        return 200, *_page(found, query)


def _page(found: list[Any], query: dict[str, str]) -> tuple[list[Any], bool]:
    size, page = int(query["per_page"]), int(query["page"])
    return found[size * (page - 1) : size * page], len(found) > size * page


class _Handler(http.server.BaseHTTPRequestHandler):
    github: GitHubIssues
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        with self.github.lock:
            self.answer()

    do_POST = do_PATCH = do_GET  # noqa: N815 - as the base class calls them

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        address = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(address.query))
        github = self.github
        fault = None
        if github.faults and self.command in github.faults[0].methods:
            fault = github.faults.pop(0)
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            status, data, more = 401, {"message": "Bad credentials"}, False
        elif fault and not fault.is_done:
            status, data, more = fault.status, fault.body, False
        else:
            status, data, more = github.do(self.command, address.path, query, json.loads(body) if body else None)
            if fault:
                status, data = fault.status, fault.body
        text = data.encode() if isinstance(data, str) else json.dumps(data).encode()
        headers = {"Content-Type": "application/json", "Date": self.date_time_string(int(github.now()))}
        if more:
            headers["Link"] = f'<{github.url}{self.path}&next>; rel="next"'
        if status == 200 and self.command == "GET":
            headers["ETag"] = f'"{hashlib.sha256(text).hexdigest()[:16]}"'
            if self.headers.get("If-None-Match") == headers["ETag"]:
                status, text = 304, b""
        headers.update(fault.headers if fault else {})
        github.requests.append((self.command, self.path, status))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
