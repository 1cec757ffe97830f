"""Range vectors: the windows of range selectors and subqueries."""

from __future__ import annotations

import numpy as np

from watchkeeper.engine.arrays.block import Block
from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.arrays.frame import Frame, Groups
from watchkeeper.engine.arrays.grid import Grid
from watchkeeper.engine.arrays.notes import INSIDE, before
from watchkeeper.engine.arrays.strip import strips
from watchkeeper.promql.nodes import MatrixSelector, Paren, Subquery

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.engine.arrays.block import Ragged
    from watchkeeper.engine.arrays.evaluate import Context
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
        return _subquery(context, node)
    raise Unsupported(f"{type(node).__name__} as a range vector")


def _subquery(context: Context, node: Subquery) -> Windows:
    evaluator = context.evaluator
    settings = context.settings
    length = evaluator.milliseconds(node.range)
    step = settings.subquery_step if node.step is None else evaluator.milliseconds(node.step)
    if length <= 0 or step <= 0:
        raise Unsupported("a range or a step that is not positive")
    moments = context.moments(node)
    # Steps are multiples of `step`; a window holds those in (t - range, t], or in [t - range, t] where closed.
    # What lies between windows is evaluated too, as Prometheus does: errors and annotations arise there as well.
    low = moments - length
    first = int(low[0]) + (0 if settings.closed else 1)
    first = -(-first // step)
    count = int(moments[-1]) // step - first + 1
    context.charge(count - 1)
    if count < 1:
        raise Unsupported("a subquery without steps")
    inner = Grid(step * (first + np.arange(count, dtype=np.int64)), first * step == int(moments[-1]))
    context_inside = evaluator.context(inner)
    outer, context_inside.notes = context_inside.notes, []
    try:
        frame = _as_frame(context_inside, node.expr)
        context.notes += before(context_inside.notes, INSIDE)
    finally:
        context_inside.notes = outer
    # Series stand in the order in which they are first met.
    frame = merged(frame)
    frame = frame.take(np.argsort(frame.mask.argmax(axis=1), kind="stable")) if len(frame) else frame
    context.charge(int(np.count_nonzero(frame.mask)))
    mask: Bools | None = frame.mask
    assert mask is not None
    if bool(mask.all()):
        mask = None
    block = Block(inner.times, np.ascontiguousarray(frame.values), mask, None)
    parts: list[tuple[Ints, Block | Ragged]] = [(np.arange(len(frame)), block)] if len(frame) else []
    return Windows(frame.labels, parts, Grid(moments), length, settings.closed, frame.dropped)


def _as_frame(context: Context, node: Expr) -> Frame:
    value = context.value(node)
    if isinstance(value, Frame):
        return value
    if isinstance(value, str):
        raise Unsupported("a subquery of a string")
    return Frame([()], value[None, :], np.ones((1, context.steps), bool))


def require_unique(labels: list[Labels], mask: Bools) -> None:
    """Raise Unsupported where two rows with the same labels have samples at one step."""
    if len(set(labels)) < len(labels) and Groups(labels).overlapping(mask) is not None:
        raise Unsupported("vector cannot contain metrics with the same labelset")


def merged(frame: Frame) -> Frame:
    """One row for each label set. Raises Unsupported where two have samples at one step."""
    if len(set(frame.labels)) == len(frame.labels):
        return frame
    groups = Groups(frame.labels)
    if groups.overlapping(frame.mask) is not None:
        raise Unsupported("vector cannot contain metrics with the same labelset")
    first = np.array([rows[0] for rows in groups.members])
    values = frame.values[first].copy()
    mask = frame.mask[first].copy()
    for group, rows in enumerate(groups.members):
        for row in rows[1:]:
            np.copyto(values[group], frame.values[row], where=frame.mask[row])
            mask[group] |= frame.mask[row]
    dropped = frame.dropped
    if dropped is not None:
        if any(len({bool(dropped[row]) for row in rows}) > 1 for rows in groups.members):
            raise Unsupported("rows with the same labels of which some lose their name")
        dropped = dropped[first]
    return Frame([frame.labels[row] for row in first.tolist()], values, mask, dropped)
