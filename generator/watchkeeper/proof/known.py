"""What is known of the series of one name."""

# ruff: noqa: ARG001  (reasons are called alike, whatever they look at)
from __future__ import annotations

from watchkeeper.promql.nodes import VectorSelector
from watchkeeper.proof.branches import Fate
from watchkeeper.proof.facts import MAYBE, NEVER, STATUSES, SURE, declares, either, included, matched, undeclared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from watchkeeper.contract import Metric
    from watchkeeper.proof.branches import Labels
    from watchkeeper.proof.facts import Fact


class Known:
    """A series that exists. `labels` are all that it can have, None if not known; `guaranteed` is always there.

    `kind` is Prometheus' metric type, `metric` its declaration where the contract has it. `facts` and `rest` are the
    same of each label and of all others, with their reasons.
    """

    __slots__ = ("facts", "guaranteed", "kind", "labels", "metric", "rest")

    def __init__(self, facts: dict[str, Fact], rest: Fact, kind: str = "unknown", metric: Metric | None = None) -> None:
        self.facts = facts
        self.rest = rest
        self.kind = kind
        self.metric = metric
        is_open = rest[0] != NEVER
        self.labels = None if is_open else frozenset([label for label, fact in facts.items() if fact[0] != NEVER])
        self.guaranteed = frozenset([label for label, fact in facts.items() if fact[0] == SURE])

    def never_has(self, label: str) -> bool:
        """Whether no such series has the label."""
        return self.facts.get(label, self.rest)[0] == NEVER

    def fate(self, label: str, selector: VectorSelector) -> Fate:
        """What becomes of a label in what a selector finds, its matchers aside."""
        fact = self.facts.get(label, self.rest)
        return Fate(STATUSES[fact[0]], fact, label, selector)

    def __repr__(self) -> str:
        return f"Known(labels={self.labels}, guaranteed={self.guaranteed}, kind={self.kind!r})"


def declared(kind: str, metric: Metric | None, labels: Iterable[str], targets: Iterable[str] | None) -> Known:
    """What a contract tells: a series has all these labels, and no others if it is known what a scrape adds."""
    by_scrape: Fact = (SURE, _scraped, None, None)
    by_contract: Fact = (SURE, declares, None, None)
    rest: Fact = (MAYBE, _any_target, None, None) if targets is None else (NEVER, undeclared, None, metric)
    facts = {**dict.fromkeys(targets or (), by_scrape), **dict.fromkeys(labels, by_contract)}
    return Known(facts, rest, kind, metric)


def anything(kind: str = "unknown", guaranteed: Iterable[str] = ()) -> Known:
    """What may have any label, and always has these."""
    return Known(dict.fromkeys(guaranteed, (SURE, _made, None, None)), (MAYBE, _unknown, None, None), kind)


def recorded(rules: Iterable[tuple[Labels, Mapping[str, str]]], other: Known | None) -> Known:
    """What one of these rules makes, or is there besides; a rule is the labels that it finds and those that it sets."""
    facts: dict[str, Fact] | None = None
    rest: Fact
    if other is not None:
        facts, rest = other.facts, other.rest
    for labels, own in rules:
        of_rule = labels.merged
        made = {label: _handed_on(fact, labels) for label, fact in of_rule.facts.items()}
        its = _handed_on(of_rule.rest, labels)
        for label, value in own.items():
            made[label] = (SURE, _set, None, None) if value else (NEVER, _unset, None, None)
        if facts is None:
            facts, rest = made, its
            continue
        facts = {
            label: either(facts.get(label, rest), made.get(label, its)) for label in dict.fromkeys([*facts, *made])
        }
        rest = either(rest, its)
    return Known({}, (MAYBE, _unknown, None, None)) if facts is None else Known(facts, rest)


def _handed_on(fact: Fact, labels: Labels) -> Fact:
    return (fact[0], _kept if fact[0] == SURE else _lost, None, labels)


# Reasons. Called alike, whatever they look at.


def _scraped(_: object, node: VectorSelector, label: str) -> str:
    return "every scrape puts it on"


def _any_target(_: object, node: VectorSelector, label: str) -> str:
    return f"it is not known what a scrape adds to {node.metric_name}"


def _unknown(_: object, node: VectorSelector, label: str) -> str:
    return f"the labels of {node.metric_name} are not known"


def _made(_: object, node: VectorSelector, label: str) -> str:
    return f"Prometheus puts it on {node.metric_name}"


def _set(_: object, node: VectorSelector, label: str) -> str:
    return f"the rule that records {node.metric_name} sets it"


def _unset(_: object, node: VectorSelector, label: str) -> str:
    return f"the rule that records {node.metric_name} takes it away"


def _kept(_: object, node: VectorSelector, label: str) -> str:
    return f"the rule that records {node.metric_name} keeps it"


def _lost(labels: Labels, node: VectorSelector, label: str) -> str:
    """The rule that is to blame may stand behind many others, so this goes there step by step."""
    rule = node.metric_name
    fact = labels.decisive(label)[1]
    while True:
        _, why, decided_by, detail = fact
        if why is _lost and isinstance(decided_by, VectorSelector):
            rule = decided_by.metric_name
            fact = detail.decisive(label)[1]
        elif why is matched or why is included:
            fact = detail
        else:
            return f"in the rule that records {rule}, {why(detail, decided_by, label)}"
