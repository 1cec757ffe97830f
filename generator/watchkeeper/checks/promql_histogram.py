"""Quantiles: of what is no histogram, of buckets that lost `le` or were not rated, and outside 0 to 1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from watchkeeper.promql import nodes
from watchkeeper.promql.functions import SCALAR
from watchkeeper.proof.kinds import BUCKET, COUNTER, GAUGE, INFO
from watchkeeper.proof.kinds import kind as kind_of
from watchkeeper.proof.shape import ARITHMETIC, KEEPS, SAMPLES, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.promql.nodes import Expr
    from watchkeeper.proof.catalogue import Catalogue
    from watchkeeper.subject import Expression

    Groups = tuple[tuple[nodes.Aggregate, nodes.VectorSelector | None], ...]
    Told = tuple[str, int, int, str, str, str]

ID = "promql/histogram"

# Where the quantiles stand among the arguments.
_QUANTILES = {"histogram_quantile": 0, "quantile_over_time": 0, "histogram_quantiles": 2}
_RANGES = frozenset({"rate", "increase", "irate", "delta", "idelta", "sum_over_time", "avg_over_time"})


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each such quantile."""
    for expression in project.expressions:
        for node in expression.of(nodes.Call):
            if node.name in _QUANTILES:
                at = _QUANTILES[node.name]
                for argument in node.args[at:] if at else node.args[:1]:
                    yield from _outside(expression, argument)
                if node.name != "quantile_over_time":
                    for what, start, end, why, fix, severity in _of(node.args[0 if at else 1], project.catalogue):
                        yield expression.finding(ID, what, start, end, why=why, fix=fix, severity=severity)
        for aggregate in expression.of(nodes.Aggregate):
            if aggregate.op == "quantile" and aggregate.param is not None:
                yield from _outside(expression, aggregate.param)


def _outside(expression: Expression, argument: Expr) -> Iterator[Finding]:
    value = number(argument)
    if value is None or 0 <= value <= 1:
        return
    fix = "give a number from 0 to 1, such as 0.99"
    if 1 < value <= 100:
        fix = f"a quantile is a fraction: write {round(value / 100, 6):g} for the {value:g}th percentile"
    what = f"the quantile {value:g} is not from 0 to 1"
    why = f"the result is {'+Inf' if value > 1 else 'NaN' if math.isnan(value) else '-Inf'} whatever the data"
    yield expression.finding(ID, what, argument.start, argument.end, why=why, fix=fix)


def _of(expr: Expr, catalogue: Catalogue) -> Iterator[Told]:
    """Follow the ways from a quantile to its series, through recording rules too: yield what is wrong on them."""
    stack: list[tuple[Expr, bool, Groups, nodes.VectorSelector | None]] = [(expr, False, (), None)]
    seen: set[str] = set()
    while stack:
        node, rated, groups, via = stack.pop()  # via: the recorded series whose rule this is a part of
        if isinstance(node, (nodes.Paren, nodes.Unary, nodes.Subquery)):
            stack.append((node.expr, rated, groups, via))
        elif isinstance(node, nodes.MatrixSelector):
            stack.append((node.selector, rated, groups, via))
        elif isinstance(node, nodes.Aggregate):
            if not node.variables and node.op != "count_values":
                stack.append((node.expr, rated, groups if node.op in SAMPLES else (*groups, (node, via)), via))
        elif isinstance(node, nodes.Call):
            if (node.name in _RANGES or node.name in KEEPS) and node.args and not _sets_le(node):
                stack.append((node.args[0], rated or node.name in _RANGES, groups, via))
        elif isinstance(node, nodes.Binary):
            if node.op in ARITHMETIC or node.op == "or":
                stack += ((side, rated, groups, via) for side in (node.rhs, node.lhs) if side.type != SCALAR)
            else:
                stack.append((node.rhs if node.lhs.type == SCALAR else node.lhs, rated, groups, via))
        elif isinstance(node, nodes.VectorSelector) and node.metric_name and not node.variables:
            rules = catalogue.recorded(node.metric_name)
            if not rules:
                yield from _series(node, node.metric_name, groups, via, catalogue, rated=rated)
            elif node.metric_name not in seen:
                seen.add(node.metric_name)
                stack += ((rule, rated, groups, via or node) for rule in rules)


def _sets_le(call: nodes.Call) -> bool:
    """Tell whether label_replace or label_join may make a label `le`."""
    label = call.args[1] if call.name in ("label_replace", "label_join") else None
    return label is not None and not (isinstance(label, nodes.StringLiteral) and label.value != "le")


def _series(
    node: nodes.VectorSelector,
    name: str,
    groups: Groups,
    via: nodes.VectorSelector | None,
    catalogue: Catalogue,
    *,
    rated: bool,
) -> Iterator[Told]:
    found = kind_of(node, catalogue)
    start, end = _place(node, via)
    recorded = f"{via.metric_name} is recorded, and " if via else ""
    if found.kind == BUCKET:
        yield from _buckets(name, groups)
        if not rated:
            why = "it is the quantile since each process started: after a week an hour of slow calls hardly moves it"
            yield f"{recorded}{name} is not rated", start, end, why, f"write rate({name}[5m])", "warning"
    elif found.sure and found.kind in (COUNTER, GAUGE, INFO):
        known = catalogue.get(name)
        if known is not None and known.metric is not None and known.metric.type == "histogram":
            what = f"{name} is the {'sum' if name.endswith('_sum') else 'count'} of a histogram, not its buckets"
            fix = f"take {known.metric.name}_bucket"
        else:
            article = "an" if found.kind == INFO else "a"
            what = f"{name} is {article} {found.kind}, and no histogram"
            fix = "for a quantile over series, use quantile(0.99, ...)"
        yield recorded + what, start, end, "without buckets the result is empty", fix, "error"


def _place(node: nodes.Node, via: nodes.VectorSelector | None) -> tuple[int, int]:
    node = via or node
    if isinstance(node, nodes.VectorSelector) and node.name_end:
        return node.name_start, node.name_end
    return node.start, node.end


def _buckets(name: str, groups: Groups) -> Iterator[Told]:
    for group, via in groups:
        if any(label.variables for label in group.grouping):
            continue
        start, end = _place(group, via)
        recorded = f"{via.metric_name} is recorded, and " if via else ""
        names = [label.name for label in group.grouping]
        if ("le" in names) == group.without:
            how = f"{group.op} {group.modifier} ({', '.join(names)})" if group.modifier else f"{group.op} without by"
            fix = f"write {group.op} by ({', '.join([*names, 'le'])}) (...)"
            fix = "take le out of without (...)" if group.without else fix
            what = f"{recorded}{how} drops le, which tells the buckets of {name} apart"
            yield what, start, end, "histogram_quantile finds no buckets, and the result is empty", fix, "error"
        elif group.op != "sum":
            why = "the buckets of one histogram come from several others: their counts fit no distribution"
            severity = "warning"
            if group.op == "avg":
                why, severity = "a style point: it is the same as the sum where all series have all buckets", "note"
            what = f"{recorded}{group.op} of the buckets of {name}"
            yield what, start, end, why, "add buckets up: sum by (le, ...)", severity
