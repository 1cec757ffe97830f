"""Classic histograms, series of buckets with `le`, turned into native ones with custom buckets."""

from __future__ import annotations

import math

from watchkeeper.engine.histogram.bounds import CUSTOM
from watchkeeper.engine.histogram.model import Histogram

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def from_classic(
    cumulative: Mapping[float, float], count: float | None = None, total: float | None = None
) -> Histogram | None:
    """The native histogram of one moment: cumulative counts by upper bound, `_count` and `_sum` where there are any.

    None where nothing can be made of it: no buckets, or counts that fall as bounds rise. Without a bucket for +Inf
    `count` stands in for it.
    """
    bounds = sorted(bound for bound in cumulative if bound < math.inf)
    top = cumulative.get(math.inf)
    if not bounds and top is None and count is None:
        return None
    populations: dict[int, float] = {}
    before = 0.0
    for index, bound in enumerate(bounds):
        value = cumulative[bound]
        if value < before:
            return None
        populations[index] = value - before
        before = value
    if top is None:
        top = count if count is not None else before
    if top < before:
        return None
    populations[len(bounds)] = top - before
    if count is None:
        count = top
    return Histogram(
        CUSTOM,
        count=count,
        sum=total if total is not None else 0.0,
        positive=populations,
        custom_values=tuple(bounds),
    ).compact()
