"""The audit log: one JSON line for each write, of what, from which state to which, when, and how it ended."""

from __future__ import annotations

import json
import threading
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from watchkeeper.sync.objects import Refused

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Audit"]


class Audit:
    """Lines for `write`, such as that of a file. `server` is the address that they are about."""

    def __init__(self, write: Callable[[str], object], clock: Callable[[], float], server: str = "") -> None:
        self._write = write
        self._clock = clock
        self._server = server
        self._lock = threading.Lock()

    def record(self, *, action: str, kind: str, uid: str, title: str, before: str, after: str, outcome: str) -> None:
        """Write one line; `before` and `after` are digests, empty where there was or is nothing.

        Refused where it can't be written: then nothing more is to be done, since it would leave no trace.
        """
        with self._lock:
            when = datetime.fromtimestamp(self._clock(), timezone.utc).isoformat(timespec="milliseconds")
            line = {
                "time": when, "server": self._server, "action": action, "kind": kind, "uid": uid, "title": title,
                "before": before, "after": after, "outcome": outcome,
            }  # fmt: skip
            try:
                self._write(json.dumps(line) + "\n")
            except OSError as error:
                message = f"the audit log can't be written: {error.strerror}; nothing more is done without it"
                raise Refused("audit", message) from None
