"""Totals that outlive the processes they come from, and the daemon: kept in one file, written whole or not at all."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watchkeeper_fleet.exporter.text import FAMILIES
from watchkeeper_fleet.metrics.exporter import (
    NODE_ALLOC_RETRIES,
    NODE_OOMS,
    PROCESSES_LOST,
    THROTTLED,
    XID_ERRORS,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.contract import Metric

VERSION = 1
CARRIED = frozenset(one.name for one in (NODE_OOMS, NODE_ALLOC_RETRIES, PROCESSES_LOST, THROTTLED, XID_ERRORS))
MOST = 4096  # totals, and values remembered of one file
SIZE = 16 * 2**20
LARGEST = 2.0**53  # the last whole number that a float counts to

Key = tuple[str, tuple[str, ...]]


class State:
    """Totals, and how much of each file of the spool is in them already.

    Both are saved together and before anything is served. So a daemon killed at any moment neither loses what a
    file of the spool still says nor counts it twice.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._path = None if path is None else Path(path)
        self.totals: dict[Key, float] = {}
        self._counted: dict[str, dict[str, float]] = {}
        self._changed = False
        self.saved = self._path is not None
        if self._path is not None:
            self._load(self._path)

    def count(self, metric: Metric, labels: tuple[str, ...], amount: float = 0.0) -> None:
        """Add to a total; with nothing to add, it exists at 0."""
        key = (metric.name, labels)
        before = self.totals.get(key)
        if before is None and len(self.totals) >= MOST:
            return
        if before is None or amount > 0:
            self.totals[key] = min((before or 0.0) + max(amount, 0.0), LARGEST)
            self._changed = True

    def follow(self, file: str, counter: str, value: float) -> float:
        """Return by how much a counter in a file has gone up since it was looked at last."""
        counted = self._counted.setdefault(file, {})
        before = counted.get(counter, 0.0)
        if value == before or (counter not in counted and len(counted) >= MOST):
            return 0.0
        counted[counter] = value
        self._changed = True
        # Less than before: the workload has set torch's statistics back to 0.
        return value - before if value > before else value

    def files(self) -> Iterator[str]:
        """Yield the files of which something is remembered."""
        yield from self._counted

    def forget(self, file: str) -> None:
        """Forget a file that is gone."""
        if self._counted.pop(file, None):
            self._changed = True

    def save(self) -> None:
        """Write what has changed; `saved` says whether the file is up to date."""
        if self._path is None or not self._changed:
            return
        document = {
            "version": VERSION,
            "totals": [[name, list(labels), value] for (name, labels), value in sorted(self.totals.items())],
            "counted": {file: counted for file, counted in sorted(self._counted.items()) if counted},
        }
        temporary = self._path.with_name(f"{self._path.name}.new")
        try:
            with temporary.open("w", encoding="utf-8") as file:
                json.dump(document, file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._path)
        except OSError:
            self.saved = False
        else:
            self.saved, self._changed = True, False

    def _load(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                data = file.read(SIZE + 1)
            document = json.loads(data) if len(data) <= SIZE else None
        except FileNotFoundError:
            self._changed = True  # so that the first save shows whether the file can be written
            return
        except OSError:
            self.saved = False
            return
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict) or document.get("version") != VERSION:
            self._set_aside(path)
            return
        for key, value in _totals(document.get("totals")):
            self.totals[key] = value
        self._counted = dict(_counted(document.get("counted")))

    def _set_aside(self, path: Path) -> None:
        """Keep a file that can't be read, for whoever wants to know what it was."""
        self._changed = True
        try:
            path.replace(path.with_name(f"{path.name}.bad"))
        except OSError:
            self.saved = False


def _totals(found: Any) -> Iterator[tuple[Key, float]]:
    for row in found if isinstance(found, list) else ():
        if isinstance(row, list) and len(row) == 3:
            name, labels, value = row
            if not isinstance(name, str) or name not in CARRIED or not _fine(value):
                continue
            if isinstance(labels, list) and len(labels) == len(FAMILIES[name].labels):
                yield (name, tuple(map(str, labels))), float(value)


def _counted(found: Any) -> Iterator[tuple[str, dict[str, float]]]:
    for file, counted in found.items() if isinstance(found, dict) else ():
        if isinstance(counted, dict):
            yield file, {key: float(value) for key, value in counted.items() if _fine(value)}


def _fine(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value) and 0 <= value <= LARGEST
