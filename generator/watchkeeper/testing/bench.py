"""The rules under test, read once, and runs of them on series."""

from __future__ import annotations

from collections.abc import Mapping

from watchkeeper.findings import caller
from watchkeeper.promql import walk
from watchkeeper.promql.nodes import Call, VectorSelector
from watchkeeper.ruler.rules import RuleGroup, groups_of
from watchkeeper.testing import times
from watchkeeper.testing.names import UnknownNameError, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any, TypeAlias

    from watchkeeper.model import Alert
    from watchkeeper.pack import Pack
    from watchkeeper.proof.routing import Config
    from watchkeeper.ruler.rules import Rule
    from watchkeeper.settings import Settings
    from watchkeeper.testing.runs import Run
    from watchkeeper.testing.series import Part

    # A pack, a rule file's plain data, or the path of a rule file.
    Rules: TypeAlias = Pack | Mapping[str, Any] | os.PathLike[str]

_OF_ALERTS = ("ALERTS", "ALERTS_FOR_STATE")


class Bench:
    """Rules under test. Made once: reading the rules of a pack costs more than a run.

    `rules` are a Pack, the plain data of a rule file, or the path of one. `settings` say where runbooks are, for the
    annotations; links to panels are left out. `pack` is None where there is none.
    """

    __slots__ = ("_closures", "_contract", "_router", "groups", "pack")

    def __init__(self, rules: Rules, settings: Settings | None = None) -> None:
        """Read the rules. Raises watchkeeper.ruler.RuleError with all that is wrong with them."""
        self.pack, self.groups = _read(rules, settings)
        self._closures: dict[str, list[RuleGroup]] = {}
        self._contract: Any = None
        self._router: Config | None = None

    @property
    def router(self) -> Config:
        """The pack's routing, read once. Raises UnknownNameError where it has none."""
        if self._router is None:
            from watchkeeper.testing.routing import config_of

            self._router = config_of(self.pack)
        return self._router

    def routes(self, labels: Mapping[str, str]) -> list[str]:
        """The receivers that are told of an alert with exactly these labels, alertname among them, in order."""
        from watchkeeper.testing.routing import names

        return names(self.router, labels)

    def inhibits(self, source: Mapping[str, str], target: Mapping[str, str]) -> bool:
        """Whether an alert with the labels `target` is muted while one with the labels `source` fires."""
        from watchkeeper.testing.routing import inhibits

        return inhibits(self.router, source, target)

    @property
    def alerts(self) -> dict[str, list[Rule]]:
        """The alerting rules by name; several may share one."""
        return _by_name(self.groups, alerts=True)

    @property
    def recordings(self) -> dict[str, list[Rule]]:
        """The recording rules by name."""
        return _by_name(self.groups, alerts=False)

    def rules(self, alert: Alert | str) -> list[Rule]:
        """The rules of an alert. Raises UnknownNameError."""
        name = alert if isinstance(alert, str) else alert.name
        found = self.alerts.get(name)
        if found is None:
            gone = [one for one in self.pack.removed if one.name == name] if self.pack is not None else []
            if gone:
                raise UnknownNameError(f'the pack has no "{name}": removed at {gone[0].place}, {gone[0].reason}')
            raise unknown("there is no alert", name, self.alerts)
        return found

    def run(
        self,
        *series: Part,
        labels: Mapping[str, str] | None = None,
        interval: str | float = "15s",
        every: str | float | None = None,
        since: times.Time | None = None,
        until: times.Time | None = None,
        compat: str = "3",
    ) -> Run:
        """Rules on series, ready for assertions; see `watchkeeper.testing.run`."""
        from watchkeeper.testing.runs import Run
        from watchkeeper.testing.series import Contract, assemble

        if self._contract is None:
            self._contract = Contract(self.pack, self._read_names(), self.recordings)
        spacing = times.length(interval, "interval")
        step = spacing if every is None else times.length(every, "every")
        data = assemble(series, labels or {}, spacing, self._contract)
        start = min((one.times[0] for one in data.series if one.times), default=0)
        end = max((one.times[-1] for one in data.series if one.times), default=0)
        if since is not None:
            start = times.moment(since, start, "since")
        if until is not None:
            end = times.moment(until, start, "until")
        if end < start:
            raise ValueError(f"since, until: nothing is evaluated between {since} and {until}")
        return Run(self, data, (start, end, step), compat, caller())

    def closure(self, name: str) -> list[RuleGroup]:
        """The groups with no other rules than those of this alert, and those whose outcome it depends on."""
        if name not in self._closures:
            wanted = self._depends(self.rules(name))
            self._closures[name] = self.groups if wanted is None else _narrowed(self.groups, wanted)
        return self._closures[name]

    def _depends(self, rules: list[Rule]) -> set[int] | None:
        """The ids of the rules that some need, themselves among them; None for all of them."""
        recorded = self.recordings
        found = set(map(id, rules))
        waiting = list(rules)
        while waiting:
            one = waiting.pop()
            if any("query" in text for text in one.labels.values() if "{{" in text):
                return None
            for node in walk(one.tree):
                if isinstance(node, Call) and node.name == "info":
                    return None
                if not isinstance(node, VectorSelector):
                    continue
                name = node.metric_name
                if name is None or name in _OF_ALERTS:
                    return None
                more = [other for other in recorded.get(name, ()) if id(other) not in found]
                found.update(map(id, more))
                waiting += more
        return found

    def _read_names(self) -> set[str]:
        names = set()
        for group in self.groups:
            for rule in group.rules:
                for node in walk(rule.tree):
                    if isinstance(node, VectorSelector) and node.metric_name is not None:
                        names.add(node.metric_name)
        return names


def run(
    rules: Rules,
    *series: Part,
    labels: Mapping[str, str] | None = None,
    interval: str | float = "15s",
    every: str | float | None = None,
    since: times.Time | None = None,
    until: times.Time | None = None,
    compat: str = "3",
) -> Run:
    """Rules on series, ready for assertions.

    `rules` are a Pack, the plain data of a rule file, or the path of one. Each of `series` is a mapping of metrics,
    names or selectors to values (notation, a list of notation lines that begin with labels, or numbers with None where
    one is missing), lines of series notation, the path of a recorded file (OpenMetrics, Prometheus' text format,
    notation), or `watchkeeper.engine.Data`. `labels` are given to every series that can have them by the contract.

    Samples are `interval` apart. Rules are evaluated `every` so often, by default at every sample, from the first
    sample or `since` a time after it, to the last or `until` a time. A time is a duration such as "4m" or seconds, both
    from the first evaluation, or an aware datetime.

    Raises UnknownNameError for a metric or label that neither the contract nor a rule knows.
    """
    return Bench(rules).run(
        *series, labels=labels, interval=interval, every=every, since=since, until=until, compat=compat
    )


def _by_name(groups: list[RuleGroup], *, alerts: bool) -> dict[str, list[Rule]]:
    found: dict[str, list[Rule]] = {}
    for group in groups:
        for rule in group.rules:
            if rule.is_alert is alerts:
                found.setdefault(rule.name, []).append(rule)
    return found


def _narrowed(groups: list[RuleGroup], wanted: set[int]) -> list[RuleGroup]:
    found = []
    for group in groups:
        rules = [rule for rule in group.rules if id(rule) in wanted]
        if rules:
            found.append(
                RuleGroup(
                    group.name, rules, group.interval_ms, group.limit, group.query_offset_ms, group.labels, group.file
                )
            )
    return found


def _read(rules: Rules, settings: Settings | None) -> tuple[Pack | None, list[RuleGroup]]:
    if isinstance(rules, Mapping):
        return None, groups_of(rules)
    if hasattr(rules, "__fspath__"):
        import os

        from watchkeeper.ruler.unit import documents

        path = os.fspath(rules)
        return None, groups_of(documents.read(path)[0], path)
    from watchkeeper.pack import Pack
    from watchkeeper.render.rules import rule_file

    if not isinstance(rules, Pack):
        raise TypeError(f"rules are a Pack, a rule file's data or its path, not {type(rules).__name__}: {rules!r:.60}")
    if settings is None:
        from pathlib import Path

        from watchkeeper.settings import Settings

        settings = Settings(root=Path())
    found = []
    for group in rules.groups:
        found += groups_of(rule_file(group, settings, {}), group.place.file)
    return rules, found
