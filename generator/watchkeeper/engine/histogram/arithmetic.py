"""Addition, subtraction and scaling of histograms."""

from __future__ import annotations

import math

from watchkeeper.engine.histogram.bounds import CUSTOM
from watchkeeper.engine.histogram.layout import match_custom, match_exponential, same_kind
from watchkeeper.engine.histogram.model import GAUGE, UNKNOWN, MixedSchemasError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.histogram.model import Histogram


class Outcome:
    """What `add` and `subtract` give: the histogram, and what there is to say about it.

    `collision`: one side is marked as a counter reset, the other as none. `reconciled`: custom bounds differed and
    were brought down to those that both have.
    """

    __slots__ = ("collision", "histogram", "reconciled")

    def __init__(self, histogram: Histogram, *, collision: bool, reconciled: bool) -> None:
        self.histogram = histogram
        self.collision = collision
        self.reconciled = reconciled


def joint_hint(a: str, b: str) -> tuple[str, bool]:
    """The counter-reset hint of a sum, and whether the two contradict each other."""
    if a == b:
        return a, False
    if GAUGE in (a, b):
        return GAUGE, False
    return UNKNOWN, UNKNOWN not in (a, b)


def add(a: Histogram, b: Histogram) -> Outcome:
    """The sum, bucket by bucket, in the finest layout that both can have; MixedSchemasError where there is none."""
    return _combine(a, b, 1.0)


def subtract(a: Histogram, b: Histogram) -> Outcome:
    """The difference, always a gauge: populations may be negative. MixedSchemasError as with `add`."""
    outcome = _combine(a, b, -1.0)
    outcome.histogram.counter_reset_hint = GAUGE
    return outcome


def _combine(a: Histogram, b: Histogram, sign: float) -> Outcome:
    if not same_kind(a, b):
        raise MixedSchemasError("histograms with exponential and with custom buckets cannot be combined")
    new = a.copy()
    new.counter_reset_hint, collision = joint_hint(a.counter_reset_hint, b.counter_reset_hint)
    new.count += sign * b.count
    new.sum += sign * b.sum
    if new.schema == CUSTOM:
        positive, reconciled = match_custom(new, b)
    else:
        zero_count, positive, negative = match_exponential(new, b)
        new.zero_count += sign * zero_count
        reconciled = False
        _pour(new.negative, negative, sign)
    _pour(new.positive, positive, sign)
    return Outcome(new, collision=collision, reconciled=reconciled)


def _pour(into: dict[int, float], buckets: dict[int, float], sign: float) -> None:
    for index, value in buckets.items():
        into[index] = into.get(index, 0.0) + sign * value


def multiply(histogram: Histogram, factor: float) -> Histogram:
    """All numbers times `factor`; a gauge where that is negative."""
    new = histogram.copy()
    if histogram.schema != CUSTOM:
        new.zero_count *= factor
    new.count *= factor
    new.sum *= factor
    new.positive = {index: value * factor for index, value in histogram.positive.items()}
    new.negative = {index: value * factor for index, value in histogram.negative.items()}
    if factor < 0:
        new.counter_reset_hint = GAUGE
    return new


def divide(histogram: Histogram, divisor: float) -> Histogram:
    """All numbers over `divisor`; over 0 no buckets are left, and the rest is infinite or NaN as Go divides."""
    new = histogram.copy()
    if histogram.schema != CUSTOM:
        new.zero_count = _over(histogram.zero_count, divisor)
    new.count = _over(histogram.count, divisor)
    new.sum = _over(histogram.sum, divisor)
    if divisor == 0:
        new.positive = {}
        new.negative = {}
    else:
        new.positive = {index: value / divisor for index, value in histogram.positive.items()}
        new.negative = {index: value / divisor for index, value in histogram.negative.items()}
    if divisor < 0:
        new.counter_reset_hint = GAUGE
    return new


def _over(value: float, divisor: float) -> float:
    if divisor != 0:
        return value / divisor
    if value == 0 or value != value:  # noqa: PLR0124
        return math.nan
    return math.copysign(math.inf, value) * math.copysign(1.0, divisor)


def negate(histogram: Histogram) -> Histogram:
    """Unary minus: always a gauge."""
    new = multiply(histogram, -1.0)
    new.counter_reset_hint = GAUGE
    return new
