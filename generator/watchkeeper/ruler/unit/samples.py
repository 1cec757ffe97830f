"""The series of a test: read from promtool's notation into lists, or into arrays where there are many."""

from __future__ import annotations

import re
from itertools import accumulate, repeat

from watchkeeper.engine.data import Data, Series
from watchkeeper.ruler.rules import Fault, RuleError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from watchkeeper.engine.labels import Labels
    from watchkeeper.ruler.arrays import Block
    from watchkeeper.ruler.unit.testfile import UnitTest

# A series that is longer was mistyped: at 15 seconds a sample these are half a year.
MOST_SAMPLES = 1_000_000

_SIMPLE = re.compile(
    r'\s*([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(?:\{((?:\s*[a-zA-Z_][a-zA-Z0-9_]*\s*=\s*"[^"\\\n]*"\s*,?)*)\s*\})?\s*'
)
_PAIR = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"([^"]*)"')
_NUMBER = r"(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)"
_ITEM = re.compile(rf"(?:(_)|([+-]?{_NUMBER})([+-]{_NUMBER})?)(?:x(\d{{1,12}}))?", re.ASCII)


class Samples:
    """What a test gives as input, up to its last evaluation (`until` ms; sample i is at start + i * interval)."""

    __slots__ = ("_found", "_path", "_places", "counts", "interval", "start")

    def __init__(self, test: UnitTest, path: str, until: int) -> None:
        """Read the names. Raises RuleError."""
        self._path = path
        self.interval = test.interval_ms
        self.start = test.start_ms
        self._places = max(0, (until - test.start_ms) // test.interval_ms + 1)
        self.counts: dict[str, int] = {}
        self._found: dict[Labels, tuple[str, int]] = {}
        faults = []
        for one in test.series:
            try:
                labels, values = _labels(one.series, one.values)
            except ValueError as error:
                faults.append(Fault(f"series {one.series}: {error}", path, one.line))
                continue
            if labels not in self._found:
                name = dict(labels).get("__name__", "")
                self.counts[name] = self.counts.get(name, 0) + 1
            self._found[labels] = values, one.line
        if faults:
            raise RuleError(faults)

    def count(self, name: str | None) -> int:
        """How many series have a name."""
        return len(self._found) if name is None else self.counts.get(name, 0)

    def __len__(self) -> int:
        return len(self._found)

    def data(self) -> Data:
        """All series in lists. Raises RuleError."""
        faults: list[Fault] = []
        data = Data()
        for labels, (text, line) in self._found.items():
            series = self._series(labels, text, line, faults)
            if series is not None:
                data.add(series)
        if faults:
            raise RuleError(faults)
        return data

    def _series(self, labels: Labels, text: str, line: int, faults: list[Fault]) -> Series | None:
        found: tuple[list[Any], Iterable[int]] | None = self._lists(text)
        if found is None:
            from watchkeeper.engine.read.notation import _Fault as NotationError
            from watchkeeper.engine.read.notation import items

            try:
                found = items(text, 0, MOST_SAMPLES)
            except NotationError as error:
                faults.append(self._fault(labels, error.message, line))
                return None
        values, places = found
        if len(values) >= MOST_SAMPLES:
            faults.append(self._fault(labels, _TOO_MANY, line))
            return None
        if places:
            kept = [(place, value) for place, value in zip(places, values, strict=True) if place < self._places]
            times = [self.start + place * self.interval for place, _ in kept]
            return Series(labels, times, [value for _, value in kept])
        values = values[: self._places]
        times = list(range(self.start, self.start + len(values) * self.interval, self.interval))
        return Series(labels, times, values)

    def _fault(self, labels: Labels, message: str, line: int) -> Fault:
        from watchkeeper.engine.labels import format_series

        return Fault(f"series {format_series(labels)}: {message}", self._path, line)

    def _lists(self, text: str) -> tuple[list[Any], list[int]] | None:
        """Values, and their places where some are missing; nothing for what only the notation's reader knows."""
        values: list[float] = []
        places: list[int] | None = None
        total = 0
        for word in text.split():
            match = _ITEM.fullmatch(word)
            if match is None:
                return None
            blank, first, by, times = match.groups()
            count = int(times) if times else 0
            more = (count if times else 1) if blank else count + 1
            if total + more >= MOST_SAMPLES:
                return None
            if blank and places is None:
                places = list(range(total))
            elif not blank:
                value = float(first)
                if by is None:
                    values += [value] * more
                else:
                    # Added up one by one, as Prometheus does, not multiplied.
                    values += accumulate(repeat(float(by), count), initial=value)
            total += more
            if places is not None and not blank:
                places += range(total - more, total)
        return (values, places or []) if values else None

    def blocks(self) -> tuple[Data, list[Block]]:
        """Series of plain numbers as arrays, one block for each name; the others in lists. Raises RuleError."""
        import numpy as np

        from watchkeeper.ruler.arrays import Block

        faults: list[Fault] = []
        rest = Data()
        known: dict[str, Any] = {}
        names: dict[str, list[tuple[Labels, Any]]] = {}
        for labels in sorted(self._found):
            text, line = self._found[labels]
            parts = known.get(text)
            if parts is None:
                parts = known[text] = self._arrays(text) or ()
            if parts:
                names.setdefault(dict(labels).get("__name__", ""), []).append((labels, parts))
                continue
            series = self._series(labels, text, line, faults)
            if series is not None:
                rest.add(series)
        if faults:
            raise RuleError(faults)
        blocks = []
        for members in names.values():
            width = max(len(values) for _, (values, _) in members)
            whole = all(present is None and len(values) == width for _, (values, present) in members)
            table = np.zeros((len(members), width))
            there = None if whole else np.zeros((len(members), width), bool)
            for row, (_, (values, present)) in enumerate(members):
                table[row, : len(values)] = values
                if there is not None:
                    there[row, : len(values)] = True if present is None else present
            times = self.start + self.interval * np.arange(width, dtype=np.int64)
            blocks.append(Block([labels for labels, _ in members], times, table, there))
        return rest, blocks

    def _arrays(self, text: str) -> tuple[Any, Any] | None:
        """Values and where they are, None for everywhere; nothing for what only the notation's reader knows."""
        import numpy as np

        pieces: list[Any] = []
        gaps: list[tuple[int, int]] = []
        total = 0
        for word in text.split():
            match = _ITEM.fullmatch(word)
            if match is None:
                return None
            blank, first, by, times = match.groups()
            count = int(times) if times else 0
            more = (count if times else 1) if blank else count + 1
            if total + more >= MOST_SAMPLES:
                return None
            kept = max(0, min(more, self._places - total))
            total += more
            if blank:
                gaps.append((total - more, total))
                pieces.append(np.zeros(kept))
            elif by is None:
                pieces.append(np.full(kept, float(first)))
            else:
                # Added up one by one, as Prometheus does, not multiplied.
                steps = np.full(kept, float(by))
                steps[:1] = float(first)
                pieces.append(np.add.accumulate(steps))
        if not pieces:
            return None
        values = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
        if not gaps:
            return values, None
        present = np.ones(len(values), bool)
        for start, end in gaps:
            present[start:end] = False
        return values, present


_TOO_MANY = f"that makes {MOST_SAMPLES:,} samples or more"


def _labels(series: str, values: str) -> tuple[Labels, str]:
    """The labels of a series and the text of its values. Raises ValueError."""
    match = _SIMPLE.fullmatch(series)
    if match is not None:
        name, inside = match.groups()
        pairs: Sequence[tuple[str, str]] = _PAIR.findall(inside) if inside else ()
        found = {"__name__": name, **dict(pairs)}
        if len(found) == len(pairs) + 1 and (not inside or inside.count(",") in (len(pairs) - 1, len(pairs))):
            return tuple(sorted([pair for pair in found.items() if pair[1]])), values
    from watchkeeper.engine.read.notation import _Fault as NotationError
    from watchkeeper.engine.read.notation import metric

    line = f"{series} {values}"
    try:
        labels, end = metric(line, len(line) - len(line.lstrip()))
    except NotationError as error:
        raise ValueError(error.message) from None
    return labels, line[end:]
