"""What is raised for data that cannot be read."""

from __future__ import annotations

_SHOWN = 120  # characters of a long source line in a snippet


def excerpt(source: str, start: int, width: int = 1) -> str:
    """A source line, and under it carets from the 0-based column `start`; cut around them where it is long."""
    first = max(0, start - _SHOWN // 2) if len(source) > _SHOWN else 0
    shown = source[first : first + _SHOWN]
    indent = "".join("\t" if char == "\t" else " " for char in shown[: start - first])
    return f"{shown}\n{indent}{'^' * max(1, min(width, len(shown) - len(indent)))}"


class ReadError(ValueError):
    """A text is not what its format allows.

    `line` and `column` count from 1, in characters; either is 0 where there is none (a file cut short). `source` is
    the line at fault, "" where there is none. `path` is the file, "" for text from elsewhere.
    """

    def __init__(self, message: str, line: int = 0, column: int = 0, source: str = "", path: str = "") -> None:
        super().__init__(message, line, column, source, path)
        self.message = message
        self.line = line
        self.column = column
        self.source = source
        self.path = path

    def snippet(self) -> str:
        """The source line with a caret under the fault, cut around it where it is long; "" where there is none."""
        return excerpt(self.source, self.column - 1) if self.column and self.source else ""

    def __str__(self) -> str:
        place = [str(part) for part in (self.path, self.line, self.column) if part]
        return ": ".join([":".join(place), self.message]) if place else self.message
