"""What is raised for data that cannot be read."""

from __future__ import annotations

_SHOWN = 120  # characters of a long source line in a snippet


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
        if not self.column or not self.source:
            return ""
        at = self.column - 1
        first = max(0, at - _SHOWN // 2) if len(self.source) > _SHOWN else 0
        shown = self.source[first : first + _SHOWN]
        indent = "".join("\t" if char == "\t" else " " for char in shown[: at - first])
        return f"{shown}\n{indent}^"

    def __str__(self) -> str:
        place = [str(part) for part in (self.path, self.line, self.column) if part]
        return ": ".join([":".join(place), self.message]) if place else self.message
