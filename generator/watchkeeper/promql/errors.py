"""What is raised for an expression that Prometheus would refuse."""

from __future__ import annotations


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """The 1-based line and column, in characters, of an offset into `text`."""
    line_start = text.rfind("\n", 0, position) + 1
    return text.count("\n", 0, position) + 1, position - line_start + 1


class ParseError(ValueError):
    """An expression is not PromQL.

    `position` and `end` are character offsets into `text` (end exclusive; both are `len(text)` where something is
    missing at the end). `expected` names what could have stood there, and is empty where the fault is not one of
    syntax.
    """

    __slots__ = ("end", "expected", "message", "position", "text")

    def __init__(self, message: str, position: int, end: int, text: str, expected: tuple[str, ...] = ()) -> None:
        super().__init__(message, position, end, text, expected)
        self.message = message
        self.position = position
        self.end = end
        self.text = text
        self.expected = expected

    @property
    def line(self) -> int:
        """The line of `position`, from 1."""
        return line_and_column(self.text, self.position)[0]

    @property
    def column(self) -> int:
        """The column of `position`, from 1, in characters."""
        return line_and_column(self.text, self.position)[1]

    def snippet(self) -> str:
        """The source line at fault, and under it carets from `position` to `end`.

        Tabs are kept in the line of carets, so that both lines are indented alike.
        """
        line_start = self.text.rfind("\n", 0, self.position) + 1
        line_end = self.text.find("\n", self.position)
        source = self.text[line_start:] if line_end < 0 else self.text[line_start:line_end]
        source = source.rstrip("\r")
        offset = self.position - line_start
        indent = "".join("\t" if char == "\t" else " " for char in source[:offset])
        width = max(1, min(self.end, line_start + len(source)) - self.position)
        return f"{source}\n{indent}{'^' * width}"

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.message}"


class LimitError(ParseError):
    """An expression is larger or deeper than this parser goes, which Prometheus may well load."""

    __slots__ = ()
