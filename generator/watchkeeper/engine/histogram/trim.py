"""The trim operators `</` and `>/`: a histogram without its observations above, or below, a value.

The bucket that the value falls into is cut in proportion (`estimates.share_below`). Where anything is cut, count and
sum are computed anew from what is left, each bucket's observations taken to be at its middle. A bucket of infinite
width cannot be cut: what is in it counts as infinite.
"""

from __future__ import annotations

import math

from watchkeeper.engine.histogram.bounds import CUSTOM
from watchkeeper.engine.histogram.estimates import share_below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.histogram.model import Histogram


def trim_upper(histogram: Histogram, limit: float) -> Histogram:
    """`histogram </ limit`: without the observations above `limit`."""
    return _trim(histogram, limit, above=True)


def trim_lower(histogram: Histogram, limit: float) -> Histogram:
    """`histogram >/ limit`: without the observations below `limit`."""
    return _trim(histogram, limit, above=False)


def _trim(histogram: Histogram, limit: float, *, above: bool) -> Histogram:
    new = histogram.copy()
    cut = False
    count = total = 0.0

    def keep(value: float, lower: float, upper: float, *, linear: bool) -> float:
        nonlocal cut, count, total
        if value == 0:
            return value
        kept, low, high = _kept(value, lower, upper, limit, above=above, linear=linear)
        if kept != value:
            cut = True
        if kept != 0:
            count += kept
            total += kept * _middle(low, high, linear=linear)
        return kept

    custom = histogram.schema == CUSTOM
    for index in sorted(histogram.negative, reverse=True):
        lower, upper, value = histogram.bucket(index, histogram.negative[index])
        new.negative[index] = keep(value, -upper, -lower, linear=False)
    if histogram.zero_count != 0:
        lower, upper = histogram.zero_bounds()
        new.zero_count = keep(histogram.zero_count, lower, upper, linear=True)
    for index in sorted(histogram.positive):
        lower, upper, value = histogram.bucket(index, histogram.positive[index])
        if custom and lower == -math.inf and 0 < upper < math.inf and (above or limit >= 0):
            lower = 0.0  # as with classic histograms: nothing below 0 is expected where the first bound is above it
        new.positive[index] = keep(value, lower, upper, linear=custom)
    if not cut:
        return histogram
    new.count = count
    new.sum = total
    return new.compact()


def _kept(
    value: float, lower: float, upper: float, limit: float, *, above: bool, linear: bool
) -> tuple[float, float, float]:
    """What is left of a bucket's population, and between which bounds."""
    if above:
        if upper <= limit:
            return value, lower, upper
        if not lower < limit or upper == math.inf:  # the overflow bucket goes as a whole
            return 0.0, lower, upper
        if lower == -math.inf:
            return value, limit, limit
        return value * share_below(limit, lower, upper, linear=linear), lower, limit
    if lower >= limit:
        return value, lower, upper
    if not upper > limit or lower == -math.inf:
        return 0.0, lower, upper
    if upper == math.inf and linear:
        return value, limit, limit
    return value * (1 - share_below(limit, lower, upper, linear=linear)), limit, upper


def _middle(lower: float, upper: float, *, linear: bool) -> float:
    if lower == -math.inf:
        return upper
    if upper == math.inf:
        return lower
    if linear or lower <= 0 <= upper:
        return (lower + upper) / 2
    middle = math.sqrt(abs(lower)) * math.sqrt(abs(upper))
    return -middle if upper < 0 else middle
