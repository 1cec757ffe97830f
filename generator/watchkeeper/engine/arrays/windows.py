"""Range vectors: the windows of range selectors and subqueries."""

from __future__ import annotations

from watchkeeper.engine.arrays.cut import strips
from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.arrays.grid import Grid
from watchkeeper.promql.nodes import MatrixSelector, Paren, Subquery

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.engine.arrays.block import Block, Ragged
    from watchkeeper.engine.arrays.context import Context
    from watchkeeper.engine.arrays.strip import Strip
    from watchkeeper.engine.arrays.types import Bools, Ints
    from watchkeeper.engine.labels import Labels
    from watchkeeper.promql.nodes import Expr


class Windows:
    """Series with a window of samples at each step.

    Windows end at the times of `grid` (the steps, moved by offset and `@`) and are `range` ms long.
    """

    __slots__ = ("closed", "dropped", "grid", "labels", "parts", "range")

    def __init__(  # noqa: PLR0917
        self,
        labels: list[Labels],
        parts: list[tuple[Ints, Block | Ragged]],
        grid: Grid,
        range: int,  # noqa: A002
        closed: bool,
        dropped: Bools | None,
    ) -> None:
        self.labels = labels
        self.parts = parts
        self.grid = grid
        self.range = range
        self.closed = closed
        self.dropped = dropped

    def strips(self) -> Iterator[tuple[Ints, Strip]]:
        """(rows, strip): the windows, a few series at a time."""
        for rows, part in self.parts:
            for strip in strips(part, self.grid, self.range, 0, self.closed):
                yield rows[strip.rows], strip


def of(context: Context, node: Expr) -> Windows:
    """The range vector of an expression."""
    while isinstance(node, Paren):
        node = node.expr
    if isinstance(node, MatrixSelector):
        selector = node.selector
        if selector.anchored or selector.smoothed:
            raise Unsupported("anchored and smoothed")
        length = context.evaluator.milliseconds(node.range)
        if length <= 0:
            raise Unsupported("duration must be greater than 0")
        selection = context.select(selector)
        grid = Grid(context.moments(selector))
        return Windows(selection.labels, selection.parts, grid, length, context.settings.closed, None)
    if isinstance(node, Subquery):
        from watchkeeper.engine.arrays import subquery

        return subquery.windows(context, node)
    raise Unsupported(f"{type(node).__name__} as a range vector")
