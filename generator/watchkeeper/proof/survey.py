"""What becomes of all alerts of a project in an Alertmanager configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.proof.carried import ANY, NEVER, Alert, carried
from watchkeeper.proof.reach import Way, reach

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from watchkeeper.proof.catalogue import Catalogue
    from watchkeeper.proof.routing import Config, Matcher, Route
    from watchkeeper.subject import Group


class Survey:
    """The alerts of the groups, and the ways of each through the tree; `anyway` are those of an alert of any kind."""

    __slots__ = ("alerts", "anyway", "groups", "ways")

    def __init__(self, config: Config, groups: Sequence[Group], catalogue: Catalogue) -> None:
        self.groups = groups
        self.alerts = [carried(rule, catalogue) for group in groups for rule in group.rules if rule.is_alert]
        self.anyway = reach(config, Alert(None, {}, lambda _: ANY))
        # Most alerts look alike to the tree.
        outcomes = _by_label(config)
        seen: dict[Hashable, dict[Route, Way]] = {}
        self.ways: list[dict[Route, Way]] = []
        for alert in self.alerts:
            look = tuple(_look(alert, name, matchers) for name, matchers in outcomes.items())
            if look not in seen:
                seen[look] = reach(config, alert)
            self.ways.append(seen[look])

    def entering(self, route: Route) -> list[Alert]:
        """Return the alerts that may enter a route."""
        return [a for a, ways in zip(self.alerts, self.ways, strict=True) if ways[route].entered != NEVER]

    def reaching(self, route: Route) -> list[Alert]:
        """Return the alerts that may end in a route."""
        return [a for a, ways in zip(self.alerts, self.ways, strict=True) if ways[route].reached != NEVER]


def survey(config: Config, groups: Sequence[Group], catalogue: Catalogue) -> Survey:
    """Return what becomes of the alerts of the groups: worked out once for all checks."""
    return config.survey(groups, lambda: Survey(config, groups, catalogue))


def _by_label(config: Config) -> dict[str, list[Matcher]]:
    found: dict[str, list[Matcher]] = {}
    for route in config.routes:
        for matcher in route.matchers:
            found.setdefault(matcher.name, []).append(matcher)
    return found


def _look(alert: Alert, name: str, matchers: list[Matcher]) -> Hashable:
    """Return what the matchers can tell of a label: alerts of which they can tell the same go the same ways."""
    known = alert.label(name)
    if known.values is None:
        return known.excluded
    return frozenset(tuple(matcher.accepts(value) for matcher in matchers) for value in known.values)
