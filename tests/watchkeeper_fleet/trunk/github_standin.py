"""GitHub's REST API on loopback, as its documentation says and its answers were seen: a stand-in with faults to order.

Pages with Link, ETags whose 304 is not counted, the hour's budget, and what goes wrong: see `Fault`.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import re
import threading
import urllib.parse
from collections import Counter, deque
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from github_world import World, job_row, key_of

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
DOCS = "https://docs.github.com/rest"


@dataclass
class Fault:
    """What happens to a request instead of its answer: a status, a body, or what `act` does with the handler."""

    status: int = 0
    message: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    act: Callable[[Handler], None] | None = None


def html(status: int = 200) -> Fault:
    """Return the page of a proxy, or of GitHub's unicorn."""
    return Fault(status, headers={"Content-Type": "text/html"}, body=b"<!DOCTYPE html><title>Unicorn!</title>")


def cut_short() -> Fault:
    """Return an answer that ends too early."""

    def act(handler: Handler) -> None:
        handler.answer(200, b'[{"sha": "0123', {"Content-Length": "4000", "Connection": "close"})

    return Fault(act=act)


def hang_up() -> Fault:
    """Return a connection that is closed without a word."""

    def act(handler: Handler) -> None:
        handler.end_without_answer()

    return Fault(act=act)


def silent(until: threading.Event) -> Fault:
    """Return a server that takes its time: it says nothing until then."""

    def act(handler: Handler) -> None:
        handler.end_without_answer()
        until.wait(60)

    return Fault(act=act)


def dripping(until: threading.Event) -> Fault:
    """Return an answer that comes byte after byte, for as long as that is not set."""

    def act(handler: Handler) -> None:
        handler.end_without_answer()
        with contextlib.suppress(OSError):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while not until.wait(0.05):
                handler.wfile.write(b" ")

    return Fault(act=act)


class Standin:
    """The API of one world. `seen` has each request's path and status; `faults` are for the next requests, in order."""

    def __init__(
        self,
        world: World,
        *,
        token: str = TOKEN,
        limit: int = 5000,
        skew: float = 0.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.world = world
        self.token = token
        self.limit = limit
        self.skew = skew
        self.used: Counter[int] = Counter()  # of each hour
        self.seen: list[tuple[str, int]] = []
        self.headers: list[dict[str, str]] = []
        self.faults: deque[Fault | None] = deque()
        self.lock = threading.Lock()
        self.connections = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"standin": self}))
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def statuses(self) -> Counter[int]:
        return Counter(status for _, status in self.seen)

    def budget(self) -> dict[str, str]:
        now = self.world.now + self.skew
        hour = int(now // 3600)
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(max(self.limit - self.used[hour], 0)),
            "X-RateLimit-Reset": str((hour + 1) * 3600),
            "X-RateLimit-Used": str(self.used[hour]),
            "X-RateLimit-Resource": "core",
        }

    def spend(self) -> bool:
        """Take one request from the hour's budget, if there is one left."""
        hour = int((self.world.now + self.skew) // 3600)
        if self.used[hour] >= self.limit:
            return False
        self.used[hour] += 1
        return True


@contextlib.contextmanager
def serving(world: World, **options: Any) -> Iterator[Standin]:
    standin = Standin(world, **options)
    try:
        yield standin
    finally:
        standin.close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    standin: Standin
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body in one packet

    def setup(self) -> None:
        super().setup()
        with self.standin.lock:
            self.standin.connections += 1

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):  # a client that went away
            super().handle()

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            super().finish()

    def log_message(self, *what: Any) -> None:
        pass

    def date_time_string(self, _: float | None = None) -> str:
        return formatdate(self.standin.world.now + self.standin.skew, usegmt=True)

    def do_GET(self) -> None:
        self.respond()

    def do_POST(self) -> None:
        self.respond()

    def do_PATCH(self) -> None:
        self.respond()

    def respond(self) -> None:
        standin = self.standin
        self.sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with standin.lock:
            standin.headers.append({name.lower(): value for name, value in self.headers.items()})
            fault = standin.faults.popleft() if standin.faults else None
        if fault is not None:
            self.fail(fault)
            return
        given = self.headers.get("Authorization", "")
        if given not in ("", f"Bearer {standin.token}"):
            self.refuse(401, "Bad credentials")
            return
        path, _, query = self.path.partition("?")
        with standin.lock:
            self.route(path, {name: values[0] for name, values in urllib.parse.parse_qs(query).items()})

    def fail(self, fault: Fault) -> None:
        if fault.act is not None:
            fault.act(self)
        elif fault.body is not None:
            self.answer(fault.status, fault.body, fault.headers)
        else:
            self.refuse(fault.status, fault.message, fault.headers)

    def end_without_answer(self) -> None:
        self.standin.seen.append((self.path, 0))
        self.close_connection = True

    def route(self, path: str, params: dict[str, str]) -> None:
        world = self.standin.world
        top = f"/repos/{world.repo}"
        if self.command == "GET" and path == f"{top}/commits":
            rows = world.commits(params["sha"])
            if not any(world.branches.values()):
                self.refuse(409, "Git Repository is empty.")
            elif rows is None:
                self.refuse(404, "Not Found")
            else:
                self.page(path, params, rows, str, lambda rows, _: rows)
        elif self.command == "GET" and path == f"{top}/actions/runs":
            rows = world.runs_of(params["head_sha"], params.get("event", ""))
            self.page(path, params, rows, str, lambda rows, total: {"total_count": total, "workflow_runs": rows})
        elif self.command == "GET" and (match := re.fullmatch(rf"{top}/actions/runs/(\d+)/jobs", path)):
            run = int(match[1])
            jobs = world.jobs_of(run, latest=params.get("filter", "latest") == "latest")
            if jobs is None:
                self.refuse(404, "Not Found")
                return
            self.page(
                *(path, params, jobs, lambda jobs: key_of(jobs, world.now)),
                lambda jobs, total: {
                    "total_count": total,
                    "jobs": [job_row(world.repo, run, job, world.now) for job in jobs],
                },
            )
        elif self.command == "POST" and path == f"{top}/issues":
            world.issues.append({"number": len(world.issues) + 1, "state": "open", **json.loads(self.sent)})
            self.give(world.issues[-1], 201)
        elif self.command == "PATCH" and (match := re.fullmatch(rf"{top}/issues/(\d+)", path)):
            world.issues[int(match[1]) - 1].update(json.loads(self.sent))
            self.give(world.issues[int(match[1]) - 1])
        else:
            self.refuse(404, "Not Found")

    def page(self, path: str, params: dict[str, str], rows: list, key: Callable, whole: Callable) -> None:
        number, size = int(params.get("page", "1")), min(int(params.get("per_page", "30")), 100)
        part = rows[(number - 1) * size : number * size]
        text = f"{self.path} {len(rows)} {key(part)}"
        etag = f'W/"{hashlib.sha256(text.encode()).hexdigest()}"'
        last = max((len(rows) + size - 1) // size, 1)
        links = [(number + 1, "next"), (last, "last")] if number < last else [(number - 1, "prev"), (1, "first")]
        link = ", ".join(
            f'<{self.standin.url}{path}?{urllib.parse.urlencode({**params, "page": to})}>; rel="{name}"'
            for to, name in links
            if last > 1
        )
        headers = {
            "ETag": etag,
            "Cache-Control": "private, max-age=60, s-maxage=60",
            **({"Link": link} if link else {}),
        }
        # Of an anonymous client, GitHub counts these too.
        if self.headers.get("If-None-Match") == etag and self.headers.get("Authorization"):
            self.answer(304, b"", headers)
        else:
            self.give(whole(part, len(rows)), headers=headers)

    def give(self, data: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        if self.standin.spend():
            self.answer(status, json.dumps(data).encode(), headers)
        else:
            self.refuse(403, "API rate limit exceeded for user ID 583231.")

    def refuse(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        data = {"message": message, "documentation_url": DOCS, "status": str(status)}
        self.answer(status, json.dumps(data).encode(), headers)

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        found = {
            "Content-Type": "application/json; charset=utf-8",
            "X-GitHub-Media-Type": "github.v3; format=json",
            **self.standin.budget(),
            **(headers or {}),
        }
        if status == 304:
            found.pop("Content-Type")
        elif "gzip" in self.headers.get("Accept-Encoding", "") and "Content-Length" not in found:
            body = gzip.compress(body, 1, mtime=0)
            found["Content-Encoding"] = "gzip"
        if status != 304:
            found.setdefault("Content-Length", str(len(body)))
        self.standin.seen.append((self.path, status))
        self.send_response(status)
        for name, value in found.items():
            self.send_header(name, value)
        if found.get("Connection") == "close":
            self.close_connection = True
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
