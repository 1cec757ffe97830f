"""Durations of rules and groups."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.findings import Finding
from watchkeeper.model import Alert
from watchkeeper.names import milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Place
    from watchkeeper.project import Project

ID = "rule/duration"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each duration that Prometheus does not take."""
    for group in project.pack.groups:
        for field, value in (("interval", group.interval), ("query_offset", group.query_offset)):
            yield from _check(f"group {group.name}", field, value, group.place)
        if group.interval and milliseconds(group.interval) == 0:
            what = f"group {group.name}: an interval of 0 is the server's default"
            yield Finding(ID, what, group.place, fix="leave interval out, or say how often")
        for rule in group.rules:
            if isinstance(rule, Alert):
                for field, value in (("for_", rule.for_), ("keep_firing_for", rule.keep_firing_for)):
                    yield from _check(f"alert {rule.name}", field, value, rule.place)


def _check(owner: str, field: str, value: str, place: Place) -> Iterator[Finding]:
    if value == "" or milliseconds(value) is not None:
        return
    fix = f'write "{mend(value)}"' if mend(value) else 'write a number and a unit, such as "5m" or "1h30m"'
    yield Finding(ID, f"{owner}: {field} is no duration: {value!r}", place, why="Prometheus refuses the file", fix=fix)


def mend(value: str) -> str:
    """Return the duration that value was probably meant to be, empty where there is none."""
    words = {"sec": "s", "second": "s", "min": "m", "minute": "m", "hour": "h", "day": "d", "week": "w"}
    text = re.sub(r"\s+", "", value).lower()
    text = f"{text}s" if text.isdecimal() else text
    text = re.sub(r"[a-z]+", lambda match: words.get(match[0].removesuffix("s"), match[0]), text)
    return text if milliseconds(text) else ""
