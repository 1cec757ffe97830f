"""One connection that is kept, and one exchange on it: HTTP, with bounds on time and size, and no meaning."""

from __future__ import annotations

import http.client
import socket
import threading
import urllib.parse
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SECONDS = 30.0  # until the next byte
MOST_SECONDS = 120.0  # for the whole of an answer
LARGEST = 16 * 2**20  # a page of 100 jobs with all their steps has less than 2 MiB
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Broken(Exception):  # noqa: N818 - says more than its name with Error
    """The answer is no use: too large, cut short, not of the encoding that it says."""


@dataclass(frozen=True)
class Raw:
    """An answer; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def connect(scheme: str, host: str, port: int) -> http.client.HTTPConnection:
    """Return a connection that opens with its first request."""
    kind = http.client.HTTPSConnection if scheme == "https" else http.client.HTTPConnection
    return kind(host, port, timeout=SECONDS)


class Wire:
    """Requests to one server, one after the other."""

    def __init__(
        self,
        url: str,
        connect: Callable[[str, str, int], http.client.HTTPConnection] = connect,
        *,
        most_seconds: float = MOST_SECONDS,
    ) -> None:
        self.scheme, self.host, self.port, self.prefix = _parts(url)
        self._connect = connect
        self._most_seconds = most_seconds
        self._connection: http.client.HTTPConnection | None = None

    @property
    def is_private(self) -> bool:
        """Whether a token may be sent: nobody on the way can read it."""
        return self.scheme == "https" or self.host in LOOPBACK

    def close(self) -> None:
        """Close the connection; the next request opens one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def exchange(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None = None) -> Raw:
        """Return the answer to a request. OSError, HTTPException or Broken where there is none, or half of one.

        A connection that was kept may have been closed by the server meanwhile. What only asks is asked again; what
        changes something gets a new connection, for nobody could say whether it was done.
        """
        if method != "GET":
            self.close()
        kept = self._connection is not None and self._connection.sock is not None
        try:
            return self._exchange(method, target, headers, body)
        except (ConnectionError, http.client.BadStatusLine):
            if not kept:
                raise
        return self._exchange(method, target, headers, body)

    def _exchange(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> Raw:
        if self._connection is None:
            self._connection = self._connect(self.scheme, self.host, self.port)
        whole = False
        watch: _Watch | None = None
        try:
            if self._connection.sock is None:
                self._connection.connect()
            watch = _Watch(self._connection.sock, self._most_seconds)
            self._connection.request(method, target, body=body, headers=dict(headers))
            response = self._connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            data = _decoded(_read(response), found.get("content-encoding", ""))
            whole = not watch.fired
            return Raw(response.status, found, data)
        except (OSError, http.client.HTTPException, Broken):
            if watch and watch.fired:
                raise TimeoutError from None
            raise
        finally:
            if watch:
                watch.cancel()
            # What is left of an answer would be taken for the next one.
            if not whole:
                with suppress(OSError):
                    self.close()


class _Watch:
    """Ends what takes too long as a whole: a timeout of the socket begins anew with each byte."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection = connection
        self.fired = False
        self._timer = threading.Timer(seconds, self._fire)
        self._timer.daemon = True
        self._timer.start()

    def cancel(self) -> None:
        self._timer.cancel()

    def _fire(self) -> None:
        self.fired = True
        with suppress(OSError):
            # Of the class of plain sockets: that of TLS would forget its session under the thread that reads.
            socket.socket.shutdown(self._connection, socket.SHUT_RDWR)


def _read(response: http.client.HTTPResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := response.read(65_536):
        size += len(part)
        if size > LARGEST:
            raise Broken(f"the answer has more than {LARGEST >> 20} MiB")
        parts.append(part)
    if response.length:  # of a part that was asked for, http.client does not tell that bytes are missing
        raise Broken("the answer was cut short")
    return b"".join(parts)


def _decoded(data: bytes, encoding: str) -> bytes:
    if encoding in ("", "identity") or not data:
        return data
    if encoding != "gzip":
        raise Broken("the answer has an encoding that was not asked for")
    decoder = zlib.decompressobj(wbits=31)
    try:
        text = decoder.decompress(data, LARGEST + 1)
    except zlib.error:
        raise Broken("the answer is no gzip, though it says so") from None
    if len(text) > LARGEST:
        raise Broken(f"the answer has more than {LARGEST >> 20} MiB")
    if not decoder.eof:
        raise Broken("the answer was cut short")
    return text


def _parts(url: str) -> tuple[str, str, int, str]:
    """Return scheme, host, port and path of an API's address; ValueError says what is wrong with it."""
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError(f"{url} is no address: write one such as https://api.github.com") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"{url} is no address of an API: write one such as https://api.github.com")
    if parts.username is not None or parts.password is not None:
        raise ValueError("the address of an API holds no user and password: they would end in logs")
    return parts.scheme, parts.hostname, port or {"http": 80, "https": 443}[parts.scheme], parts.path.rstrip("/")
