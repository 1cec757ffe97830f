"""Where a finding is, as other programs want to know it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from watchkeeper.findings import Finding


class Region(NamedTuple):
    """Lines and columns, from 1, of characters; 0 where none is known. The end column is that behind the last one.

    `before` and `inside` are the text of the first line up to the region, and of the region; both empty where unknown.
    """

    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    before: str = ""
    inside: str = ""


def region(finding: Finding) -> Region | None:
    """Return where in its file a finding is, None where no line is known.

    The end is known where the excerpt shows the file's own text. That of a definition shows its expression, which the
    Python file may write otherwise: such a place has no column.
    """
    place, excerpt = finding.place, finding.excerpt
    if place is None or not place.line:
        return None
    if not place.column or excerpt is None:
        return Region(place.line, place.column)
    begin = excerpt.text.rfind("\n", 0, excerpt.start) + 1
    if excerpt.start - begin + 1 != place.column:
        return Region(place.line, place.column)
    before, inside = excerpt.text[begin : excerpt.start], excerpt.text[excerpt.start : excerpt.end]
    breaks = inside.count("\n")
    end_column = len(inside) - inside.rfind("\n") if breaks else place.column + len(inside)
    return Region(place.line, place.column, place.line + breaks, end_column, before, inside)


def path(file: str, root: str) -> str:
    """Return a file's path relative to the folder root where it lies below it, else its absolute path."""
    full = os.path.normpath(os.path.join(root, file))  # noqa: PTH118 - pathlib costs 10 ms of start-up
    below = root.rstrip("/") + "/"
    return full.removeprefix(below)
