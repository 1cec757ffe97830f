"""Alerts on an event, which end by themselves as soon as the event has left the window."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from watchkeeper.names import milliseconds
from watchkeeper.promql import nodes
from watchkeeper.proof.shape import COMPARISONS, MIRRORED, argument, bare, deciding, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.promql.nodes import Expr
    from watchkeeper.subject import Rule

ID = "alert/flapping"

_length = lru_cache(maxsize=1024)(milliseconds)  # a handful of durations in thousands of rules
_EVENTS = frozenset({"increase", "changes", "resets", "rate", "irate", "delta", "idelta"})
_KEEP_FIRING_FOR = (2, 42)  # the first Prometheus that has it
# An alert that goes on for an hour after the last event has been seen by someone.
_LONG_MS = 3_600_000


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each alert on `increase(...) > 0` and the like that nothing keeps firing."""
    if project.settings.targets.prometheus < _KEEP_FIRING_FOR:
        return
    for group in project.groups:
        for rule in group.rules:
            tree = rule.expression.tree
            if rule.is_alert and tree is not None and rule.keep_firing_for is None and not _waits(rule):
                yield from _of(rule, tree)


def _waits(rule: Rule) -> bool:
    return rule.for_ is not None and _length(rule.for_.value) != 0


def _of(rule: Rule, tree: Expr) -> Iterator[Finding]:
    for expr in deciding(tree):
        call = _event(expr)
        if call is None:
            continue
        window = getattr(argument(call), "range", None)
        if window is None or not window.ms or window.ms >= _LONG_MS:
            continue
        text = rule.expression.text
        length = text[window.start : window.end]
        what = f"it ends {length} after the last event, whether someone has looked or not"
        if rule.definition is None:
            why, severity = "a style point: one event pages and resolves, the next one pages again", "note"
        else:
            why, severity = "one event pages and resolves while people look, and the next one pages again", "warning"
        fix = "give the alert keep_firing_for, such as 15m"
        yield rule.expression.finding(ID, what, expr.start, expr.end, why=why, fix=fix, severity=severity)


def _event(expr: Expr) -> nodes.Call | None:
    """Return the call that counts events, where the expression asks for one or more of them."""
    if not isinstance(expr, nodes.Binary) or expr.op not in COMPARISONS:
        return None
    op, counted, least = expr.op, expr.lhs, number(expr.rhs)
    if least is None:
        op, counted, least = MIRRORED[op], expr.rhs, number(expr.lhs)
    if least is None or (op, least) not in {(">", 0), ("!=", 0), (">=", 1)}:
        return None
    counted = bare(counted)
    while isinstance(counted, nodes.Aggregate) and counted.op in {"sum", "max"}:
        counted = bare(counted.expr)
    return counted if isinstance(counted, nodes.Call) and counted.name in _EVENTS else None
