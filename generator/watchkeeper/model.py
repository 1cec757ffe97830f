"""What is defined: alerts, recording rules, and groups of them.

Definitions are plain values: frozen, equal by value, and they remember the place of the call that made them. They are
not validated when they are made, so that one run of the checks reports everything that is wrong with all of them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeVar, Union

from watchkeeper.contract import Selectable
from watchkeeper.fields import Unfit, duration, hold, several, text, texts_by_name, whole
from watchkeeper.findings import Place, caller, nearest
from watchkeeper.waivers import Waiver

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from watchkeeper.promql.threshold import Threshold


class DefinitionError(ValueError):
    """A definition that can't be made, such as an override of an alert that does not exist. `place` says where."""

    def __init__(self, message: str, place: Place, fix: str = "") -> None:
        super().__init__(message)
        self.message, self.place, self.fix = message, place, fix


class Severity(str, Enum):
    """How an alert reaches people: critical pages, warning makes a ticket, info notifies nobody."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"

    def __str__(self) -> str:
        """Return the value of the label `severity`."""
        return self.value


def _promql(value: object) -> str:
    """The form of PromQL: text, or what has a name in it, which stands for that name."""
    try:
        return text(str(value) if isinstance(value, Selectable) else value)
    except Unfit:
        raise Unfit(f"must be a string of PromQL, not {type(value).__name__}") from None


def _severity(value: object) -> str:
    """The form of a severity: one of ours, or the text, of which a check says that it is none."""
    held = value if isinstance(value, Severity) else text(value)
    return next((severity for severity in Severity if severity == held), held)


_waivers = several(Waiver)

Definition = TypeVar("Definition", "Alert", "Recording", "Group")


def changed_copy(definition: Definition, changes: Mapping[str, Any]) -> Definition:
    """Return a copy with other fields; `changes["place"]` is the place of the call that wants it.

    Raises:
        DefinitionError: there is no field of that name.
    """
    known = [f.name for f in dataclasses.fields(definition) if f.name != "place"]
    for name in changes:
        if name not in known and name != "place":
            raise DefinitionError(
                f'{definition.name} has no field "{name}"{nearest(name, known)}',
                changes["place"],
                f"the fields of {type(definition).__name__} are {', '.join(known)}",
            )
    return dataclasses.replace(definition, **changes)


@dataclass(frozen=True)
class Recording(Selectable):
    """A recording rule: its name, of the form `level:metric:operations`, is what it formats to in other expressions."""

    name: str
    expr: str
    labels: Mapping[str, str] = field(default_factory=dict, kw_only=True, hash=False)  # a mapping has no hash
    unit: str = field(default="", kw_only=True)
    waivers: Sequence[Waiver] = field(default=(), kw_only=True)
    place: Place = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        hold(self, name=text, expr=_promql, labels=texts_by_name, unit=text, waivers=_waivers)


@dataclass(frozen=True)
class Alert:
    """An alerting rule, with what a person needs when it fires.

    `for_`, `keep_firing_for`: Prometheus durations such as `5m`. `team` owns it. `priority`: an optional label such as
    `P1`. `summary`, `description` and `reason`, the values that fired, are annotations in Prometheus' template
    language. `runbook` is its page's name. `panel` is `dashboard uid/panel key`, only needed where more than one panel
    names the alert. `labels` and `annotations` are added to those that the other fields make. `waivers` are the
    findings that may stay.
    """

    name: str
    expr: str = field(kw_only=True)
    severity: Severity = field(kw_only=True)
    team: str = field(kw_only=True)
    summary: str = field(kw_only=True)
    description: str = field(default="", kw_only=True)
    reason: str = field(default="", kw_only=True)
    runbook: str = field(default="", kw_only=True)
    for_: str = field(default="", kw_only=True)
    keep_firing_for: str = field(default="", kw_only=True)
    priority: str = field(default="", kw_only=True)
    panel: str = field(default="", kw_only=True)
    labels: Mapping[str, str] = field(default_factory=dict, kw_only=True, hash=False)
    annotations: Mapping[str, str] = field(default_factory=dict, kw_only=True, hash=False)
    waivers: Sequence[Waiver] = field(default=(), kw_only=True)
    place: Place = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        hold(self, name=text, expr=_promql, severity=_severity, team=text, summary=text, description=text, reason=text)
        hold(self, runbook=text, for_=duration, keep_firing_for=duration, priority=text, panel=text)
        hold(self, labels=texts_by_name, annotations=texts_by_name, waivers=_waivers)

    @property
    def threshold(self) -> Threshold:
        """The literal that the expression compares with.

        Raises:
            watchkeeper.promql.ParseError: the expression is not PromQL.
            watchkeeper.promql.ThresholdError: there is no such literal, or more than one.
        """
        from watchkeeper.promql import parse
        from watchkeeper.promql.threshold import threshold

        return threshold(parse(self.expr))

    def replace(self, *, threshold: float | None = None, **changes: Any) -> Alert:
        """Return the alert with other fields, or with another threshold put into its expression.

        Raises:
            DefinitionError: there is no such field, or no one threshold to replace.
        """
        changes.setdefault("place", caller())
        changed = changed_copy(self, changes)
        if threshold is None:
            return changed
        from watchkeeper.promql import parse
        from watchkeeper.promql.threshold import splice
        from watchkeeper.promql.threshold import threshold as find

        try:
            expr = splice(changed.expr, find(parse(changed.expr)), threshold)
        except ValueError as error:  # ParseError, ThresholdError, or a NaN
            raise DefinitionError(
                f"alert {self.name}: can't replace the threshold: {error}", changes["place"], "give expr= instead"
            ) from error
        return dataclasses.replace(changed, expr=expr)


Rule = Union[Alert, Recording]  # noqa: UP007 - evaluated at run time, on 3.10 too


@dataclass(frozen=True)
class Group:
    """Rules that Prometheus evaluates together, in this order, every `interval`.

    `interval` and `query_offset` are durations, empty for the server's default; `limit` is the most alerts or series
    that one rule may make, 0 for no limit; `labels` are added to every rule's.

    A group among the rules stands for its rules, with its labels and waivers added to theirs. It can't bring an
    interval, a query_offset or a limit of its own.
    """

    name: str
    rules: Sequence[Rule]  # groups too, when it is made
    interval: str = field(default="", kw_only=True)
    query_offset: str = field(default="", kw_only=True)
    limit: int = field(default=0, kw_only=True)
    labels: Mapping[str, str] = field(default_factory=dict, kw_only=True, hash=False)
    waivers: Sequence[Waiver] = field(default=(), kw_only=True)
    place: Place = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        hold(self, name=text, interval=duration, query_offset=duration, limit=whole, labels=texts_by_name)
        hold(self, rules=several(Alert, Recording, Group), waivers=_waivers)
        object.__setattr__(self, "rules", tuple(_flat(self)))

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """The alerting rules among them."""
        return tuple(rule for rule in self.rules if isinstance(rule, Alert))


def _flat(group: Group) -> Iterator[Rule]:
    """Yield the rules, and those of groups among them: what a function with parameters returns can be a part."""
    for rule in group.rules:
        if not isinstance(rule, Group):
            yield rule
            continue
        for setting in ("interval", "query_offset", "limit"):
            inner, outer = getattr(rule, setting), getattr(group, setting)
            if inner and inner != outer:
                raise DefinitionError(
                    f"group {group.name}: the group {rule.name} in it has {setting}={inner!r}, and a group has one for "
                    f"all its rules: {f'{outer!r} here' if outer else 'none here'}",
                    group.place,
                    f"give {group.name} {setting}={inner!r}, or keep {rule.name} a group of its own",
                )
        for part in rule.rules:
            labelled = _labelled(part, rule.labels)
            waivers = (*part.waivers, *rule.waivers)
            yield dataclasses.replace(labelled, waivers=waivers) if rule.waivers else labelled


def _labelled(rule: Rule, labels: Mapping[str, str]) -> Rule:
    """Return the rule with a group's labels as Prometheus adds them: what the rule says itself stays."""
    own = set(rule.labels)
    if isinstance(rule, Alert):
        own |= {field for field in ("severity", "team", "priority") if getattr(rule, field)}
    added = {name: value for name, value in labels.items() if name not in own}
    return dataclasses.replace(rule, labels={**added, **rule.labels}) if added else rule
