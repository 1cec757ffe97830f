"""How much a histogram rises along a series: what rate, increase, delta, irate and idelta stand on.

What there is to say is told to a callable, as one of the constants below; a caller adds the metric and the place.
A result of None means that the series gives none, and the reason was told.
"""

from __future__ import annotations

from watchkeeper.engine.histogram.arithmetic import add, multiply, subtract
from watchkeeper.engine.histogram.bounds import CUSTOM
from watchkeeper.engine.histogram.layout import to_schema
from watchkeeper.engine.histogram.model import GAUGE, UNKNOWN, Histogram, MixedSchemasError
from watchkeeper.engine.histogram.resets import detect_reset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    Tell: TypeAlias = Callable[[str], object]

NOT_A_COUNTER = "not a counter"
NOT_A_GAUGE = "not a gauge"
MIXED_SCHEMAS = "mixed schemas"
RECONCILED_ADDITION = "addition"
RECONCILED_SUBTRACTION = "subtraction"


def increase(
    samples: Sequence[Histogram], tell: Tell, *, counter: bool, started: Callable[[int], bool] | None = None
) -> Histogram | None:
    """The last histogram less the first, plus for a counter what it had at each reset; a gauge.

    `started(i)`: whether sample i is known from its start time to count from 0 again.
    """
    first, last = samples[0], samples[-1]
    if not counter:
        if first.counter_reset_hint != GAUGE or last.counter_reset_hint != GAUGE:
            tell(NOT_A_GAUGE)
    elif any(sample.counter_reset_hint == GAUGE for sample in samples):
        tell(NOT_A_COUNTER)

    def reset(index: int) -> bool:
        return detect_reset(samples[index], samples[index - 1]) or (started is not None and started(index))

    base = first
    if counter and len(samples) > 1 and reset(1):
        # The first sample has no part in the result, so its layout must not spoil it.
        base = Histogram(samples[1].schema, custom_values=samples[1].custom_values)
        base.zero_threshold = samples[1].zero_threshold
    custom = base.schema == CUSTOM
    relevant = (base, last, *samples[1:-1]) if counter else (base, last)
    if any((sample.schema == CUSTOM) != custom for sample in relevant):
        tell(MIXED_SCHEMAS)
        return None
    result = to_schema(last, min(sample.schema for sample in relevant))
    outcome = subtract(result, base)
    if outcome.reconciled:
        tell(RECONCILED_SUBTRACTION)
    result = outcome.histogram
    if counter:
        previous = base
        for index in range(1, len(samples)):
            if reset(index):
                outcome = add(result, previous)
                if outcome.reconciled:
                    tell(RECONCILED_ADDITION)
                result = outcome.histogram
            previous = samples[index]
    result.counter_reset_hint = GAUGE
    return result


def step(previous: Histogram, last: Histogram, tell: Tell, *, counter: bool, started: bool = False) -> Histogram | None:
    """The difference of two neighbours, or `last` itself behind a reset of a counter; a gauge."""
    hints = (previous.counter_reset_hint, last.counter_reset_hint)
    if counter and GAUGE in hints:
        tell(NOT_A_COUNTER)
    elif not counter and hints != (GAUGE, GAUGE):
        tell(NOT_A_GAUGE)
    result = last
    if not counter or not (started or detect_reset(last, previous)):
        try:
            outcome = subtract(last, previous)
        except MixedSchemasError:
            tell(MIXED_SCHEMAS)
            return None
        if outcome.reconciled:
            tell(RECONCILED_SUBTRACTION)
        result = outcome.histogram
    return result.with_hint(GAUGE)


def between(
    first: Histogram, second: Histogram, share: float, tell: Tell, *, counter: bool = False
) -> Histogram | None:
    """The histogram `share` of the way from `first` to `second`; a counter that was reset starts from 0 at `first`."""
    try:
        if counter and detect_reset(second, first):
            return multiply(second, share).with_hint(UNKNOWN)
        outcome = subtract(second, first)
        if outcome.reconciled:
            tell(RECONCILED_SUBTRACTION)
        result = add(first, multiply(outcome.histogram, share)).histogram
    except MixedSchemasError:
        tell(MIXED_SCHEMAS)
        return None
    # Its neighbours in a series were not this one's: nothing is known about resets.
    gauge = GAUGE in {first.counter_reset_hint, second.counter_reset_hint}
    return result.with_hint(GAUGE if gauge else UNKNOWN)
