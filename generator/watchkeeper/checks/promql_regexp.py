"""Regular expressions that are none, match everything or nothing, and texts that are meant as one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.promql import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.promql.nodes import Matcher

    Told = tuple[str, str, str, str]

ID = "promql/regexp"

_SPECIAL = re.compile(r"[.*+?()\[\]{}|^$\\]")
_ESCAPED = re.compile(r"\\([^\w\s])")
# A value that is hardly a text: `.*` or `.+`, words with `|` between, `^...$`, or a class of status codes as in 5.. .
_MEANT = re.compile(r"\.[*+]|^\w[\w.-]*(?:\|\w[\w.-]*)+$|^\^.*\$$|^[1-5]\.\.$")
_VARIABLE = re.compile(r"\$[\w{]|\[\[")
_EVERYTHING = frozenset({".*", "^.*$", "(.*)", ".*.*", ".*|"})
_SOMETHING = frozenset({".+", "^.+$", "(.+)"})
_NOTE = "a style point: "


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each such matcher."""
    for expression in project.expressions:
        for node in expression.of(nodes.Matcher):
            value = node.value
            told = _regexp(node, value) if node.op[-1] == "~" else _text(node, value)
            # In dashboards `$x` is a variable, and what is for a choice of several is written for one as well.
            if told is not None and not (expression.in_dashboard and (told[-1] == "note" or _VARIABLE.search(value))):
                what, why, fix, severity = told
                yield expression.finding(ID, what, node.start, node.end, why=why, fix=fix, severity=severity)


def _text(matcher: Matcher, value: str) -> Told | None:
    if len(value) < 3 or not _MEANT.search(value):
        return None
    what = f"{matcher.op} compares with the very text {_quoted(value)}, which looks like a regular expression"
    why = f"no series has that text as its {matcher.label}, so this matches {_outcome(matcher.op)}"
    return what, why, f"write {matcher.label}{matcher.op[0]}~{_quoted(value)}", "warning"


def _outcome(op: str) -> str:
    return "nothing" if op == "=" else "everything"


def _regexp(matcher: Matcher, value: str) -> Told | None:
    label, is_not = matcher.label, matcher.op == "!~"
    equal = "!=" if is_not else "="
    if not _SPECIAL.search(value):
        what = f"the regular expression {_quoted(value)} is a plain text"
        return (
            what,
            f"{_NOTE}equality says the same, and is found faster",
            f"write {label}{equal}{_quoted(value)}",
            "note",
        )
    if value in _EVERYTHING:
        if is_not:
            return f"!~{_quoted(value)} matches no series", "nothing is without a match", "mend the expression", "error"
        what = f"=~{_quoted(value)} matches everything, series without the label too"
        return what, f"{_NOTE}it says nothing", f'drop it, or write {label}!="" for series that have it', "note"
    if value in _SOMETHING:
        if is_not:
            return (
                f"!~{_quoted(value)} says that there is no {label}",
                f'{_NOTE}"" reads better',
                f'write {label}=""',
                "note",
            )
        return None
    if len(value) > 1 and (value[0] == "^" or (value[-1] == "$" and value[-2] != "\\")):
        what = f"anchors in {_quoted(value)}"
        why = f"{_NOTE}Prometheus matches the whole value anyway"
        bare = value.removeprefix("^")
        bare = bare[:-1] if bare.endswith("$") and not bare.endswith("\\$") else bare
        return what, why, f"write {label}{matcher.op}{_quoted(bare)}", "note"
    plain = _ESCAPED.sub("", value)
    if "\\" in value and not _SPECIAL.search(plain):
        text = _ESCAPED.sub(r"\1", value)
        what = f"the regular expression {_quoted(value)} matches one text"
        return (
            what,
            f"{_NOTE}equality says the same, and is found faster",
            f"write {label}{equal}{_quoted(text)}",
            "note",
        )
    return None


def _quoted(text: str) -> str:
    from watchkeeper.contract import quote

    return quote(text)
