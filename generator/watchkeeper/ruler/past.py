"""What a template's query saw: the data as it was in the midst of an evaluation."""

from __future__ import annotations

from bisect import bisect_right

from watchkeeper.engine.data import Data, Series
from watchkeeper.promql import parse
from watchkeeper.ruler.growing import selected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.ruler.history import History, Outcome


def past(history: History, outcome: Outcome, index: int, expr: str) -> Data:
    """The series that `expr` looks at, up to an evaluation; of rules not yet evaluated, up to the one before.

    Raises ParseError.
    """
    now = history.clock.times[index]
    later = {series.labels for other in history.outcomes if other.place >= outcome.place for series in other.series()}
    found = Data()
    for series in selected(history.series, [parse(expr)]):
        until = bisect_right(series.times, now - 1 if series.labels in later else now)
        starts = None if series.starts is None else series.starts[:until]
        found.add(Series(series.labels, series.times[:until], series.values[:until], starts))
    return found
