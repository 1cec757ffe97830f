"""Functions of counters on gauges, and of gauges on counters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project

ID = "promql/counter"

# What each wants, and what it does with the other kind.
_OF_COUNTERS = {"rate": "delta", "increase": "delta", "irate": "idelta", "resets": "changes"}
_OF_GAUGES = {"delta": "increase", "idelta": "irate", "deriv": "rate"}


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each such call."""
    for expression in project.expressions:
        for node in expression.nodes:
            if not isinstance(node, nodes.Call) or not node.args or not isinstance(node.args[0], nodes.MatrixSelector):
                continue
            name = node.args[0].selector.metric_name
            known = project.catalogue.get(name) if name else None
            if known and known.kind == "gauge" and node.name in _OF_COUNTERS:
                what = f"{node.name} of the gauge {name}"
                why = "each time the gauge falls is taken for a counter's reset, and counted as a rise from 0"
                fix = f"use {_OF_COUNTERS[node.name]}, or a function such as deriv"
            elif known and known.kind == "counter" and node.name in _OF_GAUGES:
                what = f"{node.name} of the counter {name}"
                why, fix = (
                    "it falls to a large negative number when the counter restarts",
                    f"use {_OF_GAUGES[node.name]}",
                )
            else:
                continue
            yield expression.finding(ID, what, node.start, node.name_end, why=why, fix=fix)
