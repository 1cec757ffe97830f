"""A server of the exporter's pages in this process, and a client that says what it was answered."""

import contextlib
import gzip
import http.client
import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from watchkeeper_fleet.exporter.http_requests import Site
from watchkeeper_fleet.exporter.http_scrapes import Scrapes
from watchkeeper_fleet.exporter.server import Server
from watchkeeper_fleet.exporter.text import Samples, add
from watchkeeper_fleet.exporter.web import Web
from watchkeeper_fleet.metrics import exporter


def samples() -> Samples:
    found: Samples = {}
    add(found, exporter.NVML_UP, 1.0)
    add(found, exporter.XID_ERRORS, 2.0, "0", "79")
    return found


class Answered(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: str


@contextlib.contextmanager
def serving(
    collect: Callable[[], Samples] = samples,
    *,
    web: Web | None = None,
    most: int = 256,
    reuse: float = 0.0,
    **options: float,
) -> Iterator[Server]:
    web = web or Web()
    server: Server
    site = Site(Scrapes(collect, reuse=reuse), web=web, most=most, stopping=lambda: server.stopping)
    server = Server([("127.0.0.1", 0)], site.serve, secure=web.secure, **options)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def connection(server: Server, *, context: ssl.SSLContext | None = None) -> http.client.HTTPConnection:
    host, port = server.addresses[0]
    if context is not None:
        return http.client.HTTPSConnection("localhost", port, timeout=20, context=context)
    return http.client.HTTPConnection(host, port, timeout=20)


def ask(client: http.client.HTTPConnection, path: str = "/metrics", method: str = "GET", **headers: str) -> Answered:
    client.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    response = client.getresponse()
    body = response.read()
    if response.headers.get("Content-Encoding") == "gzip":
        body = gzip.decompress(body)
    return Answered(response.status, response.headers, body.decode())


def ask_once(
    server: Server, path: str = "/metrics", *, context: ssl.SSLContext | None = None, **headers: str
) -> Answered:
    with contextlib.closing(connection(server, context=context)) as client:
        return ask(client, path, **headers)
