"""Where the comments of a rule file go: above or behind what they are about, in the definitions as in the file."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from watchkeeper.findings import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from watchkeeper.read.comments import Comment
    from watchkeeper.read.source import File
    from watchkeeper.subject import Expression, Group, Rule, Text
    from watchkeeper.waivers import Waiver

    # What a comment can be about.
    Owner = Group | Rule | Text | Expression

_DASH = re.compile(r"^[ \t]*-(?=\s)", re.MULTILINE)
_GROUPS = re.compile(r"""^[ \t]*(?:"groups"|'groups'|groups)[ \t]*:""", re.MULTILINE)


class Notes:
    """The comments of a file: `head` and `tail` of the whole file, and of each owner.

    `above`: on lines before it. `behind`: on its own line. `below`: after its last entry, and indented as those are.
    `waivers` are what comments waive for a rule or a group, and `waived` what they waive for the file.
    """

    __slots__ = ("above", "behind", "below", "head", "tail", "waived", "waivers")

    def __init__(self, file: File, groups: Sequence[Group], comments: Sequence[Comment]) -> None:
        self.above: dict[Owner, list[str]] = {}
        self.behind: dict[Owner, str] = {}
        self.below: dict[Owner, list[str]] = {}
        self.head: list[str] = []
        self.tail: list[str] = []
        self.waivers: dict[Group | Rule, list[Waiver]] = {}
        self.waived: list[Waiver] = []
        if comments:
            self._place(file, groups, comments)

    def _place(self, file: File, groups: Sequence[Group], comments: Sequence[Comment]) -> None:
        match = _GROUPS.search(file.text)
        begin = match.start() if match else 0
        anchors = _anchors(file.text, groups)
        starts = [anchor.start for anchor in anchors]
        last: tuple[list[str], int] | None = None
        for comment in comments:
            number = bisect_right(starts, comment.start)
            before = anchors[number - 1] if number else None
            after = anchors[number] if number < len(anchors) else None
            line = said(file.text[comment.start : comment.end])
            shares = before and not comment.alone and _shares_line(before, comment.start, file.text)
            about: Group | Rule | None = None
            if comment.start < begin:
                held = self.head
            elif before and shares:
                about = before.rule or before.group
                held = self.above.setdefault(before.owner, [])
            else:
                held, about = self._around(before, after, _column(file.text, comment.start))
            if self._waives(file, comment, about):
                continue
            if before and shares == "with it" and before.owner not in self.behind:
                self.behind[before.owner] = line
                continue
            if last and last[0] is held and comment.line > last[1] + 1:
                held.append("")  # paragraphs stay apart
            held.append(line)
            last = (held, comment.line)

    def _around(
        self, before: _Anchor | None, after: _Anchor | None, column: int
    ) -> tuple[list[str], Group | Rule | None]:
        """Return the list that a comment between two anchors belongs to, by what it is indented as, and its owner."""
        if before and (after is None or after.opens):
            if before.rule and column > before.rule_column >= 0:
                return self.below.setdefault(before.rule, []), before.rule
            if column > before.group_column >= 0 and (after is None or after.group is not before.group):
                return self.below.setdefault(before.group, []), before.group
        if after is None:
            return self.tail, None
        if after.opens:
            return self.above.setdefault(after.opens[0], []), after.opens[0]
        return self.above.setdefault(after.owner, []), after.rule or after.group

    def _waives(self, file: File, comment: Comment, about: Group | Rule | None) -> bool:
        """Note what a comment waives, if it does: definitions say that otherwise."""
        if not comment.text.startswith("watchkeeper:"):
            return False
        from watchkeeper.checks import ids
        from watchkeeper.waivers.comments import of_file
        from watchkeeper.waivers.held import EVERYWHERE

        held, _ = of_file(file, [comment], [(1, file.text.count("\n") + 1)], ids())
        for one in held:
            if one.lines == EVERYWHERE:
                self.waived.append(one.waiver)
            elif about:
                self.waivers.setdefault(about, []).append(one.waiver)
            else:
                return False
        return bool(held)


class _Anchor:
    """A text of a file that comments can be about. `opens`: the group and the rule that begin with it.

    The columns are those of the dashes, from 0; -1 where there is none.
    """

    __slots__ = ("end", "group", "group_column", "opens", "owner", "rule", "rule_column", "start")

    def __init__(self, owner: Text | Expression, group: Group, rule: Rule | None) -> None:
        source = owner.source
        self.owner = owner
        self.start: int = source.start  # type: ignore[attr-defined]  # a text of a file has them
        self.end: int = source.end  # type: ignore[attr-defined]
        self.group = group
        self.rule = rule
        self.opens: list[Group | Rule] = []
        self.group_column = self.rule_column = -1


def _anchors(text: str, groups: Sequence[Group]) -> list[_Anchor]:
    """Return the anchors in the file's order. What several rules share by an alias is the first one's."""
    found: dict[int, _Anchor] = {}
    for group in groups:
        for owner, rule in _texts(group):
            anchor = _Anchor(owner, group, rule)
            found.setdefault(anchor.start, anchor)
    anchors = sorted(found.values(), key=lambda anchor: anchor.start)
    seen: set[Group | Rule] = set()
    previous: _Anchor | None = None
    for anchor in anchors:
        if previous and previous.group is anchor.group:
            anchor.group_column = previous.group_column
        if previous and previous.rule is anchor.rule:
            anchor.rule_column = previous.rule_column
        anchor.opens = [one for one in (anchor.group, anchor.rule) if one and one not in seen]
        if anchor.opens:
            seen.update(anchor.opens)
            between = _DASH.finditer(text, previous.end if previous else 0, anchor.start)
            dashes = [len(match[0]) - 1 for match in between] or [-1]
            if anchor.group in anchor.opens:
                anchor.group_column = dashes[0]
            if anchor.rule in anchor.opens:
                anchor.rule_column = dashes[-1]
        previous = anchor
    return anchors


def _texts(group: Group) -> Iterator[tuple[Text | Expression, Rule | None]]:
    """Yield all that a group's comments can be about, each with its rule."""
    for text in (group.name, group.interval, group.query_offset, group.limit, *group.labels.values()):
        if text is not None:
            yield text, None
    for rule in group.rules:
        yield rule.name, rule
        yield rule.expression, rule
        for text in (rule.for_, rule.keep_firing_for, *rule.labels.values(), *rule.annotations.values()):
            if text is not None:
                yield text, rule


def _shares_line(anchor: _Anchor, start: int, text: str) -> str:
    """Tell whether a comment that shares its line with something is about the anchor before it: if so, how."""
    if start < anchor.end or "\n" not in text[anchor.end : start]:
        return "with it"  # in the first line of a block, `expr: |  # why`, too
    line = text[text.rfind("\n", 0, start) + 1 : start].rstrip()
    # `labels:  # why` is about what follows; `labels: *common  # why` can only be put before what is there.
    return "" if line.endswith((":", "-", "[", "{", ",")) else "with what is behind it"


def _column(text: str, index: int) -> int:
    return index - text.rfind("\n", 0, index) - 1


def said(comment: str) -> str:
    """Return a comment of YAML as one of Python: `#x` is `# x`, and what can't be seen is written out."""
    body = printable(comment[1:].replace("\t", "    ")).rstrip()
    return f"#{body}" if not body or body[0] in " #" else f"# {body}"
