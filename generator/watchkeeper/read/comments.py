"""The comments of a YAML file, which its parser drops."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

from watchkeeper.read.documents import Unreadable, documents
from watchkeeper.read.positions import covers, positions

if TYPE_CHECKING:
    from watchkeeper.read.source import File

__all__ = ["Comment", "comments"]

_CANDIDATE = re.compile(r"(?:^|(?<=\s))#")


class Comment:
    """A comment: `text` is what stands after the `#`, without blanks around it. `start` is the index of the `#`.

    `alone` tells whether there is nothing else on its line.
    """

    __slots__ = ("alone", "end", "line", "start", "text")

    def __init__(self, file: File, start: int, end: int) -> None:
        self.start = start
        self.end = end
        self.line = file.place(start).line
        self.text = file.text[start + 1 : end].strip()
        self.alone = not file.text[file.text.rfind("\n", 0, start) + 1 : start].strip()


def comments(file: File) -> list[Comment]:
    """Return the comments of a file in order, without each `#` that is part of a scalar; none of what is no YAML."""
    text = file.text
    if "#" not in text:
        return []
    candidates = [match.start() for match in _CANDIDATE.finditer(text)]
    if not candidates:
        return []
    try:
        scalars = _scalars(documents(file), candidates)
    except Unreadable:  # which is told where the file is read
        return []
    starts = [node.start_mark.index for node in scalars]
    found: list[Comment] = []
    end = -1
    written: dict[int, list[Any]] = {}  # where the characters of the last scalar stand
    for at in candidates:
        if at < end:
            continue  # within the comment before
        nearest = bisect_right(starts, at) - 1
        if nearest >= 0 and at < scalars[nearest].end_mark.index:
            if nearest not in written:
                node = scalars[nearest]
                runs = positions(text, starts[nearest], node.end_mark.index, node.value, node.style)
                written = {nearest: runs}
            if covers(written[nearest], at):
                continue
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        found.append(Comment(file, at, end))
    return found


def _scalars(nodes: list[Any], candidates: list[int]) -> list[Any]:
    """Return the scalars with a `#` in them, in order; those that hold no candidate may be missing."""
    found = []
    todo = list(nodes)
    seen = set()
    while todo:
        node = todo.pop()
        start, end = node.start_mark.index, node.end_mark.index
        if bisect_left(candidates, start) == bisect_left(candidates, end) or id(node) in seen:
            continue  # without any, or an alias
        seen.add(id(node))
        if isinstance(node.value, str):
            if "#" in node.value:
                found.append(node)
        elif node.value and isinstance(node.value[0], tuple):
            todo += [part for item in node.value for part in item]
        else:
            todo += node.value
    return sorted(found, key=lambda node: node.start_mark.index)
