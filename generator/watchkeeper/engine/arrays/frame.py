"""Instant vectors over all steps at once."""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from watchkeeper.engine.arrays.types import Bools, Floats, Ints
    from watchkeeper.engine.labels import Labels


class Frame:
    """One row for each label set and one column for each step.

    `labels` are the rows' label sets, `values` and `mask` are rows x steps; `mask` is where there is a sample, and
    `values` elsewhere mean nothing. Two rows may have the same labels as long as no step has both. Rows stand in the
    order in which the step-wise evaluator has the samples of each step, which is the order that sums are made in.
    Where that order changes from step to step, `rank` holds each row's place at each step (None: the order of rows).
    `dropped`, with delayed name removal, says of each row whether its name is to go in the end (None: of none).
    Arrays of a frame are shared between results: never write to them.
    """

    __slots__ = ("dropped", "labels", "mask", "rank", "values")

    def __init__(
        self,
        labels: list[Labels],
        values: Floats,
        mask: Bools,
        dropped: Bools | None = None,
        rank: Ints | None = None,
    ) -> None:
        self.labels = labels
        self.values = values
        self.mask = mask
        self.dropped = dropped
        self.rank = rank

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def steps(self) -> int:
        return int(self.values.shape[1])

    def take(self, rows: Sequence[int] | Ints) -> Frame:
        """Some rows, in this order."""
        index = np.asarray(rows, np.int64)
        if len(index) == len(self) and bool((index == np.arange(len(self))).all()):
            return self
        dropped = None if self.dropped is None else self.dropped[index]
        rank = None if self.rank is None else self.rank[index]
        labels = [self.labels[row] for row in index.tolist()]
        return Frame(labels, self.values[index], self.mask[index], dropped, rank)

    def pruned(self) -> Frame:
        """Without the rows that have no sample at all."""
        kept = self.mask.any(axis=1)
        return self if bool(kept.all()) else self.take(np.nonzero(kept)[0])

    def with_values(self, values: Floats, mask: Bools | None = None) -> Frame:
        return Frame(self.labels, values, self.mask if mask is None else mask, self.dropped, self.rank)

    def with_labels(self, labels: list[Labels], dropped: Bools | None = None) -> Frame:
        """The same samples under other labels."""
        return Frame(labels, self.values, self.mask, dropped, self.rank)

    def ranked(self, rank: Ints) -> Frame:
        """With another order: that of `rank` at each step. Where there is one step, rows are put in this order."""
        if self.steps == 1:
            return Frame(self.labels, self.values, self.mask, self.dropped).take(np.argsort(rank[:, 0], kind="stable"))
        return Frame(self.labels, self.values, self.mask, self.dropped, rank)

    def places(self) -> Ints:
        """The place of each row at each step: `rank`, or the row's number."""
        if self.rank is not None:
            return self.rank
        return np.broadcast_to(np.arange(len(self))[:, None], self.values.shape)


def empty(steps: int) -> Frame:
    """No series."""
    return Frame([], np.empty((0, steps)), np.empty((0, steps), bool))


class Groups:
    """Rows by a key: `index[row]` is the row's group, `members[group]` its rows in order, `keys` in order of sight."""

    __slots__ = ("index", "keys", "members")

    def __init__(self, keys: Sequence[Hashable]) -> None:
        known: dict[Hashable, int] = {}
        self.members: list[list[int]] = []
        index: list[int] = []
        for row, key in enumerate(keys):
            group = known.setdefault(key, len(known))
            if group == len(self.members):
                self.members.append([])
            self.members[group].append(row)
            index.append(group)
        self.index = index
        self.keys = list(known)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def single(self) -> bool:
        """Whether no group has two rows."""
        return len(self.keys) == len(self.index)

    def layers(self) -> list[tuple[Ints, Ints]]:
        """(groups, rows) of the first members of all groups, of the second ones, ..."""
        found: list[tuple[list[int], list[int]]] = []
        for group, rows in enumerate(self.members):
            for place, row in enumerate(rows):
                if place == len(found):
                    found.append(([], []))
                found[place][0].append(group)
                found[place][1].append(row)
        return [(np.array(groups), np.array(rows)) for groups, rows in found]

    def rank(self, frame: Frame) -> Ints | None:
        """The order in which groups are first met at each step; None where that is always the order of `keys`."""
        if not self.members or (frame.rank is None and (self.single or bool(frame.mask.all()))):
            return None
        nowhere = int(frame.places().max(initial=0)) + 1
        places = np.where(frame.mask, frame.places(), nowhere)
        first = np.array([places[rows].min(axis=0) for rows in self.members]).reshape(len(self), -1)
        known = np.where(first < nowhere, first, -1)
        highest = np.maximum.accumulate(known, axis=0)
        return None if bool((known[1:] >= highest[:-1])[known[1:] >= 0].all()) else first

    def any(self, mask: Bools) -> Bools:
        """Where some row of a group has a sample: groups x steps."""
        if self.single:
            return mask
        result = np.zeros((len(self), mask.shape[1]), bool)
        for group, rows in enumerate(self.members):
            if len(rows) == 1:
                result[group] = mask[rows[0]]
            else:
                np.any(mask[rows], axis=0, out=result[group])
        return result

    def overlapping(self, mask: Bools) -> int | None:
        """A group of which two rows have a sample at one step; None where there is none."""
        if self.single:
            return None
        for group, rows in enumerate(self.members):
            if len(rows) > 1 and bool((mask[rows].sum(axis=0) > 1).any()):
                return group
        return None
