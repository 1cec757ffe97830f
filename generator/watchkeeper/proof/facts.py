"""What is known of one label in one place: whether it is there, why, and by which part of the expression.

A fact is a tuple: how sure (`NEVER`, `MAYBE`, `SURE`), the function that words the reason, the node that decided it
(None: the selector that the series come from), and what the wording needs. Reasons are worded only when asked for.
"""

# ruff: noqa: ARG001  (reasons are called alike, whatever they look at)
from __future__ import annotations

from watchkeeper.promql import nodes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from watchkeeper.contract import Metric

    # The first argument is what the wording needs, the second the node, the third the label.
    Why: TypeAlias = Callable[[Any, Any, str], str]
    Fact: TypeAlias = tuple[int, Why, nodes.Node | None, Any]

GUARANTEED, POSSIBLE, IMPOSSIBLE = "guaranteed", "possible", "impossible"
NEVER, MAYBE, SURE = 0, 1, 2
STATUSES = (IMPOSSIBLE, POSSIBLE, GUARANTEED)

NAME = "__name__"
# They go with the metric name, but not in all versions: nothing is promised of them.
METADATA = frozenset({"__type__", "__unit__"})


# Reasons


def equals(value: str, node: nodes.Matcher, label: str) -> str:
    return f"the matcher {written(node)} makes it certain"


def named(value: str, node: nodes.Node, label: str) -> str:
    return "the selector names the metric"


def asked(value: str, node: nodes.Matcher, label: str) -> str:
    return f"absent() takes it from {written(node)}"


def certain(_: object, node: nodes.Matcher, label: str) -> str:
    return f"the matcher {written(node)} makes it certain"


def emptied(_: object, node: nodes.Matcher, label: str) -> str:
    return f"the matcher {written(node)} makes it empty"


def unknown_series(_: object, node: nodes.VectorSelector, label: str) -> str:
    name = node.metric_name
    return f"the labels of {name} are not known" if name else "it is not known which series are selected"


def declares(_: object, node: nodes.VectorSelector, label: str) -> str:
    return f"the contract of {node.metric_name} declares it"


def undeclared(metric: Metric | None, node: nodes.VectorSelector, label: str) -> str:
    if metric is None:
        return f"{node.metric_name} has no labels but those of its target"
    return f"the contract of {node.metric_name} does not declare it"


def variable(_: object, node: nodes.Node, label: str) -> str:
    return "a dashboard variable stands there, which may be anything"


def no_labels(_: object, node: nodes.Node, label: str) -> str:
    if isinstance(node, nodes.Call):
        return f"{node.name}() has no labels"
    return "a number has no labels"


def aggregated(owner: nodes.Aggregate | None, node: nodes.Node, label: str) -> str:
    """`owner` is the aggregation where the node is one of the labels that it names."""
    by = owner or node
    assert isinstance(by, nodes.Aggregate)
    if by.modifier is None:
        return f"{by.op}() keeps no label"
    return f"{by.op} {by.modifier} ({', '.join(one.name for one in by.grouping)}) drops it"


def counted(_: object, node: nodes.Aggregate, label: str) -> str:
    return "count_values() writes the value into it"


def drops_name(_: object, node: nodes.Node, label: str) -> str:
    if isinstance(node, nodes.Call):
        return f"{node.name}() drops the metric name"
    return f"{getattr(node, 'op', 'it')} drops the metric name"


def absent(_: object, node: nodes.Call, label: str) -> str:
    return f'{node.name}() has only the labels that its selector gives by "="'


def le_gone(_: object, node: nodes.Call, label: str) -> str:
    return f"{node.name}() takes the buckets together"


def relabelled(_: object, node: nodes.Call, label: str) -> str:
    return f"{node.name}() sets it"


def relabelled_empty(_: object, node: nodes.Call, label: str) -> str:
    return f"{node.name}() makes it empty"


def relabelled_perhaps(_: object, node: nodes.Call, label: str) -> str:
    return f"{node.name}() may leave it empty"


def added_by_info(_: object, node: nodes.Call, label: str) -> str:
    return "info() adds it where the info series has it"


def asked_of_info(_: object, node: nodes.Matcher, label: str) -> str:
    return f"info() drops what has no {written(node)}"


def not_on(_: object, node: nodes.VectorMatching, label: str) -> str:
    return f"on ({', '.join(one.name for one in node.labels)}) keeps no other label"


def ignored(_: object, node: nodes.Label, label: str) -> str:
    return f"ignoring ({node.name}) drops it"


def filled(_: object, node: nodes.VectorMatching, label: str) -> str:
    return "fill stands in for a side that has no labels but those that are matched"


def matched(other: Fact, node: nodes.Node, label: str) -> str:
    return f"it must equal that of the other side: {other[1](other[3], other[2] or node, label)}"


def included(other: Fact, node: nodes.Node, label: str) -> str:
    return f"it is taken from the one side: {other[1](other[3], other[2] or node, label)}"


# Facts that carry the label's value: two of them with different values can't match.
_VALUED = frozenset({equals, named, asked})


def written(matcher: nodes.Matcher) -> str:
    """The matcher as it may be written."""
    return f'{matcher.label}{matcher.op}"{matcher.value}"'


def value_of(fact: Fact) -> str | None:
    """The value of the label, where it is known."""
    return fact[3] if fact[1] in _VALUED else None


def either(one: Fact, other: Fact) -> Fact:
    """What holds if one of two facts does, and it is not known which."""
    mine, theirs = one[0], other[0]
    if mine != theirs:
        low = one if mine < theirs else other
        return low if low[0] == MAYBE else (MAYBE, *low[1:])
    if mine == SURE:
        value = value_of(one)
        if value is not None and value_of(other) != value:
            return (SURE, certain if one[1] is equals else in_each, one[2], None)
    elif other[1] is drops_name:
        return other  # of two that have no name in the end, the one that may still have it before
    return one


def in_each(_: object, node: nodes.Node, label: str) -> str:
    return "each of the sides has it"


def both(one: Fact, other: Fact) -> Fact | None:
    """What holds of a label if both facts do, as where it must be the same on two sides; None if that can't be."""
    mine, theirs = one[0], other[0]
    if mine == SURE:
        if theirs == NEVER:
            return None
        if theirs == SURE:
            value, its = value_of(one), value_of(other)
            if its is not None:
                if value is None:
                    return other
                if value != its:
                    return None
        return one
    if theirs == SURE:
        return None if mine == NEVER else (SURE, matched, other[2], other)
    if theirs == NEVER and mine == MAYBE:
        return (NEVER, matched, other[2], other)
    return one


def perhaps(fact: Fact, why: Why, node: nodes.Node) -> Fact:
    """The fact where something that is not known may take the label away."""
    return (MAYBE, why, node, None) if fact[0] == SURE else fact


def physical(name: Fact) -> Fact:
    """What the metric name is before a delayed removal, in a server that delays it."""
    return (MAYBE, *name[1:]) if name[1] is drops_name else name


def place(node: nodes.Node) -> tuple[int, int]:
    """The part of the expression that stands for a node in messages."""
    if isinstance(node, nodes.Aggregate):
        if node.grouping:
            return node.grouping[0].start, node.grouping[-1].end
        return node.start, node.start + len(node.op)
    if isinstance(node, nodes.Call):
        return node.start, node.name_end
    if isinstance(node, nodes.VectorSelector) and node.name_end:
        return node.name_start, node.name_end
    if isinstance(node, nodes.VectorMatching) and node.labels:
        return node.labels[0].start, node.labels[-1].end
    if isinstance(node, nodes.Binary):
        return node.op_start, node.op_start + len(node.op)
    return node.start, node.end
