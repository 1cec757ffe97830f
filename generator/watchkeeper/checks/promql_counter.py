"""Functions of counters on gauges, of gauges on counters, and rates of what was added up or rated before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql import nodes
from watchkeeper.proof.kinds import BUCKET, COUNTER, GAUGE, INFO, kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.proof.kinds import Kind

ID = "promql/counter"

# What each wants, and what it does with the other kind.
_OF_COUNTERS = {"rate": "delta", "increase": "delta", "irate": "idelta"}
_OF_GAUGES = {"delta": "increase", "idelta": "irate", "deriv": "rate"}
_EITHER = _OF_COUNTERS.keys() | _OF_GAUGES.keys()
_FALLS = "each time the gauge falls is taken for a counter's reset, and counted as a rise from 0"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each such call."""
    for expression in project.expressions:
        for node in expression.of(nodes.Call):
            if node.name in _EITHER:
                found = kind(node.args[0], project.catalogue)
                told = _of_counters(node, found) if node.name in _OF_COUNTERS else _of_gauges(node, found)
                if told is not None:
                    what, why, fix, severity = told
                    yield expression.finding(ID, what, node.start, node.name_end, why=why, fix=fix, severity=severity)


def _of_counters(call: nodes.Call, found: Kind) -> tuple[str, str, str, str] | None:
    other, name = _OF_COUNTERS[call.name], found.selector.metric_name if found.selector else ""
    severity = "error" if found.sure else "warning"
    if found.kind in (GAUGE, INFO):
        if isinstance(found.maker, (nodes.Call, nodes.Aggregate)) and found.name == "" and not name:
            return f"{call.name} of a gauge: {found.because}", _FALLS, f"use {other}, or avg_over_time", severity
        if found.maker is not None or not found.sure:
            fix = "take the rate once: compare or add up the rate itself, or use avg_over_time for a longer range"
            return f"{call.name} of a gauge: {found.because}", _FALLS, fix, severity
        fix = f"use {other}, or a function such as deriv"
        what = f"{call.name} of the gauge {name}" if name == found.name else f"{call.name} of a gauge: {found.because}"
        return what, _FALLS, fix, severity
    if found.kind in (COUNTER, BUCKET) and found.summed:
        what = f"{call.name} of a sum of counters: {found.name} is added up first"
        why = "when one of them restarts the sum falls a little, and all the rest of it is counted once more: a spike"
        fix = f"take the rate first and add up then: sum({call.name}({found.name}[...]))"
        return what, why, fix, severity
    return None


def _of_gauges(call: nodes.Call, found: Kind) -> tuple[str, str, str, str] | None:
    if found.kind not in (COUNTER, BUCKET):
        return None
    fix = f"use {_OF_GAUGES[call.name]}"
    why = "it falls to a large negative number when the counter restarts"
    if found.sure:
        return f"{call.name} of the counter {found.name}", why, fix, "error"
    what = f"{call.name} of {found.name}, by its name a counter"
    return what, why, f"{fix}; if it is a gauge, its name should not end in _total", "note"
