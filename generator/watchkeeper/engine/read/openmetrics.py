"""Prometheus' text format and OpenMetrics text, with or without timestamps, any number of scrapes in one file.

Timestamps are milliseconds in Prometheus' text format and seconds in OpenMetrics, which is the one that ends with
`# EOF`. Samples without a timestamp are at 0. Each line is one sample of one series (`_created` too); comments and
exemplars are left out. Samples of a series may come in any order; of several at one time the last one counts.

The file is read in blocks, so that beside the samples themselves (about 60 bytes each) nothing of it is kept.
"""

from __future__ import annotations

import operator
import re
from itertools import islice

from watchkeeper.engine.read.errors import ReadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

    from watchkeeper.engine.data import Data
    from watchkeeper.engine.labels import Labels

MAX_SAMPLES = 20_000_000
BLOCK = 1 << 20
_LONGEST_LINE = 1 << 20
_REMEMBERED = 1 << 16  # texts of values
_MAX_MS = 1 << 62

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_SPACE = re.compile(r"[ \t]*")
_TOKEN = re.compile(r"[^ \t]+")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")
_VALUE = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE)
_MS = re.compile(r"-?\d{1,19}", re.ASCII)
_UNESCAPED = {"n": "\n", "\\": "\\", '"': '"'}


def load(lines: BinaryIO | bytes, *, openmetrics: bool, path: str = "", max_samples: int = MAX_SAMPLES) -> Data:
    """The series in a text, from an open binary file or bytes.

    `openmetrics` says which of the two formats it is (`is_openmetrics` finds out). Raises ReadError, with line and
    column, for what the format does not allow, and for more than `max_samples`; `path` is the file it then names.
    """
    reader = _Reader(path, openmetrics=openmetrics, budget=max_samples)
    blocks: Iterable[bytes] = (lines,) if isinstance(lines, bytes) else iter(lambda: lines.read(BLOCK), b"")
    for block in _whole_lines(blocks, reader):
        reader.feed(block)
    return reader.data()


def is_openmetrics(tail: bytes) -> bool:
    """Whether a text with this end is OpenMetrics: its last line is `# EOF`."""
    return tail.rstrip().rpartition(b"\n")[2].strip() == b"# EOF"


def _whole_lines(blocks: Iterable[bytes], reader: _Reader) -> Iterator[str]:
    """The blocks as text, cut at ends of lines."""
    kept = b""
    for block in blocks:
        head, newline, tail = block.rpartition(b"\n")
        if not newline:
            kept += block
        else:
            yield _decode(kept + head, reader)
            kept = tail
        if len(kept) > _LONGEST_LINE:
            raise ReadError(f"the line is longer than {_LONGEST_LINE:,} bytes", reader.line + 1, path=reader.path)
    if kept:
        yield _decode(kept, reader)


def _decode(block: bytes, reader: _Reader) -> str:
    try:
        return block.decode()
    except UnicodeDecodeError as error:
        line = reader.line + 1 + block.count(b"\n", 0, error.start)
        column = error.start - (block.rfind(b"\n", 0, error.start) + 1) + 1
        raise ReadError(f"byte 0x{block[error.start]:02x} is not UTF-8", line, column, path=reader.path) from None


class _Fault(Exception):  # noqa: N818  (inside this module it is what is wrong, not yet an error)
    """What is wrong at a 0-based column of the line being read."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


class _Reader:
    """What has been read so far: per text of a series, its times and values in the order of the file."""

    __slots__ = ("budget", "ended", "known", "limit", "line", "openmetrics", "path", "times", "values")

    def __init__(self, path: str, *, openmetrics: bool, budget: int) -> None:
        self.path = path
        self.openmetrics = openmetrics
        self.limit = self.budget = budget
        self.line = 0  # lines fed
        self.ended = False
        # A series as it is written, for example `up{job="a"}`: a scrape writes it alike each time, so that its labels
        # are taken apart once.
        self.known: dict[str, tuple[Labels, list[int], list[float]]] = {}
        self.times: dict[str, int] = {}  # timestamps of the last block: a scrape's samples share one object
        self.values: dict[str, float] = {}

    def feed(self, block: str) -> None:
        """Read lines. This loop takes most of the time for a big file."""
        known, times, values = self.known, self.times, self.values
        times.clear()
        lines = block.split("\n")
        self.budget -= len(lines)
        for number, line in enumerate(lines, 1):
            # In most lines the series was seen before, and two fields follow it. A text in `known` is a whole series,
            # so that what precedes the last two fields can't be one by mistake, whatever its label values hold.
            fields = line.rsplit(" ", 2)
            entry = known.get(fields[0]) if len(fields) == 3 else None
            if entry is not None:
                _, value_text, time_text = fields
                time = times.get(time_text)
                value = values.get(value_text)
                if value is None:
                    value = _quick_float(value_text)
                if time is not None and value is not None and not self.ended:
                    entry[1].append(time)
                    entry[2].append(value)
                    continue
            try:
                self._slow(line)
            except _Fault as fault:
                where = self.line + number
                raise ReadError(fault.message, where, fault.at + 1, line.rstrip("\r"), self.path) from None
        self.line += len(lines)
        if len(values) > _REMEMBERED:
            values.clear()
        if self.budget < 0 and sum(len(entry[1]) for entry in known.values()) > self.limit:
            raise ReadError(f"more than {self.limit:,} samples: cut the file, or drop series from it", path=self.path)

    def _slow(self, line: str) -> None:
        line = line.rstrip("\r")
        start = _skip(line, 0)
        if start == len(line):
            return
        if line[start] == "#":
            self.ended = self.ended or (self.openmetrics and line.rstrip() == "# EOF")
            return
        if self.ended:
            raise _Fault("nothing may follow # EOF", start)
        labels, end = _series(line, start)
        key = line[start:end]
        place = _skip(line, end)
        token = _TOKEN.match(line, place)
        if token is None:
            raise _Fault("no value after the series", place)
        value = self._value(token.group(), place)
        place = _skip(line, token.end())
        time = 0
        if place < len(line) and line[place] != "#":
            token = _TOKEN.match(line, place)
            assert token is not None
            time = self._time(token.group(), place)
            place = _skip(line, token.end())
        if place < len(line) and not (self.openmetrics and line.startswith("# ", place)):
            raise _Fault("nothing may follow the timestamp", place)
        entry = self.known.get(key)
        if entry is None:
            entry = self.known[key] = (labels, [], [])
        entry[1].append(time)
        entry[2].append(value)

    def _value(self, text: str, at: int) -> float:
        value = self.values.get(text)
        if value is None:
            if not _VALUE.fullmatch(text):
                raise _Fault(f"{text[:40]} is no value: a number, NaN, +Inf or -Inf belongs here", at)
            value = self.values[text] = float(text)
        return value

    def _time(self, text: str, at: int) -> int:
        time = self.times.get(text)
        if time is not None:
            return time
        if self.openmetrics:
            seconds = float(text) if _VALUE.fullmatch(text) else float("nan")
            if not abs(seconds) < _MAX_MS / 1000:
                raise _Fault(f"{text[:40]} is no timestamp: in OpenMetrics it is seconds since 1970", at)
            time = round(seconds * 1000)
        else:
            if not _MS.fullmatch(text) or abs(int(text)) > _MAX_MS:
                hint = "; seconds belong to OpenMetrics, whose last line is # EOF" if "." in text else ""
                raise _Fault(f"{text[:40]} is no timestamp: milliseconds since 1970 belong here{hint}", at)
            time = int(text)
        self.times[text] = time
        return time

    def data(self) -> Data:
        """All of it as Data. Series that are written in several ways are merged there."""
        from watchkeeper.engine.data import Data, Series

        if self.openmetrics and not self.ended:
            raise ReadError("the last line is not # EOF: the file was cut short", self.line, path=self.path)
        found = []
        for labels, times, values in self.known.values():
            if any(map(operator.ge, times, islice(times, 1, None))):
                latest = dict(zip(times, values, strict=True))
                times = sorted(latest)  # noqa: PLW2901
                values = [latest[time] for time in times]  # noqa: PLW2901
            found.append(Series(labels, times, values))
        return Data(found)


def _quick_float(text: str) -> float | None:
    """The number of a text that surely is one; None where `_VALUE` must decide."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if text.isascii() and "_" not in text else None  # float() takes 1_000 and any script's digits


def _skip(line: str, position: int) -> int:
    match = _SPACE.match(line, position)
    assert match is not None
    return match.end()


def _series(line: str, start: int) -> tuple[Labels, int]:
    """The labels of the series that begins at `start`, and where it ends."""
    from watchkeeper.engine.labels import make

    found: dict[str, str] = {}
    name = _NAME.match(line, start)
    position = start
    if name is not None:
        found["__name__"] = name.group()
        position = name.end()
    elif not line.startswith("{", start):
        raise _Fault("a line begins with a metric's name", start)
    if line.startswith("{", position):
        position = _labels(line, position + 1, found)
    if position < len(line) and line[position] not in " \t":
        raise _Fault("a space belongs between the series and its value", position)
    if "__name__" not in found:
        raise _Fault("a series without a name", start)
    return make(found), position


def _labels(line: str, position: int, found: dict[str, str]) -> int:
    """Read labels up to the closing brace; a quoted text alone, as in {"my.metric"}, is the metric's name."""
    while True:
        position = _skip(line, position)
        if line.startswith("}", position):
            return position + 1
        at = position
        match = _QUOTED.match(line, position)
        if match is not None:
            label = _unescape(match.group(1))
        else:
            match = _NAME.match(line, position)
            if match is None:
                raise _Fault("a label's name belongs here" if position < len(line) else "the { is never closed", at)
            label = match.group()
        position = _skip(line, match.end())
        if line.startswith("=", position):
            position = _skip(line, position + 1)
            quoted = _QUOTED.match(line, position)
            if quoted is None:
                raise _Fault(f'the value of {label} belongs here in double quotes: {label}="..."', position)
            value = _unescape(quoted.group(1))
            position = _skip(line, quoted.end())
        elif match.re is _QUOTED:
            label, value = "__name__", label
        else:
            raise _Fault(f'= belongs behind {label}, as in {label}="..."', position)
        if label in found:
            raise _Fault(f"the label {label} is there twice" if label != "__name__" else "a second name", at)
        found[label] = value
        if line.startswith(",", position):
            position += 1
        elif not line.startswith("}", position):
            raise _Fault(", or } belongs here" if position < len(line) else "the { is never closed", position)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda match: _UNESCAPED.get(match.group(1), match.group()), text)
