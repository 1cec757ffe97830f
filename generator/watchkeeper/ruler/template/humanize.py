"""Prometheus' functions that make numbers readable."""

from __future__ import annotations

import math

from watchkeeper.engine.gofloat import format_g
from watchkeeper.ruler.template.errors import CallError
from watchkeeper.ruler.template.lexer import quote
from watchkeeper.ruler.template.literals import parse_float
from watchkeeper.ruler.template.moments import MAX_NS, SECOND, Duration, Time
from watchkeeper.ruler.template.values import Int64, type_name

_LARGE = ("k", "M", "G", "T", "P", "E", "Z", "Y")
_BINARY = ("ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi")
_SMALL = ("m", "u", "n", "p", "f", "a", "z", "y")
_MIN_INT = -(2**63)


def to_float(value: object) -> float:
    """What a function that takes a number makes of its argument: a number, a text that is one, or a duration."""
    if type(value) is float:
        return value
    if type(value) is int or type(value) is Int64:
        return float(value)
    if isinstance(value, Duration):
        return int(value) / SECOND
    if type(value) is str:
        number = parse_float(value)
        if number is None:
            raise CallError(f"strconv.ParseFloat: parsing {quote(value)}: invalid syntax")
        if math.isinf(number) and not value.lstrip("+-")[:1].isalpha():
            raise CallError(f"strconv.ParseFloat: parsing {quote(value)}: value out of range")
        return number
    raise CallError(f"can't convert {type_name(value)} to float")


def four(value: float) -> str:
    """A float by %.4g."""
    return f"{value:.4g}" if math.isfinite(value) else format_g(value)


def _small(value: float) -> tuple[float, str]:
    prefix = ""
    for one in _SMALL:
        if abs(value) >= 1:
            break
        prefix = one
        value *= 1000
    return value, prefix


def humanize(value: object) -> str:
    number = to_float(value)
    if number == 0 or not math.isfinite(number):
        return four(number)
    prefix = ""
    if abs(number) >= 1:
        for one in _LARGE:
            if abs(number) < 1000:
                break
            prefix = one
            number /= 1000
    else:
        number, prefix = _small(number)
    return four(number) + prefix


def humanize1024(value: object) -> str:
    number = to_float(value)
    if abs(number) <= 1 or not math.isfinite(number):
        return four(number)
    prefix = ""
    for one in _BINARY:
        if abs(number) < 1024:
            break
        prefix = one
        number /= 1024
    return four(number) + prefix


def humanize_percentage(value: object) -> str:
    return f"{four(to_float(value) * 100)}%"


def humanize_duration(value: object) -> str:
    number = to_float(value)
    if not math.isfinite(number):
        return four(number)
    if number == 0:
        return f"{four(number)}s"
    if abs(number) < 1:
        number, prefix = _small(number)
        return f"{four(number)}{prefix}s"
    sign = "-" if number < 0 else ""
    number = abs(number)
    # A count too large becomes the smallest one in Go, and its parts negative.
    whole = int(number) if number < -_MIN_INT else _MIN_INT
    negative = -1 if whole < 0 else 1
    minutes, seconds = divmod(abs(whole), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    days, hours, minutes, seconds = (negative * one for one in (days, hours, minutes, seconds))
    if days:
        return f"{sign}{days}d {hours}h {minutes}m {seconds}s"
    if hours:
        return f"{sign}{hours}h {minutes}m {seconds}s"
    if minutes:
        return f"{sign}{minutes}m {seconds}s"
    return f"{sign}{four(number)}s"


def to_time(value: object) -> Time:
    """toTime: seconds since 1970 as a moment, to the millisecond."""
    number = to_float(value)
    if not math.isfinite(number):
        raise CallError("value is NaN or Inf")
    ns = number * 1e9
    if ns > MAX_NS or ns < _MIN_INT:
        raise CallError(f"{format_g(number)} cannot be represented as a nanoseconds timestamp since it overflows int64")
    ms = math.trunc(ns)
    ms = ms // 1_000_000 if ms >= 0 else -(-ms // 1_000_000)
    return Time(ms * 1_000_000, is_pointer=True)


def humanize_timestamp(value: object) -> str:
    number = to_float(value)
    if not math.isfinite(number):
        return four(number)
    return str(to_time(number))


def to_duration(value: object) -> Duration:
    """toDuration: seconds as a duration."""
    number = to_float(value)
    if not math.isfinite(number):
        raise CallError("value is NaN or Inf")
    ns = number * 1e9
    if ns > MAX_NS or ns < _MIN_INT:
        raise CallError(f"{format_g(number)} cannot be represented as a nanoseconds duration since it overflows int64")
    return Duration(math.trunc(ns))
