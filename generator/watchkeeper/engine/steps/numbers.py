"""Arithmetic as Go does it: no exception for what IEEE 754 has an answer to; and sums with compensation."""

# ruff: noqa: PLR0124  (x != x asks for NaN)
from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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
    """Go's math.Pow, which squares and multiplies: for large exponents its last digits are not those of C's pow."""
    if exponent == 0 or base == 1:
        return 1.0
    if base != base or exponent != exponent:
        return NAN
    if not base or not math.isfinite(base) or not math.isfinite(exponent):
        return _extreme_power(base, exponent)
    fraction, whole = math.modf(abs(exponent))
    if fraction and base < 0:
        return NAN
    if whole >= 2**63:
        if base == -1:
            return 1.0
        return 0.0 if (abs(base) < 1) == (exponent > 0) else INF
    result = 1.0
    scale = 0  # the result is result * 2**scale
    if fraction:
        if fraction > 0.5:
            fraction -= 1.0
            whole += 1.0
        result = math.exp(fraction * math.log(base))
    factor, factor_scale = math.frexp(base)
    bits = int(whole)
    while bits:
        if not -4096 <= factor_scale <= 4096:  # far beyond what a float holds
            scale += factor_scale
            break
        if bits & 1:
            result *= factor
            scale += factor_scale
        factor *= factor
        factor_scale *= 2
        if factor < 0.5:
            factor += factor
            factor_scale -= 1
        bits >>= 1
    if exponent < 0:
        result = 1.0 / result
        scale = -scale
    try:
        return math.ldexp(result, scale)
    except OverflowError:
        return math.copysign(INF, result)


def _extreme_power(base: float, exponent: float) -> float:
    """Powers of 0 and of infinities, and infinite powers."""
    odd = math.fmod(exponent, 2.0) in {1.0, -1.0} if math.isfinite(exponent) else False
    if not base or math.isinf(base):
        if math.isinf(exponent) or not odd:
            base = abs(base)
        return base if exponent > 0 else divide(1.0, base)
    if base == -1:
        return 1.0
    return INF if (abs(base) > 1) == (exponent > 0) else 0.0


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


def _sum_of_finite(total: float, values: Iterable[float]) -> tuple[float, float]:
    """`kahan` over values without its look at infinity: right as long as the sum that comes out is finite."""
    c = 0.0
    for value in values:
        t = total + value
        if abs(total) >= abs(value):
            c += (total - t) + value
        else:
            c += (value - t) + total
        total = t
    return total, c


def compensated(start: float, values: Sequence[float]) -> float:
    """The Kahan-Neumaier sum of a start and values."""
    total, c = _sum_of_finite(start, values)
    if math.isfinite(total):
        return total + c
    total = start
    c = 0.0
    for value in values:
        total, c = kahan(value, total, c)
    return total if total in (INF, -INF) else total + c


def average(values: Sequence[float]) -> float:
    """The mean by a compensated sum; by an incremental mean from where the sum would overflow."""
    total, c = _sum_of_finite(values[0], values[1:])
    if math.isfinite(total):
        number = len(values)
        return total / number + c / number
    return _average_overflowing(values)


def _average_overflowing(values: Sequence[float]) -> float:
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


def average_2(values: Sequence[float], compensate: bool) -> float:
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
    # Without compensation nothing is added: a lone -0 stays one.
    return mean if not compensate or mean in (INF, -INF) else mean + c


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
