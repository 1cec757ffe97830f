"""Rows with the same labels: where they may be, and where they may not."""

from __future__ import annotations

import numpy as np

from watchkeeper.engine import labels as label_sets
from watchkeeper.engine.arrays.errors import Unsupported
from watchkeeper.engine.arrays.frame import Frame, Groups

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.arrays.types import Bools
    from watchkeeper.engine.labels import Labels


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


def settled(frame: Frame) -> Frame:
    """A result as it is shown: with the names removed whose removal was delayed, and one row for each label set."""
    if frame.dropped is not None:
        frame = merged(frame)
        assert frame.dropped is not None
        labels = [
            label_sets.without(one, label_sets.METADATA) if gone else one
            for one, gone in zip(frame.labels, frame.dropped.tolist(), strict=True)
        ]
        frame = Frame(labels, frame.values, frame.mask)
    return merged(frame)
