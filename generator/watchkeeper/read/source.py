"""Files as they are read, and where the texts in them stand."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from watchkeeper.findings import Excerpt, Place

__all__ = ["File", "Scalar", "Span"]


class File:
    """A file's name as it was given, and its text. Line ends become newlines; that moves no line and no column.

    `nodes` are its documents, once they were composed.
    """

    __slots__ = ("_starts", "name", "nodes", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
        self.nodes: list[Any] | None = None
        self._starts: list[int] | None = None

    def place(self, index: int) -> Place:
        """Return the line and the column of a character of the text."""
        if self._starts is None:  # most files have no findings
            self._starts = [0]
            at = self.text.find("\n")
            while at >= 0:
                self._starts.append(at + 1)
                at = self.text.find("\n", at + 1)
        line = bisect_right(self._starts, index)
        return Place(self.name, line, index - self._starts[line - 1] + 1)


class Span:
    """A piece of a file that is shown as a whole: a mapping, a list, a key."""

    __slots__ = ("end", "file", "start")

    def __init__(self, file: File, start: int, end: int) -> None:
        self.file = file
        self.start = start
        self.end = end

    def at(self, start: int = 0, end: int = 0) -> tuple[Place, Excerpt]:  # noqa: ARG002 - any part is the whole
        """Return the place of the piece, and the piece."""
        return self.file.place(self.start), Excerpt(self.file.text, self.start, self.end)


class Scalar:
    """A string of a file: `value` is what it means, and is written from `start` to `end` in the file's text.

    `style` is PyYAML's: None or empty where it is plain, `'`, `"`, `|` or `>`; or `json` for a string of JSON.
    """

    __slots__ = ("_positions", "end", "file", "start", "style", "value")

    def __init__(self, file: File, start: int, end: int, value: str, style: str | None) -> None:
        self.file = file
        self.start = start
        self.end = end
        self.value = value
        self.style = style
        self._positions: list[tuple[int, int, int, int]] | None = None

    def at(self, start: int, end: int) -> tuple[Place, Excerpt]:
        """Return the place of `value[start:end]` in the file, and what is written there."""
        from watchkeeper.read.positions import place_of, positions  # most scalars have no findings

        if self._positions is None:
            self._positions = positions(self.file.text, self.start, self.end, self.value, self.style)
        known = self._positions
        length = len(self.value)
        if not known:  # an empty value, or one that could not be followed: all of it
            return self.file.place(self.start), Excerpt(self.file.text, self.start, self.end)
        if start >= length:  # after the end, such as where an operand is missing: not behind a block's newline
            begin = place_of(known, max(len(self.value.rstrip()), 1) - 1)[1]
            stop = begin
        else:
            begin = place_of(known, start)[0]
            stop = place_of(known, min(end, length) - 1)[1] if end > start else begin
        return self.file.place(begin), Excerpt(self.file.text, begin, stop)
