"""Labels in expressions that no series there can have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.findings import nearest
from watchkeeper.promql import nodes
from watchkeeper.proof.flow import GUARANTEED, IMPOSSIBLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.proof.catalogue import Catalogue
    from watchkeeper.proof.flow import Fate, Labels
    from watchkeeper.subject import Expression

ID = "promql/label"

_VARIABLE = re.compile(r"\$[\w{]|\[\[")


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each matcher, grouping or matching label that can't be there.

    It is an error where the contract says so, and else a warning, or a note where the sides may still match.
    """
    catalogue = project.catalogue
    for expression in project.expressions:
        if expression.tree is None:
            continue
        flow = expression.flow(catalogue)
        for node in expression.nodes:
            if isinstance(node, nodes.VectorSelector):
                if node.matchers:
                    yield from _matchers(expression, node, catalogue)
            elif isinstance(node, nodes.Aggregate):
                if node.grouping and not node.without:
                    yield from _absent(expression, node.grouping, flow.of(node.expr), "what is aggregated")
            elif isinstance(node, nodes.Binary):
                matching = node.matching
                if matching is not None and (matching.on or matching.include):
                    yield from _matching(expression, matching, flow.of(node.lhs), flow.of(node.rhs))


def _matchers(expression: Expression, node: nodes.VectorSelector, catalogue: Catalogue) -> Iterator[Finding]:
    name = node.metric_name
    known = catalogue.get(name) if name else None
    if known is None or node.variables:
        return
    for matcher in node.matchers:
        label = matcher.label
        if label != "__name__" and not matcher.variables and known.never_has(label):
            fate, severity = known.fate(label, node), "error"
            if expression.in_dashboard and not fate.by_contract:
                # Dashboards of one cluster and of many are one where $cluster may be empty; and what a query reads may
                # be the recordings of many servers, with labels that tell these apart.
                if _VARIABLE.search(matcher.value):
                    continue
                severity = "warning"
            what = f'{name} has no label "{label}"{_near(label, known.labels)}'
            why = _why("an absent label is empty: this matches nothing, or everything", fate)
            at = matcher.start, matcher.name_end
            yield expression.finding(ID, what, *at, why=why, fix=_fix(known.labels), severity=severity)


def _matching(expression: Expression, matching: nodes.VectorMatching, left: Labels, right: Labels) -> Iterator[Finding]:
    if matching.on:
        for label in matching.labels:
            fates = left.label(label.name), right.label(label.name)
            for there, mine, other, side in ((left, *fates, "left"), (right, *fates[::-1], "right")):
                # What is always there on the other side never matches: promql/join tells of that.
                if mine.status == IMPOSSIBLE and (mine.by_contract or other.status != GUARANTEED):
                    yield from _absent(expression, (label,), there, f"the {side} side", "note")
    if matching.include:
        many_first = matching.card == nodes.MANY_TO_ONE
        one, side = (right, "the right side") if many_first else (left, "the left side")
        yield from _absent(expression, matching.include, one, side)


def _absent(
    expression: Expression, labels: tuple[nodes.Label, ...], there: Labels, where: str, severity: str = "warning"
) -> Iterator[Finding]:
    for label in labels:
        name = label.name
        fate = there.label(name)
        if fate.status == IMPOSSIBLE and not label.variables and name != "__name__":
            names = there.names()
            what = f'{where} has no label "{name}"{_near(name, names)}'
            how = "error" if fate.by_contract else severity
            text = _EMPTY if how != "note" else _STYLE
            yield expression.finding(
                ID, what, label.start, label.end, why=_why(text, fate), fix=_fix(names), severity=how
            )


_EMPTY = "it is empty on every series"
_STYLE = "a matter of style if no series on the other side has it; those that have it never match"


def _why(text: str, fate: Fate) -> str:
    return text if fate.by_contract else f"{text}: {fate.reason}"


def _near(label: str, names: Iterable[str] | None) -> str:
    return nearest(label, sorted(names)) if names else ""


def _fix(names: frozenset[str] | None) -> str:
    if names is None:
        return "leave it out, or keep it where it goes"
    return f"the labels there are {', '.join(sorted(names))}" if names else "there are no labels there"
