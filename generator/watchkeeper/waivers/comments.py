"""Waivers that stand as comments in rule files: `# watchkeeper: allow promql/counter because …`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.findings import Excerpt, nearest
from watchkeeper.scopes import Lines, Scopes, trimmed
from watchkeeper.waivers import Waiver
from watchkeeper.waivers.held import EVERYWHERE, Held, faults, syntax

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from watchkeeper.findings import Finding
    from watchkeeper.read.comments import Comment
    from watchkeeper.read.source import File

_FORM = re.compile(
    r"watchkeeper:\s*(?P<word>allow|allow-file)\s+(?P<check>\S+)"
    r"(?:\s+until\s+(?P<until>\S+))?\s+because\s+(?P<reason>\S.*)"
)
_EXAMPLE = "allow promql/counter until 2027-01-31 because the exporter mislabels it"
_FIX = f'write "# watchkeeper: {_EXAMPLE}"; the date may be left out'


def of_file(
    file: File, comments: Iterable[Comment], scopes: Iterable[tuple[int, int]], known: Collection[str]
) -> tuple[list[Held], list[Finding]]:
    """Return the waivers in a file's comments, and what is wrong with them. `known` are the ids of checks.

    `scopes` are the first and last lines of the file's rules, and of its groups where a waiver may be for one.
    """
    comments = list(comments)
    held: list[Held] = []
    findings: list[Finding] = []
    ours = [comment for comment in comments if comment.text.startswith("watchkeeper:")]
    where = _Where(file, comments, scopes) if ours else None
    for comment in ours:
        place, excerpt = file.place(comment.start), Excerpt(file.text, comment.start, comment.end)
        match = _FORM.fullmatch(comment.text)
        if not match or not where:
            findings.append(syntax(*_unread(comment.text), place, excerpt))
            continue
        waiver = Waiver(match["check"], reason=match["reason"], until=match["until"] or "", place=place)
        fault = next(faults(waiver, known), None)
        lines: Lines | None = None
        if match["word"] == "allow-file":
            if not where.is_at_top(comment):
                message = "allow-file holds for the file, and stands below its beginning"
                fault = fault or (message, "put it above the file's first key, or write allow above the rule")
        else:
            lines = where.lines_of(comment)
            if not lines:
                fix = "put it above the rule's first line, or at the end of one of its lines"
                fault = fault or ("the waiver stands at no rule", fix)
        if fault:
            findings.append(syntax(*fault, place, excerpt))
        else:
            held.append(Held(waiver, place.file, lines or EVERYWHERE, excerpt=excerpt))
    return held, findings


def _unread(text: str) -> tuple[str, str]:
    """Return what is wrong with a comment that is for us, and how to mend it."""
    word, *rest = text.removeprefix("watchkeeper:").split() or [""]
    if word not in ("allow", "allow-file"):
        what = f'"{word}" is nothing that a comment can say' if word else "the comment says nothing"
        return f"{what}{nearest(word, ['allow', 'allow-file'])}", _FIX
    if not rest or rest[0] in ("because", "until"):
        return "the waiver names no check", _FIX
    if "because" not in rest or rest[-1] == "because":
        return f"the waiver of {rest[0]} has no reason", _FIX
    at = rest.index("because")
    return f'"{" ".join(rest[1:at])}" stands where "until" and a date, or "because", is expected', _FIX


class _Where:
    """Which rule a comment is at."""

    __slots__ = ("_alone", "_scopes", "_text")

    def __init__(self, file: File, comments: Sequence[Comment], scopes: Iterable[tuple[int, int]]) -> None:
        self._text = file.text.split("\n")
        self._alone = {comment.line for comment in comments if comment.alone}
        self._scopes = Scopes(trimmed(file, comments, scopes))

    def _line(self, number: int) -> str:
        return self._text[number - 1] if number <= len(self._text) else ""

    def lines_of(self, comment: Comment) -> Lines | None:
        """Return the lines of the rule or the group that begins below the comment, else of that in which it stands."""
        if comment.alone:
            line = comment.line
            while line in self._alone or self._line(line).strip() == "-":
                line += 1
            below = self._scopes.beginning(line)
            if below:
                return Lines(comment.line, below.last)
        lines = self._scopes.innermost(comment.line)
        # Behind a group's first rule a comment is about some rule, and not about the group.
        return None if lines and self._scopes.begins_within(lines, comment.line) else lines

    def is_at_top(self, comment: Comment) -> bool:
        """Tell whether there is nothing but comments above."""
        above = self._text[: comment.line - 1] if comment.alone else ["x"]
        return all(not line.strip() or line.lstrip("\ufeff \t").startswith(("#", "%", "---")) for line in above)
