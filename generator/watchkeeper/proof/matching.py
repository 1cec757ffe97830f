"""Sides of an operator that meet: what their labels must have in common, and sides that never match; and, or, unless.

Semantics: https://prometheus.io/docs/prometheus/latest/querying/operators/#vector-matching
"""

# ruff: noqa: ARG001  (reasons are called alike, whatever they look at)
from __future__ import annotations

from watchkeeper.promql import nodes
from watchkeeper.proof.branches import Branch, Labels
from watchkeeper.proof.facts import NAME, NEVER, SURE, both, physical, value_of
from watchkeeper.proof.shape import COMPARISONS, SAMPLES, bare
from watchkeeper.proof.values import hull, is_empty, overlap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.promql.nodes import Binary, VectorMatching
    from watchkeeper.proof.branches import Cause
    from watchkeeper.proof.facts import Fact


class Conflict:
    """Two sides that can never match: `label` has the fact `left` on one side and `right` on the other."""

    __slots__ = ("label", "left", "right")

    def __init__(self, label: str, left: Fact, right: Fact) -> None:
        self.label = label
        self.left = left
        self.right = right


def never_match(conflict: Conflict, node: Binary, label: str) -> str:
    """Why the sides never match."""
    name = conflict.label
    sides = []
    for side, fact in (("left", conflict.left), ("right", conflict.right)):
        value = value_of(fact)
        state = f'"{value}"' if value is not None else ("always there" if fact[0] == SURE else "never there")
        sides.append(f"{state} on the {side} side")
        if value is None or fact[0] == NEVER:
            sides[-1] += f" ({fact[1](fact[3], fact[2], name)})"
    return f"the sides never match: {name} is {' and '.join(sides)}"


def minus_itself(_: object, node: Binary, label: str) -> str:
    return "what is taken away is the same as what is there"


def at_odds(_: object, node: Binary, label: str) -> str:
    return "no number passes both comparisons"


class Names:
    """The labels that are matched: those of `on`, or all but those of `ignoring`."""

    __slots__ = ("names", "node", "on", "open")

    def __init__(self, matching: VectorMatching) -> None:
        self.on = matching.on
        self.names = frozenset([label.name for label in matching.labels])
        self.open = any(label.variables for label in matching.labels)
        self.node = matching


def agreed(branch: Branch, other: Branch, names: Names) -> Branch | Conflict:
    """A branch after it met another: matched labels are the same on both sides."""
    facts = branch.facts
    theirs = other.facts
    if names.open or (not names.on and theirs is facts and other.rest == branch.rest):
        return branch
    changed: dict[str, Fact] = {}
    if names.on:
        for label in names.names:
            mine, its = branch.fact(label), other.fact(label)
            if label == NAME:
                mine, its = physical(mine), physical(its)
            fact = both(mine, other.pin(its))
            if fact is None:
                return Conflict(label, branch.pin(mine), other.pin(its))
            if fact is not mine and label != NAME:
                changed[label] = fact
        return Branch({**facts, **changed}, branch.rest, branch.name, branch.source) if changed else branch
    ignoring = names.names
    its_rest = other.rest
    for label, mine in facts.items():
        if label not in ignoring:
            fact = both(mine, other.pin(theirs.get(label, its_rest)))
            if fact is None:
                return Conflict(label, branch.pin(mine), other.pinned(label))
            if fact is not mine:
                changed[label] = fact
    rest = branch.rest
    new_rest = both(rest, other.pin(its_rest))
    assert new_rest is not None, "labels that are not named are never sure"
    for label, its in theirs.items():
        if label not in facts and label not in ignoring:
            fact = both(rest, other.pin(its))
            if fact is None:
                return Conflict(label, branch.pin(rest), other.pinned(label))
            if fact is not new_rest:
                changed[label] = fact
    if new_rest is not rest:
        for label in ignoring:  # these are not matched, so they keep what they had
            if label not in facts and label != NAME:
                changed[label] = rest
    elif not changed:
        return branch
    return Branch({**facts, **changed}, new_rest, branch.name, branch.source)


def met(left: Labels, right: Labels, names: Names) -> tuple[list[Branch], Conflict | None]:
    """The branches of the left side after each met the right side; those that never match it are left out."""
    other = right.merged
    kept: list[Branch] = []
    conflict: Conflict | None = None
    for branch in left.branches:
        found = agreed(branch, other, names)
        if isinstance(found, Conflict):
            conflict = conflict or found
        else:
            kept.append(found)
    return kept, conflict


def set_operation(node: Binary, left: Labels, right: Labels, found: list[Cause]) -> Labels:
    """And, or, unless. New causes of emptiness are added to `found`, and a vain `unless` too."""
    if node.op == "or":
        if left.cause is not None or right.cause is not None:
            return left if right.cause is not None else right
        return Labels(left.branches + right.branches, None, hull(left.bounds, right.bounds))
    if left.cause is not None:
        return left
    assert node.matching is not None
    names = Names(node.matching)
    if node.op == "and":
        if right.cause is not None:
            return Labels(left.branches, right.cause, left.bounds)
        kept, conflict = met(left, right, names)
        cause: Cause
        if not kept:
            cause = (never_match, node, conflict)
            found.append(cause)
            return Labels(left.branches, cause, left.bounds)
        if left.bounds is not None and right.bounds is not None and _excluded(node, left, right):
            cause = (at_odds, node, None)
            found.append(cause)
            return Labels(tuple(kept), cause, left.bounds)
        return Labels(tuple(kept), None, left.bounds)
    if right.cause is not None:
        return left
    if _same(bare(node.lhs), bare(node.rhs)):
        cause = (minus_itself, node, None)
        found.append(cause)
        return Labels(left.branches, cause, left.bounds)
    kept, conflict = met(left, right, names)
    if not kept:
        found.append((never_match, node, conflict))  # nothing is ever taken away
    return left


def _same(one: nodes.Expr, other: nodes.Expr) -> bool:
    """Whether two expressions are the same; unequal lengths are not looked into, so that long chains take no time."""
    return type(one) is type(other) and one.end - one.start == other.end - other.start and one == other


def _excluded(node: Binary, left: Labels, right: Labels) -> bool:
    """Whether both sides compare the same series, of which none has a value that passes both."""
    assert node.matching is not None
    assert left.bounds is not None
    assert right.bounds is not None
    if node.matching.labels or node.matching.on or not is_empty(overlap(left.bounds, right.bounds)):
        return False
    one, other = _compared(node.lhs), _compared(node.rhs)
    if one is None or other is None or not _same(one, other):
        return False
    inner = one.args[0] if isinstance(one, nodes.Call) and len(one.args) == 1 else one
    selector = inner.selector if isinstance(inner, nodes.MatrixSelector) else inner
    # Series of several names may agree in all other labels: then each side may be about another one.
    if isinstance(selector, nodes.Aggregate):
        return selector.op not in SAMPLES and all(label.name != NAME for label in selector.grouping)
    return isinstance(selector, nodes.VectorSelector) and selector.metric_name is not None


def _compared(expr: nodes.Expr) -> nodes.Expr | None:
    """What is compared with numbers in an expression such as `x > 3 < 7`."""
    expr = bare(expr)
    while isinstance(expr, nodes.Binary) and expr.op in COMPARISONS and expr.matching is None and not expr.return_bool:
        expr = bare(expr.rhs if expr.lhs.type == "scalar" else expr.lhs)
    return expr
