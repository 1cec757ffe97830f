"""Bringing histograms to one layout: a common schema, one zero threshold, common custom bounds.

Everything here works in place on histograms that the caller owns. Where a histogram carries compensations of a
Kahan-Neumaier sum (`Compensation`), they move along, so that merging buckets loses nothing.
"""

from __future__ import annotations

import bisect
import math

from watchkeeper.engine.histogram.bounds import CUSTOM, bound, coarser_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from watchkeeper.engine.histogram.model import Histogram

Buckets = dict[int, float]


class Compensation:
    """What rounding has taken from the numbers of a running sum, number by number."""

    __slots__ = ("count", "negative", "positive", "sum", "zero_count")

    def __init__(self) -> None:
        self.count = 0.0
        self.sum = 0.0
        self.zero_count = 0.0
        self.positive: Buckets = {}
        self.negative: Buckets = {}

    def copy(self) -> Compensation:
        """A copy that shares nothing mutable."""
        new = Compensation()
        new.count = self.count
        new.sum = self.sum
        new.zero_count = self.zero_count
        new.positive = self.positive.copy()
        new.negative = self.negative.copy()
        return new


def neumaier(value: float, total: float, lost: float) -> tuple[float, float]:
    """One step of a Neumaier sum: the new total and what rounding has taken so far."""
    new = total + value
    if math.isinf(new):
        return new, 0.0
    if abs(total) >= abs(value):
        return new, lost + ((total - new) + value)
    return new, lost + ((value - new) + total)


def regroup(buckets: Buckets, lost: Buckets | None, target: Callable[[int], int]) -> tuple[Buckets, Buckets | None]:
    """Merge buckets that `target` sends to one index; compensated where `lost` is given."""
    new: Buckets = {}
    if lost is None:
        for index in sorted(buckets):
            to = target(index)
            new[to] = new.get(to, 0.0) + buckets[index]
        return new, None
    new_lost: Buckets = {}
    for index in sorted(buckets):
        to = target(index)
        new[to], rest = neumaier(buckets[index], new.get(to, 0.0), new_lost.get(to, 0.0))
        new_lost[to] = rest + lost.get(index, 0.0)
    return new, new_lost


def reduce_schema(histogram: Histogram, schema: int, lost: Compensation | None = None) -> None:
    """Lower the resolution to `schema`, which is not above the histogram's."""
    own = histogram.schema
    if own == schema:
        return

    def target(index: int) -> int:
        return coarser_index(index, own, schema)

    histogram.positive, positive = regroup(histogram.positive, lost.positive if lost else None, target)
    histogram.negative, negative = regroup(histogram.negative, lost.negative if lost else None, target)
    histogram.schema = schema
    if lost is not None:
        lost.positive = positive or {}
        lost.negative = negative or {}


def to_schema(histogram: Histogram, schema: int) -> Histogram:
    """A copy with the resolution of `schema`."""
    new = histogram.copy()
    reduce_schema(new, schema)
    return new


def zero_count_at(histogram: Histogram, threshold: float) -> tuple[float, float]:
    """The population of the zero bucket widened to `threshold`, and the threshold that this really gives.

    A threshold inside a populated bucket moves out to that bucket's end; one inside an empty bucket stays.
    """
    schema = histogram.schema
    while True:
        total = histogram.zero_count
        if threshold == histogram.zero_threshold:
            return total, threshold
        for index in sorted(histogram.positive):
            if bound(index - 1, schema) >= threshold:
                break
            total += histogram.positive[index]
            upper = bound(index, schema)
            if upper > threshold:
                if histogram.positive[index] != 0:
                    threshold = upper
                break
        for index in sorted(histogram.negative):
            if bound(index - 1, schema) >= threshold:
                return total, threshold
            total += histogram.negative[index]
            upper = bound(index, schema)
            if upper > threshold:
                if histogram.negative[index] == 0:
                    return total, threshold
                threshold = upper  # the positive side may reach further now: once more
                break
        else:
            return total, threshold


def widen_zero(histogram: Histogram, threshold: float, lost: Compensation | None = None) -> None:
    """Widen the zero bucket to `threshold` or, where that is inside a populated bucket, to this bucket's end."""
    histogram.zero_count, threshold = zero_count_at(histogram, threshold)
    histogram.zero_threshold = threshold
    schema = histogram.schema
    for side in ("positive", "negative"):
        buckets: Buckets = getattr(histogram, side)
        kept: Buckets = {}
        for index, value in buckets.items():
            if bound(index - 1, schema) >= threshold:
                if value != 0:
                    kept[index] = value
            elif lost is not None:
                lost.zero_count += getattr(lost, side).pop(index, 0.0)
        setattr(histogram, side, kept)


def match_zero(histogram: Histogram, other: Histogram, lost: Compensation | None = None) -> float:
    """Widen `histogram`'s zero bucket as far as `other` needs; gives what `other`'s has at that width.

    `other` stays as it is: its buckets up to the threshold then count as part of its zero bucket.
    """
    count, threshold = other.zero_count, other.zero_threshold
    while threshold != histogram.zero_threshold:
        if histogram.zero_threshold > threshold:
            count, threshold = zero_count_at(other, histogram.zero_threshold)
        if threshold > histogram.zero_threshold:
            widen_zero(histogram, threshold, lost)
    return count


def common_bounds(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, ...]:
    """The custom bounds that two histograms share: what both can be merged to."""
    both = set(b)
    return tuple(value for value in a if value in both)


def to_bounds(
    buckets: Buckets, own: tuple[float, ...], bounds: tuple[float, ...], lost: Buckets | None = None
) -> tuple[Buckets, Buckets | None]:
    """Merge custom buckets into those of `bounds`, which are some of their own."""
    last = len(own)

    def target(index: int) -> int:
        return bisect.bisect_left(bounds, own[index]) if index < last else len(bounds)

    return regroup(buckets, lost, target)


def match_custom(histogram: Histogram, other: Histogram, lost: Compensation | None = None) -> tuple[Buckets, bool]:
    """Merge `histogram` to the bounds shared with `other`; gives `other`'s buckets there and whether any differed."""
    if histogram.custom_values == other.custom_values:
        return other.positive, False
    bounds = common_bounds(histogram.custom_values, other.custom_values)
    histogram.positive, rest = to_bounds(
        histogram.positive, histogram.custom_values, bounds, lost.positive if lost else None
    )
    if lost is not None:
        lost.positive = rest or {}
    histogram.custom_values = bounds
    return to_bounds(other.positive, other.custom_values, bounds)[0], True


def match_exponential(
    histogram: Histogram, other: Histogram, lost: Compensation | None = None
) -> tuple[float, Buckets, Buckets]:
    """Bring two exponential histograms together: the zero population and buckets of `other` in `histogram`'s layout."""
    zero_count = match_zero(histogram, other, lost)
    schema = min(histogram.schema, other.schema)
    reduce_schema(histogram, schema, lost)
    positive, negative = other.positive, other.negative
    if other.schema != schema:
        own = other.schema

        def target(index: int) -> int:
            return coarser_index(index, own, schema)

        positive = regroup(positive, None, target)[0]
        negative = regroup(negative, None, target)[0]
    threshold = histogram.zero_threshold
    return zero_count, outside_zero(positive, schema, threshold), outside_zero(negative, schema, threshold)


def outside_zero(buckets: Buckets, schema: int, threshold: float) -> Buckets:
    """The buckets that do not lie within the zero bucket."""
    if not buckets or bound(min(buckets), schema) > threshold:
        return buckets
    return {index: value for index, value in buckets.items() if bound(index, schema) > threshold}


def same_kind(a: Histogram, b: Histogram) -> bool:
    """Whether both have exponential buckets, or both custom ones."""
    return (a.schema == CUSTOM) == (b.schema == CUSTOM)
