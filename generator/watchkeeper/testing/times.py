"""Times in tests: durations from the start of a run, seconds from it, or a moment of the clock."""

from __future__ import annotations

import datetime as dt

from watchkeeper.promql.durations import DurationError, milliseconds, parse_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    # "4m", seconds, or an aware datetime.
    Time: TypeAlias = str | float | dt.datetime

_CLOCK_FROM = 100_000_000_000  # ms: a run that starts in 1973 or later has a clock worth showing


def length(value: str | float, what: str) -> int:
    """A duration such as "15s", or seconds, in milliseconds. Raises ValueError where it is none, or 0."""
    try:
        ms = parse_duration(value) if isinstance(value, str) else milliseconds(float(value))
    except DurationError as error:
        raise ValueError(f"{what}: {error}") from None
    if ms <= 0:
        raise ValueError(f"{what}: it must be longer than nothing")
    return ms


def moment(value: Time, start: int, what: str) -> int:
    """A time in milliseconds since the epoch, for a run that starts at `start` ms. Raises ValueError."""
    if isinstance(value, dt.datetime):
        if value.tzinfo is None:
            raise ValueError(f"{what}: {value} has no time zone: write datetime(..., tzinfo=timezone.utc)")
        return round(value.timestamp() * 1000)
    try:
        return start + (parse_duration(value) if isinstance(value, str) else milliseconds(float(value)))
    except DurationError as error:
        raise ValueError(f"{what}: {error}") from None


def duration(ms: int) -> str:
    """A length in Prometheus' notation: 7m30s."""
    if ms < 0:
        return f"-{duration(-ms)}"
    pieces = []
    for unit, size in (("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, ms = divmod(ms, size)
        if count:
            pieces.append(f"{count}{unit}")
    return "".join(pieces) or "0s"


def told(ms: int, start: int) -> str:
    """A time for reading: since the start of the run, and by the clock (UTC) where the run is at a real time."""
    since = duration(ms - start)
    if start < _CLOCK_FROM:
        return since
    clock = dt.datetime.fromtimestamp(ms / 1000, dt.timezone.utc)
    return f"{since} ({clock:%H:%M:%S})"
