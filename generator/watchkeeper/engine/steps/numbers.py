"""Arithmetic as Go does it: no exception for what IEEE 754 has an answer to; and sums with compensation."""

# ruff: noqa: PLR0124  (x != x asks for NaN)
from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NAN = math.nan
INF = math.inf


def add(lhs: float, rhs: float) -> float:
    return lhs + rhs


def subtract(lhs: float, rhs: float) -> float:
    return lhs - rhs


def multiply(lhs: float, rhs: float) -> float:
    return lhs * rhs


def divide(lhs: float, rhs: float) -> float:
    if rhs:
        return lhs / rhs
    if not lhs or lhs != lhs:
        return NAN
    return math.copysign(INF, lhs) * math.copysign(1.0, rhs)


def modulo(lhs: float, rhs: float) -> float:
    if rhs and math.isfinite(lhs):
        return math.fmod(lhs, rhs)
    return NAN


def power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -INF if base < 0 and math.fmod(exponent, 2.0) else INF
    except ValueError:  # a power of 0 below 0, or a fractional power of a negative number
        if base:
            return NAN
        return math.copysign(INF, base) if math.fmod(exponent, 2.0) in {1.0, -1.0} else INF


def minimum(lhs: float, rhs: float) -> float:
    """Go's math.Min: NaN where either is, but for -Inf."""
    if -INF in {lhs, rhs}:
        return -INF
    if lhs != lhs or rhs != rhs:
        return NAN
    if lhs == 0 and rhs == 0:
        return lhs if math.copysign(1.0, lhs) < 0 else rhs
    return min(lhs, rhs)


def maximum(lhs: float, rhs: float) -> float:
    """Go's math.Max: NaN where either is, but for +Inf."""
    if INF in {lhs, rhs}:
        return INF
    if lhs != lhs or rhs != rhs:
        return NAN
    if lhs == 0 and rhs == 0:
        return rhs if math.copysign(1.0, lhs) < 0 else lhs
    return max(lhs, rhs)


ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": modulo,
    "^": power,
    "atan2": math.atan2,
}


def kahan(inc: float, total: float, c: float) -> tuple[float, float]:
    """One step of the Kahan-Neumaier sum (promql/functions.go, kahanSumInc)."""
    t = total + inc
    if t in (INF, -INF):
        c = 0.0
    elif abs(total) >= abs(inc):
        c += (total - t) + inc
    else:
        c += (inc - t) + total
    return t, c


def kahan_2(inc: float, total: float, c: float) -> tuple[float, float]:
    """The same in Prometheus 2.42: the compensation of an infinite sum is NaN."""
    t = total + inc
    if abs(total) >= abs(inc):
        c += (total - t) + inc
    else:
        c += (inc - t) + total
    return t, c


def compensated(values: Iterable[float]) -> float:
    """The Kahan-Neumaier sum of values."""
    total = c = 0.0
    for value in values:
        t = total + value
        if t in (INF, -INF):
            c = 0.0
        elif abs(total) >= abs(value):
            c += (total - t) + value
        else:
            c += (value - t) + total
        total = t
    return total if total in (INF, -INF) else total + c


def average(values: list[float]) -> float:
    """The mean by a compensated sum; by an incremental mean from where the sum would overflow."""
    total = values[0]
    c = 0.0
    mean = 0.0
    incremental = False
    count = 1.0
    for value in values[1:]:
        count += 1.0
        if not incremental:
            new_total, new_c = kahan(value, total, c)
            if new_total not in (INF, -INF):
                total, c = new_total, new_c
                continue
            incremental = True
            mean = total / (count - 1.0)
            c /= count - 1.0
        q = (count - 1.0) / count
        mean, c = kahan(value / count, q * mean, q * c)
    return mean + c if incremental else total / count + c / count


def average_2(values: list[float], compensate: bool) -> float:
    """The mean as in Prometheus 2.42: incremental, compensated in avg_over_time but not in avg."""
    mean = c = 0.0
    for index, value in enumerate(values):
        count = index + 1.0
        if mean in (INF, -INF):
            if value in (INF, -INF) and (mean > 0) == (value > 0):
                continue
            if math.isfinite(value):
                continue
        inc = value / count - mean / count
        if compensate:
            mean, c = kahan_2(inc, mean, c)
        elif index:
            mean += inc
        else:
            mean = value
    return mean if mean in (INF, -INF) else mean + c


def quantile(q: float, values: list[float]) -> float:
    """The q-quantile of values with linear interpolation; NaN sorts first."""
    if not values or q != q:
        return NAN
    if q < 0:
        return -INF
    if q > 1:
        return INF
    ordered = sorted([value for value in values if value == value])
    if len(ordered) < len(values):
        ordered = [NAN] * (len(values) - len(ordered)) + ordered
    last = len(values) - 1
    rank = q * last
    lower = max(0, math.floor(rank))
    upper = min(last, lower + 1)
    weight = rank - math.floor(rank)
    return ordered[lower] * (1 - weight) + ordered[upper] * weight
