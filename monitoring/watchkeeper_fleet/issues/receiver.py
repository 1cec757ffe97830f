"""The receiver: what Alertmanager posts, and what it is answered."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from watchkeeper_fleet.exporter.http_requests import Answer, Handler, Site, plain
from watchkeeper_fleet.exporter.text import Samples, add
from watchkeeper_fleet.github import REASONS
from watchkeeper_fleet.issues.notification import Malformed, read
from watchkeeper_fleet.issues.tracker import Busy
from watchkeeper_fleet.metrics import issues as metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from watchkeeper_fleet.exporter.server import Stream
    from watchkeeper_fleet.github import GitHub
    from watchkeeper_fleet.issues.tracker import Tracker

_LOG = logging.getLogger(__name__)
PATHS = ("/", "/alerts")
LARGEST = 4 * 2**20
# Besides the reasons of GitHub's client: a body that is no notification, one that had to wait too long.
OWN_REASONS = ("busy", "notification")


class Receiver:
    """Takes notifications, and counts."""

    def __init__(self, tracker: Tracker, github: GitHub, *, clock: Callable[[], float] = time.time) -> None:
        self._tracker = tracker
        self._github = github
        self._clock = clock
        self._lock = threading.Lock()
        self._alerts: Counter[str] = Counter({"firing": 0, "resolved": 0})
        self._errors: Counter[str] = Counter(dict.fromkeys((*REASONS, *OWN_REASONS), 0))
        self._last_success = 0.0

    def take(self, body: bytes) -> Answer:
        """Deal with the body of a request. 5xx makes Alertmanager send it again, 4xx does not."""
        try:
            notification = read(body)
        except Malformed as error:
            self._count("notification")
            _LOG.warning("a request was refused: %s", error)
            return plain(400, str(error))
        with self._lock:
            self._alerts.update(alert.status for alert in notification.alerts)
        try:
            troubles = self._tracker.handle(notification)
        except Busy:
            self._count("busy")
            _LOG.warning("a notification was put off: the one before takes long")
            return plain(503, "busy with another notification")
        if not troubles:
            with self._lock:
                self._last_success = self._clock()
            return plain(200, "done")
        self._count(*(trouble.reason for trouble in troubles))
        for trouble in troubles:
            _LOG.warning("%s", trouble)
        # What GitHub refuses it will refuse again.
        is_final = all(trouble.reason == "refused" for trouble in troubles)
        return plain(422 if is_final else 503, f"GitHub: {', '.join(sorted({one.reason for one in troubles}))}")

    def _count(self, *reasons: str) -> None:
        with self._lock:
            self._errors.update(reasons)

    def collect(self) -> Samples:
        """Return the metrics."""
        samples: Samples = {}
        with self._lock:
            for status, count in self._alerts.items():
                add(samples, metrics.ALERTS, float(count), status)
            for reason, count in self._errors.items():
                add(samples, metrics.ERRORS, float(count), reason)
            add(samples, metrics.LAST_SUCCESS, self._last_success)
        for action, count in sorted(self._tracker.actions.items()):
            add(samples, metrics.ACTIONS, float(count), action)
        for code, count in self._github.requests.items():
            add(samples, metrics.API_REQUESTS, float(count), code)
        if self._github.remaining is not None:
            add(samples, metrics.API_REMAINING, float(self._github.remaining))
        return samples

    @contextmanager
    def collecting(self) -> Iterator[Callable[[], Samples]]:
        """Give what collects, for as long as the receiver lives."""
        try:
            yield self.collect
        finally:
            self._github.close()

    def pages(self, *args: Any, **options: Any) -> Pages:
        """Return the site: an exporter's, and where notifications go."""
        return Pages(self, *args, **options)


class Pages(Site):
    """The pages of an exporter, and where notifications are posted."""

    def __init__(self, receiver: Receiver, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._receiver = receiver

    def serve(self, stream: Stream) -> None:
        """Answer the requests of a connection, until it ends."""
        _Poster(stream, self)

    def refuse(self, path: str, headers: Mapping[str, str]) -> Answer | None:
        """Return the answer to a POST that is none of ours, None to one that is."""
        refusal = self._web.refuse(headers.get("Authorization", ""))
        if refusal is not None:
            return refusal
        if path.partition("?")[0] not in PATHS:
            return plain(404, "not found: notifications go to /alerts")
        if headers.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
            # Which a page in somebody's browser can't send to another host without asking first.
            return plain(415, "send application/json, as Alertmanager does")
        return None

    def take(self, body: bytes) -> Answer:
        """Return the answer to a notification."""
        return self._receiver.take(body)


class _Poster(Handler):
    """Reads notifications too."""

    _site: Pages

    def do_POST(self) -> None:  # noqa: N802 - as the base class calls it
        """Take a notification."""
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in self.headers:
            self.send(plain(411, "say how long the body is, in Content-Length"))
            return
        if len(length) > 12 or int(length) > LARGEST:
            most = f"{LARGEST >> 20} MiB"
            self.send(plain(413, f"a notification has no more than {most}: set max_alerts in its webhook_config"))
            return
        refusal = self._site.refuse(self.path, self.headers)  # type: ignore[arg-type]
        parts = []
        left = int(length)
        self._stream.await_body(left)
        while left and (part := self.rfile.read(min(left, 65_536))):
            left -= len(part)
            # One that is refused is read too: closed over a body that nobody read, a connection may lose the answer.
            if refusal is None:
                parts.append(part)
        if left:
            self.close_connection = True  # the client went away
        else:
            self.send(refusal or self._site.take(b"".join(parts)), is_read=True)
