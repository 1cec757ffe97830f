"""time.Time and time.Duration as far as templates use them: UTC, to the nanosecond."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SECOND = 1_000_000_000  # nanoseconds
SECONDS_BEFORE_1970 = 62_135_596_800  # since the year 1, from which Go counts
_DAY = 86_400
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MAX_NS = 2**63 - 1


class Month(int):
    __slots__ = ()

    def __str__(self) -> str:
        return _MONTHS[self - 1] if 1 <= self <= 12 else f"%!Month({int(self)})"


class Weekday(int):
    __slots__ = ()

    def __str__(self) -> str:
        return _DAYS[self]


class Duration(int):
    """Nanoseconds. Out of range they stay at the ends of Go's int64."""

    __slots__ = ()

    def __str__(self) -> str:
        count = int(self)
        if count == 0:
            return "0s"
        sign = "-" if count < 0 else ""
        count = abs(count)
        if count < SECOND:
            for unit, size in (("ms", 1_000_000), ("µs", 1000), ("ns", 1)):
                if count >= size:
                    return f"{sign}{_decimal(count, size)}{unit}"
        hours, rest = divmod(count, 3600 * SECOND)
        minutes, rest = divmod(rest, 60 * SECOND)
        text = f"{_decimal(rest, SECOND)}s"
        if hours or minutes:
            text = f"{minutes}m{text}"
        return f"{sign}{hours}h{text}" if hours else sign + text


def _decimal(count: int, unit: int) -> str:
    """How many units a count is, without rounding."""
    whole, fraction = divmod(count, unit)
    if not fraction:
        return str(whole)
    digits = f"{fraction:0{len(str(unit)) - 1}d}".rstrip("0")
    return f"{whole}.{digits}"


def civil(days: int) -> tuple[int, int, int]:
    """Year, month, day of a count of days since 1970-01-01, for any year (the proleptic Gregorian calendar)."""
    days += 719_468
    era, day_of_era = divmod(days, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (month <= 2), month, day


def days_of(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01; months and days beyond their range count on, as in Go."""
    years, month = divmod(month - 1, 12)
    year += years
    month += 1
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468 + day - 1


class Time:
    """A moment: nanoseconds since 1970. `is_pointer` tells *time.Time, which toTime gives, from time.Time."""

    __slots__ = ("is_pointer", "ns")

    def __init__(self, ns: int, *, is_pointer: bool = False) -> None:
        self.ns = ns
        self.is_pointer = is_pointer

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and self.ns == other.ns

    def __hash__(self) -> int:
        return hash(self.ns)

    def date(self) -> tuple[int, int, int]:
        return civil(self.ns // SECOND // _DAY)

    def clock(self) -> tuple[int, int, int, int]:
        """Hour, minute, second, nanosecond."""
        seconds, ns = divmod(self.ns, SECOND)
        minutes, second = divmod(seconds % _DAY, 60)
        return minutes // 60, minutes % 60, second, ns

    def weekday(self) -> Weekday:
        return Weekday((self.ns // SECOND // _DAY + 4) % 7)

    def year_day(self) -> int:
        year, month, day = self.date()
        return days_of(year, month, day) - days_of(year, 1, 1) + 1

    def iso_week(self) -> tuple[int, int]:
        days = self.ns // SECOND // _DAY
        thursday = days + 3 - (days + 3) % 7
        year = civil(thursday)[0]
        return year, (thursday - days_of(year, 1, 1)) // 7 + 1

    def __str__(self) -> str:
        return self.format("2006-01-02 15:04:05.999999999 -0700 MST")

    def format(self, layout: str) -> str:
        """The moment in a layout that shows how Go's reference moment would look."""
        return re.sub(_LAYOUT, lambda match: self._piece(match.group(), layout[match.end() : match.end() + 1]), layout)

    def _piece(self, piece: str, following: str) -> str:
        if piece[0] in ".,":
            if following.isdigit():
                return piece
            digits = f"{self.clock()[3]:09d}"[: len(piece) - 1]
            if piece[1] == "9":
                digits = digits.rstrip("0")
                return piece[0] + digits if digits else ""
            return piece[0] + digits
        return _PIECES[piece](self)


def _piece_of_offset(text: str) -> Callable[[Time], str]:
    return lambda _: text


_PIECES: dict[str, Callable[[Time], str]] = {
    "January": lambda time: str(Month(time.date()[1])),
    "Jan": lambda time: str(Month(time.date()[1]))[:3],
    "Monday": lambda time: str(time.weekday()),
    "Mon": lambda time: str(time.weekday())[:3],
    "MST": lambda _: "UTC",
    "2006": lambda time: f"{time.date()[0]:04d}",
    "06": lambda time: f"{time.date()[0] % 100:02d}",
    "01": lambda time: f"{time.date()[1]:02d}",
    "1": lambda time: str(time.date()[1]),
    "02": lambda time: f"{time.date()[2]:02d}",
    "2": lambda time: str(time.date()[2]),
    "_2": lambda time: f"{time.date()[2]:2d}",
    "002": lambda time: f"{time.year_day():03d}",
    "__2": lambda time: f"{time.year_day():3d}",
    "15": lambda time: f"{time.clock()[0]:02d}",
    "03": lambda time: f"{time.clock()[0] % 12 or 12:02d}",
    "3": lambda time: str(time.clock()[0] % 12 or 12),
    "04": lambda time: f"{time.clock()[1]:02d}",
    "4": lambda time: str(time.clock()[1]),
    "05": lambda time: f"{time.clock()[2]:02d}",
    "5": lambda time: str(time.clock()[2]),
    "PM": lambda time: "PM" if time.clock()[0] >= 12 else "AM",
    "pm": lambda time: "pm" if time.clock()[0] >= 12 else "am",
    **{piece: _piece_of_offset("Z") for piece in ("Z07:00:00", "Z07:00", "Z070000", "Z0700", "Z07")},
    "-07:00:00": _piece_of_offset("+00:00:00"),
    "-07:00": _piece_of_offset("+00:00"),
    "-070000": _piece_of_offset("+000000"),
    "-0700": _piece_of_offset("+0000"),
    "-07": _piece_of_offset("+00"),
}
# Go reads a layout from the left and takes the longest piece; "Jan" and "Mon" only where no small letter follows.
_LAYOUT = (
    r"January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|2006|002|01|02|03|04|05|06|__2|_2(?!006)|15|PM|pm"
    r"|Z07:00:00|Z070000|Z07:00|Z0700|Z07|-07:00:00|-070000|-07:00|-0700|-07|[.,]0+(?![0-9])|[.,]9+(?![0-9])|1|2|3|4|5"
)
