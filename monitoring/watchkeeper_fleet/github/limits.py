"""What GitHub allows: read from its answers, in this machine's time though the two clocks may differ."""

from __future__ import annotations

from datetime import timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MINUTE = 60.0
HOUR = 3600.0  # no window of GitHub's is longer: a reset further away than that is not believed


class Limits:
    """The budget of requests, and until when none may be made."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.limit: int | None = None
        self.remaining: int | None = None
        self.reset: float | None = None
        self.skew = 0.0
        self.until = 0.0
        self.reason = ""
        self._secondary = 0

    @property
    def held(self) -> bool:
        """Whether no request may be made now; further ahead than an hour, the clock was set back since."""
        return 0 < self.until - self._clock() <= HOUR + 1.0

    def note(self, headers: Mapping[str, str]) -> None:
        """Take over what any answer says of the budget and the time."""
        date = _date(headers.get("date", ""))
        if date is not None:
            # To the second, and some of it spent on the way.
            skew = date - self._clock()
            self.skew = skew if abs(skew) > 2 else 0.0
        limit, remaining, reset = (
            _whole(headers.get(f"x-ratelimit-{name}")) for name in ("limit", "remaining", "reset")
        )
        if limit is not None and remaining is not None and reset is not None:
            self.limit, self.remaining, self.reset = limit, remaining, reset - self.skew

    def spent(self) -> None:
        """Make no request until the hour's budget is new."""
        now = self._clock()
        reset = self.reset if self.reset is not None and self.remaining == 0 else now + MINUTE
        self._hold("rate_limit", min(max(reset, now), now + HOUR) + 1.0)

    def too_fast(self, headers: Mapping[str, str]) -> None:
        """Make no request for as long as a secondary limit asks; longer each time where it does not say."""
        self._secondary += 1
        wait = self.asked(headers)
        if wait is None:
            wait = MINUTE * 2.0 ** min(self._secondary - 1, 6)
        self._hold("secondary_limit", self._clock() + min(wait, HOUR))

    def later(self, headers: Mapping[str, str]) -> bool:
        """Make no request for as long as a server in trouble asks; whether it does."""
        wait = self.asked(headers)
        if wait is not None:
            self._hold("server", self._clock() + min(wait, HOUR))
        return wait is not None

    def fine(self) -> None:
        """Note that a request was answered."""
        self._secondary = 0
        if self.remaining == 0:
            self.spent()

    def asked(self, headers: Mapping[str, str]) -> float | None:
        """Return the seconds of Retry-After: a number, or a date of the server's clock."""
        text = headers.get("retry-after", "")
        seconds = _whole(text)
        if seconds is not None:
            return float(max(seconds, 1))
        date = _date(text)
        return None if date is None else max(date - self.skew - self._clock(), 1.0)

    def _hold(self, reason: str, until: float) -> None:
        if until > self.until:
            self.until, self.reason = until, reason


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 15 else None


def _date(text: str) -> float | None:
    try:
        date = parsedate_to_datetime(text)
        return (date if date.tzinfo else date.replace(tzinfo=timezone.utc)).timestamp()
    except (TypeError, ValueError, OverflowError, OSError):
        return None
