"""label_replace and label_join: computed once for each label set, whatever the number of steps."""

from __future__ import annotations

from functools import cmp_to_key

import numpy as np

from watchkeeper.engine import annotations as texts
from watchkeeper.engine import labels as label_sets
from watchkeeper.engine import regex
from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.arrays.frame import Frame
from watchkeeper.engine.arrays.notes import INSIDE
from watchkeeper.engine.arrays.unique import require_unique
from watchkeeper.engine.results import EvalError
from watchkeeper.engine.steps.aggregations import is_label_name
from watchkeeper.engine.steps.label_calls import expand, joined, natural_less

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from watchkeeper.engine.arrays.context import Context
    from watchkeeper.engine.arrays.types import Ints
    from watchkeeper.engine.labels import Labels
    from watchkeeper.promql.nodes import Call

# Labels have fewer characters than this; and all those that have more, in one call, have fewer than that.
_USUAL = 1 << 10
_LONG = 1 << 22


def replace(context: Context, node: Call) -> Frame:
    """The value of label_replace(vector, target, replacement, source, pattern)."""
    frame = context.frame(node.args[0])
    target, template, source, pattern = (context.text(argument) for argument in node.args[1:])
    try:
        match = regex.fullmatch(pattern)
    except regex.RegexError as error:
        raise Unsupported(str(error)) from None
    known: dict[str, str | None] = {}

    def made(labels: Labels) -> str | None:
        value = label_sets.get(labels, source)
        if value not in known:
            found = match(value)
            known[value] = None if found is None else expand(template, found)
        return known[value]

    return _changed(context, frame, _made(map(made, frame.labels)), target)


def join(context: Context, node: Call) -> Frame:
    """The value of label_join(vector, target, separator, source, ...)."""
    frame = context.frame(node.args[0])
    target, separator, *sources = (context.text(argument) for argument in node.args[1:])
    if not all(is_label_name(source, context.settings.old) for source in sources):
        raise Unsupported("an invalid label name")

    def made(labels: Labels) -> str:
        return joined(separator, [label_sets.get(labels, source) for source in sources])

    return _changed(context, frame, _made(map(made, frame.labels)), target)


def _made(values: Iterable[str | None]) -> list[str | None]:
    """Texts for a label. Raises Unsupported for very long ones: the step-wise evaluator keeps count of these."""
    found = []
    long = 0
    try:
        for text in values:
            found.append(text)
            if text is not None and len(text) > _USUAL:
                long += len(text)
                if long > _LONG:
                    raise Unsupported("very long labels")
    except EvalError as error:
        raise Unsupported(error.message) from None
    return found


def _changed(context: Context, frame: Frame, new: list[str | None], target: str) -> Frame:
    """The frame with one label set to a text for each row, None to leave it."""
    if not is_label_name(target, context.settings.old):
        raise Unsupported("an invalid label name")
    labels = [
        one if text is None else label_sets.set_(one, target, text) for one, text in zip(frame.labels, new, strict=True)
    ]
    dropped = frame.dropped
    if dropped is not None and target == label_sets.NAME:
        # A name that is set by hand is not dropped any more.
        dropped = dropped & np.array([text is None for text in new], bool)
    require_unique(labels, frame.mask)
    return frame.with_labels(labels, dropped)


def sort(context: Context, node: Call) -> Frame:
    """sort, sort_desc, sort_by_label, sort_by_label_desc: an order of samples, which only one step can show."""
    frame = context.frame(node.args[0])
    if not context.grid.single:
        context.note(texts.ineffective_sort(), node, INSIDE)
    if not len(frame):
        return frame
    if node.name in {"sort", "sort_desc"}:
        return frame.ranked(_by_value(frame, node.name == "sort_desc"))
    names = [context.text(argument) for argument in node.args[1:]]
    sign = -1 if node.name == "sort_by_label_desc" else 1

    def compare(one: int, other: int) -> int:
        first, second = frame.labels[one], frame.labels[other]
        for name in names:
            a, b = label_sets.get(first, name), label_sets.get(second, name)
            if a != b:
                return sign * (-1 if natural_less(a, b) else 1)
        return sign * (-1 if first < second else int(first > second))

    ordered = frame.take(sorted(range(len(frame)), key=cmp_to_key(compare)))
    return Frame(ordered.labels, ordered.values, ordered.mask, ordered.dropped)


def _by_value(frame: Frame, descending: bool) -> Ints:
    """The place of each row by its value, NaN last; of equals the first stays first."""
    unknown = np.isnan(frame.values)
    key = np.where(unknown, 0.0, -frame.values if descending else frame.values)
    order = np.lexsort((frame.places(), key, unknown), axis=0)
    return np.argsort(order, axis=0, kind="stable")
