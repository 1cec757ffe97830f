"""The native histogram as PromQL computes with it: one sample, its populations floats."""

from __future__ import annotations

import itertools
import math

from watchkeeper.engine.histogram.bounds import CUSTOM, MAX_SCHEMA, MIN_SCHEMA, bound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

UNKNOWN = "unknown"
RESET = "reset"
NOT_RESET = "not_reset"
GAUGE = "gauge"
HINTS = (UNKNOWN, RESET, NOT_RESET, GAUGE)

# One bucket: lower bound, upper bound, population.
Bucket = tuple[float, float, float]


class HistogramError(ValueError):
    """A histogram that cannot be: an unknown schema, bounds out of order, a malformed notation."""


class MixedSchemasError(ValueError):
    """Arithmetic between a histogram with exponential and one with custom buckets."""


class Histogram:
    """A native histogram; treat it as frozen: every operation makes a new one.

    `positive` and `negative` map bucket index to population; an index may be absent, or present with population 0
    until `compact`. Exponential schemas are -4 to 8; -53 has custom buckets with the upper bounds `custom_values`
    and one more for what is above them, no zero bucket and no negative buckets. `counter_reset_hint` is one of HINTS.
    """

    __slots__ = (
        "count",
        "counter_reset_hint",
        "custom_values",
        "negative",
        "positive",
        "schema",
        "sum",
        "zero_count",
        "zero_threshold",
    )

    schema: int
    count: float
    sum: float
    zero_threshold: float
    zero_count: float
    positive: dict[int, float]
    negative: dict[int, float]
    custom_values: tuple[float, ...]
    counter_reset_hint: str

    def __init__(
        self,
        schema: int = 0,
        *,
        count: float = 0.0,
        sum: float = 0.0,  # noqa: A002  (the name that everyone uses)
        zero_threshold: float = 0.0,
        zero_count: float = 0.0,
        positive: Mapping[int, float] | None = None,
        negative: Mapping[int, float] | None = None,
        custom_values: Sequence[float] = (),
        counter_reset_hint: str = UNKNOWN,
    ) -> None:
        """Populations are taken as they are: `count` need not be their sum (observations of NaN are in no bucket)."""
        self.schema = schema
        self.count = count
        self.sum = sum
        self.zero_threshold = zero_threshold
        self.zero_count = zero_count
        self.positive = dict(positive) if positive else {}
        self.negative = dict(negative) if negative else {}
        self.custom_values = tuple(custom_values)
        self.counter_reset_hint = counter_reset_hint

    @property
    def custom(self) -> bool:
        """Whether the buckets are custom ones."""
        return self.schema == CUSTOM

    def copy(self) -> Histogram:
        """A copy that shares nothing mutable."""
        new = Histogram.__new__(Histogram)
        new.schema = self.schema
        new.count = self.count
        new.sum = self.sum
        new.zero_threshold = self.zero_threshold
        new.zero_count = self.zero_count
        new.positive = self.positive.copy()
        new.negative = self.negative.copy()
        new.custom_values = self.custom_values
        new.counter_reset_hint = self.counter_reset_hint
        return new

    def with_hint(self, hint: str) -> Histogram:
        """The same histogram with another counter-reset hint; buckets are shared."""
        if hint == self.counter_reset_hint:
            return self
        new = Histogram.__new__(Histogram)
        new.schema = self.schema
        new.count = self.count
        new.sum = self.sum
        new.zero_threshold = self.zero_threshold
        new.zero_count = self.zero_count
        new.positive = self.positive
        new.negative = self.negative
        new.custom_values = self.custom_values
        new.counter_reset_hint = hint
        return new

    def add(self, other: Histogram) -> Histogram:
        """The sum of two histograms; MixedSchemasError where one has custom buckets and the other has not."""
        from watchkeeper.engine.histogram.arithmetic import add

        return add(self, other).histogram

    def sub(self, other: Histogram) -> Histogram:
        """The difference of two histograms with the hint of their sum, as series notation has it; errors as `add`."""
        from watchkeeper.engine.histogram.arithmetic import joint_hint, subtract

        hint, _ = joint_hint(self.counter_reset_hint, other.counter_reset_hint)
        return subtract(self, other).histogram.with_hint(hint)

    def __neg__(self) -> Histogram:
        from watchkeeper.engine.histogram.arithmetic import negate

        return negate(self)

    def compact(self) -> Histogram:
        """The same histogram without its empty buckets."""
        new = self.with_hint(self.counter_reset_hint)
        if 0.0 in self.positive.values() or 0.0 in self.negative.values():
            new = self.copy()
            new.positive = {index: value for index, value in self.positive.items() if value != 0}
            new.negative = {index: value for index, value in self.negative.items() if value != 0}
        return new

    def check(self) -> None:
        """Raise HistogramError where schema, bounds or buckets cannot be."""
        if self.custom:
            values = self.custom_values
            if any(not math.isfinite(value) for value in values) or any(a >= b for a, b in itertools.pairwise(values)):
                raise HistogramError("custom bucket bounds must be finite and rise")
            if self.negative or self.zero_count or self.zero_threshold:
                raise HistogramError("a histogram with custom buckets has no zero bucket and no negative buckets")
            if any(not 0 <= index <= len(values) for index in self.positive):
                raise HistogramError(f"more buckets than the {len(values) + 1} that the custom bounds give")
        elif not MIN_SCHEMA <= self.schema <= MAX_SCHEMA:
            raise HistogramError(f"unknown schema {self.schema}: known are {MIN_SCHEMA} to {MAX_SCHEMA}, and {CUSTOM}")
        elif self.custom_values:
            raise HistogramError("custom bucket bounds need schema -53")

    # Buckets

    def bucket(self, index: int, value: float) -> Bucket:
        """Positive bucket `index` with its bounds."""
        if self.schema == CUSTOM:
            values = self.custom_values
            lower = values[index - 1] if index > 0 else -math.inf
            return lower, values[index] if index < len(values) else math.inf, value
        return bound(index - 1, self.schema), bound(index, self.schema), value

    def buckets(self, *, down: bool = False, whole: bool = False) -> Iterator[Bucket]:
        """All buckets, from the lowest values to the highest or `down`, the zero bucket among them if populated.

        Where a bucket reaches into the zero bucket (merged buckets may), only what is outside of it is its range,
        unless `whole` ranges are wanted.
        """
        zero = 0.0 if whole else self.zero_threshold
        sides = [self._below(zero, down=down), self._above(zero, down=down)]
        yield from sides[down]
        if self.zero_count > 0:  # servers leave out one below zero, too
            yield -self.zero_threshold, self.zero_threshold, self.zero_count
        yield from sides[not down]

    def _below(self, zero: float, *, down: bool) -> Iterator[Bucket]:
        schema = self.schema
        for index in sorted(self.negative, reverse=not down):
            inner = bound(index - 1, schema)
            yield -bound(index, schema), -max(inner, zero), self.negative[index]

    def _above(self, zero: float, *, down: bool) -> Iterator[Bucket]:
        for index in sorted(self.positive, reverse=down):
            lower, upper, value = self.bucket(index, self.positive[index])
            yield (zero if 0 < lower < zero else lower), upper, value

    def zero_bounds(self) -> tuple[float, float]:
        """Where the observations in the zero bucket are taken to be: on the side where the others are, else on both."""
        if self.positive and not self.negative:
            return 0.0, self.zero_threshold
        if self.negative and not self.positive:
            return -self.zero_threshold, 0.0
        return -self.zero_threshold, self.zero_threshold

    def overflows(self) -> bool:
        """Whether any of its numbers is infinite."""
        return (
            math.isinf(self.count)
            or math.isinf(self.sum)
            or math.isinf(self.zero_count)
            or any(map(math.isinf, self.positive.values()))
            or any(map(math.isinf, self.negative.values()))
        )

    # Equality: the same schema, bounds, zero bucket, buckets, sum and count, whatever the hint. NaN equals NaN.

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Histogram):
            return NotImplemented
        return (
            self.schema == other.schema
            and _same(self.count, other.count)
            and _same(self.sum, other.sum)
            and self.custom_values == other.custom_values
            and (
                self.schema == CUSTOM
                or (
                    self.zero_threshold == other.zero_threshold
                    and _same(self.zero_count, other.zero_count)
                    and _same_buckets(self.negative, other.negative)
                )
            )
            and _same_buckets(self.positive, other.positive)
        )

    def __hash__(self) -> int:
        return hash((self.schema, self.custom_values, len(self.positive), len(self.negative)))

    def __repr__(self) -> str:
        from watchkeeper.engine.histogram.notation import to_notation

        return f"parse_histogram({to_notation(self)!r})"

    def __str__(self) -> str:
        """As Prometheus prints a histogram: count, sum and the populated buckets with their bounds."""
        from watchkeeper.engine.gofloat import format_g

        parts = [f"count:{format_g(self.count)}", f"sum:{format_g(self.sum)}"]
        for lower, upper, value in self.buckets(whole=True):
            if value != 0:
                # Negative buckets include their lower bound, positive ones their upper, the zero bucket both.
                opens = "[" if upper <= 0 or lower < 0 else "("
                closes = "]" if upper > 0 or (upper <= 0 and self.schema == CUSTOM) else ")"
                if self.schema == CUSTOM and lower != -math.inf:
                    opens = "("
                parts.append(f"{opens}{format_g(lower)},{format_g(upper)}{closes}:{format_g(value)}")
        return "{" + ", ".join(parts) + "}"


def _same(a: float, b: float) -> bool:
    return a == b or (a != a and b != b)  # noqa: PLR0124


def _same_buckets(a: dict[int, float], b: dict[int, float]) -> bool:
    if a.keys() != b.keys():
        return False
    return a == b or all(_same(value, b[index]) for index, value in a.items())
