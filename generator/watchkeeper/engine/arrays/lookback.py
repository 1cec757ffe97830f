"""Instant selectors: the last sample of each series at each step, unless it is too old or a staleness marker."""

from __future__ import annotations

import numpy as np

from watchkeeper.engine.arrays.block import Block, Ragged
from watchkeeper.engine.arrays.strip import as_slice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.arrays.types import Bools, Floats, Ints


def latest(part: Block | Ragged, at: Ints, oldest: Ints) -> tuple[Floats, Bools, Ints]:
    """Values, presence and times in ms of the samples after `oldest` up to `at`, both in ms, one each for a step.

    Times are one row for all where they are shared.
    """
    if isinstance(part, Ragged):
        return _latest_ragged(part, at, oldest)
    column = np.searchsorted(part.times, at, "right") - 1
    if not len(part.times):
        shape = (part.rows, len(at))
        return np.zeros(shape), np.zeros(shape, bool), np.zeros((1, len(at)), np.int64)
    known = column >= 0
    column = np.maximum(column, 0)
    if part.present is None:
        times = part.times[column]
        fresh = known & (times > oldest)
        values = part.values[:, as_slice(column)]
        return values, np.broadcast_to(fresh, values.shape), times[None, :]
    last, stale = part.last
    own = last[:, column]
    mask = known & (own >= 0)
    own = np.maximum(own, 0)
    times = part.times[own]
    mask &= times > oldest
    if stale is not None:
        mask &= ~np.take_along_axis(stale, own, axis=1)
    return np.take_along_axis(part.values, own, axis=1), mask, times


def _latest_ragged(part: Ragged, at: Ints, oldest: Ints) -> tuple[Floats, Bools, Ints]:
    index = np.empty((part.rows, len(at)), np.int64)
    for row in range(part.rows):
        index[row] = np.searchsorted(part.times[row, : part.lengths[row]], at, "right") - 1
    mask = index >= 0
    index = np.maximum(index, 0)
    times = np.take_along_axis(part.times, index, axis=1)
    mask &= times > oldest
    if part.stale is not None:
        mask &= ~np.take_along_axis(part.stale, index, axis=1)
    return np.take_along_axis(part.values, index, axis=1), mask, times
