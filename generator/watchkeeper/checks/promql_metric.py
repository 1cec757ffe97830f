"""Metrics in expressions that neither the contract declares nor a rule records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.findings import nearest
from watchkeeper.promql import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project

ID = "promql/metric"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each selector of an unknown metric; a name made of variables or a regex passes.

    Where others' series are not known, as in a pack just imported, there is no contract to hold names against.
    """
    catalogue = project.catalogue
    if not catalogue.closed:
        return
    for expression in project.expressions:
        for node in expression.of(nodes.VectorSelector):
            if node.variables:
                continue
            name = node.metric_name
            if name is None or catalogue.get(name) or "$" in name:
                continue
            start, end = (node.name_start, node.name_end) if node.name_end else (node.start, node.end)
            why = (
                "it matches no series"
                if expression.in_dashboard
                else "it matches no series, and the rule never does anything"
            )
            what = f'no metric "{name}" in the contract{nearest(name, catalogue.names())}'
            fix = "mend the name, or declare the metric in the pack"
            if not project.pack.metrics:
                fix = "mend the name, or give --metrics what publishes it as well"
            if _is_histogram(project, name):
                what, fix = (
                    f'"{name}" is a histogram, which has no series of that name',
                    "take its .bucket, .sum or .count",
                )
            yield expression.finding(ID, what, start, end, why=why, fix=fix)


def _is_histogram(project: Project, name: str) -> bool:
    return any(metric.name == name and metric.type == "histogram" for metric in project.pack.metrics)
