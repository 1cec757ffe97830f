"""Counters compared or drawn as they are: how high one stands says how long the process runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql import nodes
from watchkeeper.promql.functions import SCALAR
from watchkeeper.proof.kinds import BUCKET, COUNTER, kind
from watchkeeper.proof.shape import COMPARISONS, MIRRORED, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.promql.nodes import Expr
    from watchkeeper.proof.catalogue import Catalogue
    from watchkeeper.proof.kinds import Kind
    from watchkeeper.subject import Expression

ID = "promql/raw-counter"

_WHY = "a counter starts at 0 with its process and only rises: how high it stands tells how long that runs"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each comparison or ratio of counters, and each panel of one."""
    for expression in project.expressions:
        for node in expression.of(nodes.Binary):
            if node.op in COMPARISONS:
                yield from _comparison(expression, node, project.catalogue)
            elif node.op == "/" and SCALAR not in (node.rhs.type, node.lhs.type):
                yield from _ratio(expression, node, project.catalogue)
        if expression.in_dashboard and expression.tree is not None and not expression.is_variable:
            yield from _panel(expression, expression.tree, project.catalogue)


def _counter(expr: Expr, catalogue: Catalogue) -> Kind | None:
    found = kind(expr, catalogue)
    return found if found.kind in (COUNTER, BUCKET) else None


def _comparison(expression: Expression, node: nodes.Binary, catalogue: Catalogue) -> Iterator[Finding]:
    if node.rhs.type == SCALAR:
        side, other, op = node.lhs, node.rhs, node.op
    elif node.lhs.type == SCALAR:
        side, other, op = node.rhs, node.lhs, MIRRORED[node.op]
    else:
        return
    if side.type == SCALAR:
        return
    found = _counter(side, catalogue)
    limit = number(other)
    # 0 is a fact about the whole life of a counter: nothing has happened yet.
    if found is None or (limit is not None and (op, limit) in _NOTHING_YET) or _is_guard(expression, found):
        return
    fix = f"compare how fast it rises, such as increase({found.name}[5m]) {op} ..."
    if limit is not None and (op, limit) in _EVER:
        what = f"{_named(found)} is {op} {limit:g} from the first event on until the process restarts"
        why = "an alert on it can't be resolved by mending the cause"
        yield expression.finding(ID, what, node.start, node.end, why=why, fix=fix, severity="note")
        return
    what = f"{_named(found)} is compared with a number"
    yield expression.finding(ID, what, node.start, node.end, why=_WHY, fix=fix, severity=_severity(found))


_NOTHING_YET = {("==", 0), ("<", 1), ("<=", 0)}
_EVER = {(">", 0), ("!=", 0), (">=", 1)}


def _is_guard(expression: Expression, found: Kind) -> bool:
    """Tell whether it may say "enough has happened yet" beside a condition proper, or "this counter is new"."""
    joined = windows = False
    for node in expression.nodes:
        if isinstance(node, nodes.Binary) and node.op in ("and", "unless"):
            joined = True
        elif isinstance(node, nodes.MatrixSelector) or (isinstance(node, nodes.VectorSelector) and node.offset):
            windows = True
    return joined and (windows or not found.sure)


def _ratio(expression: Expression, node: nodes.Binary, catalogue: Catalogue) -> Iterator[Finding]:
    above = _counter(node.lhs, catalogue)
    below = above and _counter(node.rhs, catalogue)
    if above and below:
        sure = above.sure and below.sure
        what = f"a ratio of {above.name} and {below.name} as they stand{'' if sure else ', counters by their names'}"
        why = "it is the share since the processes started: after a week an outage of an hour hardly moves it"
        fix = f"divide what they rose by: rate({above.name}[5m]) / rate({below.name}[5m])"
        severity = "warning" if sure else "note"
        yield expression.finding(ID, what, node.start, node.end, why=why, fix=fix, severity=severity)


def _panel(expression: Expression, tree: Expr, catalogue: Catalogue) -> Iterator[Finding]:
    found = _counter(tree, catalogue)
    if found:
        fix = f"draw how fast it rises: rate({found.name}[$__rate_interval])"
        what = f"{_named(found)} is drawn as it stands"
        yield expression.finding(ID, what, tree.start, tree.end, why=_WHY, fix=fix, severity=_severity(found))


def _severity(found: Kind) -> str:
    return "warning" if found.sure else "note"


def _named(found: Kind) -> str:
    """Return what to call it; a gauge may be named as a counter, so where only the name speaks that is said."""
    return f"the counter {found.name}" if found.sure else f"{found.name}, by its name a counter,"
