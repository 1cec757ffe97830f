"""Labels in expressions that no series there can have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.findings import nearest
from watchkeeper.promql import nodes
from watchkeeper.proof.labels import possible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.proof.labels import Labels
    from watchkeeper.subject import Expression

ID = "promql/label"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each matcher, grouping or matching label that can't be there."""
    for expression in project.expressions:
        if expression.tree is None:
            continue
        found = possible(expression.nodes, project.catalogue)
        for node in expression.nodes:
            if isinstance(node, nodes.VectorSelector):
                yield from _matchers(expression, node, found[id(node)])
            elif isinstance(node, nodes.Aggregate) and not node.without:
                yield from _absent(expression, node.grouping, found[id(node.expr)], "what is aggregated")
            elif isinstance(node, nodes.Binary) and node.matching:
                yield from _matching(expression, node, found[id(node.lhs)], found[id(node.rhs)])


def _matchers(expression: Expression, node: nodes.VectorSelector, known: Labels | None) -> Iterator[Finding]:
    for matcher in node.matchers:
        if known is not None and matcher.label not in known and matcher.label != "__name__" and not matcher.variables:
            what = f'{node.metric_name} has no label "{matcher.label}"{nearest(matcher.label, sorted(known))}'
            yield expression.finding(ID, what, matcher.start, matcher.name_end, why=_MATCHES, fix=_has(known))


def _matching(
    expression: Expression, node: nodes.Binary, left: Labels | None, right: Labels | None
) -> Iterator[Finding]:
    matching = node.matching
    assert matching is not None
    if matching.on:
        yield from _absent(expression, matching.labels, left, "the left side")
        yield from _absent(expression, matching.labels, right, "the right side")
    if matching.card in (nodes.MANY_TO_ONE, nodes.ONE_TO_MANY):
        one, side = (right, "the right side") if matching.card == nodes.MANY_TO_ONE else (left, "the left side")
        yield from _absent(expression, matching.include, one, side)


def _absent(
    expression: Expression, labels: tuple[nodes.Label, ...], known: Labels | None, where: str
) -> Iterator[Finding]:
    for label in labels:
        if known is not None and label.name not in known and not label.variables:
            what = f'{where} has no label "{label.name}"{nearest(label.name, sorted(known))}'
            yield expression.finding(
                ID, what, label.start, label.end, why="it is empty on every series", fix=_has(known)
            )


_MATCHES = "an absent label is empty: this matches nothing, or everything"


def _has(known: Labels) -> str:
    return f"the labels there are {', '.join(sorted(known))}" if known else "there are no labels there"
