"""What becomes of all alerts of a project in an Alertmanager configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.proof.carried import ABSENT, ANY, NEVER, Alert, carried, verdict
from watchkeeper.proof.reach import reach

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from watchkeeper.proof.carried import Known
    from watchkeeper.proof.catalogue import Catalogue
    from watchkeeper.proof.reach import Way
    from watchkeeper.proof.routing import Config, Matcher, Route
    from watchkeeper.subject import Group


class Survey:
    """The alerts of the groups, and the ways of each through the tree; `anyway` are those of an alert of any kind."""

    __slots__ = ("_values", "alerts", "anyway", "distinct", "groups", "ways")

    def __init__(self, config: Config, groups: Sequence[Group], catalogue: Catalogue) -> None:
        self.groups = groups
        self.alerts = [carried(rule, catalogue) for group in groups for rule in group.rules if rule.is_alert]
        self.anyway = reach(config, Alert(None, {}, lambda _: ANY))
        # Most alerts look alike to the tree.
        outcomes = _by_label(config)
        looks: dict[tuple[str, Known], Hashable] = {}
        seen: dict[Hashable, dict[Route, Way]] = {}
        self.ways: list[dict[Route, Way]] = []
        for alert in self.alerts:
            facts = [(name, alert.label(name)) for name in outcomes]
            for fact in facts:
                if fact not in looks:
                    looks[fact] = _look(fact[1], outcomes[fact[0]])
            look = tuple(looks[fact] for fact in facts)
            if look not in seen:
                seen[look] = reach(config, alert)
            self.ways.append(seen[look])
        self.distinct = list(seen.values())
        self._values: dict[str, frozenset[str] | None] = {}

    def enters(self, route: Route) -> bool:
        """Tell whether any alert may enter a route."""
        return any(ways[route].entered != NEVER for ways in self.distinct)

    def hopeless(self, matcher: Matcher) -> bool:
        """Tell whether no alert can pass a matcher."""
        return all(verdict(matcher, alert.label(matcher.name)) == NEVER for alert in self.alerts)

    def carry(self, name: str) -> bool:
        """Tell whether any alert may carry a label."""
        return any(alert.label(name) != ABSENT for alert in self.alerts)

    def values(self, name: str) -> frozenset[str] | None:
        """Return the values that a label has, None where they can't be listed."""
        if name not in self._values:
            known = [alert.label(name).values for alert in self.alerts]
            listed = [values for values in known if values is not None]
            self._values[name] = frozenset().union(*listed) - {""} if len(listed) == len(known) else None
        return self._values[name]

    def meant(self, matcher: Matcher) -> str:
        """Return what a matcher for a value or a label that no alert has was surely meant to be, empty otherwise."""
        from difflib import get_close_matches

        if not self.alerts:
            return ""
        if not self.carry(matcher.name):
            names = {"alertname"}.union(*(alert.own for alert in self.alerts)) - {matcher.name}
            near = get_close_matches(matcher.name, sorted(names), 1, cutoff=0.8)
            return f'the label "{near[0]}"' if near else ""
        values = self.values(matcher.name)
        for value in sorted(matcher.alternatives or ()):
            if values and value and value not in values:
                # Names of alerts are alike: KubePodNotReady, KubeNodeNotReady.
                near = get_close_matches(value, sorted(values), 1, 0.93 if matcher.name == "alertname" else 0.7)
                if near:
                    return f'{matcher.name}="{near[0]}"'
        return ""


def survey(config: Config, groups: Sequence[Group], catalogue: Catalogue) -> Survey:
    """Return what becomes of the alerts of the groups: worked out once for all checks."""
    return config.survey(groups, lambda: Survey(config, groups, catalogue))


def _by_label(config: Config) -> dict[str, list[Matcher]]:
    """Return, for each label that a route asks for, the matchers that tell different things of it."""
    found: dict[str, dict[tuple[str, str], Matcher]] = {}
    for route in config.routes:
        for matcher in route.matchers:
            found.setdefault(matcher.name, {})[matcher.op[-1], matcher.value] = matcher
    return {name: list(matchers.values()) for name, matchers in found.items()}


def _look(known: Known, matchers: list[Matcher]) -> Hashable:
    """Return what the matchers can tell of a label: alerts of which they can tell the same go the same ways."""
    if known.values is None:
        return known.excluded
    return frozenset(tuple(matcher.accepts(value) for matcher in matchers) for value in known.values)
