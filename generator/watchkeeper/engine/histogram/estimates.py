"""Estimates from a histogram: quantiles, fractions, mean, variance.

Within a bucket observations are taken to be spread evenly: on a logarithmic scale in exponential buckets, on a linear
one in the zero bucket and in custom buckets.
"""

from __future__ import annotations

import math

from watchkeeper.engine.histogram.bounds import CUSTOM, exp2, log2
from watchkeeper.engine.histogram.layout import neumaier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.histogram.model import Histogram

# What `quantile` and `fraction` have to say about observations of NaN, which count but are in no bucket.
NAN_RESULT = "result is NaN"
NAN_SKEWED = "result is skewed higher"
NAN_EXCLUDED = "excluded"


def quantile(q: float, histogram: Histogram) -> tuple[float, str | None]:
    """The `q`-quantile, and one of the NAN_ constants where observations of NaN matter."""
    if q < 0:
        return -math.inf, None
    if q > 1:
        return math.inf, None
    if histogram.count == 0 or q != q:  # noqa: PLR0124
        return math.nan, None
    has_nan = histogram.sum != histogram.sum
    upward = has_nan or q < 0.5
    rank = (q if upward else 1 - q) * histogram.count
    count = 0.0
    lower = upper = value = 0.0
    walk = histogram.buckets(down=not upward)
    for lower, upper, value in walk:  # noqa: B007  (the last one counts, even if it is empty)
        count += value
        if value != 0 and count >= rank:
            break
    # Observations of NaN are those that no bucket holds.
    rest = sum(bucket[2] for bucket in walk) if has_nan else 0.0
    nan_seen = has_nan and count + rest < histogram.count

    custom = histogram.schema == CUSTOM
    if custom:
        if lower == -math.inf:
            if upper <= 0:
                return upper, NAN_SKEWED if nan_seen else None
            lower = 0.0
        elif upper == math.inf:
            return (math.nan, NAN_RESULT) if count < rank and nan_seen else (lower, NAN_SKEWED if nan_seen else None)
    elif lower < 0 < upper:
        lower, upper = histogram.zero_bounds()
    count = min(count, histogram.count)  # sums of populations may come out above it
    if count < rank:
        return (math.nan, NAN_RESULT) if has_nan else (upper, None)
    rank = rank - (count - value) if upward else count - rank
    share = rank / value if value != 0 else math.nan
    skewed = NAN_SKEWED if nan_seen else None
    if custom or lower <= 0 <= upper:
        return lower + (upper - lower) * share, skewed
    log_lower = log2(abs(lower))
    log_upper = log2(abs(upper))
    if lower > 0:
        return exp2(log_lower + (log_upper - log_lower) * share), skewed
    return -exp2(log_upper + (log_lower - log_upper) * (1 - share)), skewed


def share_below(value: float, lower: float, upper: float, *, linear: bool) -> float:
    """How much of a bucket lies below `value`, which is within it: 0 to 1."""
    if linear:
        return (value - lower) / (upper - lower)
    log_lower = log2(abs(lower))
    log_upper = log2(abs(upper))
    log_value = log2(abs(value))
    if value > 0:
        return (log_value - log_lower) / (log_upper - log_lower)
    return 1 - (log_value - log_upper) / (log_lower - log_upper)


def fraction(lower: float, upper: float, histogram: Histogram) -> tuple[float, str | None]:
    """The fraction of observations between `lower` and `upper`; NAN_EXCLUDED where some are NaN, and so in none."""
    if histogram.count == 0 or lower != lower or upper != upper:  # noqa: PLR0124
        return math.nan, None
    if lower >= upper:
        return 0.0, None
    custom = histogram.schema == CUSTOM
    rank = 0.0
    lower_rank: float | None = None
    upper_rank: float | None = None
    for low, high, value in histogram.buckets():
        linear = custom
        if not custom and low <= 0 <= high:
            linear = True
            low, high = histogram.zero_bounds()  # noqa: PLW2901
        elif custom and low == -math.inf and high > 0:
            low = 0.0  # noqa: PLW2901  (as with classic histograms)
        if lower_rank is None:
            if low >= lower:
                lower_rank = rank
            elif high > lower:
                lower_rank = rank + value * _inner(lower, low, high, linear=linear)
        if upper_rank is None:
            if low >= upper:
                upper_rank = rank
            elif high > upper:
                upper_rank = rank + value * _inner(upper, low, high, linear=linear)
        rank += value
    total = histogram.count
    note = None
    if histogram.sum != histogram.sum and rank < histogram.count:
        total = rank
        note = NAN_EXCLUDED
    if lower_rank is None or lower_rank > total:
        lower_rank = total
    if upper_rank is None or upper_rank > total:
        upper_rank = total
    return (upper_rank - lower_rank) / histogram.count, note


def _inner(value: float, low: float, high: float, *, linear: bool) -> float:
    if low == -math.inf:
        return 1.0 if value > -math.inf else 0.0
    if high == math.inf and linear:
        return 0.0 if value < math.inf else 1.0
    return share_below(value, low, high, linear=linear)


def mean(histogram: Histogram) -> float:
    """The mean of the observations; NaN of an empty histogram."""
    if histogram.count == 0:
        return math.copysign(math.inf, histogram.sum) if abs(histogram.sum) > 0 else math.nan  # as Go divides by 0
    return histogram.sum / histogram.count


def variance(histogram: Histogram) -> float:
    """The variance of the observations, each taken to be at the geometric middle of its bucket.

    Zero for the zero bucket, the arithmetic middle for custom buckets.
    """
    if histogram.count == 0:
        return math.nan
    middle = mean(histogram)
    custom = histogram.schema == CUSTOM
    total = lost = 0.0
    for lower, upper, value in histogram.buckets():
        if value == 0:
            continue
        if custom:
            place = (lower + upper) / 2
        elif lower <= 0 <= upper:
            place = 0.0
        else:
            place = (
                math.sqrt(lower * upper) if lower * upper < math.inf else math.sqrt(abs(lower)) * math.sqrt(abs(upper))
            )
            if upper < 0:
                place = -place
        away = place - middle
        total, lost = neumaier(value * away * away, total, lost)
    return (total + lost) / histogram.count


def deviation(histogram: Histogram) -> float:
    """The standard deviation, the square root of `variance`; NaN of a negative one."""
    value = variance(histogram)
    return math.sqrt(value) if value >= 0 else math.nan
