"""What is asked over HTTP, and what is answered."""

from __future__ import annotations

import html
import io
import math
import re
import threading
from email.utils import formatdate
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, NamedTuple

from watchkeeper._version import __version__
from watchkeeper_fleet.exporter.http_scrapes import NoAnswer
from watchkeeper_fleet.exporter.text import OPENMETRICS_TYPE, TEXT_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from watchkeeper_fleet.exporter.http_scrapes import Scrapes
    from watchkeeper_fleet.exporter.server import Stream
    from watchkeeper_fleet.exporter.web import Web

MOST_SCRAPES = 256  # at the same time
TIMEOUT = 10.0  # Prometheus' own default, for who does not say
LONGEST = 120.0
MARGIN = 0.5  # for the way back
PLAIN = "text/plain; charset=utf-8"
_Q = re.compile(r";\s*q=([0-9.]{1,8})\s*(?:;|$)", re.IGNORECASE)
_ABSOLUTE = re.compile(r"^https?://[^/]*", re.IGNORECASE)  # as a proxy is asked; a server must take it too
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Watchkeeper exporter</title></head>
<body><h1>Watchkeeper exporter</h1><p>Version {version}</p>
<ul><li><a href="metrics">Metrics</a></li><li><a href="-/healthy">Healthy</a></li>\
<li><a href="-/ready">Ready</a></li></ul></body></html>
"""


class Answer(NamedTuple):
    """A response."""

    status: int
    body: bytes
    headers: Mapping[str, str]


def plain(status: int, text: str, **headers: str) -> Answer:
    """Return an answer of one line."""
    return Answer(status, f"{text}\n".encode(), {"Content-Type": PLAIN, **headers})


class Site:
    """The pages."""

    def __init__(
        self, scrapes: Scrapes, *, web: Web, most: int = MOST_SCRAPES, stopping: Callable[[], bool] = lambda: False
    ) -> None:
        self._scrapes = scrapes
        self._web = web
        self._slots = threading.BoundedSemaphore(most)
        self._stopping = stopping

    def serve(self, stream: Stream) -> None:
        """Answer the requests of a connection, until it ends."""
        Handler(stream, self)

    def answer(self, path: str, headers: Mapping[str, str]) -> Answer:
        """Return the answer to a GET."""
        refusal = self._web.refuse(headers.get("Authorization", ""))
        if refusal is not None:
            return refusal
        path = _ABSOLUTE.sub("", path.partition("?")[0]) or "/"
        if path == "/metrics":
            return self._metrics(headers)
        if path == "/-/healthy":
            return plain(200, "healthy")
        if path == "/-/ready":
            return plain(503, "stopping") if self._stopping() else plain(200, "ready")
        if path == "/":
            page = _PAGE.format(version=html.escape(__version__))
            return Answer(200, page.encode(), {"Content-Type": "text/html; charset=utf-8"})
        return plain(404, "not found: there are /metrics, /-/healthy and /-/ready")

    def headers(self) -> Mapping[str, str]:
        """Return the headers that every answer has by configuration."""
        return self._web.headers

    def _metrics(self, headers: Mapping[str, str]) -> Answer:
        if not self._slots.acquire(blocking=False):
            return plain(503, "too many scrapes at the same time", **{"Retry-After": "1"})
        try:
            openmetrics = wants_openmetrics(headers.get("Accept", ""))
            compressed = wants_gzip(headers.get("Accept-Encoding", ""))
            timeout = timeout_of(headers.get("X-Prometheus-Scrape-Timeout-Seconds", ""))
            body = self._scrapes.scrape(openmetrics=openmetrics, compressed=compressed, timeout=timeout)
        except NoAnswer as failure:
            return plain(503, str(failure))
        finally:
            self._slots.release()
        found = {"Content-Type": OPENMETRICS_TYPE if openmetrics else TEXT_TYPE, "Vary": "Accept, Accept-Encoding"}
        return Answer(200, body, {**found, "Content-Encoding": "gzip"} if compressed else found)


def wants_openmetrics(accept: str) -> bool:
    """Return whether OpenMetrics 1.0 is wanted at least as much as the text format."""
    wanted: dict[str, float] = {}
    for one in accept.lower().split(","):
        kind, _, rest = one.strip().partition(";")
        kind = kind.strip()
        if kind == "application/openmetrics-text" and not re.search(r"version=(?!0\.0\.1\b|1\.0\.0\b)", rest):
            wanted["openmetrics"] = max(wanted.get("openmetrics", 0.0), _weight(one))
        elif kind in ("text/plain", "text/*", "*/*"):
            wanted["text"] = max(wanted.get("text", 0.0), _weight(one))
    return wanted.get("openmetrics", 0.0) > 0 and wanted["openmetrics"] >= wanted.get("text", 0.0)


def wants_gzip(accept: str) -> bool:
    """Return whether the answer may be compressed."""
    weights = {one.strip().partition(";")[0].strip(): _weight(one) for one in accept.lower().split(",")}
    return weights.get("gzip", weights.get("*", 0.0)) > 0


def _weight(one: str) -> float:
    found = _Q.search(one)
    try:
        return float(found[1]) if found else 1.0
    except ValueError:
        return 0.0


def timeout_of(header: str) -> float:
    """Return how long a scraper waits, less what the way back takes."""
    try:
        seconds = float(header)
    except ValueError:
        seconds = TIMEOUT
    if not math.isfinite(seconds) or seconds <= 0:
        seconds = TIMEOUT
    seconds = min(seconds, LONGEST)
    return seconds - min(MARGIN, seconds / 10)


class Handler(BaseHTTPRequestHandler):
    """Reads requests by way of the standard library, off a stream that keeps the time."""

    protocol_version = "HTTP/1.1"
    server_version = "watchkeeper"
    sys_version = ""
    error_message_format = "%(message)s\n"
    error_content_type = PLAIN

    def __init__(self, stream: Stream, site: Site) -> None:  # the base class' own serves a socketserver
        self.rfile = io.BufferedReader(stream)
        self.wfile = stream  # type: ignore[assignment]
        self._stream = stream
        self._site = site
        self.close_connection = False
        first = True
        while not self.close_connection:
            stream.await_request(first=first)
            self.handle_one_request()
            first = False

    def do_GET(self) -> None:
        """Answer."""
        self.send(self._site.answer(self.path, self.headers))  # type: ignore[arg-type]

    do_HEAD = do_GET  # noqa: N815 - as the base class calls it

    def _refuse(self) -> None:
        self.send(plain(405, "only GET and HEAD", Allow="GET, HEAD"))

    do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = _refuse  # noqa: N815 - as above

    def send(self, answer: Answer, *, is_read: bool = False) -> None:
        """Send an answer; `is_read` where the body of the request was read."""
        lengths = {*self.headers.get_all("Content-Length", ())}  # a second one may say otherwise
        has_body = not lengths <= {"0"} or "Transfer-Encoding" in self.headers
        if has_body and not is_read:
            self.close_connection = True
        self._stream.answer()
        lines = [
            f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}",
            f"Server: watchkeeper/{__version__}",
            f"Date: {formatdate(usegmt=True)}",
            f"Content-Length: {len(answer.body)}",
            *(f"{name}: {value}" for name, value in {**self._site.headers(), **answer.headers}.items()),
            f"Connection: {'close' if self.close_connection else 'keep-alive'}",
            "\r\n",
        ]
        head = "\r\n".join(lines).encode("latin-1", "replace")
        if self.command == "HEAD" or len(answer.body) > 65_536:
            self.wfile.write(head)
            if self.command != "HEAD":
                self.wfile.write(answer.body)
        else:
            self.wfile.write(head + answer.body)

    def log_message(self, *_: object) -> None:
        """Log nothing: each scrape would be a line."""
