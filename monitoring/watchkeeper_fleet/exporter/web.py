"""Who may ask: the web configuration at work, read again when its files change."""

from __future__ import annotations

import base64
import binascii
import hmac
import logging
import os
import secrets
import ssl
import threading
import time
from typing import TYPE_CHECKING, Any

from watchkeeper_fleet.exporter.http_requests import Answer, plain
from watchkeeper_fleet.exporter.webconfig import WebConfig, WebConfigError, load

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path

_LOG = logging.getLogger(__name__)
REMEMBERED = 128
# Of a password that nobody has: unknown users take as long as known ones.
_NOBODY = "$2b$10$ZFn/e.TBGo3OErvE9EPZmesfeoD68PvhqnLWy1DHAhSTipceK6BQu"


class Web:
    """The web configuration. Without a file everyone may ask, in plain text."""

    def __init__(self, path: Path | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._hashing = threading.Lock()
        self._known: dict[bytes, None] = {}
        self._salt = secrets.token_bytes(32)
        self._seen: object = None
        self._config = WebConfig()
        self._tokens = self._refilled = 0.0
        if path is not None:
            self._config = load(path)
            self._seen = _stamps(self._config)
        self._tokens = float(self._config.burst)

    @property
    def headers(self) -> dict[str, str]:
        """The headers of all answers."""
        return self._config.headers

    @property
    def is_tls(self) -> bool:
        """Whether connections are encrypted."""
        return self._config.tls is not None

    def reload(self, *, force: bool = False) -> bool:
        """Read the file again where it or one that it names has changed; return whether what it says is in force.

        A file that can't be used changes nothing: a slip in it must neither open the exporter nor close it.
        """
        if self._path is None:
            return True
        with self._lock:
            stamps = _stamps(self._config)
            if stamps == self._seen and not force:
                return True
            self._seen = stamps
            try:
                config = load(self._path)
            except WebConfigError as error:
                _LOG.error("the web configuration stays as it was: %s", error)
                return False
            self._config = config
            self._seen = _stamps(config)
            self._tokens = min(self._tokens, config.burst)
        return True

    def secure(self, connection: socket.socket) -> socket.socket:
        """Return the connection with TLS where that is configured, its client verified."""
        self.reload()
        config = self._config
        if config.tls is None:
            return connection
        secured = config.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        try:
            secured.do_handshake()
            _verify(secured, config.allowed_sans)
        except BaseException:
            secured.close()
            raise
        return secured

    def refuse(self, authorization: str) -> Answer | None:
        """Return the answer to who may not ask, None where one may."""
        config = self._config
        if config.interval and not self._token(config):
            return plain(429, "too many requests: the web configuration has a rate_limit")
        if not config.users or self._is_known(authorization, config):
            return None
        return plain(401, "unauthorized", **{"WWW-Authenticate": 'Basic realm="watchkeeper"'})

    def _token(self, config: WebConfig) -> bool:
        with self._lock:
            now = self._clock()
            if self._refilled:
                self._tokens = min(self._tokens + (now - self._refilled) / config.interval, config.burst)
            self._refilled = now
            if self._tokens < 1:
                return False
            self._tokens -= 1
            return True

    def _is_known(self, authorization: str, config: WebConfig) -> bool:
        scheme, _, encoded = authorization.partition(" ")
        if scheme.lower() != "basic":
            return False
        try:
            user, colon, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
            expected = config.users.get(user.decode())
        except (binascii.Error, ValueError):
            return False
        # A bcrypt takes 50 ms and more: one at a time, and a right password is remembered, by its hash alone. A wrong
        # one is not: whoever guesses must not push out those who know.
        what = b"\0".join((user, (expected or "").encode(), password))
        key = hmac.digest(self._salt, what, "sha256")
        if key in self._known:
            return True
        with self._hashing:
            known = bool(colon) and _matches(password, expected or _NOBODY) and expected is not None
            if known:
                self._known[key] = None
                while len(self._known) > REMEMBERED:
                    del self._known[next(iter(self._known))]
        return known


def _matches(password: bytes, expected: str) -> bool:
    import bcrypt

    try:
        return bcrypt.checkpw(password, expected.encode())
    except ValueError:  # longer than bcrypt looks at, or a null in it
        return False


def _verify(connection: ssl.SSLSocket, allowed: frozenset[str]) -> None:
    certificate: Any = connection.getpeercert() or {}
    if allowed and allowed.isdisjoint(str(value) for _, value in certificate.get("subjectAltName", ())):
        raise ssl.SSLError("the client's certificate has none of the names that client_allowed_sans lists")


def _stamps(config: WebConfig) -> list[tuple[int, int, int] | None]:
    return [_stamp(file) for file in config.files]


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        status = os.stat(file)  # noqa: PTH116 - at each connection
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
