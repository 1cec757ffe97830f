"""Bucket bounds of the exponential schemas, -4 to 8, to the last bit as Prometheus has them.

Bucket `i` of a schema reaches from `bound(i - 1)`, exclusive, to `bound(i)`, inclusive; `bound(i)` is
2**(i * 2**-schema). Prometheus' tables were made with Go's Exp2 and running products, which are off by some last
bits; as quantiles and thresholds at a bound are common, the same rounding is reproduced here.
"""

from __future__ import annotations

import math

CUSTOM = -53  # the schema of custom buckets
MIN_SCHEMA = -4
MAX_SCHEMA = 8

# Go's math.Exp2 without assembly: FreeBSD's e_exp.c, by Sun Microsystems.
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_P1 = 1.66666666666666657415e-01
_P2 = -2.77777777770155933842e-03
_P3 = 6.61375632143793436117e-05
_P4 = -1.65339022054652515390e-06
_P5 = 4.13813679705723846039e-08

_tables: dict[int, list[float]] = {0: [0.5]}


def exp2(x: float) -> float:
    """2**x as Go's math.Exp2 rounds it."""
    if x != x or x >= 1024.0:  # noqa: PLR0124
        return x if x != x else math.inf  # noqa: PLR0124
    if x < -1075.0:
        return 0.0
    whole = int(x + 0.5) if x > 0 else int(x - 0.5)
    rest = x - whole
    high = rest * _LN2_HIGH
    low = -rest * _LN2_LOW
    r = high - low
    t = r * r
    c = r - t * (_P1 + t * (_P2 + t * (_P3 + t * (_P4 + t * _P5))))
    y = 1 - ((low - (r * c) / (2 - c)) - high)
    try:
        return math.ldexp(y, whole)
    except OverflowError:
        return math.inf


def log2(x: float) -> float:
    """The binary logarithm as Go's math.Log2 takes it; -Inf of zero, NaN below."""
    if x == 0:
        return -math.inf
    if x < 0 or not math.isfinite(x):
        return x if x == math.inf else math.nan
    fraction, exponent = math.frexp(x)
    if fraction == 0.5:
        return float(exponent - 1)
    return math.log(fraction) * (1 / 0.693147180559945309417232121458176568) + exponent


def _table(schema: int) -> list[float]:
    """The bounds in [0.5, 1) of a schema above 0."""
    table = _tables.get(schema)
    if table is None:
        coarser = _table(schema - 1)
        factor = exp2(exp2(float(-schema)))
        table = [0.5]
        for index in range(1, 1 << schema):
            table.append(table[-1] * factor if index % 2 else coarser[index // 2])
        _tables[schema] = table
    return table


def bound(index: int, schema: int) -> float:
    """The upper bound of bucket `index` of an exponential schema; the largest float for the last finite bucket."""
    if schema < 0:
        exponent = index << -schema
        fraction = 0.5
        exponent += 1
    else:
        fraction = _table(schema)[index & ((1 << schema) - 1)]
        exponent = (index >> schema) + 1
    if fraction == 0.5 and exponent == 1025:
        return 1.7976931348623157e308  # the bucket after it is for infinite observations
    try:
        return math.ldexp(fraction, exponent)
    except OverflowError:
        return math.inf


def coarser_index(index: int, schema: int, target: int) -> int:
    """The bucket of schema `target` that bucket `index` of the finer `schema` merges into."""
    return ((index - 1) >> (schema - target)) + 1
