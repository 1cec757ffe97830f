"""Series that a change takes away, and what still reads them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from watchkeeper.findings import Finding, nearest, shorten
from watchkeeper.promql import nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from watchkeeper.files import Contents
    from watchkeeper.subject import Expression

ID = "rule/dependency"


def dependents(
    contents: Contents, paths: Sequence[str], former: Callable[[Callable[[str], bool]], Mapping[str, bytes]]
) -> list[Finding]:
    """Return a finding for each query of a series that files below the paths recorded, and none records any more.

    `former` returns what was in those files for whose names a function is true, as `changes.former` does.
    """
    now = {rule.name.value for group in contents.groups for rule in group.rules if not rule.is_alert}
    # Of what can't be read as it is now it is not known what it records.
    broken = {os.path.realpath(one.place.file) for one in contents.findings if one.place and one.severity == "error"}
    below = _below(paths)
    gone: dict[str, str] = {}
    for name, raw in former(lambda path: path not in broken and below(path)).items():
        for series in _recorded(name, raw):
            if series not in now:
                gone.setdefault(series, name)
    if not gone:
        return []
    expressions = [rule.expression for group in contents.groups for rule in group.rules]
    expressions += [expression for board in contents.dashboards for expression in board.expressions]
    return list(_readers(expressions, gone, sorted(now)))


def _readers(expressions: Iterable[Expression], gone: Mapping[str, str], now: Sequence[str]) -> Iterator[Finding]:
    meant: dict[str, str] = {}
    for expression in expressions:
        if not expression.may_read(gone):
            continue
        # With another source beside it, the old one is for the time before; without a colon it may be a metric too.
        spared = any(node.op == "or" for node in expression.of(nodes.Binary))
        for node in expression.of(nodes.VectorSelector):
            name = node.metric_name
            if name is None or name not in gone:
                continue
            start, end = (node.name_start, node.name_end) if node.name_end else (node.start, node.end)
            if name not in meant:
                meant[name] = nearest(name, now)
            what = f"{name} is recorded no more{meant[name]}"
            why = f"{shorten(gone[name])} recorded it before, and nothing here does: the query finds nothing new"
            severity = "warning" if spared or ":" not in name else "error"
            yield expression.finding(
                ID, what, start, end, why=why, fix="keep the recording rule, or mend this query", severity=severity
            )


def _below(paths: Sequence[str]) -> Callable[[str], bool]:
    """Return whether a file is, or was, one of those that are read for the paths."""
    from watchkeeper.read.paths import SUFFIXES

    real = [os.path.realpath(path) for path in paths]
    folders = [f"{path.rstrip('/')}/" for path in real if os.path.isdir(path)]  # noqa: PTH112 - pathlib is slow to load

    def below(path: str) -> bool:
        if path in real:
            return True
        if not path.endswith(SUFFIXES):
            return False
        inner = (f"/{path.removeprefix(folder)}" for folder in folders if path.startswith(folder))
        return any("/." not in one and "/node_modules/" not in one for one in inner)

    return below


def _recorded(name: str, raw: bytes) -> Iterator[str]:
    """Yield the names of the series that a file recorded; none of what can't be read."""
    from watchkeeper.read import kinds
    from watchkeeper.read.files import LARGEST
    from watchkeeper.read.rules import rule_groups
    from watchkeeper.read.source import File

    if b"record" not in raw or b"\0" in raw or len(raw) > LARGEST:
        return
    try:
        file = File(name, raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return
    for kind, node, _ in kinds.parts(file):
        if kind == kinds.RULES:
            for group in rule_groups(node, file)[0]:
                yield from (rule.name.value for rule in group.rules if not rule.is_alert)
