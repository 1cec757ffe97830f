"""What an issue says of itself to us: comments of HTML, which nobody sees.

GitHub holds the state, so that a receiver that is started anew, or on another host, goes on where the last one was.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from watchkeeper_fleet.issues.notification import Alert

_FINGERPRINT = re.compile(r"<!-- watchkeeper fingerprint: ([0-9a-f]{16}) -->")
_TOLD = re.compile(r"<!-- watchkeeper told: ([0-9.]{1,20}) ([0-9]{1,12}) ([0-9a-f]{16}) -->")
_HELD = re.compile(r"^(.*) <!-- watchkeeper held: ([0-9a-f]{16}) -->$", re.MULTILINE)
STORM = "<!-- watchkeeper storm -->"


@dataclass(frozen=True)
class Told:
    """What an issue has said last: of an alert that fires since then, at that time, with this content."""

    since: float
    at: int
    digest: str

    @property
    def mark(self) -> str:
        """The text of it."""
        return f"<!-- watchkeeper told: {self.since!r} {self.at} {self.digest} -->"


def fingerprint_mark(fingerprint: str) -> str:
    """Return what an issue is found by."""
    return f"<!-- watchkeeper fingerprint: {fingerprint} -->"


def event_mark(event: str) -> str:
    """Return what a comment is found by."""
    return f"<!-- watchkeeper event: {event} -->"


def fingerprint_of(body: str) -> str:
    """Return the fingerprint of the alert that an issue is about, empty where there is none."""
    found = _FINGERPRINT.search(body)
    return found[1] if found else ""


def told_of(body: str) -> Told | None:
    """Return what the issue has said last, None where somebody took the mark away."""
    found = _TOLD.search(body)
    try:
        return Told(float(found[1]), int(found[2]), found[3]) if found else None
    except ValueError:
        return None


def below(body: str) -> str:
    """Return what people wrote below our part."""
    found = _FINGERPRINT.search(body)
    return body[found.end() :] if found else ""


def held_of(body: str) -> dict[str, str]:
    """Return the lines of a summary issue by the fingerprints of their alerts."""
    return {found[2]: found[1] for found in _HELD.finditer(body)}


def held_line(fingerprint: str, text: str) -> str:
    """Return a line of a summary issue."""
    return f"{text} <!-- watchkeeper held: {fingerprint} -->"


def digest(*parts: object) -> str:
    """Return a name for what was said."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def content(alert: Alert) -> str:
    """Return a name for all that is told of an alert."""
    return digest(alert.status, alert.since, dict(alert.labels), dict(alert.annotations))
