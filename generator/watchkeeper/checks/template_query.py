"""Queries inside templates, which nobody sees fail but the reader of the alert."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.checks._templates import templates
from watchkeeper.findings import nearest
from watchkeeper.promql import ParseError, nodes, parse, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.checks._templates import Written
    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.proof.catalogue import Catalogue
    from watchkeeper.ruler.template import Use

ID = "template/query"

_ERROR = "the whole text is an error message instead"
_FAILS = f"the file loads, and when the alert fires {_ERROR}"
_GUARD = re.compile(r"\{\{-?\s*(?:else\s+)?(?:with|range|if)\b")


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each query that can't be, that finds nothing, or whose empty answer makes an error."""
    for one in templates(project.groups):
        if "query" not in one.text.value:
            continue
        for use in one.uses:
            if use.kind == "query":
                yield from _of_query(one, use, project.catalogue)
            elif use.kind == "function" and use.name == "first" and not _GUARD.search(one.text.value):
                what = "first of a query that may give nothing"
                fix = "write {{ with query ... }}{{ . | first | value }}{{ end }}"
                severity, why = "warning", _FAILS
                if one.rule is None or one.rule.definition is None:  # what the query may find is not known
                    severity, why = "note", f"a style point: where it does, {_ERROR}"
                yield one.finding(ID, what, use.position, use.end, why=why, fix=fix, severity=severity)


def _of_query(one: Written, use: Use, catalogue: Catalogue) -> Iterator[Finding]:
    if use.name is None:  # put together when the alert fires
        return
    text = one.text.value
    # Where the string is written as it is meant, places in the query are places in the template.
    inside = text[use.position + 1 : use.end - 1] == use.name
    try:
        tree = parse(use.name)
    except ParseError as error:
        start, end = (use.position + 1 + error.position, use.position + 1 + error.end) if inside else (
            use.position, use.end
        )  # fmt: skip
        what = f"the query is no PromQL: {error.message}"
        yield one.finding(ID, what, start, max(end, start + 1), why=_FAILS, fix="try the query by itself")
        return
    for node in walk(tree):
        if isinstance(node, nodes.VectorSelector):
            name = node.metric_name
            if name and catalogue.closed and catalogue.get(name) is None:
                start, end = (use.position + 1 + node.start, use.position + 1 + node.end) if inside else (
                    use.position, use.end
                )  # fmt: skip
                what = f"the query finds nothing: there is no metric {name}{nearest(name, catalogue.names())}"
                yield one.finding(ID, what, start, end, why="the text lacks what it should tell", fix="declare it")
