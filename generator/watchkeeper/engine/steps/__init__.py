"""The step-wise evaluator: plain Python, one time after the other."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.engine import Query
    from watchkeeper.engine.results import Row


def evaluate(query: Query) -> list[Row]:
    """The rows of a query's answer; for a scalar a single one without labels."""
    raise NotImplementedError
