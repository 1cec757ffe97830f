"""One collection for all who ask at the same time, and each text of it made once."""

from __future__ import annotations

import gzip
import logging
import math
import threading
import time
from typing import TYPE_CHECKING

from watchkeeper_fleet.exporter.text import render

if TYPE_CHECKING:
    from collections.abc import Callable

    from watchkeeper_fleet.exporter.text import Samples

_LOG = logging.getLogger(__name__)
REUSE = 4.0
LONGEST = 0.5  # seconds


class NoAnswer(Exception):  # noqa: N818 - an outcome, which the scraper is told
    """There is no text to serve, and why."""


class _Collection:
    """A collection under way, or done; the texts of it."""

    __slots__ = ("begun", "done", "ended", "failure", "lock", "samples", "texts")

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.ended = math.inf
        self.done = threading.Event()
        self.samples: Samples = {}
        self.failure = ""
        self.lock = threading.Lock()
        self.texts: dict[tuple[bool, bool], bytes] = {}

    def run(self, collect: Callable[[], Samples]) -> None:
        try:
            self.samples = collect()
        except Exception as error:  # noqa: BLE001 - whatever it is, the daemon goes on
            _LOG.exception("the collection failed")
            self.failure = f"the collection failed: {type(error).__name__}"
        finally:
            self.ended = time.monotonic()
            self.done.set()

    def is_good(self, reuse: float) -> bool:
        """Return whether who asks now may have it."""
        if not self.done.is_set():
            return True
        good = min((self.ended - self.begun) * reuse, LONGEST)
        return not self.failure and time.monotonic() - self.ended < good

    def text(self, *, openmetrics: bool, compressed: bool) -> bytes:
        with self.lock:
            return self._text(openmetrics, compressed)

    def _text(self, openmetrics: bool, compressed: bool) -> bytes:
        text = self.texts.get((openmetrics, compressed))
        if text is None:
            if compressed:
                # Level 1 takes a third of the time of level 6, and a tenth more space.
                text = gzip.compress(self._text(openmetrics, False), 1, mtime=0)
            else:
                text = render(self.samples, openmetrics=openmetrics)
            self.texts[openmetrics, compressed] = text
        return text


class Scrapes:
    """Answers scrapes. Whoever asks while a collection is under way gets that one, or for some time after it.

    That time is `reuse` times as long as the collection took: however many ask, a fifth of it goes into collecting.
    A collection runs in a thread of its own, so that no scraper waits longer than it said it would, and one that hangs
    holds up nothing but scrapes.
    """

    def __init__(self, collect: Callable[[], Samples], *, reuse: float = REUSE) -> None:
        self._collect = collect
        self._reuse = reuse
        self._lock = threading.Lock()
        self._current: _Collection | None = None

    def scrape(self, *, openmetrics: bool, compressed: bool, timeout: float) -> bytes:
        """Return the text; NoAnswer where there is none within that many seconds."""
        with self._lock:
            current = self._current
            if current is None or not current.is_good(self._reuse):
                current = self._current = _Collection()
                threading.Thread(target=current.run, args=(self._collect,), name="collection", daemon=True).start()
        if not current.done.wait(timeout):
            raise NoAnswer(f"the collection took longer than {timeout:g} s, which is what the scraper has left")
        if current.failure:
            raise NoAnswer(current.failure)
        return current.text(openmetrics=openmetrics, compressed=compressed)
