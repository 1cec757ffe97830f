"""Lengths of time: what `5m` means, and the arithmetic in `[5m * 2]` and `offset (1h - step())`."""

from __future__ import annotations

import math
import re

from watchkeeper.promql.nodes import DurationExpr, DurationLiteral

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.promql.nodes import Duration

# A Go duration is a signed 64-bit count of nanoseconds.
MAX_MS = (2**63 - 1) // 1_000_000
_MAX_SECONDS = (2**63 - 1) / 1e9

_UNITS_MS = (31_536_000_000, 604_800_000, 86_400_000, 3_600_000, 60_000, 1000, 1)
_DURATION = r"(?a:(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?)"
_DIGITS_LIMIT = 40  # a longer count is out of range in any unit, and int() of a very long one raises


class DurationError(ValueError):
    """A duration cannot be computed: a division by zero, or a length that no timestamp can hold."""


def parse_duration(text: str) -> int:
    """The milliseconds in a duration as Prometheus writes it: units y w d h m s ms, each once, longest first.

    Raises DurationError, whose message says how to write it, for anything else and for more than 292 years.
    """
    match = re.fullmatch(_DURATION, text)
    if match is None or not text:
        raise DurationError(
            f'"{text[:40]}" is not a duration: write whole numbers with the units y, w, d, h, m, s, ms, each at most '
            'once and the longest first, such as "1h30m"'
        )
    total = 0
    for digits, unit in zip(match.groups(), _UNITS_MS, strict=True):
        if digits:
            if len(digits) > _DIGITS_LIMIT:
                raise DurationError("duration out of range: the longest is 292 years")
            total += int(digits) * unit
    if total > MAX_MS:
        raise DurationError("duration out of range: the longest is 292 years")
    return total


def seconds_of(ms: int) -> float:
    """Milliseconds as Go's Duration.Seconds gives them: whole seconds and the fraction added up in floating point."""
    return ms // 1000 + (ms % 1000) / 1000


def milliseconds(seconds: float) -> int:
    """Seconds as whole milliseconds, halves away from zero. Raises DurationError for what a duration cannot hold."""
    if not -_MAX_SECONDS < seconds < _MAX_SECONDS:
        raise DurationError("duration out of range: the longest is 292 years")
    ms = seconds * 1000
    return math.floor(ms + 0.5) if ms >= 0 else math.ceil(ms - 0.5)


def _pow(base: float, exponent: float) -> float:
    """Go's math.Pow, which never fails."""
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf
    except ValueError:
        return math.inf if base == 0 else math.nan


def _combine(op: str, lhs: float, rhs: float) -> float:
    if op == "+":
        return lhs + rhs
    if op == "-":
        return lhs - rhs
    if op == "*":
        return lhs * rhs
    if op == "^":
        return _pow(lhs, rhs)
    if op == "min_of":
        return min(lhs, rhs)
    if op == "max_of":
        return max(lhs, rhs)
    if rhs == 0:
        raise DurationError("division by zero in a duration" if op == "/" else "modulo by zero in a duration")
    return lhs / rhs if op == "/" else math.fmod(lhs, rhs)


def _seconds(duration: Duration, step: float | None, range_: float | None) -> float | None:
    """Its length in seconds; None where it needs what is not known. Recursion is bounded: the parser limits nesting."""
    # A flat chain leans to the left at any length, so that side is gone down in a loop.
    chain: list[DurationExpr] = []
    node: Duration = duration
    while isinstance(node, DurationExpr) and node.lhs is not None:
        chain.append(node)
        node = node.lhs
    value: float | None
    if isinstance(node, DurationLiteral):
        value = node.seconds
    elif not isinstance(node, DurationExpr):
        value = None
    elif node.op == "step":
        value = step
    elif node.op == "range":
        value = range_
    else:
        assert node.rhs is not None
        value = _seconds(node.rhs, step, range_)
        if value is not None and node.op == "-":
            value = -value
    for parent in reversed(chain):
        assert parent.rhs is not None
        rhs = _seconds(parent.rhs, step, range_)
        value = None if value is None or rhs is None else _combine(parent.op, value, rhs)
    return value


def constant(duration: Duration) -> int | None:
    """The milliseconds of a duration, or None where it is not constant or cannot be computed."""
    try:
        seconds = _seconds(duration, None, None)
        return None if seconds is None else milliseconds(seconds)
    except (DurationError, OverflowError):
        return None


def resolve(duration: Duration, *, step: float, range_: float) -> int:
    """The milliseconds of a duration in a query with this step and range, in seconds (both 0 in an instant query).

    Raises DurationError for a division by zero, a result out of range or not a number, and a dashboard variable.
    """
    seconds = _seconds(duration, step, range_)
    if seconds is None:
        raise DurationError("a dashboard variable has no length of its own")
    if seconds != seconds:  # noqa: PLR0124
        raise DurationError("the duration is not a number")
    return milliseconds(seconds)
