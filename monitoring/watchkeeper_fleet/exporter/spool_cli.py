"""`watchkeeper spool`."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from watchkeeper_fleet.exporter.options import spool_option

if TYPE_CHECKING:
    from watchkeeper_fleet.spool import Record

_REMEDIES: dict[type[OSError], str] = {
    FileNotFoundError: "; --spool or WATCHKEEPER_SPOOL names another folder",
    PermissionError: "; ask as root, or as a member of the folder's group",
}
_YEAR_9999 = 253_370_764_800.0


@click.group()
def spool() -> None:
    """Look into the folder in which the torch processes of this host report."""


@spool.command(
    epilog="""\b
Examples:
  watchkeeper spool last                     what the dead last said, the latest first
  watchkeeper spool last --all               and the living
  watchkeeper spool last --format json       one object a line

Exit status: 0 fine, also where nobody has died; 1 the folder can't be read, 2 wrong usage."""
)
@spool_option("folder")
@click.option("--all", "living", is_flag=True, help="The living too.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def last(*, folder: str, living: bool, form: str) -> None:
    """Print what dead processes last said: the flight recorder.

    The daemon deletes a file an hour after the death of its process, and keeps at most 200.
    """
    import os

    from watchkeeper_fleet.spool import scan

    now = time.time()
    try:
        records, refused = scan(folder)
    except OSError as error:
        remedy = _REMEDIES.get(type(error), "")
        click.echo(f"error: {folder}: {os.strerror(error.errno or 0)}{remedy}", err=True)
        sys.exit(1)
    found = [record for record in records if living or record.state == "dead"]
    found.sort(key=lambda record: -record.heartbeat)
    for record in found:
        click.echo(_as_json(record) if form == "json" else _as_text(record, now))
    if not found and form == "text":
        unread = ", as far as files can be read" if refused["unreadable"] else ""
        others = f"; {len(records)} live: --all shows them" if records else ""
        click.echo(f"no process has written here{unread}" if living else f"nobody has died here{others}{unread}")
    for reason, number in sorted(refused.items()):
        remedy = _REMEDIES[PermissionError] if reason == "unreadable" else ""
        click.echo(f"not read: {number} ({reason}){remedy}", err=True)


def _as_json(record: Record) -> str:
    import json

    values = [
        {"name": name, "labels": dict(labels), "value": value}
        for (name, labels), value in zip(record.fields, record.values, strict=True)
    ]
    found: dict[str, Any] = {"state": record.state, "mark": record.mark, "heartbeat": record.heartbeat}
    found |= {"created": record.created, "owner": record.owner, "pid": _pid(record)}
    return json.dumps({**found, "identity": record.identity, "texts": record.texts, "values": values})


def _pid(record: Record) -> str:
    return str(record.pid or record.identity.get("pid", ""))


def _as_text(record: Record, now: float) -> str:
    """Return a paragraph: who, when and how it ended, and what it held."""
    from watchkeeper.findings import printable

    who = record.identity
    rank = f" rank {who['rank']}" if who.get("rank") else ""
    ago = _duration(max(now - record.heartbeat, 0.0))
    lines = [f"{who.get('workload', '')}/{who.get('process', '')}{rank} pid {_pid(record)}: {_end(record)}"]
    life = _duration(max(record.heartbeat - record.created, 0.0))
    lines.append(f"  last heard {_moment(record.heartbeat)}, {ago} ago, after {life}")
    where = [f"{key} {who[key]}" for key in ("namespace", "pod", "container", "host") if who.get(key)]
    if where:
        lines.append(f"  on {', '.join(where)}")
    versions = [
        f"{key.removesuffix('_version')} {record.texts[key]}"
        for key in sorted(record.texts)
        if key.endswith("_version") and record.texts[key]
    ]
    if versions:
        lines.append(f"  with {', '.join(versions)}")
    rows = [
        (name + (f"{{{', '.join(f'{key}={value}' for key, value in labels)}}}" if labels else ""), _value(name, value))
        for (name, labels), value in zip(record.fields, record.values, strict=True)
        if not name.endswith("_bucket")
    ]
    width = max((len(name) for name, _ in rows), default=0)
    lines += [f"    {name:<{width}}  {value}" for name, value in rows]
    # All of it was written by a workload.
    return "\n".join(printable(line) for line in lines)


def _end(record: Record) -> str:
    if record.state != "dead":
        return {"live": "lives", "stale": "lives, but has not written for a while"}.get(record.state, record.state)
    if record.mark.startswith("exception:"):
        return f"ended by {record.mark.partition(':')[2]}"
    return "ended by itself" if record.mark == "clean" else "was killed, or crashed"


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(seconds))


def _value(name: str, value: float) -> str:
    if name.endswith("_timestamp_seconds") and 0 < value < _YEAR_9999:
        return _moment(value)
    if not name.endswith("_bytes"):
        return f"{value:.15g}"
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(value) >= size:
            return f"{value / size:.1f} {unit}"
    return f"{value:.15g} B"


def _duration(seconds: float) -> str:
    whole = int(seconds)
    days, hours, minutes = whole // 86_400, whole // 3600 % 24, whole // 60 % 60
    parts = ((days, "d"), (hours, "h"), (minutes, "m"), (whole % 60, "s"))
    return " ".join(f"{number}{unit}" for number, unit in parts if number) or "0s"
