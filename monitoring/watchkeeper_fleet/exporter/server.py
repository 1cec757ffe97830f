"""Connections: a thread each, a bounded number of them, and none that may take its time."""

from __future__ import annotations

import io
import logging
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LOG = logging.getLogger(__name__)
MOST_CONNECTIONS = 512
HEAD_SECONDS = 5.0  # for a handshake, and for the head of a request from its first byte
BODY_SECONDS = 30.0  # for taking an answer, and for the body of a request
IDLE_SECONDS = 75.0  # between two requests; Prometheus goes on with a connection at its next scrape
MOST_HEAD = 32 * 1024
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Stream(io.RawIOBase):
    """A connection as a file, with a deadline for the whole and not for each byte: one a second would last for days."""

    def __init__(self, connection: socket.socket, *, idle: float, on_idle: Callable[[bool], None]) -> None:
        self.connection = connection
        self._idle = idle
        self._on_idle = on_idle
        self._waits = False
        self._left = 0
        self._deadline = 0.0

    def readable(self) -> bool:
        """Return True."""
        return True

    def writable(self) -> bool:
        """Return True."""
        return True

    def await_request(self, *, first: bool) -> None:
        """Begin to wait for a request."""
        self._waits = True
        self._left = MOST_HEAD
        self._deadline = time.monotonic() + (HEAD_SECONDS if first else self._idle)

    def await_body(self, size: int) -> None:
        """Begin to read the body of a request, which has so many bytes."""
        self._left = max(self._left, size)
        self._deadline = time.monotonic() + BODY_SECONDS

    def answer(self) -> None:
        """Begin to answer."""
        self._deadline = time.monotonic() + BODY_SECONDS

    def _arm(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the client is too slow")
        self.connection.settimeout(left)

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read what is there; nothing is the end."""
        self._arm()
        if not self._waits:
            size = self.connection.recv_into(buffer)
        else:
            self._on_idle(True)
            try:
                size = self.connection.recv_into(buffer)
            finally:
                self._on_idle(False)
                self._waits = False
                self._deadline = time.monotonic() + HEAD_SECONDS
        self._left -= size
        if self._left < 0:
            raise TimeoutError("the head of the request is too long")
        return size

    def write(self, data: bytes) -> int:  # type: ignore[override]
        """Write all of data."""
        view = memoryview(data)
        done = 0
        while done < len(view):
            self._arm()
            done += self.connection.send(view[done : done + 262_144])
        return done


class Server:
    """Listens, and hands each connection to `handle` in a thread of its own.

    At the most connections, the one that has waited longest for a request makes room for a new one.
    """

    def __init__(
        self,
        addresses: Sequence[tuple[str, int]],
        handle: Callable[[Stream], None],
        *,
        secure: Callable[[socket.socket], socket.socket] = lambda connection: connection,
        most: int = MOST_CONNECTIONS,
        idle: float = IDLE_SECONDS,
    ) -> None:
        self._handle = handle
        self._secure = secure
        self._most = most
        self._idle_seconds = idle
        self._changed = threading.Condition()
        self._open: set[socket.socket] = set()
        self._idle: dict[socket.socket, None] = {}
        self._stopping = False
        self._sockets: list[socket.socket] = []
        try:
            for host, port in addresses:
                self._sockets.append(_listening(host, port))
        except OSError:
            self.close()
            raise
        self.addresses: list[tuple[str, int]] = [one.getsockname()[:2] for one in self._sockets]

    def start(self) -> None:
        """Begin to accept connections."""
        for one in self._sockets:
            threading.Thread(target=self._accept, args=(one,), name="accept", daemon=True).start()

    @property
    def stopping(self) -> bool:
        """Whether no more requests are taken."""
        return self._stopping

    def stop(self, patience: float = 5.0) -> None:
        """Accept nothing more, let requests under way end, then close."""
        self._stopping = True
        for one in self._sockets:
            _shut(one)
        self.close()
        deadline = time.monotonic() + patience
        with self._changed:
            for connection in self._idle:
                _shut(connection)
            while self._open and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
            for connection in self._open:
                _shut(connection)

    def close(self) -> None:
        """Close the sockets that listen."""
        for one in self._sockets:
            one.close()

    def _accept(self, listening: socket.socket) -> None:
        while not self._stopping:
            try:
                connection, _ = listening.accept()
            except OSError as error:
                if not self._stopping:
                    _LOG.warning("no connection can be accepted: %s", error.strerror)
                    time.sleep(0.1)  # no descriptors left: some will be given back
                continue
            if not self._room():
                with suppress(OSError), connection:
                    connection.setblocking(False)
                    connection.send(_BUSY)
                continue
            with self._changed:
                self._open.add(connection)
            try:
                threading.Thread(target=self._serve, args=(connection,), name="request", daemon=True).start()
            except RuntimeError:  # no more threads
                self._forget(connection)

    def _room(self) -> bool:
        with self._changed:
            if len(self._open) < self._most:
                return True
            for connection in self._idle:
                _shut(connection)
                return self._changed.wait_for(lambda: len(self._open) < self._most, timeout=1.0)
        return False

    def _forget(self, connection: socket.socket) -> None:
        with self._changed:
            self._open.discard(connection)
            self._idle.pop(connection, None)
            self._changed.notify_all()
        connection.close()

    def _serve(self, connection: socket.socket) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(HEAD_SECONDS)
            connection = self._secured(connection)
            self._handle(
                Stream(connection, idle=self._idle_seconds, on_idle=lambda idle: self._note(connection, idle=idle))
            )
            with suppress(OSError):
                connection.shutdown(socket.SHUT_WR)
        except (OSError, ValueError) as error:
            # A client that went away or speaks no TLS, which anyone can cause at will: not worth a line by default.
            _LOG.debug("a connection ended: %s", error)
        except Exception:  # noqa: BLE001 - whatever it is, the others are served
            _LOG.exception("a request failed")
        finally:
            self._forget(connection)

    def _secured(self, connection: socket.socket) -> socket.socket:
        secured = self._secure(connection)
        if secured is not connection:
            # The one before has given its descriptor away.
            with self._changed:
                self._open.discard(connection)
                self._open.add(secured)
        return secured

    def _note(self, connection: socket.socket, *, idle: bool) -> None:
        with self._changed:
            if not idle:
                self._idle.pop(connection, None)
            elif self._stopping:
                _shut(connection)
            else:
                self._idle[connection] = None


def _shut(connection: socket.socket) -> None:
    """Wake whoever waits on a socket."""
    with suppress(OSError):
        # Of the class of plain sockets: that of TLS would forget its session under the thread that reads.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


def _listening(host: str, port: int) -> socket.socket:
    if not host:
        both = socket.has_dualstack_ipv6()
        family = socket.AF_INET6 if both else socket.AF_INET
        return socket.create_server(("", port), family=family, backlog=512, dualstack_ipv6=both)
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
    return socket.create_server((host, port), family=family, backlog=512)
