"""Arithmetic and comparisons between vectors: which labels the result has.

The many side is the one that may have several series of a match group; in one-to-one matching the left side.
"""

from __future__ import annotations

from watchkeeper.promql.nodes import ONE_TO_MANY, ONE_TO_ONE
from watchkeeper.proof.branches import Branch, Labels
from watchkeeper.proof.facts import (
    NAME,
    NEVER,
    SURE,
    drops_name,
    either,
    filled,
    ignored,
    included,
    not_on,
    physical,
)
from watchkeeper.proof.matching import Names, met, never_match
from watchkeeper.proof.relabel import any_label
from watchkeeper.proof.shape import ARITHMETIC, COMPARISONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.promql.nodes import Binary
    from watchkeeper.proof.branches import Bounds, Cause
    from watchkeeper.proof.facts import Fact

TRUTH: Bounds = (0.0, False, 1.0, False)


def joined(node: Binary, left: Labels, right: Labels, found: list[Cause]) -> Labels:
    """The labels of `left op right`. A new cause of emptiness is added to `found`."""
    matching = node.matching
    assert matching is not None
    names = Names(matching)
    swapped = matching.card == ONE_TO_MANY
    many, one = (right, left) if swapped else (left, right)
    bounds = None
    if node.return_bool:
        bounds = TRUTH
    elif node.op in COMPARISONS and matching.fill_left is None and matching.fill_right is None:
        bounds = left.bounds  # what passes has the value of the left side
    if matching.fill_left is not None or matching.fill_right is not None:
        return _filled(node, many, one, names, bounds)
    conflict = None
    kept, conflict = met(many, one, names)
    cause = many.cause or one.cause
    if not kept:
        kept = list(many.branches)
        if cause is None:
            if swapped and conflict is not None:
                conflict.left, conflict.right = conflict.right, conflict.left
            cause = (never_match, node, conflict)
            found.append(cause)
    other = one.merged
    return Labels(tuple([_result(node, branch, other, names) for branch in kept]), cause, bounds)


def _result(node: Binary, branch: Branch, other: Branch, names: Names) -> Branch:
    """The labels of the results that a branch of the many side gives."""
    matching = node.matching
    assert matching is not None
    facts, rest, name = branch.facts, branch.rest, _name(node, branch.name)
    if matching.card == ONE_TO_ONE and not names.open:
        if names.on:
            facts = {label: branch.fact(label) for label in names.names if label != NAME}
            facts = {label: branch.pin(fact) for label, fact in facts.items()}
            rest = (NEVER, not_on, matching, None)
            if NAME not in names.names:
                name = rest
        elif names.names:
            facts = {**facts, **{label.name: (NEVER, ignored, label, None) for label in matching.labels}}
            if NAME in names.names:
                name = (NEVER, ignored, matching.labels[0], None)
                del facts[NAME]
    result = Branch(facts, rest, name, branch.source)
    if matching.card == ONE_TO_ONE and names.open:
        return any_label(result, matching)
    for label in matching.include:
        if label.variables:
            return any_label(result, label)
        fact = other.pinned(label.name)
        if label.name == NAME:
            fact = _included_name(node, branch.name, fact)
        result = result.having(label.name, (fact[0], included, fact[2], fact) if fact[0] == SURE else fact)
    return result


def _name(node: Binary, name: Fact) -> Fact:
    """What becomes of the metric name of the many side."""
    if node.return_bool:
        return (NEVER, drops_name, node, None)
    if node.op in COMPARISONS:
        return name
    if node.op not in ARITHMETIC:  # operators that trim histograms
        return physical(name)
    dropped: Fact = (NEVER, drops_name, node, None)
    return dropped if node.op != "atan2" else either(dropped, physical(name))  # 2.42 forgets to drop it


def _included_name(node: Binary, name: Fact, theirs: Fact) -> Fact:
    """What becomes of the metric name of the one side in group_left(__name__)."""
    if node.return_bool:
        return (NEVER, drops_name, node, None)
    fact = physical(theirs)
    if node.op in COMPARISONS and not (name[0] == SURE or (name[0] == NEVER and name[1] is not drops_name)):
        return either(fact, (NEVER, drops_name, node, None))  # it goes where the removal of the other is still to come
    return fact


def _filled(node: Binary, many: Labels, one: Labels, names: Names, bounds: Bounds | None) -> Labels:
    """The labels where numbers stand in for a missing side. Series without a partner keep what they have."""
    matching = node.matching
    assert matching is not None
    # With group_right Prometheus swaps the sides, but not what fills them.
    fill_many, fill_one = matching.fill_left is not None, matching.fill_right is not None
    if many.cause is not None and not fill_many:
        return Labels(many.branches, many.cause, bounds)
    if one.cause is not None and not fill_one:
        return Labels(many.branches, one.cause, bounds)
    other = one.merged
    branches = []
    for branch in many.branches:
        result = _result(node, branch, other, names)
        if fill_one:
            for label in matching.include:
                if not label.variables:
                    mine = branch.pinned(label.name)
                    gone: Fact = (NEVER, filled, matching, None)
                    alone = gone if names.on or label.name in names.names or label.name == NAME else mine
                    result = result.having(label.name, either(result.fact(label.name), alone))
        branches.append(result)
    if fill_many:
        branches += [_of_signature(node, branch, names) for branch in one.branches]
    return Labels(tuple(branches), None, bounds)


def _of_signature(node: Binary, branch: Branch, names: Names) -> Branch:
    """The labels of what a series of the one side gives without a partner: the matched ones, and what is included."""
    matching = node.matching
    assert matching is not None
    gone: Fact = (NEVER, filled, matching, None)
    if names.open:
        return any_label(branch, matching)
    facts: dict[str, Fact]
    if names.on:
        facts = {label: branch.fact(label) for label in names.names if label != NAME}
        rest = gone
    else:
        facts = {**branch.facts, **dict.fromkeys(names.names, gone)}
        facts.pop(NAME, None)
        rest = branch.rest
    name = physical(branch.name) if NAME in names.names and names.on else gone
    result = Branch(facts, rest, _name(node, name), branch.source)
    for label in matching.include:
        if label.variables:
            return any_label(result, label)
        fact = branch.fact(label.name)
        if label.name == NAME:
            fact = _included_name(node, name, fact)
        result = result.having(label.name, fact)
    return result
