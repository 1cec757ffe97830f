"""Time intervals of an Alertmanager configuration, checked as it checks them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from watchkeeper.read.alertmanager import keys as known
from watchkeeper.read.alertmanager.nodes import CONFIG, Nodes

if TYPE_CHECKING:
    from watchkeeper.read.alertmanager.nodes import Entries
    from watchkeeper.subject import Text

_DAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
_MONTHS = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
]  # fmt: skip
_TIME = re.compile(r"(?:([01][0-9]|2[0-3]):([0-5][0-9])|24:00)\Z")
_NUMBER = re.compile(r"[+-]?[0-9]+\Z")


def time_intervals(nodes: Nodes, top: Entries) -> dict[str, Text]:
    """Return the named time intervals by name."""
    found: dict[str, Text] = {}
    for section in ("mute_time_intervals", "time_intervals"):
        for node in nodes.items(top, section, "mapping", "the configuration"):
            entries = nodes.mapping(node, known.TIME_INTERVAL, "a time interval")
            name = nodes.text(entries["name"][1]) if "name" in entries else None
            if name is None or not name.value:
                nodes.fault(CONFIG, node, "a time interval without a name", "give it a name")
            elif name.value in found:
                nodes.fault(CONFIG, entries["name"][1], f'time interval "{name.value}" is defined twice', "rename one")
            else:
                found[name.value] = name
            for period in nodes.items(entries, "time_intervals", "mapping", "a time interval"):
                _period(nodes, nodes.mapping(period, known.PERIOD, "a time interval"))
    return found


def _period(nodes: Nodes, entries: Entries) -> None:
    for node in nodes.items(entries, "times", "mapping", "a time interval"):
        _times(nodes, node, nodes.mapping(node, known.TIME_RANGE, "a time range"))
    for name, members in (("weekdays", _DAYS), ("months", _MONTHS), ("days_of_month", []), ("years", [])):
        for node in nodes.items(entries, name, "scalar", "a time interval"):
            wrong = _range(node.value.lower(), name, members)
            if wrong:
                nodes.fault(CONFIG, node, f'"{node.value}" in {name}: {wrong}', _EXAMPLES[name])
    if "location" in entries and not _is_zone(nodes.text(entries["location"][1]).value):
        node = entries["location"][1]
        nodes.fault(CONFIG, node, f'no time zone "{node.value}"', "write one of the tz database, such as Europe/Berlin")


_EXAMPLES = {
    "weekdays": "write monday:friday or saturday",
    "months": "write january:march, 1:3 or december",
    "days_of_month": "write 1:5, 15 or -3:-1",
    "years": "write 2026:2027 or 2026",
}


def _times(nodes: Nodes, node: Any, entries: Entries) -> None:
    minutes: list[int] = []
    for name in ("start_time", "end_time"):
        value = entries[name][1].value if name in entries else ""
        match = _TIME.match(value)
        if not match:
            what = f'{name} "{value}" is no time of day' if value else f"a time range without {name}"
            nodes.fault(CONFIG, entries[name][1] if name in entries else node, what, "write '09:00', up to '24:00'")
            return
        minutes.append(int(match[1]) * 60 + int(match[2]) if match[1] else 24 * 60)
    if minutes[0] >= minutes[1]:
        fix = "over midnight, write two ranges: one to '24:00' and one from '00:00'"
        nodes.fault(CONFIG, node, "a time range that ends before it starts", fix)


def _range(value: str, name: str, members: list[str]) -> str:
    """Return what is wrong with a range such as `monday:friday`, empty if nothing is."""
    parts = value.split(":")
    if len(parts) > 2:
        return "more than a start and an end"
    ends: list[int] = []
    for part in parts:
        if part in members:
            ends.append(members.index(part) + (name == "months"))
        elif _NUMBER.match(part) and name != "weekdays":
            ends.append(int(part))
        else:
            return f"{part or 'nothing'} is none"
    first, last = ends[0], ends[-1]
    if name == "days_of_month":
        if any(end == 0 or abs(end) > 31 for end in ends):
            return "days are 1 to 31, and -1 to -31 from the end of the month"
        if first < 0 < last:
            return "a start from the end of the month needs such an end"
        first, last = (28 + end if end < 0 else end for end in (first, last))
    return "the end is before the start" if first > last else ""


def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo

    if name in {"", "UTC", "Local"}:
        return True
    for zone in (name, "Europe/Berlin"):
        try:
            ZoneInfo(zone)
        except (KeyError, ValueError, OSError):
            continue
        return zone == name
    return True  # there are no time zones on this machine
