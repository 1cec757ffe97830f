"""GitHub's REST API: one request at a time, as its rules for good clients want it.

https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
import urllib.parse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from watchkeeper._version import __version__
from watchkeeper.findings import printable
from watchkeeper_fleet.github.limits import Limits
from watchkeeper_fleet.github.trouble import Trouble
from watchkeeper_fleet.github.wire import Broken, Raw, Wire, connect

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

STATUSES = ("2xx", "304", "3xx", "4xx", "5xx", "none")
TRIES = 3
MOST_REDIRECTS = 3
_AGAIN = frozenset({"malformed", "network", "server", "timeout"})
_LONGEST = 200  # of what a server says of an error


@dataclass(frozen=True)
class Answer:
    """What was answered; the names of headers are in lower case. `data` is None where the status is 304."""

    status: int
    headers: Mapping[str, str]
    data: Any

    @property
    def etag(self) -> str:
        """The validator to ask with next time; empty where there is none."""
        etag = self.headers.get("etag", "")
        return etag if etag.isascii() and etag.isprintable() else ""

    @property
    def more(self) -> bool:
        """Whether there is a next page."""
        return 'rel="next"' in self.headers.get("link", "")


class GitHub:
    """A client of one API. What fails raises Trouble; while a limit holds, that is without a request.

    `requests` counts answers by the class of their status. ValueError where the address is none, or a token would
    travel in clear.
    """

    def __init__(
        self,
        api_url: str,
        token: Callable[[], str],
        *,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], object] = time.sleep,
        jitter: Callable[[], float] = random.random,
        connect: Callable[[str, str, int], http.client.HTTPConnection] = connect,
    ) -> None:
        self._wire = Wire(api_url, connect)
        if not self._wire.is_private:
            raise ValueError(f"{api_url}: a token is sent by https alone")
        self.url = f"{self._wire.scheme}://{self._wire.host}:{self._wire.port}{self._wire.prefix}"
        self._token = token
        self._clock = clock
        self._sleep = sleep
        self._jitter = jitter
        self._limits = Limits(clock)
        self._lock = threading.Lock()
        self.requests = dict.fromkeys(STATUSES, 0)

    @property
    def limit(self) -> int | None:
        """Requests allowed in an hour; None until an answer says."""
        return self._limits.limit

    @property
    def remaining(self) -> int | None:
        """Of these, those that are left."""
        return self._limits.remaining

    @property
    def reset(self) -> float | None:
        """The Unix time, by this machine's clock, at which they are all there again."""
        return self._limits.reset

    @property
    def skew(self) -> float:
        """By how many seconds GitHub's clock is ahead; 0 below 2."""
        return self._limits.skew

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._wire.close()

    def get(self, path: str, params: Mapping[str, str | int] | None = None, *, etag: str = "") -> Answer:
        """Return what is at a path; with the validator of an earlier answer, 304 where it is still the same.

        Tried three times where that may help, with waits of about 1 and 4 seconds.
        """
        target = f"{path}?{urllib.parse.urlencode(params)}" if params else path
        for last in range(TRIES):
            try:
                return self._ask("GET", target, etag=etag)
            except Trouble as trouble:
                if trouble.reason not in _AGAIN or trouble.retry_at is not None or last == TRIES - 1:
                    raise
            self._sleep(4.0**last * (0.5 + self._jitter()))
        raise AssertionError

    def post(self, path: str, body: Any) -> Answer:
        """Create something. Tried once: after a failure nobody knows whether it was done."""
        return self._ask("POST", path, body)

    def patch(self, path: str, body: Any) -> Answer:
        """Change something. Tried once."""
        return self._ask("PATCH", path, body)

    def _ask(self, method: str, target: str, body: Any = None, *, etag: str = "") -> Answer:
        with self._lock:
            return self._judged(method, target, *self._exchanged(method, target, body, etag))

    def _exchanged(self, method: str, target: str, body: Any, etag: str) -> tuple[Raw, str]:
        limits = self._limits
        token = self._token()
        headers = _headers(token, etag)
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        where = self._wire.prefix + target
        for _ in range(MOST_REDIRECTS + 1):
            if limits.held:
                raise self._held(method, target)
            try:
                raw = self._wire.exchange(method, where, headers, data)
            except (OSError, http.client.HTTPException, Broken) as error:
                self.requests["none"] += 1
                raise _unanswered(f"{method} {target}", error) from None
            self.requests[_status_class(raw.status)] += 1
            limits.note(raw.headers)
            if raw.status not in (301, 302, 307, 308):
                return raw, token
            where = self._moved(method, target, raw.headers.get("location", ""))
        raise Trouble("redirect", f"{method} {target}: redirected more than {MOST_REDIRECTS} times", status=raw.status)

    def _moved(self, method: str, target: str, location: str) -> str:
        """Return the path that a redirect leads to: on this server, or the token would go to another."""
        wire = self._wire
        host = f"[{wire.host}]" if ":" in wire.host else wire.host
        own = f"{wire.scheme}://{host}:{wire.port}"
        try:
            parts = urllib.parse.urlsplit(urllib.parse.urljoin(own, location))
            port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
        except ValueError:
            parts, port = urllib.parse.urlsplit(""), None
        if (parts.scheme, parts.hostname, port) != (wire.scheme, wire.host, wire.port):
            raise Trouble("redirect", f"{method} {target}: redirected to another server, which is not followed")
        if method != "GET":
            raise Trouble("redirect", f"{method} {target}: redirected: the repository has another name now, use that")
        return urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))

    def _judged(self, method: str, target: str, raw: Raw, token: str) -> Answer:
        limits = self._limits
        where = f"{method} {target}"
        if raw.status == 304:
            limits.fine()
            return Answer(raw.status, raw.headers, None)
        if 200 <= raw.status < 300:
            limits.fine()
            return Answer(raw.status, raw.headers, _parsed(where, raw))
        said = _said(raw, token)
        told = f"{where}: {raw.status}{f': {said}' if said else ''}"
        if raw.status in (403, 429):
            if limits.remaining == 0 or ("rate limit" in said.lower() and "secondary" not in said.lower()):
                limits.spent()
            elif "retry-after" in raw.headers or raw.status == 429 or "secondary rate limit" in said.lower():
                limits.too_fast(raw.headers)
            else:
                raise Trouble("forbidden", f"{told}; the token may not do this", status=raw.status)
            raise Trouble(limits.reason, told, retry_at=limits.until, status=raw.status)
        if raw.status >= 500:
            asked = limits.later(raw.headers)
            raise Trouble("server", told, retry_at=limits.until if asked else None, status=raw.status)
        if raw.status == 401:
            mend = "is it right, and has it not expired?" if token else "none is set"
            raise Trouble("unauthorized", f"{told}; the token: {mend}", status=raw.status)
        if raw.status in (404, 410):
            raise Trouble("not_found", f"{told}; it is not there, or the token may not see it", status=raw.status)
        raise Trouble("refused", told, status=raw.status)

    def _held(self, method: str, target: str) -> Trouble:
        limits = self._limits
        left = limits.until - self._clock()
        message = f"{method} {target}: not asked: GitHub wants no request for another {left:.0f} s"
        return Trouble(limits.reason, message, retry_at=limits.until)


def _headers(token: str, etag: str) -> dict[str, str]:
    headers = {
        "Accept": "application/vnd.github+json",
        "Accept-Encoding": "gzip",
        "User-Agent": f"watchkeeper/{__version__}",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if etag:
        headers["If-None-Match"] = etag
    return headers


def _status_class(status: int) -> str:
    name = "304" if status == 304 else f"{status // 100}xx"
    return name if name in STATUSES else "none"


def _unanswered(where: str, error: Exception) -> Trouble:
    if isinstance(error, TimeoutError):
        return Trouble("timeout", f"{where}: no answer in time")
    if isinstance(error, http.client.IncompleteRead):
        return Trouble("malformed", f"{where}: the answer was cut short")
    if isinstance(error, Broken):
        return Trouble("malformed", f"{where}: {error}")
    # The text of an error of http.client may hold what the server sent; its name does for those.
    text = (error.strerror or str(error)) if isinstance(error, OSError) else ""
    return Trouble("network", f"{where}: {printable(text)[:_LONGEST] or type(error).__name__}")


def _parsed(where: str, raw: Raw) -> Any:
    if raw.status == 204:
        return None
    try:
        return json.loads(raw.body)
    except (ValueError, RecursionError):
        kind = printable(raw.headers.get("content-type", "nothing"))[:60]
        message = f"{where}: no JSON but {kind}: is something between here and GitHub, or the address not its API's?"
        raise Trouble("malformed", message, status=raw.status) from None


def _said(raw: Raw, token: str) -> str:
    """Return what the server says of an error, as one short line that does not hold the token."""
    try:
        data = json.loads(raw.body)
    except (ValueError, RecursionError):
        return ""
    message = data.get("message") if isinstance(data, dict) else None
    text = " ".join(message.split()) if isinstance(message, str) else ""
    return printable(text.replace(token, "***") if token else text)[:_LONGEST]
