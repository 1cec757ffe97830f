"""Connections that are kept, and one exchange on them: HTTP with bounds on time and size, and no meaning."""

from __future__ import annotations

import http.client
import ipaddress
import select
import threading
import time
import urllib.parse
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from watchkeeper.sync.objects import Refused

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

LARGEST = 64 * 2**20  # a page of 100 dashboards has less than 20 MiB
_PORTS = {"http": 80, "https": 443}
_NEAR = (".svc", ".svc.cluster.local", ".local", ".internal", ".localhost")


class Broken(Exception):  # noqa: N818 - says more than its name with Error
    """The answer is no use: too large, or cut short."""


class Unsent(Exception):  # noqa: N818 - says more than its name with Error
    """There was no connection, so that nothing was sent: `why`."""

    def __init__(self, why: Exception) -> None:
        super().__init__(str(why))
        self.why = why


@dataclass(frozen=True)
class Raw:
    """An answer; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Address:
    """Where an API is."""

    scheme: str
    host: str
    port: int
    prefix: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.prefix}"

    @property
    def is_private(self) -> bool:
        """Whether a token may be sent: by TLS, or on a network that is one's own."""
        if self.scheme == "https" or ("." not in self.host and ":" not in self.host) or self.host.endswith(_NEAR):
            return True
        try:
            return ipaddress.ip_address(self.host).is_private
        except ValueError:
            return False

    def within(self, location: str) -> str | None:
        """Return the path and query that a redirect leads to, None where that is not on this server."""
        try:
            parts = urllib.parse.urlsplit(urllib.parse.urljoin(str(self) + "/", location))
            port = parts.port or _PORTS.get(parts.scheme)
        except ValueError:
            return None
        if not location or (parts.scheme, parts.hostname, port) != (self.scheme, self.host, self.port):
            return None
        return urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))


def address(url: str) -> Address:
    """Return the parts of an API's address; Refused says what is wrong with it."""
    example = "write one such as https://grafana.example.org"
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError:
        raise Refused("address", f"that is no address: {example}") from None
    if parts.username is not None or parts.password is not None:
        raise Refused("address", "the address holds a user or a password: leave them out, they would end in logs")
    if parts.scheme not in _PORTS or not parts.hostname or not url.isprintable() or " " in url:
        raise Refused("address", f"{url!a} is no address: {example}")
    if parts.query or parts.fragment:
        raise Refused("address", f"{url!a} has something behind its path: {example}")
    return Address(parts.scheme, parts.hostname, port or _PORTS[parts.scheme], parts.path.rstrip("/"))


def later(text: str, now: float) -> float | None:
    """Return the seconds that a Retry-After asks to wait, None where it says nothing that makes sense."""
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


class Wire:
    """Exchanges with one server: as many connections as there are exchanges at a time, kept for the next ones."""

    def __init__(self, place: Address, ca_file: str, timeout: float) -> None:
        self._place = place
        self._timeout = timeout
        self._tls = _tls(ca_file) if place.scheme == "https" else None
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []

    def close(self) -> None:
        """Close the connections; a later exchange opens one."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def exchange(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> Raw:
        """Return the answer to a request.

        Unsent where there was no connection; OSError, HTTPException or Broken where there is no answer, or half of one.
        """
        connection = self._connected()
        whole = False
        try:
            connection.request(method, target, body=body, headers=dict(headers))
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            data = _read(response, self._timeout * 4)
            whole = True
            return Raw(response.status, found, data)
        finally:
            if whole:
                with self._lock:
                    self._idle.append(connection)
            else:
                # What is left of an answer would be taken for the next one.
                with suppress(OSError):
                    connection.close()

    def _connected(self) -> http.client.HTTPConnection:
        """Return a connection that no other thread uses, opened anew where the server has closed it since."""
        with self._lock:
            connection = self._idle.pop() if self._idle else self._made()
        if connection.sock is not None and _is_over(connection):
            connection.close()
        if connection.sock is None:
            try:
                connection.connect()
            except OSError as error:
                with suppress(OSError):
                    connection.close()
                raise Unsent(error) from None
        return connection

    def _made(self) -> http.client.HTTPConnection:
        place = self._place
        if self._tls is None:
            return http.client.HTTPConnection(place.host, place.port, timeout=self._timeout)
        return http.client.HTTPSConnection(place.host, place.port, timeout=self._timeout, context=self._tls)


def _is_over(connection: http.client.HTTPConnection) -> bool:
    """Tell whether a connection at rest has something to read: its end, or what nobody asked for."""
    try:
        waiter = select.poll()
        waiter.register(connection.sock, select.POLLIN)
        return bool(waiter.poll(0))
    except (OSError, ValueError):
        return True


def _tls(ca_file: str) -> ssl.SSLContext:
    import ssl  # 10 ms that a server without TLS does not cost

    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except OSError as error:  # ssl.SSLError is one
        why = "it holds no certificate" if isinstance(error, ssl.SSLError) else error.strerror
        raise Refused("tls", f"the CA's file {ca_file!a} can't be used: {why}") from None


def _read(response: http.client.HTTPResponse, seconds: float) -> bytes:
    """Return the body; TimeoutError where it comes so slowly that each part is in time, and the whole is not."""
    end = time.monotonic() + seconds
    parts: list[bytes] = []
    size = 0
    while part := response.read1(65_536):
        size += len(part)
        if size > LARGEST:
            raise Broken(f"the answer has more than {LARGEST >> 20} MiB")
        if time.monotonic() > end:
            raise TimeoutError
        parts.append(part)
    if response.length:  # http.client does not tell by itself that bytes are missing
        raise Broken("the answer was cut short")
    response.close()  # nor does read1 note that it has read all; the connection stays
    return b"".join(parts)
