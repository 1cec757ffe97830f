"""Alerts that add up everything before they compare: one bad instance among many good ones is not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql import nodes
from watchkeeper.proof.shape import ARITHMETIC, COMPARISONS, bare, deciding, number
from watchkeeper.proof.units import units

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.promql.nodes import Expr
    from watchkeeper.subject import Rule

ID = "alert/identity"

_HIDES = frozenset({"sum", "avg"})
_COUNTERS = ("_total", "_count", "_sum", "_bucket", "_created", "_info")
# What a scrape or a fleet is named by: a selector with one of these still takes many instances.
_FLEET = frozenset({"job", "cluster", "environment", "env", "region", "datacenter", "dc"})
# The least that two metrics of one thing have in common: node_memory_MemFree_bytes, node_memory_MemTotal_bytes.
_COMMON_WORDS = 2


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each share of sums, and each average, of gauges over everything."""
    for group in project.groups:
        for rule in group.rules:
            if rule.is_alert and rule.expression.tree is not None and any(map(_adds_up, rule.expression.nodes)):
                for expr in deciding(rule.expression.tree):
                    if isinstance(expr, nodes.Binary) and expr.op in COMPARISONS:
                        yield from _of(rule, expr.rhs if number(expr.lhs) is not None else expr.lhs, project)


def _adds_up(node: object) -> bool:
    return type(node) is nodes.Aggregate and node.op in _HIDES and not node.grouping and not node.without


def _of(rule: Rule, compared: Expr, project: Project) -> Iterator[Finding]:
    compared = bare(compared)
    while isinstance(compared, nodes.Binary) and (number(compared.lhs) is not None or number(compared.rhs) is not None):
        compared = bare(compared.rhs if number(compared.lhs) is not None else compared.lhs)  # 1 - x, x * 100
    if isinstance(compared, nodes.Aggregate):
        selector = _gauge(compared)
        if compared.op == "avg" and selector is not None and _has_unit(selector, project):
            yield _finding(rule, compared, selector, "averages", severity="warning")
        return
    if not isinstance(compared, nodes.Binary) or compared.op != "/":
        return
    above, below = _sums(compared.lhs), _sums(compared.rhs)
    if not above or not below:
        return
    selectors = [selector for _, selector in (*above, *below)]
    parts = {selector.metric_name or "" for _, selector in above}
    wholes = {selector.metric_name or "" for _, selector in below}
    if len(parts | wholes) < 2 or any(selector.matchers != selectors[0].matchers for selector in selectors):
        return  # a share of one metric by its labels is one of counts: how many are in that state
    found = units(rule.expression.nodes, project.catalogue)
    quantities = all(id(selector) in found for selector in selectors)
    if not parts.isdisjoint(wholes):
        yield _finding(rule, *above[0], "adds up", severity="warning" if quantities else "note")
    elif quantities and all(_are_of_one_thing(part, whole) for part in parts for whole in wholes):
        sure = all(_has_unit(selector, project) for selector in selectors)
        yield _finding(rule, *above[0], "adds up", severity="warning" if sure else "note")


def _finding(rule: Rule, node: nodes.Aggregate, selector: nodes.VectorSelector, does: str, *, severity: str) -> Finding:
    name = selector.metric_name
    what = f"{node.op}() {does} all of {name}: one bad instance is hidden among the good ones"
    why = "among a hundred, one that is full moves the whole by a hundredth; and the alert has no label to say which"
    if severity == "note":
        why = f"a style point: {why}"
    fix = f"compare each one by itself, without {node.op}(), or {node.op} by (instance) (...)"
    return rule.expression.finding(ID, what, node.start, node.end, why=why, fix=fix, severity=severity)


def _sums(expr: Expr) -> list[tuple[nodes.Aggregate, nodes.VectorSelector]]:
    """Return the sums over everything that an expression is made of, none where there is anything else in it."""
    found: list[tuple[nodes.Aggregate, nodes.VectorSelector]] = []
    stack = [expr]
    while stack:
        expr = bare(stack.pop())
        if number(expr) is not None:
            continue
        if isinstance(expr, nodes.Binary) and expr.op in ARITHMETIC:
            stack += (expr.rhs, expr.lhs)
            continue
        selector = _gauge(expr) if isinstance(expr, nodes.Aggregate) else None
        if selector is None:
            return []
        assert isinstance(expr, nodes.Aggregate)
        found.append((expr, selector))
    return found


def _gauge(node: nodes.Aggregate) -> nodes.VectorSelector | None:
    """Return the selector whose series are added up as they are, None for counts, rates and single things."""
    selector = bare(node.expr)
    if not _adds_up(node) or not isinstance(selector, nodes.VectorSelector):
        return None
    name = selector.metric_name or ""
    if not name or name == "up" or ":" in name or name.endswith(_COUNTERS):
        return None
    if any(matcher.op == "=" and matcher.label not in _FLEET for matcher in selector.matchers):
        return None
    return selector


def _has_unit(selector: nodes.VectorSelector, project: Project) -> bool:
    """Tell whether the contract says that it is a quantity, and no state of 0 or 1."""
    known = project.catalogue.get(selector.metric_name or "")
    return known is not None and known.kind == "gauge" and known.metric is not None and known.metric.unit != ""


def _are_of_one_thing(name: str, other: str) -> bool:
    words = zip(name.split("_"), other.split("_"), strict=False)
    common = next((at for at, (a, b) in enumerate(words) if a != b), _COMMON_WORDS)
    return common >= _COMMON_WORDS
