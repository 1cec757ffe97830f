"""Functions: which labels their results have."""

# ruff: noqa: ARG001  (reasons are called alike, whatever they look at)
from __future__ import annotations

from watchkeeper.promql import nodes
from watchkeeper.promql.functions import FUNCTIONS, MATRIX, SCALAR, VECTOR
from watchkeeper.proof.branches import Branch, Labels
from watchkeeper.proof.facts import (
    MAYBE,
    METADATA,
    NAME,
    NEVER,
    SURE,
    absent,
    added_by_info,
    asked,
    asked_of_info,
    declares,
    drops_name,
    le_gone,
    no_labels,
    relabelled,
    variable,
)
from watchkeeper.proof.matchers import effect, has_variable
from watchkeeper.proof.relabel import any_label, label_join, label_replace, texts
from watchkeeper.proof.shape import bare
from watchkeeper.proof.values import constant, point

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from watchkeeper.promql.nodes import Call, Node
    from watchkeeper.proof.branches import Bounds, Cause
    from watchkeeper.proof.facts import Fact

# The position of the argument whose labels the result has.
_ARGUMENT = {
    name: next((index for index, type_ in enumerate(function.arg_types) if type_ in {VECTOR, MATRIX}), None)
    for name, function in FUNCTIONS.items()
}
_SELECTED = (nodes.VectorSelector, nodes.Variable, nodes.Template)
_AS_IT_IS = frozenset({
    "sort", "sort_desc", "sort_by_label", "sort_by_label_desc", "last_over_time", "first_over_time",
})  # fmt: skip


def called(node: Call, found: dict[int, Labels], causes: list[Cause]) -> Labels:
    """The labels of a call; `found` are those of its arguments. A new cause of emptiness is added to `causes`."""
    if node.function is None:
        return anything(node)
    name = node.name
    index = _ARGUMENT[name]
    if node.type == SCALAR or index is None or index >= len(node.args):
        return unlabelled(node, bounds_of(node.args[0], found) if name == "vector" else None)
    inner = found[id(node.args[index])]
    if name in _AS_IT_IS:
        return inner
    special = _SPECIAL.get(name)
    if special is not None:
        return special(node, inner)
    cause = inner.cause
    if cause is None:
        if name == "clamp" and _crossed(node, found):
            cause = (crossed, node, None)
            causes.append(cause)
        elif name == "start_timestamp" and not isinstance(bare(node.args[0]), _SELECTED):
            cause = (no_start, node, None)
            causes.append(cause)
    return nameless(inner, node, cause)


def nameless(inner: Labels, node: Node, cause: Cause | None) -> Labels:
    """The labels without the metric name."""
    dropped: Fact = (NEVER, drops_name, node, None)
    branches = inner.branches
    if len(branches) == 1:
        return Labels((branches[0].named(dropped),), cause)
    return Labels(tuple([branch.named(dropped) for branch in branches]), cause)


def bounds_of(node: Node, found: dict[int, Labels]) -> Bounds | None:
    """The bounds of an expression; numbers and strings are not among those that are followed."""
    if isinstance(node, nodes.NumberLiteral):
        return point(node.value)
    labels = found.get(id(node))
    return None if labels is None else labels.bounds


def unlabelled(node: Node, bounds: Bounds | None = None) -> Labels:
    """The labels of numbers, and of vectors made of them: none."""
    none: Fact = (NEVER, no_labels, node, None)
    return Labels((Branch({}, none, none, node),), None, bounds)


def anything(node: Node) -> Labels:
    """The labels of what a dashboard variable stands for."""
    any_: Fact = (MAYBE, variable, node, None)
    return Labels((Branch({}, any_, any_, node),))


def _crossed(node: Call, found: dict[int, Labels]) -> bool:
    low, high = (constant(bounds_of(arg, found)) for arg in node.args[1:])
    return low is not None and high is not None and low > high


def no_start(_: object, node: Call, label: str) -> str:
    """Why start_timestamp() gives nothing."""
    return "only what a selector finds has a start"


def crossed(_: object, node: Call, label: str) -> str:
    """Why clamp() gives nothing."""
    return "its minimum is above its maximum"


def _absent(node: Call, inner: Labels) -> Labels:
    """Made of the selector's = matchers: of each label that is asked for once. Never without a result by itself."""
    argument = bare(node.args[0])
    selector = argument.selector if isinstance(argument, nodes.MatrixSelector) else argument
    none: Fact = (NEVER, absent, node, None)
    facts: dict[str, Fact] = {}
    rest = none
    if isinstance(selector, nodes.VectorSelector):
        seen = set()
        for matcher in selector.matchers:
            label = matcher.label
            if label == NAME:
                continue
            if matcher.variables or (matcher.op == "=" and has_variable(matcher.value)):
                facts[label] = (MAYBE, variable, matcher, None)
                seen.add(label)
            elif matcher.op == "=" and label not in seen:
                seen.add(label)
                facts[label] = (SURE, asked, matcher, matcher.value) if matcher.value else none
            else:
                facts[label] = none
        if selector.variables or any(matcher.variables for matcher in selector.matchers):
            rest = (MAYBE, variable, selector, None)
            facts = dict.fromkeys(facts, (MAYBE, variable, selector, None))
    elif isinstance(selector, (nodes.Variable, nodes.Template)):
        rest = (MAYBE, variable, node, None)
    for label in METADATA & facts.keys():
        facts[label] = (MAYBE, *facts[label][1:])
    return Labels((Branch(facts, rest, none, node),))


def _quantile(node: Call, inner: Labels) -> Labels:
    """histogram_quantile, histogram_fraction: buckets become one. A native histogram may keep a label `le`."""
    gone: Fact = (NEVER, le_gone, node, None)
    branches = []
    for branch in nameless(inner, node, None).branches:
        le = branch.fact("le")
        source = branch.source
        if isinstance(source, nodes.VectorSelector) and (source.metric_name or "").endswith("_bucket"):
            le = gone
        elif le[0] == SURE:
            le = gone if le[1] is declares else (MAYBE, le_gone, node, None)
        branches.append(branch.having("le", le))
    return Labels(tuple(branches), inner.cause)


def _quantiles(node: Call, inner: Labels) -> Labels:
    """histogram_quantiles: the same, and a label that tells the quantile."""
    labels = _quantile(node, inner)
    given = texts(node.args[1:2])
    if given is None or has_variable(given[0]):
        return Labels(tuple([any_label(branch, node) for branch in labels.branches]), labels.cause)
    (target,) = given
    if target == NAME:
        return labels
    status = MAYBE if target in METADATA else SURE
    fact: Fact = (status, relabelled, node, None)
    return Labels(tuple([branch.having(target, fact) for branch in labels.branches]), labels.cause)


def _info(node: Call, inner: Labels) -> Labels:
    """info() adds labels of info series, and changes none that is there."""
    selector = bare(node.args[1]) if len(node.args) > 1 else None
    matchers = selector.matchers if isinstance(selector, nodes.VectorSelector) else ()
    by_name = any(one.label == NAME for one in matchers) or getattr(selector, "name", None) is not None
    data = [one for one in matchers if one.label != NAME]
    if getattr(selector, "variables", None) or any(one.variables for one in matchers):
        data = []
    added: Fact = (MAYBE, added_by_info, node, None)
    base = bare(node.args[0])
    other_name = isinstance(base, nodes.VectorSelector) and base.metric_name not in {None, "target_info"}
    branches = []
    for branch in inner.branches:
        facts = {label: added if fact[0] == NEVER and not data else fact for label, fact in branch.facts.items()}
        rest = branch.rest
        if data:
            certain = not by_name and (other_name or (branch.name[0] == NEVER and branch.name[1] is not drops_name))
            for matcher in data:
                fact = branch.fact(matcher.label)
                if fact[0] == SURE or matcher.label in METADATA:
                    continue
                if certain and effect(matcher.op, matcher.value)[0]:
                    facts[matcher.label] = (SURE, asked_of_info, matcher, None)
                elif facts.get(matcher.label, added)[0] != SURE:
                    facts[matcher.label] = added
        else:
            rest = added if rest[0] == NEVER else rest
        branches.append(Branch(facts, rest, branch.name, branch.source))
    return Labels(tuple(branches), inner.cause, inner.bounds)


_SPECIAL: dict[str, Callable[[Call, Labels], Labels]] = {
    "absent": _absent,
    "absent_over_time": _absent,
    "histogram_fraction": _quantile,
    "histogram_quantile": _quantile,
    "histogram_quantiles": _quantiles,
    "info": _info,
    "label_join": label_join,
    "label_replace": label_replace,
}
