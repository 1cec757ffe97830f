"""An alert as an issue: its title, and the ten fields of the page in Markdown.

What an alert says is text. It must not mention people, refer to issues, close them, or format the page: names of
branches and jobs, which anyone may choose, end in labels and annotations.
"""

from __future__ import annotations

import json
import re
import urllib.parse
from datetime import datetime, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

    from watchkeeper_fleet.issues.notification import Alert

TITLE = 240  # GitHub takes 256 characters
VALUE = 2000
ADDRESS = 8000
NOTHING = "\u200b"  # a space without width, behind which GitHub sees no mention
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# GH-1 is issue 1 too, as #1 is; and a whole address of an issue would refer to it.
_REFERENCES = re.compile(r"(?i)(@|#|\bgh(?=-)|://)")
_IN_ADDRESS = ":/?#[]@!$&'*+,;=%~_-."
_ADDRESS = re.compile(r"(?i:https?)://[^\s\x00-\x1f\x7f]+")


def title(alert: Alert) -> str:
    """Return the title, such as `[P1] 14 blocking jobs are red`."""
    priority = alert.labels.get("priority", "")
    summary = alert.annotations.get("summary") or alert.labels.get("alertname") or "an alert without a name"
    text = " ".join((f"[{priority}] {summary}" if priority else summary).split())
    text = text if len(text) <= TITLE else f"{text[:TITLE]}…"
    return _REFERENCES.sub(rf"\1{NOTHING}", text)


def fields(alert: Alert, external_url: str, zone: tzinfo = timezone.utc) -> dict[str, str]:
    """Return the fields of the page as Markdown, those that are empty left out."""
    labels, annotations = alert.labels, alert.annotations
    found = {
        "Occurred At": plain(moment(alert.since, zone)),
        "State": alert.status.upper(),
        "Team": plain(labels.get("team", "")),
        "Priority": plain(labels.get("priority", "")),
        "Description": plain(annotations.get("description", "")),
        "Reason": plain(annotations.get("reason", "")),
        "Runbook": link(annotations.get("runbook_url", "")),
        "Dashboard": link(annotations.get("dashboard_url", "")),
        "View Alert": link(view(external_url, labels)),
        "Silence Alert": link(silence(external_url, labels)),
    }
    return {name: value for name, value in found.items() if value}


def block(alert: Alert, external_url: str, zone: tzinfo = timezone.utc) -> str:
    """Return the fields as a list."""
    return "\n".join(f"- *{name}*: {value}" for name, value in fields(alert, external_url, zone).items())


def plain(text: str) -> str:
    """Return text as Markdown that shows it, on one line, and does nothing else."""
    text = " ".join(text.split())
    text = text if len(text) <= VALUE else f"{text[:VALUE]}…"
    return _PUNCTUATION.sub(r"\\\1", _REFERENCES.sub(rf"\1{NOTHING}", text))


def link(address: str) -> str:
    """Return a link, or the text of what is no address."""
    if not _ADDRESS.fullmatch(address) or len(address) > ADDRESS:
        return plain(address)
    # Quotes, brackets, spaces, bars and what is not ASCII would end it, or be markup.
    return f"[open]({urllib.parse.quote(address, safe=_IN_ADDRESS)})"


def moment(at: float, zone: tzinfo) -> str:
    """Return a time as a page has it: `Nov 24, 6:15pm PST`."""
    there = datetime.fromtimestamp(at, zone)
    hour = there.strftime("%I").lstrip("0")
    half = "am" if there.hour < 12 else "pm"
    return f"{there:%b} {there.day}, {hour}:{there:%M}{half} {there.tzname()}"


def view(external_url: str, labels: Mapping[str, str]) -> str:
    """Return the address of the alert in Alertmanager's UI, where it is shown silenced, inhibited or muted too."""
    return f"{external_url}/#/alerts?silenced=true&inhibited=true&muted=true&filter={_filter(labels)}"


def silence(external_url: str, labels: Mapping[str, str]) -> str:
    """Return the address of a new silence in Alertmanager's UI, filled in for this alert alone."""
    return f"{external_url}/#/silences/new?filter={_filter(labels)}"


def _filter(labels: Mapping[str, str]) -> str:
    names = sorted(labels, key=lambda name: (name != "alertname", name))
    matchers = ",".join(f"{name}={json.dumps(labels[name], ensure_ascii=False)}" for name in names)
    return urllib.parse.quote(f"{{{matchers}}}", safe="")
