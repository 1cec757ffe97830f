"""An HTTP server on loopback that what stands in for Grafana and rulers is made of, with faults to order."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
import urllib.parse
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

JSON = "application/json"


@dataclass
class Reply:
    """An answer: `data` is JSON unless the headers say another Content-Type."""

    status: int = 200
    data: Any = None
    headers: dict[str, str] = field(default_factory=dict)

    def body(self) -> bytes:
        return self.data.encode() if isinstance(self.data, str) else json.dumps(self.data).encode()


@dataclass
class Request:
    """What was asked: the path unquoted, and as it came."""

    method: str
    path: str
    raw_path: str
    params: dict[str, str]
    headers: dict[str, str]
    body: bytes
    parts: tuple[str, ...] = ()  # of the path, as the pattern of its route has found them

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else None


@dataclass
class Fault:
    """What happens to requests of that method and path, a pattern to be found in it, instead of their answer.

    `kind`: reply, slow (no answer before the server is stopped), truncated, cut-before (nothing is done, and no
    answer), cut-after (it is done, and no answer), bye (an answer, and then the connection is closed unannounced).
    `times`: to how many requests.
    """

    kind: str = "reply"
    reply: Reply = field(default_factory=Reply)
    method: str = ""
    path: str = ""
    times: int = 1

    def hits(self, request: Request) -> bool:
        return self.times > 0 and self.method in ("", request.method) and bool(re.search(self.path, request.raw_path))


def login_page(status: int = 200) -> Reply:
    """Return what a proxy with a login says to everyone."""
    return Reply(status, "<!DOCTYPE html><html><title>Sign in</title></html>", {"Content-Type": "text/html"})


class Server:
    """`answer` is what it does; `requests` is what it was asked, and `faults` what goes wrong, in order."""

    def __init__(self, answer: Callable[[Request], Reply], *, latency: float = 0.0) -> None:
        self.answer = answer
        self.latency = latency
        self.requests: list[Request] = []
        self.faults: list[Fault] = []
        self.connections = 0
        self.stopped = threading.Event()
        self.lock = threading.RLock()
        self.url = ""

    @contextlib.contextmanager
    def running(self, tls: ssl.SSLContext | None = None) -> Iterator[None]:
        """Serve on a free port of loopback, at `url`."""
        server = _Http(("127.0.0.1", 0), _Handler)
        server.owner = self
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.stopped.set()
            server.shutdown()
            server.server_close()
            thread.join()

    def fault(self, request: Request) -> Fault | None:
        with self.lock:
            self.requests.append(request)
            found = next((fault for fault in self.faults if fault.hits(request)), None)
            if found:
                found.times -= 1
            return found


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    owner: Server

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that hang up, or don't trust the certificate."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def setup(self) -> None:
        super().setup()
        with self.server.owner.lock:
            self.server.owner.connections += 1

    def do_GET(self) -> None:
        owner = self.server.owner
        raw_path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        params = dict(urllib.parse.parse_qsl(query))
        request = Request(self.command, urllib.parse.unquote(raw_path), raw_path, params, headers, body)
        if owner.latency:
            time.sleep(owner.latency)
        fault = owner.fault(request)
        if fault is None:
            self._send(owner.answer(request))
        elif fault.kind == "reply":
            self._send(fault.reply)
        elif fault.kind == "slow":
            owner.stopped.wait(60)
            self.close_connection = True
        elif fault.kind == "bye":
            self._send(owner.answer(request))
            self._hang_up()
        elif fault.kind == "truncated":
            self._send(owner.answer(request), half=True)
        else:
            if fault.kind == "cut-after":
                owner.answer(request)
            self._hang_up()

    do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - names that http.server looks for

    def _send(self, reply: Reply, *, half: bool = False) -> None:
        body = b"" if reply.status == 204 else reply.body()
        headers = {"Content-Type": JSON, "Content-Length": str(len(body)), **reply.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        # In one piece: in two, the second waits for the first's acknowledgement.
        self.wfile.write(
            f"HTTP/1.1 {reply.status} Reason\r\n{head}\r\n".encode() + (body[: len(body) // 2] if half else body)
        )
        if half:
            self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *args: Any) -> None:
        """Log nothing."""
