"""Series notation, as promtool's unit tests write it: `x_total{gpu="0"} 0+30x40 _x3 stale 1 2 NaN 5-1x3`.

One series a line; sample i is at i times the interval. The items of a line:

    7, 1e3, NaN, -Inf     one sample
    7x3                   the sample and three more
    0+30x3, 5-1x3         the sample and three more, each by so much more or less (added up, as Prometheus does)
    _, _x3                one missing sample, three
    stale, stalex3        a staleness marker; one and three more
    {{schema:0 sum:5 count:4 buckets:[1 2 1]}}     a native histogram; with x3, +{{...}}x3 and -{{...}}x3 as above

Blank lines and lines that start with `#` count for nothing; a line `load 30s` sets the interval of those below.
"""

from __future__ import annotations

import re
from array import array

from watchkeeper.engine.read.errors import ReadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from watchkeeper.engine.data import Data, Series
    from watchkeeper.engine.histogram import Histogram
    from watchkeeper.engine.labels import Labels

# What one text may hold: a factor mistyped by a few zeroes must not fill the memory.
MAX_SAMPLES = 20_000_000

_NUMBER = r"(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|[iI][nN][fF]|[nN][aA][nN])"
_ITEM = re.compile(
    rf"(?:(?P<blank>_)|(?P<stale>stale)|(?P<first>[+-]?{_NUMBER})(?P<by>[+-]{_NUMBER})?)(?:x(?P<times>\d+))?(?!\S)",
    re.ASCII,
)
_HISTOGRAM = re.compile(r"(\{\{[^}]*\}\})(?:([+-])(\{\{[^}]*\}\}))?(?:x(\d+))?(?!\S)", re.ASCII)
_WORD = re.compile(r"\S+")
_SPACE = re.compile(r"\s*")
_METRIC = re.compile(r"[^\s{]*")
_BRACES = re.compile(r"""\{(?:[^"'`}]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)*\}""")
_DIGITS_LIMIT = 12  # of a repetition: int() of a very long one raises


def load(text: str, interval: str | float = "15s", *, path: str = "", max_samples: int = MAX_SAMPLES) -> Data:
    """The series in a text. `interval` is a duration such as "15s", or seconds.

    Raises ReadError, with line and column, for what is no series notation; `path` is the file it then names.
    """
    from watchkeeper.engine.data import Data

    try:
        step = _interval(interval)
    except _Fault as fault:
        raise ReadError(fault.message, path=path) from None
    found: list[Series] = []
    budget = max_samples
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        try:
            if stripped.startswith("load ") and "{" not in stripped and len(stripped.split()) == 2:
                step = _interval(stripped.split()[1], line.index("load ") + 5)
                continue
            series = _series(line, step, budget)
        except _Fault as fault:
            raise ReadError(fault.message, number, fault.at + 1, line, path) from None
        budget -= len(series.times)
        found.append(series)
    if not found:
        raise ReadError('no series in it: write one a line, such as x_total{gpu="0"} 0+30x40', path=path)
    return Data(found)


class _Fault(Exception):  # noqa: N818  (inside this module it is what is wrong, not yet an error)
    """What is wrong at a 0-based column of the line being read."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


def _interval(interval: str | float, at: int = 0) -> int:
    """An interval in milliseconds."""
    from watchkeeper.promql.durations import DurationError, milliseconds, parse_duration

    try:
        ms = parse_duration(interval) if isinstance(interval, str) else milliseconds(float(interval))
    except DurationError as error:
        raise _Fault(str(error), at) from None
    if ms <= 0:
        raise _Fault("the interval must be longer than nothing", at)
    return ms


def _series(line: str, step: int, budget: int) -> Series:
    from watchkeeper.engine.data import Series

    start = len(line) - len(line.lstrip())
    labels, position = metric(line, start)
    values, missing = items(line, position, budget)
    if not values:
        raise _Fault("no values after the series: write some, such as 0+1x10", len(line))
    if not missing:
        return Series(labels, list(range(0, len(values) * step, step)), values)
    times = [i * step for i in missing]
    return Series(labels, times, values)


def metric(line: str, start: int) -> tuple[Labels, int]:
    """The labels that begin at `start`, and where they end. Only `=` can stand between a label and its value."""
    from watchkeeper.engine.labels import make
    from watchkeeper.promql import ParseError, parse
    from watchkeeper.promql.nodes import VectorSelector

    match = _METRIC.match(line, start)
    assert match is not None
    end = match.end()
    if line.startswith("{", end):
        braces = _BRACES.match(line, end)
        if braces is None:
            raise _Fault("the { of this series is never closed", end)
        end = braces.end()
    if line[end : end + 1].strip():
        raise _Fault("a space belongs between the series and its values", end)
    text = line[start:end]
    if text == "{}":
        return (), end
    try:
        node = parse(text)
    except ParseError as error:
        raise _Fault(error.message, start + error.position) from None
    if not isinstance(node, VectorSelector):
        raise _Fault('a series begins with its name and labels, such as x_total{gpu="0"}', start)
    found = {} if node.name is None else {"__name__": node.name}
    for matcher in node.matchers:
        if matcher.op != "=":
            raise _Fault(f'a series has {matcher.label}="...": {matcher.op} is for queries', start + matcher.start)
        if matcher.label in found:
            raise _Fault(f"the label {matcher.label} is there twice", start + matcher.start)
        found[matcher.label] = matcher.value
    return make(found), end


def items(line: str, position: int, budget: int = MAX_SAMPLES) -> tuple[list[float | Histogram], Iterable[int]]:
    """The values from `position` to the end of the line, and their numbers (empty where none is missing)."""
    from watchkeeper.engine.data import STALE

    values: list[float | Histogram] = []
    places: array[int] | None = None
    total = 0
    end = len(line)
    while True:
        space = _SPACE.match(line, position)
        assert space is not None
        position = space.end()
        if position == end:
            break
        match = _ITEM.match(line, position)
        if match is None:
            new, position = _histograms(line, position, budget - total)
            blanks = 0
        else:
            blank, stale, first, by, times = match.groups()
            count = _times(times, match.start("times"))
            blanks = (count if times else 1) if blank else 0
            if max(count + 1, blanks) > budget - total:
                raise _Fault(f"that makes more than {budget:,} samples", position)
            if blank:
                new = []
            elif stale:
                new = [STALE] * (count + 1)
            else:
                new = _numbers(float(first), by, count)
            position = match.end()
        if blanks and places is None:
            places = array("q", range(total))
        if places is not None:
            places.extend(range(total + blanks, total + blanks + len(new)))
        values += new
        total += blanks + len(new)
    return values, () if places is None else places


def _times(digits: str | None, at: int) -> int:
    if digits is None:
        return 0
    if len(digits) > _DIGITS_LIMIT:
        raise _Fault(f"{digits[:_DIGITS_LIMIT]}... times is too many", at)
    return int(digits)


def _numbers(value: float, by: str | None, count: int) -> list[float | Histogram]:
    """The value and `count` more. Added up one by one, not multiplied: 0+0.1x3 ends in 0.30000000000000004."""
    if by is None or not count:
        return [value] * (count + 1)
    step = float(by)
    found: list[float | Histogram] = [value]
    for _ in range(count):
        value += step
        found.append(value)
    return found


def _histograms(line: str, position: int, budget: int) -> tuple[list[float | Histogram], int]:
    match = _HISTOGRAM.match(line, position)
    if match is None:
        if line.startswith("{{", position):
            raise _Fault("a histogram is {{...}}, with }} at its end and x and a number behind it at most", position)
        word = _WORD.match(line, position)
        assert word is not None
        raise _Fault(f"{word.group()[:40]} is no value: write a number, 0+1x10, _, _x3 or stale", position)
    count = _times(match.group(4), match.start(4))
    if count + 1 > budget:
        raise _Fault(f"that makes more than {budget:,} samples", position)
    first = _histogram(match.group(1), match.start(1))
    if match.group(3) is None:
        return [first] * (count + 1), match.end()
    by = _histogram(match.group(3), match.start(3))
    return _repeat(first, by, match.group(2), count, match.start(3)), match.end()


def _histogram(text: str, at: int) -> Histogram:
    from watchkeeper.engine.histogram import parse_histogram

    try:
        return parse_histogram(text)
    except ValueError as error:
        raise _Fault(str(error), at) from None


def _repeat(first: Histogram, by: Histogram, sign: str, count: int, at: int) -> list[float | Histogram]:
    found: list[float | Histogram] = [first]
    value = first
    try:
        for _ in range(count):
            value = value.add(by) if sign == "+" else value.sub(by)
            found.append(value)
    except ValueError as error:
        raise _Fault(str(error), at) from None
    return found
