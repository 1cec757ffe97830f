"""Selectors of all there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.promql.nodes import Matcher

ID = "promql/selector"

_ANYTHING = frozenset({".+", ".*", "^.+$", "^.*$", "..*", "(.+)", "(.*)"})


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each selector without a name whose matchers leave nothing out."""
    for expression in project.expressions:
        for node in expression.of(nodes.VectorSelector):
            if node.name is not None or node.variables:
                continue
            if not any(_narrows(matcher, in_dashboard=expression.in_dashboard) for matcher in node.matchers):
                what = "this selects every series there is" if _by_name(node) else "this selects metrics of any name"
                why = "each evaluation reads all of the server's series, and a new metric changes the result"
                fix = "name the metric, or give a label's value that narrows it"
                severity = "warning"
                counts = (one for one in expression.of(nodes.Aggregate) if one.op == "count")
                if any(one.expr is node for one in counts):  # how many series there are can't be told in another way
                    why, fix, severity = f"a point to look at: {why}", "count in a recording rule, and rarely", "note"
                yield expression.finding(ID, what, node.start, node.end, why=why, fix=fix, severity=severity)


def _narrows(matcher: Matcher, *, in_dashboard: bool) -> bool:
    if matcher.variables or (in_dashboard and ("$" in matcher.value or "[[" in matcher.value)):
        return True
    if matcher.op == "=":
        return True
    return matcher.op == "=~" and matcher.value not in _ANYTHING


def _by_name(node: nodes.VectorSelector) -> bool:
    return all(matcher.label == "__name__" for matcher in node.matchers)
