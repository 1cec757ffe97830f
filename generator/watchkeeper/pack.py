"""A pack: metrics, groups of rules and dashboards that belong together, for others to extend."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from watchkeeper.contract import Metric
from watchkeeper.discovery import modules, taken
from watchkeeper.fields import fit, hold, names, one, optional, several, text, texts_by_name
from watchkeeper.findings import Place, caller, nearest
from watchkeeper.model import Alert, DefinitionError, Group, Recording, Rule, changed_copy
from watchkeeper.runbook import PageError, Runbook, read_pages

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from watchkeeper.routing import Routing

# A grafanalib Dashboard, a dict, anything with to_json_data() or to_json(); or a function of the pack that returns one.
Dashboard = Any


@dataclass(frozen=True)
class Removed:
    """What `without` took out: a name, the reason, and where it was said."""

    name: str
    reason: str
    place: Place = field(compare=False)


@dataclass(frozen=True)
class Pack:
    """All that is watched. Immutable: `add`, `without` and `replace` return another pack.

    `target_labels` are what the scrape configuration puts on every series, such as `job` and `instance`.
    `loose` are rules that a module made and put in no group, which is a finding. `runbooks` are the alerts' pages; None
    where pages are kept elsewhere and can't be checked. `routing` says who is told of the alerts, None where that is
    kept elsewhere.
    """

    metrics: tuple[Metric, ...] = ()
    groups: tuple[Group, ...] = ()
    dashboards: tuple[Dashboard, ...] = ()
    target_labels: tuple[str, ...] = ("job", "instance")
    runbooks: tuple[Runbook, ...] | None = None
    removed: tuple[Removed, ...] = ()
    loose: tuple[Rule, ...] = ()
    routing: Routing | None = None
    place: Place = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        hold(self, metrics=several(Metric), groups=several(Group), dashboards=several(object, what="dashboards"))
        hold(self, target_labels=names, runbooks=optional(several(Runbook)))
        hold(self, removed=several(Removed), loose=several(Alert, Recording), routing=_routing)

    @classmethod
    def discover(
        cls, *packages: str, target_labels: tuple[str, ...] = ("job", "instance"), runbooks: str | None = None
    ) -> Pack:
        """Return a pack of what the modules of these packages made: metrics, groups, dashboards, the routing.

        Definitions may also stand in a list, a tuple, a dict or a class. A dashboard is what has a name that starts
        with `dashboard` or ends in `_dashboard`: a function of the pack, a dict, an object that becomes JSON. What a
        module only imported is not its own and is left out. `runbooks` is the package whose Markdown files are the
        runbook pages.

        Raises:
            ImportError: a package does not exist, or a module fails to import.
            DefinitionError: a name that no package can have, a runbook page that can't be read, or a second routing.
        """
        place = caller()
        fit("Pack.discover", "packages", packages, names)
        target_labels = fit("Pack.discover", "target_labels", target_labels, names)
        fit("Pack.discover", "runbooks", runbooks, optional(text))
        for package in (*packages, *([] if runbooks is None else [runbooks])):
            if not package or package.startswith("."):
                raise DefinitionError(f'Pack.discover: "{package}" is no package', place, 'write "acme.monitoring"')
        metrics: list[Metric] = []
        groups: list[Group] = []
        rules: list[Rule] = []
        dashboards: list[Dashboard] = []
        routings: list[Routing] = []
        used: list[tuple[set[int], set[tuple[type, str]]]] = []
        found = list(modules(packages))
        for module in found:
            made, drawn, held = taken(module, found)
            metrics += [one for one in made if isinstance(one, Metric)]
            rules += [one for one in made if isinstance(one, (Alert, Recording))]
            dashboards += drawn
            routings += [one for one in made if not isinstance(one, (Metric, Alert, Recording, Group))]
            groups += (own := [one for one in made if isinstance(one, Group)])
            used.append((held, {(type(rule), rule.name) for group in own for rule in group.rules}))
        grouped = {id(rule) for group in groups for rule in group.rules}

        def is_loose(rule: Rule) -> bool:
            # A group may hold a changed copy: one of the rule's name, in a module that has the rule.
            copied = any(id(rule) in held and (type(rule), rule.name) in names for held, names in used)
            return id(rule) not in grouped and not copied

        try:
            pages = None if runbooks is None else read_pages(runbooks)
        except PageError as error:
            raise DefinitionError(error.message, error.place, "save it as UTF-8 text") from None
        return cls(
            metrics=_once(metrics),
            groups=_once(groups),
            dashboards=_once(dashboards),
            target_labels=target_labels,
            runbooks=pages,
            loose=tuple(rule for rule in _once(rules) if is_loose(rule)),
            routing=_only(routings),
            place=place,
        )

    @property
    def rules(self) -> Iterator[Rule]:
        """All rules, in order."""
        return (rule for group in self.groups for rule in group.rules)

    @property
    def alerts(self) -> dict[str, Alert]:
        """The alerts by name."""
        return {rule.name: rule for rule in self.rules if isinstance(rule, Alert)}

    def add(self, *definitions: Metric | Group | Pack | Dashboard) -> Pack:
        """Return the pack with more metrics, groups, dashboards, or all of another pack.

        The routing of another pack is taken where this one has none.

        Raises:
            DefinitionError: a rule that is in no group, or what is none of these.
        """
        place = caller()
        metrics, groups, dashboards = list(self.metrics), list(self.groups), list(self.dashboards)
        runbooks, removed, loose = self.runbooks, self.removed, self.loose
        target_labels, routing = self.target_labels, self.routing
        for definition in definitions:
            if isinstance(definition, Pack):
                metrics += definition.metrics
                groups += definition.groups
                dashboards += definition.dashboards
                removed += definition.removed
                loose += definition.loose
                target_labels += definition.target_labels
                routing = routing or definition.routing
                known = runbooks is not None and definition.runbooks is not None
                runbooks = (*runbooks, *definition.runbooks) if known else None  # type: ignore[misc]
            elif isinstance(definition, Metric):
                metrics.append(definition)
            elif isinstance(definition, Group):
                groups.append(definition)
            elif isinstance(definition, (Alert, Recording)):
                raise DefinitionError(
                    f"{definition.name} can't be added by itself",
                    place,
                    f'put it in a Group: add(Group("name", [{definition.name}]))',
                )
            elif callable(definition) or isinstance(definition, dict) or _can_be_json(definition):
                dashboards.append(definition)
            else:
                raise DefinitionError(
                    f"a pack holds metrics, groups, dashboards and packs, not {definition!r:.60}",
                    place,
                    "a routing is given with Pack.with_routing(...)",
                )
        return dataclasses.replace(
            self,
            metrics=_once(metrics),
            groups=_once(groups),
            dashboards=_once(dashboards),
            target_labels=tuple(dict.fromkeys(target_labels)),
            runbooks=runbooks,
            removed=removed,
            loose=loose,
            routing=routing,
        )

    def with_routing(self, routing: Routing | None) -> Pack:
        """Return the pack with this routing in place of its own; None where it is kept elsewhere."""
        return dataclasses.replace(self, routing=fit("Pack.with_routing", "routing", routing, _routing))

    def without(self, name: str, *, reason: str) -> Pack:
        """Return the pack without the rule, group or dashboard (by its uid) of that name. The reason is for the reader.

        Raises:
            DefinitionError: there is none of that name, or no reason is given.
        """
        place = caller()
        fit("Pack.without", "name", name, text)
        fit("Pack.without", "reason", reason, text)
        if not reason.strip():
            raise DefinitionError(f'without("{name}") needs a reason', place, "say why: the next reader will ask")
        removed = (*self.removed, Removed(name, reason, place))
        if any(group.name == name for group in self.groups):
            gone = [Removed(alert.name, reason, place) for g in self.groups if g.name == name for alert in g.alerts]
            groups = tuple(group for group in self.groups if group.name != name)
            return dataclasses.replace(self, groups=groups, removed=(*removed, *gone))
        if any(rule.name == name for rule in self.rules):
            groups = tuple(
                dataclasses.replace(group, rules=tuple(rule for rule in group.rules if rule.name != name))
                for group in self.groups
            )
            return dataclasses.replace(self, groups=tuple(g for g in groups if g.rules), removed=removed)
        uids = {self._uid(dashboard): dashboard for dashboard in self.dashboards}
        if name in uids:
            dashboards = tuple(d for d in self.dashboards if d is not uids[name])
            return dataclasses.replace(self, dashboards=dashboards, removed=removed)
        raise self._unknown(name, place, list(uids))

    def replace(self, name: str, /, **changes: Any) -> Pack:
        """Return the pack with other fields for the rule or group of that name; for an alert also `threshold=`.

        Raises:
            DefinitionError: there is none of that name, or it has no such field, or no one threshold.
        """
        changes["place"] = place = caller()
        fit("Pack.replace", "name", name, text)
        if any(group.name == name for group in self.groups):
            groups = tuple(changed_copy(group, changes) if group.name == name else group for group in self.groups)
            return dataclasses.replace(self, groups=groups)
        if not any(rule.name == name for rule in self.rules):
            raise self._unknown(name, place)

        def changed(rule: Rule) -> Rule:
            if rule.name != name:
                return rule
            return rule.replace(**changes) if isinstance(rule, Alert) else changed_copy(rule, changes)

        groups = tuple(
            dataclasses.replace(group, rules=tuple(changed(rule) for rule in group.rules)) for group in self.groups
        )
        return dataclasses.replace(self, groups=groups)

    def reassign(self, teams: Mapping[str, str]) -> Pack:
        """Return the pack with its alerts given to other teams: `{"gpu-platform": "platform"}`.

        Raises:
            DefinitionError: no alert is that team's.
        """
        place = caller()
        teams = fit("Pack.reassign", "teams", teams, texts_by_name)
        known = sorted({alert.team for alert in self.alerts.values()})
        for team in teams:
            if team not in known:
                message = f'no alert is the team "{team}"\'s{nearest(team, known)}'
                raise DefinitionError(message, place, f"the teams are {', '.join(known)}")

        def given(rule: Rule) -> Rule:
            return rule.replace(team=teams[rule.team]) if isinstance(rule, Alert) and rule.team in teams else rule

        groups = tuple(dataclasses.replace(group, rules=tuple(map(given, group.rules))) for group in self.groups)
        return dataclasses.replace(self, groups=groups)

    def build(self, dashboard: Dashboard) -> Any:
        """Return the dashboard itself: what the function makes of this pack, or the object as it is."""
        return dashboard(self) if callable(dashboard) else dashboard

    def _uid(self, dashboard: Dashboard) -> str:
        from watchkeeper.render.grafana import read

        return str(read(self.build(dashboard)).get("uid", ""))

    def _unknown(self, name: str, place: Place, uids: list[str] | None = None) -> DefinitionError:
        names = [*(rule.name for rule in self.rules), *(group.name for group in self.groups), *(uids or ())]
        gone = [f" (removed at {r.place}: {r.reason})" for r in self.removed if r.name == name]
        message = f'the pack has no "{name}"{"".join(gone[:1]) or nearest(name, names)}'
        return DefinitionError(message, place, f"it has {', '.join(names)}" if 0 < len(names) <= 20 else "")


def _can_be_json(value: object) -> bool:
    return hasattr(value, "to_json_data") or hasattr(value, "to_json")


def _routing(value: object) -> Routing | None:
    """The form of a routing. It takes a while to load, and most packs have none."""
    if value is None:
        return None
    from watchkeeper.routing import Routing

    routing: Routing = one(Routing)(value)
    return routing


def _only(routings: list[Routing]) -> Routing | None:
    """Return the one routing that there is: a second would be another Alertmanager's."""
    for other in routings[1:]:
        if other is not routings[0]:
            what = f"there is a routing already, made at {routings[0].place}"
            raise DefinitionError(what, other.place, "keep one of them, or make a pack of each with Pack.with_routing")
    return routings[0] if routings else None


def _once(items: list[Any]) -> tuple[Any, ...]:
    """Return the items, the same object once: one module may hold it under two names."""
    return tuple({id(item): item for item in items}.values())
