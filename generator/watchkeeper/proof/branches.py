"""What labels the result of an expression has: `Labels`, made of one `Branch` for each source of series."""

from __future__ import annotations

from watchkeeper.proof.facts import MAYBE, NAME, NEVER, STATUSES, SURE, either, place, undeclared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from watchkeeper.promql.nodes import Node
    from watchkeeper.proof.facts import Fact, Why

    # Why there is nothing, worded when asked for, and the values between which all results lie: see `values`.
    Cause: TypeAlias = tuple[Why, Node, Any]
    Bounds: TypeAlias = tuple[float, bool, float, bool]

_MOST_BRANCHES = 32


class Fate:
    """What becomes of one label: `status` is GUARANTEED, POSSIBLE or IMPOSSIBLE.

    `reason` is a clause such as "sum() keeps no label"; `start` to `end` is the part of the expression that decides it.
    """

    __slots__ = ("_fact", "_label", "_source", "status")

    def __init__(self, status: str, fact: Fact, label: str, source: Node) -> None:
        self.status = status
        self._fact = fact
        self._label = label
        self._source = source

    @property
    def reason(self) -> str:
        _, why, node, detail = self._fact
        return why(detail, node or self._source, self._label)

    @property
    def by_contract(self) -> bool:
        """Whether it is impossible because the contract does not have it."""
        return self._fact[1] is undeclared

    @property
    def start(self) -> int:
        return place(self._fact[2] or self._source)[0]

    @property
    def end(self) -> int:
        return place(self._fact[2] or self._source)[1]

    def __repr__(self) -> str:
        return f"<Fate {self._label}: {self.status}, {self.reason}>"


class Branch:
    """The labels of what comes from one `source`: a selector, a call such as absent(), a number.

    `facts` are by label; `rest` is the fact of all others, and `name` that of the metric name.
    """

    __slots__ = ("facts", "name", "rest", "source")

    def __init__(self, facts: dict[str, Fact], rest: Fact, name: Fact, source: Node) -> None:
        self.facts = facts
        self.rest = rest
        self.name = name
        self.source = source

    def fact(self, label: str) -> Fact:
        """The fact of a label. Its node is None where the source decides."""
        if label == NAME:
            return self.name
        return self.facts.get(label, self.rest)

    def pinned(self, label: str) -> Fact:
        """The fact of a label, to be used in another branch."""
        return self.pin(self.fact(label))

    def pin(self, fact: Fact) -> Fact:
        """A fact of this branch, to be used in another one."""
        return fact if fact[2] is not None else (fact[0], fact[1], self.source, fact[3])

    def label(self, name: str) -> Fate:
        """What becomes of a label."""
        fact = self.fact(name)
        return Fate(STATUSES[fact[0]], fact, name, self.source)

    def having(self, label: str, fact: Fact) -> Branch:
        """The branch with another fact of one label."""
        if label == NAME:
            return Branch(self.facts, self.rest, fact, self.source)
        return Branch({**self.facts, label: fact}, self.rest, self.name, self.source)

    def named(self, name: Fact) -> Branch:
        """The branch with another fact of the metric name."""
        return Branch(self.facts, self.rest, name, self.source)


def merged(branches: tuple[Branch, ...]) -> Branch:
    """One branch that holds for all of these: what holds in one or the other."""
    first = branches[0]
    if len(branches) == 1:
        return first
    facts = {label: first.pin(fact) for label, fact in first.facts.items()}
    rest, name = first.pin(first.rest), first.pin(first.name)
    for branch in branches[1:]:
        pin = branch.pin
        theirs = branch.facts
        its = pin(branch.rest)
        for label, fact in facts.items():
            facts[label] = either(fact, pin(theirs[label]) if label in theirs else its)
        for label, fact in theirs.items():
            if label not in facts:
                facts[label] = either(rest, pin(fact))
        rest = either(rest, its)
        name = either(name, pin(branch.name))
    return Branch(facts, rest, name, first.source)


class Labels:
    """What a node yields: its `branches`, one for each source of results.

    `bounds` are the values between which all its results lie, None where that is not known.
    """

    __slots__ = ("_merged", "bounds", "branches", "cause")

    def __init__(self, branches: tuple[Branch, ...], cause: Cause | None = None, bounds: Bounds | None = None) -> None:
        if len(branches) > _MOST_BRANCHES:
            branches = (*branches[: _MOST_BRANCHES - 1], merged(branches[_MOST_BRANCHES - 1 :]))
        self.branches = branches
        self.cause = cause
        self.bounds = bounds
        self._merged: Branch | None = None

    @property
    def empty(self) -> tuple[str, int, int] | None:
        """None, or why there can be no result at all, and the part of the expression that is to blame."""
        if self.cause is None:
            return None
        why, node, detail = self.cause
        return (why(detail, node, ""), *place(node))

    @property
    def merged(self) -> Branch:
        """One branch that holds for all."""
        if self._merged is None:
            self._merged = merged(self.branches)
        return self._merged

    def label(self, name: str) -> Fate:
        """What becomes of a label over all branches: guaranteed if it is in each, impossible if it is in none."""
        if len(self.branches) == 1:
            return self.branches[0].label(name)
        status, fact = self.decisive(name)
        return Fate(STATUSES[status], fact, name, self.branches[0].source)

    def decisive(self, name: str) -> tuple[int, Fact]:
        """How sure a label is over all branches, and the fact that this is due to, with its node."""
        facts = [branch.fact(name) for branch in self.branches]
        lowest = min(facts, key=_status)
        status = lowest[0] if lowest[0] == max(facts, key=_status)[0] else MAYBE
        return status, self.branches[facts.index(lowest)].pin(lowest)

    def names(self) -> frozenset[str] | None:
        """All labels that can be there, the metric name aside; None where that may be any."""
        found: set[str] = set()
        for branch in self.branches:
            if branch.rest[0] != NEVER:
                return None
            found.update([label for label, fact in branch.facts.items() if fact[0]])
        return frozenset(found)

    def guaranteed(self) -> frozenset[str]:
        """The labels that are always there, the metric name aside."""
        return frozenset.intersection(
            *[frozenset([label for label, fact in branch.facts.items() if fact[0] == SURE]) for branch in self.branches]
        )

    def __repr__(self) -> str:
        return f"<Labels {self.merged.facts}>"


def _status(fact: Fact) -> int:
    return fact[0]
