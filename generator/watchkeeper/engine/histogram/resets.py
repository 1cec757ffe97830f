"""Counter resets between two histograms of a series, and the hints that a server's storage gives."""

from __future__ import annotations

import struct

from watchkeeper.engine.histogram.bounds import CUSTOM, coarser_index
from watchkeeper.engine.histogram.layout import (
    common_bounds,
    outside_zero,
    regroup,
    same_kind,
    to_bounds,
    zero_count_at,
)
from watchkeeper.engine.histogram.model import GAUGE, NOT_RESET, RESET, UNKNOWN, Histogram

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Buckets = dict[int, float]

_STALE = b"\x7f\xf0\x00\x00\x00\x00\x00\x02"


def detect_reset(histogram: Histogram, previous: Histogram) -> bool:
    """Whether the counter was reset between `previous` and `histogram`; hints that say so are believed.

    Any of: fewer observations in all or in a bucket (a smaller sum is no reset), a finer schema, a narrower zero
    bucket, a zero bucket that cuts through a populated one, another kind of buckets.
    """
    if histogram.counter_reset_hint == RESET:
        return True
    if histogram.counter_reset_hint == NOT_RESET:
        return False
    return dropped(histogram, previous)


def dropped(histogram: Histogram, previous: Histogram) -> bool:
    """`detect_reset` by the numbers alone."""
    if histogram.count < previous.count or not same_kind(histogram, previous):
        return True
    if histogram.schema == CUSTOM:
        now, before = histogram.positive, previous.positive
        if histogram.custom_values != previous.custom_values:
            bounds = common_bounds(histogram.custom_values, previous.custom_values)
            now = to_bounds(now, histogram.custom_values, bounds)[0]
            before = to_bounds(before, previous.custom_values, bounds)[0]
        return _any_lower(now, before)
    if histogram.schema > previous.schema or histogram.zero_threshold < previous.zero_threshold:
        return True
    zero_count, threshold = zero_count_at(previous, histogram.zero_threshold)
    if threshold != histogram.zero_threshold or histogram.zero_count < zero_count:
        return True
    return any(
        _any_lower(now, _seen_from(before, previous, histogram))
        for now, before in ((histogram.positive, previous.positive), (histogram.negative, previous.negative))
    )


def _seen_from(buckets: Buckets, previous: Histogram, histogram: Histogram) -> Buckets:
    """Buckets of `previous` outside the zero bucket of `histogram`, at its schema."""
    own, schema = previous.schema, histogram.schema
    if own != schema:
        buckets = regroup(buckets, None, lambda index: coarser_index(index, own, schema))[0]
    return outside_zero(buckets, schema, histogram.zero_threshold)


def _any_lower(now: Buckets, before: Buckets) -> bool:
    return any(now.get(index, 0.0) < value for index, value in before.items())


def stored_hints(
    samples: Iterable[float | Histogram], previous: float | Histogram | None = None
) -> list[float | Histogram]:
    """The samples of one series as a Prometheus server gives them back: with the hints of its storage.

    Storage marks gauges, and "not reset" on what follows in the same chunk. A new chunk starts at a reset, found or
    stated, after a float or a staleness marker, and where the layout changes; its first histogram has no hint.
    `previous` is the sample before the first.
    """
    result: list[float | Histogram] = []
    for sample in samples:
        if isinstance(sample, Histogram) and sample.counter_reset_hint != GAUGE:
            same = isinstance(previous, Histogram) and _same_chunk(sample, previous)
            result.append(sample.with_hint(NOT_RESET if same else UNKNOWN))
        else:
            result.append(sample)
        previous = sample
    return result


def unhinted(samples: Iterable[float | Histogram]) -> list[float | Histogram]:
    """Samples of a subquery: what storage knew about the neighbours of its histograms holds no longer."""
    return [
        sample.with_hint(UNKNOWN) if isinstance(sample, Histogram) and sample.counter_reset_hint != GAUGE else sample
        for sample in samples
    ]


def _same_chunk(histogram: Histogram, previous: Histogram) -> bool:
    return (
        previous.counter_reset_hint != GAUGE
        and not _is_stale(previous.sum)
        and histogram.counter_reset_hint != RESET
        and histogram.schema == previous.schema
        and histogram.zero_threshold == previous.zero_threshold
        and histogram.custom_values == previous.custom_values
        and not dropped(histogram, previous)
    )


def _is_stale(value: float) -> bool:
    return value != value and struct.pack(">d", value) == _STALE  # noqa: PLR0124


def resolved_hint(histogram: Histogram, previous: Histogram | None) -> Histogram:
    """The hint made sure by looking at the sample before, which is what reading only counts and sums does."""
    if previous is None or histogram.counter_reset_hint != UNKNOWN:
        return histogram
    return histogram.with_hint(RESET if dropped(histogram, previous) else NOT_RESET)


def resolved_hints(samples: Sequence[Histogram]) -> list[Histogram]:
    """`resolved_hint` along a series."""
    return [resolved_hint(sample, samples[index - 1] if index else None) for index, sample in enumerate(samples)]
