"""Floats as Go writes them, which is how they stand in labels and messages of Prometheus."""

from __future__ import annotations

import math

# strconv decides by a precision of 6 where it writes the shortest digits.
_LARGE = 6


def _digits(value: float) -> tuple[str, str, int]:
    """Sign, the shortest digits that read back as `value`, and the position of the decimal point in them."""
    mantissa, _, exponent = repr(value).partition("e")
    sign = ""
    if mantissa[0] == "-":
        sign = "-"
        mantissa = mantissa[1:]
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    point = len(whole) + (int(exponent) if exponent else 0)
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    stripped = stripped.rstrip("0")
    return (sign, stripped, point) if stripped else (sign, "0", 1)


def _special(value: float) -> str | None:
    if math.isfinite(value):
        return None
    if value != value:  # noqa: PLR0124
        return "NaN"
    return "+Inf" if value > 0 else "-Inf"


def format_f(value: float) -> str:
    """strconv.FormatFloat(value, 'f', -1, 64): the shortest digits, never an exponent."""
    special = _special(value)
    if special:
        return special
    sign, digits, point = _digits(value)
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point >= len(digits):
        return sign + digits + "0" * (point - len(digits))
    return f"{sign}{digits[:point]}.{digits[point:]}"


def format_e(value: float) -> str:
    """strconv.FormatFloat(value, 'e', -1, 64): the shortest digits and an exponent of two digits or more."""
    special = _special(value)
    if special:
        return special
    sign, digits, point = _digits(value)
    exponent = 0 if digits == "0" else point - 1
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def format_g(value: float) -> str:
    """A float by fmt's %v and %g: the shortest digits, with an exponent below 1e-4 and from 1e6 on."""
    special = _special(value)
    if special:
        return special
    _, digits, point = _digits(value)
    if digits != "0" and not -4 <= point - 1 < _LARGE:
        return format_e(value)
    return format_f(value)


def format_openmetrics(value: float) -> str:
    """A float as OpenMetrics wants it in labels such as `quantile`: never without a point or an exponent."""
    text = format_g(value)
    return text if any(char in text for char in ".eIN") else f"{text}.0"
