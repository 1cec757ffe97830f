"""What a test gives as series, made into data: notation, lists of numbers, files; checked against the contract."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from watchkeeper.engine.data import Data, Series
from watchkeeper.engine.labels import NAME
from watchkeeper.testing.names import unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any, TypeAlias

    from watchkeeper.pack import Pack

    # Notation, lines of notation that begin with labels, or numbers with None for what is missing.
    Values: TypeAlias = str | Iterable[Any]
    # {metric, name or selector: values}, whole lines of notation, a file, or data.
    # Keys are Any, as a mapping of Counters is none of Metrics to a type checker.
    Part: TypeAlias = Mapping[Any, Values] | str | os.PathLike[str] | Data

# What every scrape makes besides: https://prometheus.io/docs/concepts/jobs_instances/
_OF_SCRAPE = ("up", "scrape_")


class Contract:
    """Which labels the series of a pack have, and which names its rules read."""

    __slots__ = ("labels", "names", "targets")

    def __init__(self, pack: Pack | None, read: Collection[str], recorded: Collection[str]) -> None:
        """`read` are the names in rules' selectors, `recorded` those that rules make."""
        self.targets = frozenset(pack.target_labels) if pack is not None else None
        self.labels: dict[str, frozenset[str]] = {}
        if pack is not None and self.targets is not None:
            for metric in pack.metrics:
                for name, labels in metric.series().items():
                    self.labels[name] = self.targets.union(labels)
        self.names = {*self.labels, *read, *recorded}

    def known(self, name: str) -> frozenset[str] | None:
        """The labels that a series of this name can have; None where nobody says."""
        if name.startswith(_OF_SCRAPE) and self.targets is not None:
            return self.labels.get(name, self.targets)
        return self.labels.get(name)

    def check(self, series: Series) -> None:
        """Raise UnknownNameError for a series that no rule reads and no metric declares, or a label it can't have."""
        found = dict(series.labels)
        name = found.pop(NAME, "")
        if name not in self.names and not name.startswith(_OF_SCRAPE):
            raise unknown("no metric of the pack, and in no rule of it, is", name, self.names)
        known = self.known(name)
        for label in found:
            if known is not None and label not in known:
                raise unknown(f"{name} has no label", label, known)


def assemble(parts: Iterable[Part], labels: Mapping[str, str], interval: int, contract: Contract) -> Data:
    """The data of what a test gives; `interval` in ms between the samples of notation and lists.

    `labels` are given to each series that can have them, and does not have them by itself. Files and data are taken as
    they are, other names in them are no errors.

    Raises UnknownNameError, ReadError, TypeError, ValueError, and OSError for a file that can't be read.
    """
    data = Data()
    used: set[str] = set()
    for part in parts:
        if isinstance(part, Data):
            for series in part.series:
                data.add(series)
            continue
        if isinstance(part, os.PathLike):
            for series in _file(part, interval).series:
                data.add(series)
            continue
        for series in _written(part, interval):
            contract.check(series)
            data.add(_labelled(series, labels, contract, used))
    _all_used(labels, used, contract, data)
    return data


def _labelled(series: Series, labels: Mapping[str, str], contract: Contract, used: set[str]) -> Series:
    own = dict(series.labels)
    known = contract.known(own.get(NAME, ""))
    more = {label: value for label, value in labels.items() if known is None or label in known}
    used.update(more)
    return Series({**more, **own}, series.times, series.values) if more else series


def _all_used(labels: Mapping[str, str], used: set[str], contract: Contract, data: Data) -> None:
    for label in labels:
        if label not in used:
            names = {dict(series.labels).get(NAME, "") for series in data.series}
            known: set[str] = set().union(*(contract.known(name) or () for name in names))
            raise unknown("none of the series can have the label", label, known)


def _file(path: os.PathLike[str], interval: int) -> Data:
    from watchkeeper.engine.read import read

    with open(path, "rb") as file:  # noqa: PTH123 - pathlib is slow to load
        return read(file, interval / 1000, path=os.fspath(path))


def _written(part: Any, interval: int) -> Iterable[Series]:
    from watchkeeper.engine.read import notation

    if isinstance(part, str):
        yield from notation.load(part, interval / 1000).series
        return
    if not isinstance(part, Mapping):
        raise TypeError(
            "series are a mapping of metrics to values, notation, a path or Data, "
            f"not {type(part).__name__}: {part!r:.60}"
        )
    for key, values in part.items():
        yield from _of_metric(str(key), values, interval)


def _of_metric(selector: str, values: Any, interval: int) -> Iterable[Series]:
    from watchkeeper.engine.read import notation

    values = [values] if isinstance(values, str) else list(values)
    if values and all(isinstance(one, str) for one in values):
        for line in values:
            if not _has_labels(line):
                yield from notation.load(f"{selector} {line}", interval / 1000).series
                continue
            (head,) = notation.load(f"{selector} 0").series
            (series,) = notation.load(line, interval / 1000).series
            yield Series({**dict(head.labels), **dict(series.labels)}, series.times, series.values)
        return
    (head,) = notation.load(f"{selector} 0").series
    times, numbers = [], []
    for index, value in enumerate(values):
        if value is not None:
            times.append(index * interval)
            numbers.append(value if hasattr(value, "buckets") else float(value))
    if not numbers:
        raise ValueError(f"{selector}: there is no value in {values!r:.60}")
    yield Series(head.labels, times, numbers)


def _has_labels(text: str) -> bool:
    """Whether a line of values begins with labels, and not with a native histogram."""
    text = text.lstrip()
    return text.startswith("{") and not text.startswith("{{")
