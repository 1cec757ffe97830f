"""What is known of the labels of an alert before anything runs: its rule's, and those that its expression keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from watchkeeper.promql import nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from watchkeeper.proof.catalogue import Catalogue
    from watchkeeper.proof.routing import Matcher
    from watchkeeper.subject import Rule

CERTAINLY, PERHAPS, NEVER = "certainly", "perhaps", "never"


class Known(NamedTuple):
    """The values that a label can have, the empty one where it can be absent.

    `values` are all of them, None where they can't be listed; then it is none of `excluded`, and passes all of `holds`.
    """

    values: frozenset[str] | None
    excluded: frozenset[str] = frozenset()
    holds: tuple[Matcher, ...] = ()


_EMPTY = frozenset({""})
ANY = Known(None)
PRESENT = Known(None, _EMPTY)
ABSENT = Known(_EMPTY)


def fixed(value: str) -> Known:
    """Return what is known of a label that has this value."""
    return Known(frozenset({value}))


def verdict(matcher: Matcher, known: Known) -> str:
    """Return whether a label of which this is known passes the matcher."""
    if known.values is not None:
        passed = sum(map(matcher.matches, known.values))
        return NEVER if not passed else CERTAINLY if passed == len(known.values) else PERHAPS
    if matcher.alternatives is None:
        for held in known.holds:
            if held.value == matcher.value:
                return CERTAINLY if held.op == matcher.op else NEVER
    if matcher.alternatives is not None:
        found = PERHAPS if any(_can_be(value, known) for value in matcher.alternatives) else NEVER
    elif matcher.value in _EVERYTHING or (matcher.value in _ALL_BUT_EMPTY and "" in known.excluded):
        found = CERTAINLY
    else:
        found = PERHAPS
    if matcher.is_negative:
        return {NEVER: CERTAINLY, CERTAINLY: NEVER, PERHAPS: PERHAPS}[found]
    return found


def _can_be(value: str, known: Known) -> bool:
    return value not in known.excluded and all(held.matches(value) for held in known.holds)


# Alertmanager's dot does not match a line break; nobody has one in a label.
_EVERYTHING = (".*", "(.*)")
_ALL_BUT_EMPTY = (".+", "(.+)")


def narrowed(matcher: Matcher, known: Known) -> Known | None:
    """Return what is known of the label once it passed the matcher; None where it can't."""
    if known.values is not None or (matcher.alternatives is not None and not matcher.is_negative):
        candidates = known.values if known.values is not None else (matcher.alternatives or frozenset())
        values = frozenset(value for value in candidates if matcher.matches(value) and _can_be(value, known))
        return Known(values) if values else None
    excluded = known.excluded
    if matcher.alternatives is not None:  # none of these
        return known._replace(excluded=excluded | matcher.alternatives)
    if verdict(matcher, known) == NEVER:
        return None
    if not matcher.matches(""):
        excluded |= _EMPTY
    return Known(None, excluded, (*known.holds, matcher))


class Alert:
    """What an alert carries. `own` are the labels of its rule and group: their values, None for a template's.

    `inherited` tells what its expression keeps. What external_labels and alert relabelling add is not known here.
    Without a name it stands for any alert.
    """

    __slots__ = ("_known", "inherited", "name", "own", "rule")

    def __init__(
        self,
        name: str | None,
        own: Mapping[str, str | None],
        inherited: Callable[[str], Known],
        rule: Rule | None = None,
    ) -> None:
        self.name = name
        self.own = own
        self.inherited = inherited
        self.rule = rule
        self._known: dict[str, Known] = {}

    def label(self, name: str) -> Known:
        """Return what is known of one of its labels."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._label(name)
        return known

    def _label(self, name: str) -> Known:
        if (
            name == "alertname" and self.name is not None
        ):  # set last: https://github.com/prometheus/prometheus/blob/main/rules/alerting.go
            return fixed(self.name)
        if name == "__name__":
            return ABSENT
        if name in self.own:
            value = self.own[name]
            return ANY if value is None else fixed(value)
        return self.inherited(name)


def carried(rule: Rule, catalogue: Catalogue) -> Alert:
    """Return what the alerts of a rule carry."""
    labels = {**rule.group.labels, **rule.labels}
    own = {name: None if "{{" in text.value else text.value for name, text in labels.items()}
    tree = rule.expression.tree
    if tree is None:
        return Alert(rule.name.value, own, lambda _: ANY, rule)
    expression = rule.expression

    def inherited(name: str) -> Known:
        fate = expression.flow(catalogue).of(tree).label(name)
        if fate.status == "impossible":
            return ABSENT
        guaranteed = fate.status == "guaranteed"
        pinned = _pinned(expression.nodes, name)
        if pinned is None:
            return PRESENT if guaranteed else ANY
        return Known(pinned - _EMPTY or pinned if guaranteed else pinned | _EMPTY)

    return Alert(rule.name.value, own, inherited, rule)


def _pinned(tree: Sequence[nodes.Node], name: str) -> frozenset[str] | None:
    """Return the values that a label can have where each selector says which, and nothing makes another."""
    found: set[str] = set()
    for node in tree:
        if isinstance(node, nodes.VectorSelector):
            values = [m.value for m in node.matchers if m.label == name and m.op == "=" and not m.variables]
            if not values:
                return None
            found.update(values)
        elif (isinstance(node, nodes.Call) and node.name in _MAKES_LABELS) or (
            isinstance(node, nodes.Aggregate) and node.op == "count_values"
        ):
            return None
    return frozenset(found) or None


_MAKES_LABELS = frozenset({"label_replace", "label_join", "info", "histogram_quantiles"})
