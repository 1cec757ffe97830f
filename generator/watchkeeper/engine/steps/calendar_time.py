"""minute, hour, month, ...: parts of a date in UTC, for any number of seconds since the epoch.

Days are counted rather than asked of datetime, which knows only the years 1 to 9999.
"""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# Go's zero of absolute time, the year -292277022399, in seconds before the epoch: its seconds wrap around there.
_GO_ZERO = 9223372028715321600
_INT64_MIN = -(2**63)
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAYS_400_YEARS = 146097


def _seconds(value: float) -> int:
    """A float as int64 the way amd64 converts it: toward zero, and the least number for what does not fit."""
    seconds = math.trunc(value) if math.isfinite(value) else _INT64_MIN
    if not _INT64_MIN <= seconds < 2**63:
        seconds = _INT64_MIN
    return (seconds + _GO_ZERO) % 2**64 - _GO_ZERO


def _civil(value: float) -> tuple[int, int, int]:
    """Year, month and day of the month of the proleptic Gregorian calendar (Hinnant's days algorithm)."""
    days = _seconds(value) // 86400 + 719468  # since 1 March of the year 0
    era, day = divmod(days, _DAYS_400_YEARS)
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5 - 1
    year += era * 400
    month += 3 if month < 10 else -9
    return year + (month <= 2), month, day


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in_month(value: float) -> float:
    year, month, _ = _civil(value)
    return float(_MONTH_DAYS[month - 1] + (month == 2 and _leap(year)))


def day_of_month(value: float) -> float:
    return float(_civil(value)[2])


def day_of_week(value: float) -> float:
    """0 is Sunday."""
    return float((_seconds(value) // 86400 + 4) % 7)


def day_of_year(value: float) -> float:
    year, month, day = _civil(value)
    return float(sum(_MONTH_DAYS[: month - 1]) + day + (month > 2 and _leap(year)))


def hour(value: float) -> float:
    return float(_seconds(value) // 3600 % 24)


def minute(value: float) -> float:
    return float(_seconds(value) // 60 % 60)


def month(value: float) -> float:
    return float(_civil(value)[1])


def year(value: float) -> float:
    return float(_civil(value)[0])


FUNCTIONS: dict[str, Callable[[float], float]] = {
    "day_of_month": day_of_month,
    "day_of_week": day_of_week,
    "day_of_year": day_of_year,
    "days_in_month": days_in_month,
    "hour": hour,
    "minute": minute,
    "month": month,
    "year": year,
}
