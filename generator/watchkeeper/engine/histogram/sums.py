"""Sums and means of many histograms, with Kahan-Neumaier compensation in every number, as `sum` and `avg` take them."""

from __future__ import annotations

from watchkeeper.engine.histogram.arithmetic import divide, joint_hint, multiply
from watchkeeper.engine.histogram.bounds import CUSTOM
from watchkeeper.engine.histogram.layout import (
    Compensation,
    match_custom,
    match_exponential,
    neumaier,
    same_kind,
)
from watchkeeper.engine.histogram.model import NOT_RESET, RESET, MixedSchemasError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.histogram.model import Histogram

Buckets = dict[int, float]


class HistogramSum:
    """A running sum of histograms.

    `collision`: among what was added are both counter resets and histograms known to be none. `reconciled`: custom
    bounds differed somewhere. MixedSchemasError from `add` ends the sum: there is no result.
    """

    __slots__ = ("_lost", "_not_reset", "_reset", "_total", "reconciled", "terms")

    def __init__(self, first: Histogram) -> None:
        self._total = first.copy()
        self._lost = Compensation()
        self._reset = first.counter_reset_hint == RESET
        self._not_reset = first.counter_reset_hint == NOT_RESET
        self.reconciled = False
        self.terms = 1

    @property
    def collision(self) -> bool:
        """Whether the histograms summed contradict each other about counter resets."""
        return self._reset and self._not_reset

    def add(self, histogram: Histogram) -> None:
        """Add one histogram; MixedSchemasError where it has the other kind of buckets."""
        self.terms += 1
        self._note(histogram)
        self._add(histogram)

    def _note(self, histogram: Histogram) -> None:
        self._reset = self._reset or histogram.counter_reset_hint == RESET
        self._not_reset = self._not_reset or histogram.counter_reset_hint == NOT_RESET

    def _add(self, other: Histogram) -> None:
        total = self._total
        lost = self._lost
        if not same_kind(total, other):
            raise MixedSchemasError("histograms with exponential and with custom buckets cannot be summed")
        total.counter_reset_hint = joint_hint(total.counter_reset_hint, other.counter_reset_hint)[0]
        if total.schema == CUSTOM:
            positive, differed = match_custom(total, other, lost)
            self.reconciled = self.reconciled or differed
        else:
            zero_count, positive, negative = match_exponential(total, other, lost)
            total.zero_count, lost.zero_count = neumaier(zero_count, total.zero_count, lost.zero_count)
            _pour(total.negative, lost.negative, negative)
        total.count, lost.count = neumaier(other.count, total.count, lost.count)
        total.sum, lost.sum = neumaier(other.sum, total.sum, lost.sum)
        _pour(total.positive, lost.positive, positive)

    def total(self) -> Histogram:
        """The sum so far."""
        return _settled(self._total, self._lost)


class HistogramMean(HistogramSum):
    """A running mean of histograms: the sum over their number or, once that would overflow, a mean carried along."""

    __slots__ = ("_running",)

    def __init__(self, first: Histogram) -> None:
        super().__init__(first)
        self._running = False

    def add(self, histogram: Histogram) -> None:
        """Take one more histogram into the mean; MixedSchemasError where it has the other kind of buckets."""
        self.terms += 1
        self._note(histogram)
        if not self._running:
            total, lost = self._total.copy(), self._lost.copy()
            self._add(histogram)
            if not self._total.overflows():
                return
            before = float(self.terms - 1)
            self._running = True
            self._total = divide(total, before)
            self._lost = _scaled(lost, 1.0, before)
        share = (self.terms - 1) / self.terms
        self._total = multiply(self._total, share)
        self._lost = _scaled(self._lost, share, 1.0)
        self._add(divide(histogram, float(self.terms)))

    def mean(self) -> Histogram:
        """The mean so far."""
        if self._running:
            return _settled(self._total, self._lost)
        terms = float(self.terms)
        return _settled(divide(self._total, terms), _scaled(self._lost, 1.0, terms))


def _pour(into: Buckets, lost: Buckets, buckets: Buckets) -> None:
    for index, value in buckets.items():
        into[index], rest = neumaier(value, into.get(index, 0.0), lost.get(index, 0.0))
        if rest != 0 or index in lost:
            lost[index] = rest


def _scaled(lost: Compensation, factor: float, divisor: float) -> Compensation:
    new = Compensation()
    new.count = lost.count * factor / divisor
    new.sum = lost.sum * factor / divisor
    new.zero_count = lost.zero_count * factor / divisor
    new.positive = {index: value * factor / divisor for index, value in lost.positive.items()}
    new.negative = {index: value * factor / divisor for index, value in lost.negative.items()}
    return new


def _settled(total: Histogram, lost: Compensation) -> Histogram:
    new = total.copy()
    new.count += lost.count
    new.sum += lost.sum
    new.zero_count += lost.zero_count
    for index, value in lost.positive.items():
        new.positive[index] = new.positive.get(index, 0.0) + value
    for index, value in lost.negative.items():
        new.negative[index] = new.negative.get(index, 0.0) + value
    return new.compact()
