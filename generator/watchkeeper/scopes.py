"""The lines of a file that belong together: a rule's, a group's."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from watchkeeper.read.comments import Comment
    from watchkeeper.read.source import File


class Lines(NamedTuple):
    """Lines of a file, both ends among them. An empty range, `last` before `first`, lies between two lines."""

    first: int
    last: int

    def meets(self, other: Lines) -> bool:
        """Tell whether they share a line, or one lies between two lines of the other."""
        return self.first <= other.last and other.first <= self.last


class Scopes:
    """Ranges of lines of one file, each apart from or within another."""

    __slots__ = ("_ranges", "_starts")

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        self._ranges = _apart(ranges)
        self._starts = [lines.first for lines in self._ranges]

    def __iter__(self) -> Iterator[Lines]:
        return iter(self._ranges)

    def innermost(self, line: int) -> Lines | None:
        """Return the smallest range with this line."""
        for index in range(bisect_right(self._starts, line) - 1, -1, -1):
            if self._ranges[index].last >= line:
                return self._ranges[index]
        return None

    def beginning(self, line: int) -> Lines | None:
        """Return the outermost range that begins on this line."""
        index = bisect_right(self._starts, line - 1)
        return self._ranges[index] if self._starts[index : index + 1] == [line] else None

    def begins_within(self, lines: Lines, line: int) -> bool:
        """Tell whether a range within `lines` begins on or above this line."""
        index = bisect_right(self._starts, lines.first)
        return index < len(self._ranges) and self._starts[index] <= line and self._ranges[index].last <= lines.last


def _apart(ranges: Iterable[tuple[int, int]]) -> list[Lines]:
    """Return the ranges in order, none reaching into the next: YAML ends a mapping where the next thing begins."""
    ordered = sorted({Lines(*lines) for lines in ranges}, key=lambda lines: (lines.first, -lines.last))
    around: list[int] = []  # the indexes of the ranges that may hold the next
    for index, lines in enumerate(ordered):
        while around and ordered[around[-1]].last < lines.last:
            outer = ordered[around[-1]]
            ordered[around.pop()] = Lines(outer.first, min(outer.last, lines.first - 1))
        around.append(index)
    return ordered


def trimmed(file: File, comments: Iterable[Comment], scopes: Iterable[tuple[int, int]]) -> list[Lines]:
    """Return the scopes of a file without the blank lines and the comments behind them."""
    text = file.text.split("\n")
    alone = {comment.line for comment in comments if comment.alone}
    found = []
    for first, last in _apart(scopes):
        end = last
        while end > first and (end in alone or end > len(text) or not text[end - 1].strip(" \t-")):
            end -= 1
        found.append(Lines(first, end))
    return found


def with_comments(file: File, comments: Iterable[Comment], scopes: Iterable[tuple[int, int]]) -> list[Lines]:
    """Return the scopes of a file, each with the comments that stand directly above it, and none behind it."""
    comments = list(comments)
    alone = {comment.line for comment in comments if comment.alone}
    extended = []
    for first, last in trimmed(file, comments, scopes):
        line = first
        while line - 1 in alone:
            line -= 1
        extended.append(Lines(line, last))
    return extended
