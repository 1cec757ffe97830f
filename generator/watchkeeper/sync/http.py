"""A client of one server's HTTP API: it repeats what may be repeated, and believes no login page.

What fails raises Refused, with one line of what and how to mend it. A write of which nobody can say whether it was
made raises Unsure instead of being repeated.
"""

from __future__ import annotations

import http.client
import json
import random
import socket
import threading
import time
import urllib.parse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from watchkeeper._version import __version__
from watchkeeper.findings import printable
from watchkeeper.sync.objects import Refused, Unsure
from watchkeeper.sync.wire import Address, Broken, Raw, Unsent, Wire, address, later

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

__all__ = ["REASONS", "Answer", "Client"]

REASONS = (
    "address",  # it is none, or a token would travel in clear
    "exists",  # something else has the name
    "forbidden",  # the token may not do that
    "html",  # a page for people: a login page, or not the API's address
    "limit",  # too many requests, for longer than we wait
    "malformed",  # not of the form that it should have, cut short, or too large
    "network",  # no connection, or one that broke
    "not-found",
    "provisioned",  # files or another tool hold it
    "redirect",  # to another address
    "refused",  # any other 4xx
    "rights",  # the token lacks some that are needed
    "server",  # 5xx
    "stale",  # someone else has changed it
    "timeout",
    "tls",  # its certificate is not trusted, or the CA's file is no good
    "token",  # there is none, or it can't be read
    "unauthorized",  # it is wrong or has expired
    "unsure",  # written or not
    "version",  # the server is older than the target
)

JSON = "application/json"
MOST_REDIRECTS = 3
LONGEST_WAIT = 120.0  # that a server may ask for; where it wants more, a later run is the better way
_FIRST_WAIT, _MOST_WAIT = 0.5, 30.0
_AGAIN = frozenset({429, 502, 503, 504})
_LONGEST = 300  # of what a server says of an error


@dataclass(frozen=True)
class Answer:
    """What was answered; the names of headers are in lower case. `data`: JSON, or a text where that was asked for."""

    status: int
    headers: Mapping[str, str]
    data: Any


class Client:
    """Requests to one server, by any number of threads, on connections that are kept.

    `token` is asked at each request; where it is empty none is sent. `timeout` is how long nothing may come, and four
    times that an answer as a whole may take. Refused where the address is none.
    """

    def __init__(
        self,
        base_url: str,
        token: Callable[[], str],
        *,
        ca_file: str = "",
        timeout: float = 30.0,
        attempts: int = 5,
        sleep: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.time,
        random: Callable[[], float] = random.random,
    ) -> None:
        self.address: Address = address(base_url)
        self.url = str(self.address)
        self._wire = Wire(self.address, ca_file, timeout)
        self._token = token
        self._attempts = attempts
        self._sleep = sleep
        self._clock = clock
        self._random = random
        self._held = 0.0
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    @property
    def has_token(self) -> bool:
        """Whether requests carry a token."""
        return bool(self._token())

    def close(self) -> None:
        """Close all connections; a later request opens one."""
        self._wire.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | int] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        idempotent: bool | None = None,
        accept: str = JSON,
        expect: Collection[int] = (),
    ) -> Answer:
        """Return the answer to a request: of status 2xx, or one of those expected.

        `path` is quoted already. `body`: a text is sent as it is, anything else as JSON. `idempotent`: whether to do it
        twice is the same as once, by default of what only reads.
        """
        twice = method in ("GET", "HEAD") if idempotent is None else idempotent
        told = f"{method} {self.url}{path}"
        token = self._token()
        if token and not self.address.is_private:
            raise Refused("address", f"{self.url}: a token is not sent by http across networks: use https")
        sent = _headers(token, accept, body, headers)
        data = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
        target = f"{path}?{urllib.parse.urlencode(params)}" if params else path
        for attempt in range(1, self._attempts + 1):
            self._wait_held()
            wait = min(_FIRST_WAIT * 2.0 ** (attempt - 1), _MOST_WAIT) * (0.5 + self._random())
            try:
                raw = self._followed(method, target, sent, data, told)
            except (OSError, http.client.HTTPException, Broken, Unsent) as error:
                failed = _unanswered(told, error)
                if failed.reason in ("address", "tls"):
                    raise failed from None
                if not (twice or isinstance(error, Unsent)):
                    raise Unsure("unsure", f"{failed}: whether it was written is not known, so run it again") from None
            else:
                if raw.status in expect or raw.status not in _AGAIN:
                    return self._judged(raw, told, token, accept, expect)
                failed = _failed(raw, told, token)
                if not twice and raw.status != 429:
                    raise Unsure("unsure", f"{failed}: whether it was written is not known, so run it again")
                wait = self._asked(raw, failed, wait)
            if attempt == self._attempts:
                raise failed from None
            self._sleep(wait)
        raise AssertionError

    def _asked(self, raw: Raw, failed: Refused, wait: float) -> float:
        """Return how long to wait before the next attempt: what the server asks for, if anything."""
        asked = later(raw.headers.get("retry-after", ""), self._clock())
        if asked is None:
            return wait
        if asked > LONGEST_WAIT:
            message = f"{failed}; it wants no request for {asked:.0f} s: run it again after that"
            raise Refused(failed.reason, message)
        if raw.status == 429:
            with self._lock:  # the other threads are asked too
                self._held = max(self._held, self._clock() + asked)
        return asked + self._random() * _FIRST_WAIT

    def _wait_held(self) -> None:
        with self._lock:
            left = self._held - self._clock()
        if 0 < left <= LONGEST_WAIT:  # longer, and the clock was set back since
            self._sleep(left)

    def _followed(self, method: str, target: str, headers: Mapping[str, str], data: bytes | None, told: str) -> Raw:
        where = self.address.prefix + target
        for _ in range(MOST_REDIRECTS + 1):
            raw = self._wire.exchange(method, where, headers, data)
            if raw.status not in (301, 302, 303, 307, 308):
                return raw
            parts = self.address.within(raw.headers.get("location", ""))
            if parts is None:
                place = _plain(raw.headers.get("location", ""))
                message = f"{told}: redirected to another server ({place}): name the address that answers"
                raise Refused("redirect", message)
            if method != "GET":
                raise Refused("redirect", f"{told}: redirected to {_plain(parts)}: name the address that answers")
            where = parts
        raise Refused("redirect", f"{told}: redirected more than {MOST_REDIRECTS} times")

    def _judged(self, raw: Raw, told: str, token: str, accept: str, expect: Collection[int]) -> Answer:
        if raw.status // 100 != 2 and raw.status not in expect:
            raise _failed(raw, told, token)
        return Answer(raw.status, raw.headers, _content(raw, told, accept))


def _headers(token: str, accept: str, body: Any, more: Mapping[str, str] | None) -> dict[str, str]:
    headers = {"Accept": accept, "User-Agent": f"watchkeeper/{__version__}"}
    if body is not None:
        headers["Content-Type"] = JSON
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return {**headers, **(more or {})}


def _content(raw: Raw, told: str, accept: str) -> Any:
    """Return what an answer holds. HTML is refused whatever its status: a wrong address has pages for 404 too."""
    kind = raw.headers.get("content-type", "")
    if _is_page(raw):
        message = f"{told}: a page for people, no data: is it the address of the API, or is a login page before it?"
        raise Refused("html", message)
    if not raw.body:
        return None
    if accept != JSON:
        return raw.body.decode("utf-8", "replace")
    try:
        return json.loads(raw.body)
    except (ValueError, RecursionError):
        what = printable(kind)[:60] or "nothing that says what it is"
        message = f"{told}: no JSON but {what}: is it the address of the API, and is nothing in between that answers?"
        raise Refused("malformed", message) from None


def _is_page(raw: Raw) -> bool:
    begin = raw.body[:512].lstrip().lower()
    return "html" in raw.headers.get("content-type", "").lower() or begin.startswith((b"<!doctype", b"<html"))


def _failed(raw: Raw, told: str, token: str) -> Refused:
    """Return what an answer of another status than 2xx means, and what to do."""
    said = _said(raw, token)
    line = f"{told}: {raw.status}{f': {said}' if said else ''}"
    status = raw.status
    if status == 401:
        mend = "is the token right, and has it not expired?" if token else "a token is needed, and none is set"
        return Refused("unauthorized", f"{line}; {mend}")
    if status == 403:
        return Refused("forbidden", f"{line}; the token may not do this")
    if status == 404:
        return Refused("not-found", f"{line}; is it the right address, and may the token see it?")
    if status == 413:
        return Refused("refused", f"{line}; a proxy before the server takes no body of this size: raise its limit")
    if status == 429:
        return Refused("limit", f"{line}; too many requests: run it again later")
    if status >= 500:
        return Refused("server", f"{line}; look into the server's log, and run it again")
    return Refused("refused", line)


def _said(raw: Raw, token: str) -> str:
    """Return what the server says of an error, as one short line that does not hold the token."""
    if _is_page(raw):
        return "a page for people"
    try:
        data = json.loads(raw.body)
    except (ValueError, RecursionError):
        data = raw.body[: 4 * _LONGEST].decode("utf-8", "replace")
    found = data.get("message") or data.get("error") if isinstance(data, dict) else data
    text = " ".join(found.split()) if isinstance(found, str) else ""
    return printable(text.replace(token, "***") if token else text)[:_LONGEST]


def _plain(location: str) -> str:
    """Return an address without what may be secret in it."""
    try:
        parts = urllib.parse.urlsplit(location)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "no address"
    return printable(urllib.parse.urlunsplit((parts.scheme, host, parts.path, "", "")))[:_LONGEST]


def _unanswered(told: str, error: Exception) -> Refused:
    if isinstance(error, Unsent):
        error = error.why
    if error.__class__.__name__ == "SSLCertVerificationError":
        why = printable(getattr(error, "verify_message", "") or "it is not trusted")[:_LONGEST]
        message = f"{told}: its certificate: {why}; if a CA of your own signed it, name the CA's file (--ca-file)"
        return Refused("tls", message)
    if isinstance(error, socket.gaierror) and error.errno != socket.EAI_AGAIN:
        return Refused("address", f"{told}: there is no host of that name: is the address right?")
    if isinstance(error, TimeoutError):
        return Refused("timeout", f"{told}: no answer in time")
    if isinstance(error, http.client.IncompleteRead):
        return Refused("malformed", f"{told}: the answer was cut short")
    if isinstance(error, Broken):
        return Refused("malformed", f"{told}: {error}")
    # The text of an error of http.client may hold what the server sent; its name does for those.
    text = (error.strerror or str(error)) if isinstance(error, OSError) else ""
    return Refused("network", f"{told}: {printable(text)[:_LONGEST] or type(error).__name__}: is the server there?")
