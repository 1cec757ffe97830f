"""Series of a classic histogram, from what was observed."""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from watchkeeper.contract import Histogram


def observed(
    metric: Histogram, counts: Mapping[float, str | Sequence[float]], /, **labels: str
) -> dict[str, list[float]]:
    """The series `_bucket`, `_count` and `_sum` of a histogram, for `run`.

    `counts` says how often each value, in the metric's unit, was observed so far, sample after sample:
    `observed(LATENCY, {0.12: "0+99x40", 45: "0+1x40"}, function="embed")`. All must be of one length, without gaps.

    Raises ValueError where they are not, and ReadError for what is no series notation.
    """
    found = {value: _numbers(given) for value, given in counts.items()}
    lengths = {len(numbers) for numbers in found.values()}
    if len(lengths) != 1:
        raise ValueError(f"{metric.name}: counts of {sorted(lengths)} samples: they must be of one length")
    (length,) = lengths
    series = {}
    for bound in (*metric.buckets, math.inf):
        within = [numbers for value, numbers in found.items() if value <= bound]
        le = "+Inf" if bound == math.inf else f"{bound:g}" if bound != int(bound) else f"{bound:.1f}"
        series[metric.bucket.where(**labels, le=le)] = [sum(column) for column in zip(*within, strict=True)] or [
            0.0
        ] * length
    columns = list(zip(*found.values(), strict=True))
    series[metric.count.where(**labels)] = [sum(column) for column in columns]
    series[metric.sum.where(**labels)] = [sum(map(float.__mul__, map(float, found), column)) for column in columns]
    return series


def _numbers(given: str | Sequence[float]) -> list[float]:
    if not isinstance(given, str):
        return [float(number) for number in given]
    from watchkeeper.engine.read import notation

    (series,) = notation.load(f"x {given}").series
    return [float(number) for number in series.values]
