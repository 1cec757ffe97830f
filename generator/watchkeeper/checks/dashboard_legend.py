"""Legends, and variables, that take the values of a label which the query's result can't have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.promql.nodes import VectorSelector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.proof.catalogue import Catalogue
    from watchkeeper.subject import Expression

ID = "dashboard/legend"

# As Grafana reads them. What has a variable in it is another label once that has its value; Helm's marks are none.
_LABEL = re.compile(r"\{\{\s*([A-Za-z_][\w.]*)\s*\}\}")
# As alerts have them.
_OF_ALERT = re.compile(r"\{\{\s*(\$labels\.(\w+)|\$value)\s*\}\}")

_GONE = "Grafana shows nothing in its place"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each label of a legend, or of a variable, that is not there."""
    for expression in project.expressions:
        if expression.tree is None or (expression.legend is None and expression.label is None):
            continue
        labels = expression.flow(project.catalogue).of(expression.tree)
        if expression.label:
            name = expression.label.value
            fate = labels.label(name)
            if fate.status == "impossible":
                what = f'{expression.owner}: there is no label "{name}" to take values of: {fate.reason}'
                fix = "take the values of a label that is there"
                severity = "warning" if _is_recorded(expression, project.catalogue) else "error"
                yield expression.label.finding(ID, what, why="the variable has no values", fix=fix, severity=severity)
        if expression.legend:
            for match in _OF_ALERT.finditer(expression.legend.value):
                what = f"{expression.owner}: {match[1]} is for templates of alerts, no legend knows it"
                fix = f"write {{{{ {match[2]} }}}}" if match[2] else "leave it out: the graph shows the value"
                at = match.span(1)
                yield expression.legend.finding(ID, what, *at, why=_GONE, fix=fix, severity="warning")
            for match in _LABEL.finditer(expression.legend.value):
                fate = labels.label(match[1])
                if fate.status == "impossible":
                    what = f'{expression.owner}: the legend names the label "{match[1]}", which is gone: {fate.reason}'
                    fix = "name a label that is there, or keep this one in the query"
                    at = match.span(1)
                    yield expression.legend.finding(ID, what, *at, why=_GONE, fix=fix, severity="warning")


def _is_recorded(expression: Expression, catalogue: Catalogue) -> bool:
    """Tell whether the labels are those of rules in files: a server beyond, as Thanos', may add some of its own."""
    if catalogue.closed:
        return False
    return any(type(node) is VectorSelector and catalogue.recorded(node.metric_name or "") for node in expression.nodes)
