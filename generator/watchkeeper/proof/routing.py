"""Alertmanager's configuration as data, and its dispatch: which routes an alert reaches, and what mutes it.

The reader is `watchkeeper.read.alertmanager`. Semantics: https://prometheus.io/docs/alerting/latest/configuration/
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from watchkeeper.findings import Finding
    from watchkeeper.proof.survey import Survey
    from watchkeeper.subject import Source, Text

__all__ = ["Config", "InhibitRule", "Matcher", "Receiver", "Route", "inhibitors", "route"]

_NEGATED = {"=": "!=", "!=": "=", "=~": "!~", "!~": "=~"}


class Matcher:
    """One matcher, `name op value`. It stands at `text.value[start:end]`; an absent label is the empty value.

    `accepts` tells whether a value is the one or matches the regular expression, whatever the operator; `alternatives`
    are all values that it can be, None where they can't be listed.
    """

    __slots__ = ("_negated", "accepts", "alternatives", "end", "is_negative", "name", "op", "start", "text", "value")

    def __init__(  # noqa: PLR0917 - the first three read as the matcher does
        self,
        name: str,
        op: str,
        value: str,
        accepts: Callable[[str], bool],
        alternatives: frozenset[str] | None,
        text: Text,
        start: int = 0,
        end: int | None = None,
    ) -> None:
        self.name = name
        self.op = op
        self.value = value
        self.accepts = accepts
        self.alternatives = alternatives
        self.is_negative = op[0] == "!"
        self.text = text
        self.start = start
        self.end = len(text.value) if end is None else end
        self._negated: Matcher | None = None

    def matches(self, value: str) -> bool:
        """Tell whether an alert with this value of the label passes."""
        return self.accepts(value) is not self.is_negative

    @property
    def negated(self) -> Matcher:
        """The matcher that passes what this one does not."""
        if self._negated is None:
            self._negated = Matcher(
                self.name,
                _NEGATED[self.op],
                self.value,
                self.accepts,
                self.alternatives,
                self.text,
                self.start,
                self.end,
            )
            self._negated._negated = self  # noqa: SLF001 - its own class
        return self._negated

    def finding(self, check: str, message: str, *, why: str = "", fix: str = "", severity: str = "warning") -> Finding:
        """Return a finding about the matcher."""
        return self.text.finding(check, message, self.start, self.end, why=why, fix=fix, severity=severity)

    def __str__(self) -> str:
        """Return it as it is best written."""
        escaped = self.value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'{self.name}{self.op}"{escaped}"'


class Route:
    """One node of the routing tree. `receiver` is its own or the one it inherits; its `parent` is None at the root.

    `group_by` is what it says itself, None where it inherits. `place` is where it begins.
    """

    __slots__ = ("continue_", "group_by", "matchers", "parent", "place", "receiver", "routes")

    def __init__(
        self,
        parent: Route | None,
        receiver: Text,
        matchers: Sequence[Matcher],
        place: Text,
        *,
        group_by: tuple[Text, ...] | None = None,
        continue_: bool = False,
    ) -> None:
        self.parent = parent
        self.receiver = receiver
        self.matchers = tuple(matchers)
        self.place = place
        self.group_by = group_by
        self.continue_ = continue_
        self.routes: list[Route] = []
        if parent:
            parent.routes.append(self)

    @property
    def grouping(self) -> Route:
        """The route whose `group_by` holds here: itself or the nearest above that has one; else the root."""
        here = self
        while here.group_by is None and here.parent:
            here = here.parent
        return here

    def __str__(self) -> str:
        """Return what messages call it."""
        if self.parent is None:
            return "the root route"
        if not self.matchers:
            return f'the route without matchers to "{self.receiver.value}"'
        return f"route {{{', '.join(map(str, self.matchers))}}}"


class Receiver:
    """A receiver, and the keys of the integrations by which it tells somebody."""

    __slots__ = ("integrations", "name")

    def __init__(self, name: Text, integrations: tuple[str, ...]) -> None:
        self.name = name
        self.integrations = integrations


class InhibitRule:
    """While an alert passes `source`, those that pass `target` and have the same `equal` labels are muted."""

    __slots__ = ("equal", "place", "source", "target")

    def __init__(
        self, source: Sequence[Matcher], target: Sequence[Matcher], equal: Sequence[Text], place: Text
    ) -> None:
        self.source = tuple(source)
        self.target = tuple(target)
        self.equal = tuple(equal)
        self.place = place


class Config:
    """A configuration that Alertmanager accepts. `routes` are those of the tree, parents before children."""

    __slots__ = ("_survey", "inhibit_rules", "receivers", "route", "routes", "source", "time_intervals")

    def __init__(
        self,
        route: Route,
        receivers: Mapping[str, Receiver],
        inhibit_rules: Sequence[InhibitRule],
        time_intervals: Mapping[str, Text],
        source: Source,
    ) -> None:
        self.route = route
        self.receivers = receivers
        self.inhibit_rules = tuple(inhibit_rules)
        self.time_intervals = time_intervals
        self.source = source
        routes = [route]
        for one in routes:  # it grows as it is read
            routes += one.routes
        self.routes = tuple(routes)
        self._survey: Survey | None = None

    def survey(self, groups: object, make: Callable[[], Survey]) -> Survey:
        """Return what becomes of the alerts of these groups: worked out once for all checks."""
        if self._survey is None or self._survey.groups is not groups:
            self._survey = make()
        return self._survey


def route(config: Config, labels: Mapping[str, str]) -> list[Route]:
    """Return the routes that an alert with exactly these labels ends in, in order.

    The first child that matches takes the alert, with `continue` the next that matches gets it too; where no child
    matches it stays. The root matches everything.
    """
    root = config.route
    frames = [(root, iter(root.routes), list[Route]())]  # a deep tree would be too deep to recurse
    while True:
        here, children, found = frames[-1]
        for child in children:
            if _passes(child.matchers, labels):
                frames.append((child, iter(child.routes), []))
                break
        else:
            frames.pop()
            ends = found or [here]
            if not frames:
                return ends
            above, siblings, found = frames[-1]
            found += ends
            if not here.continue_:
                frames[-1] = above, iter(()), found
            else:
                frames[-1] = above, siblings, found


def inhibitors(
    config: Config, labels: Mapping[str, str], firing: Iterable[Mapping[str, str]]
) -> list[tuple[InhibitRule, Mapping[str, str]]]:
    """Return what mutes an alert with exactly these labels while others fire: inhibitions, and the alert behind each.

    An alert that passes both sides of an inhibition is muted by none that does so too, such as itself. A label that
    both lack is equal.
    """
    sources = list(firing)
    found: list[tuple[InhibitRule, Mapping[str, str]]] = []
    for rule in config.inhibit_rules:
        if not _passes(rule.target, labels):
            continue
        is_source = _passes(rule.source, labels)
        found += [
            (rule, other)
            for other in sources
            if _passes(rule.source, other)
            and all(other.get(label.value, "") == labels.get(label.value, "") for label in rule.equal)
            and not (is_source and _passes(rule.target, other))
        ]
    return found


def _passes(matchers: Iterable[Matcher], labels: Mapping[str, str]) -> bool:
    return all(matcher.matches(labels.get(matcher.name, "")) for matcher in matchers)
