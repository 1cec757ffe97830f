"""Labels followed through an expression: of each, whether a result has it, always, perhaps or never, and why.

    flow = Flow(tuple(walk(tree)), catalogue)
    flow.of(tree).label("instance").status, flow.of(tree).label("instance").reason

What is called guaranteed is on every result, what is called impossible on none, and an expression that is called empty
has none, whatever the data is, as long as the series are those of the catalogue. This holds for Prometheus 2.42 and
newer, with and without delayed removal of metric names.
"""

from __future__ import annotations

from watchkeeper.promql import nodes
from watchkeeper.proof.branches import Branch, Fate, Labels
from watchkeeper.proof.calls import anything, bounds_of, called, nameless, unlabelled
from watchkeeper.proof.facts import (
    GUARANTEED,
    IMPOSSIBLE,
    MAYBE,
    METADATA,
    NAME,
    NEVER,
    POSSIBLE,
    SURE,
    aggregated,
    counted,
    drops_name,
    either,
    named,
    perhaps,
    physical,
    unknown_series,
    variable,
)
from watchkeeper.proof.joins import TRUTH, joined
from watchkeeper.proof.matchers import selected
from watchkeeper.proof.matching import at_odds, never_match, set_operation
from watchkeeper.proof.relabel import any_label, texts
from watchkeeper.proof.shape import ARITHMETIC, COMPARISONS, MIRRORED, SAMPLES
from watchkeeper.proof.values import compared, constant, is_empty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from watchkeeper.promql.nodes import Aggregate, Binary, Call, Unary, VectorSelector
    from watchkeeper.proof.branches import Cause
    from watchkeeper.proof.catalogue import Catalogue
    from watchkeeper.proof.facts import Fact

__all__ = ["GUARANTEED", "IMPOSSIBLE", "POSSIBLE", "Branch", "Fate", "Flow", "Labels", "never_match"]

_SET_OPERATORS = frozenset({"and", "or", "unless"})


class Flow:
    """The labels of all nodes of one expression; `nodes` are its nodes as `walk` yields them, parents before children.

    `causes` are the places where a part of it becomes empty: see `Labels.empty`.
    """

    __slots__ = ("_found", "catalogue", "causes")

    def __init__(self, nodes: Sequence[nodes.Node], catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.causes: list[Cause] = []
        self._found: dict[int, Labels] = {}
        found = self._found
        steps = _STEPS
        for node in reversed(nodes):  # children before parents; a long chain would be too deep to recurse
            step = steps.get(type(node))
            if step is not None:
                found[id(node)] = step(self, node)

    def of(self, node: nodes.Node) -> Labels:
        """The labels of what an expression node yields."""
        found = self._found.get(id(node))
        if found is None:  # numbers and strings are many, and hardly ever asked for
            found = self._found[id(node)] = unlabelled(node, bounds_of(node, self._found))
        return found


def _selector(flow: Flow, node: VectorSelector) -> Labels:
    name = node.metric_name
    known = None
    if name is not None and not (node.variables and _in_name(node)):
        known = flow.catalogue.get(name)
    name_fact: Fact = (MAYBE, unknown_series, node, None) if name is None else (SURE, named, node, name)
    facts: dict[str, Fact]
    rest: Fact
    if known is None:
        facts, rest = {}, (MAYBE, unknown_series, node, None)
        if node.variables:
            name_fact = (MAYBE, variable, node, None)
    else:
        facts, rest = known.facts, known.rest
    if not node.matchers:
        return Labels((Branch(facts, rest, name_fact, node),))
    facts, name_fact, cause = selected(node, facts, rest, name_fact)
    if cause is not None:
        flow.causes.append(cause)
    return Labels((Branch(facts, rest, name_fact, node),), cause)


def _in_name(node: VectorSelector) -> bool:
    return any(one.start < node.name_end for one in node.variables)


def _inner(flow: Flow, node: nodes.Paren | nodes.Subquery) -> Labels:
    return flow.of(node.expr)


def _matrix(flow: Flow, node: nodes.MatrixSelector) -> Labels:
    return flow._found[id(node.selector)]  # noqa: SLF001 - of this module


def _unary(flow: Flow, node: Unary) -> Labels:
    inner = flow.of(node.expr)
    if node.op == "+" or node.type == "scalar":
        return inner if node.op == "+" else unlabelled(node)
    return nameless(inner, node, inner.cause)


def _variable(flow: Flow, node: nodes.Variable | nodes.Template) -> Labels:  # noqa: ARG001 - called as the others
    return anything(node)


def _call(flow: Flow, node: Call) -> Labels:
    return called(node, flow._found, flow.causes)  # noqa: SLF001 - of this module


def _binary(flow: Flow, node: Binary) -> Labels:
    found = flow._found  # noqa: SLF001 - of this module
    if node.matching is not None:
        left, right = found[id(node.lhs)], found[id(node.rhs)]
        if node.op in _SET_OPERATORS:
            return set_operation(node, left, right, flow.causes)
        return joined(node, left, right, flow.causes)
    swapped = node.lhs.type == "scalar"
    if swapped and node.rhs.type == "scalar":
        return unlabelled(node)
    scalar = node.lhs if swapped else node.rhs
    vector = found[id(node.rhs if swapped else node.lhs)]
    op = node.op
    if op in ARITHMETIC:
        labels = nameless(vector, node, vector.cause)
        if op == "atan2":  # 2.42 forgets to drop the name
            branches = zip(labels.branches, vector.branches, strict=True)
            return Labels(tuple([new.named(either(new.name, old.name)) for new, old in branches]), vector.cause)
        return labels
    if op not in COMPARISONS:  # operators that trim histograms; floats give nothing
        dropped: Fact = (NEVER, drops_name, node, None)
        branches_ = tuple([branch.named(either(branch.name, dropped)) for branch in vector.branches])
        return Labels(branches_, vector.cause)
    if node.return_bool:
        labels = nameless(vector, node, vector.cause)
        labels.bounds = TRUTH
        return labels
    number = constant(bounds_of(scalar, found))
    if number is None:
        return vector
    bounds = compared(MIRRORED[op] if swapped else op, vector.bounds, number)
    cause = vector.cause
    if cause is None and is_empty(bounds):
        cause = (at_odds if constant(vector.bounds) is None else never_true, node, None)
        flow.causes.append(cause)
    return Labels(vector.branches, cause, bounds)


def never_true(_: object, node: Binary, label: str) -> str:  # noqa: ARG001 - reasons are called alike
    """Why a comparison of numbers gives nothing."""
    return "the comparison of two numbers is never true"


def _aggregate(flow: Flow, node: Aggregate) -> Labels:
    inner = flow.of(node.expr)
    op = node.op
    if op in SAMPLES:
        return inner
    branches = inner.branches
    if node.variables:
        return Labels(tuple([any_label(branch, node) for branch in branches]), inner.cause)
    made = [_without(node, branch) if node.without else _by(node, branch) for branch in branches]
    if len(made) > 1 and len({branch.name[1] is drops_name for branch in branches}) > 1:
        made = [_some_nameless(node, branch) for branch in made]
    for label in node.grouping:
        if label.variables:
            made = [any_label(branch, node) for branch in made]
    if op == "count_values":
        made = [_counted(node, branch) for branch in made]
    return Labels(tuple(made), inner.cause)


def _by(node: Aggregate, branch: Branch) -> Branch:
    gone: Fact = (NEVER, aggregated, node, None)
    if not node.grouping:
        return Branch({}, gone, gone, branch.source)
    facts = {}
    name = gone
    for label in node.grouping:
        if label.name == NAME:
            name = branch.name
        else:
            facts[label.name] = branch.fact(label.name)
    return Branch(facts, gone, name, branch.source)


def _without(node: Aggregate, branch: Branch) -> Branch:
    facts = dict(branch.facts)
    for label in node.grouping:
        if label.name != NAME:
            facts[label.name] = (NEVER, aggregated, label, node)
    return Branch(facts, branch.rest, (NEVER, aggregated, node, None), branch.source)


def _some_nameless(node: Aggregate, branch: Branch) -> Branch:
    """A branch of several, where a group may lose its name with one member whose name is still to be dropped."""
    name = branch.name
    return branch.named(either((NEVER, drops_name, node, None), name)) if name[0] != NEVER else branch


def _counted(node: Aggregate, branch: Branch) -> Branch:
    """The label that count_values writes; one that `without` names goes again."""
    given = None if node.param is None else texts((node.param,))
    if given is None or "$" in given[0]:
        return any_label(branch, node)
    (target,) = given
    if node.without and (target == NAME or any(label.name == target for label in node.grouping)):
        return branch
    branch = branch.named(physical(branch.name))  # it is not dropped any more where its removal was still to come
    fact: Fact = (SURE, counted, node, None)
    return branch.having(target, perhaps(fact, counted, node) if target in METADATA else fact)


# Each takes the nodes of its own type.
_STEPS: dict[type[nodes.Node], Callable[[Flow, Any], Labels]] = {
    nodes.VectorSelector: _selector,
    nodes.MatrixSelector: _matrix,
    nodes.Subquery: _inner,
    nodes.Paren: _inner,
    nodes.Unary: _unary,
    nodes.Variable: _variable,
    nodes.Template: _variable,
    nodes.Call: _call,
    nodes.Binary: _binary,
    nodes.Aggregate: _aggregate,
}
