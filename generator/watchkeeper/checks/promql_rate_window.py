"""Ranges that hold too few samples for a rate."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.promql import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.subject import Expression

ID = "promql/rate-window"

# These need two samples or more.
_OF_TWO = frozenset({"rate", "increase", "irate", "delta", "idelta", "deriv", "predict_linear"})
_MINUTE = 60_000
# A range in seconds, or a subquery: other ranges are of interest where they are of what rules record.
_SHORT = re.compile(r"\[[^\]]*(?:[s0-9]\s*\]|:)")


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each range shorter than two of the steps that its samples come in, where these are known.

    A recorded series has a sample for each evaluation of its group, a subquery one for each of its steps. How often a
    target is scraped, no rule file says: a range below a minute is a note.
    """
    intervals = _intervals(project)
    for group in project.groups:
        for rule in group.rules:
            expression = rule.expression
            if not (_SHORT.search(expression.text) or expression.may_read(intervals)):
                continue
            for node in expression.of(nodes.Call):
                if node.name in _OF_TWO:
                    yield from _window(expression, node, intervals)
    for expression in project.expressions:
        if expression.in_dashboard:
            for node in expression.of(nodes.Call):
                if node.name in _OF_TWO:
                    yield from _window(expression, node, intervals)


def _intervals(project: Project) -> dict[str, int]:
    """Return the longest interval at which each recorded series is written, of groups that say theirs."""
    found: dict[str, int] = {}
    for group in project.groups:
        every = group.interval_ms
        for rule in group.rules:
            if every is not None and not rule.is_alert:
                found[rule.name.value] = max(every, found.get(rule.name.value, 0))
    return found


def _window(expression: Expression, call: nodes.Call, intervals: dict[str, int]) -> Iterator[Finding]:
    samples = call.args[0]
    if isinstance(samples, nodes.Subquery):
        step = samples.step.ms if samples.step is not None else None
        source = "the subquery"
    elif isinstance(samples, nodes.MatrixSelector) and not (samples.selector.anchored or samples.selector.smoothed):
        name = samples.selector.metric_name
        step = intervals.get(name) if name else None
        source = f"{name} is recorded, and its group"
    else:
        return
    length = samples.range.ms
    if length is None:
        return
    if step:
        if length >= 2 * step:
            return
        severity = "error" if length < step else "warning"
        what = f"{call.name} over {_seconds(length)}, and {source} gives a sample every {_seconds(step)}"
        why = "it needs two samples, and the range often holds fewer: then there is no result"
        fix = f"take a range of {_seconds(4 * step)} or more"
    elif isinstance(samples, nodes.MatrixSelector) and not expression.in_dashboard and 0 < length < _MINUTE:
        severity = "note"
        what = f"{call.name} over {_seconds(length)}: too short unless targets are scraped every {length / 4000:g}s"
        why = "a point to look at: a range should hold four scrapes, so that a failed one does not leave a gap"
        fix = "take a range of four scrape intervals or more"
    else:
        return
    at = samples.range.start, samples.range.end
    yield expression.finding(ID, what, *at, why=why, fix=fix, severity=severity)


def _seconds(ms: int) -> str:
    return f"{ms // _MINUTE}m" if ms % _MINUTE == 0 else f"{ms / 1000:g}s"
