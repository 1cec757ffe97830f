"""Routes, inhibitions, time intervals, and the Routing that holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Union

from watchkeeper import contract
from watchkeeper.fields import Unfit, duration, flag, hold, names, one, several, text
from watchkeeper.findings import Place, caller
from watchkeeper.model import DefinitionError
from watchkeeper.routing.receivers import Receiver, paths
from watchkeeper.waivers import Waiver

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class LabelMatcher(NamedTuple):
    """What an alert must have: a label, one of `=`, `!=`, `=~`, `!~`, and a value. A label that is absent is ""."""

    name: str
    op: str
    value: str


# What is given for a matcher; once it is held it is a tuple of LabelMatcher.
Match = Union[Mapping[str, str], "tuple[LabelMatcher, ...]"]


def _matchers(value: object) -> tuple[LabelMatcher, ...]:
    """The form of matchers: a value, `re("...")`, `not_("...")` or `not_(re("..."))` by label."""
    if isinstance(value, tuple) and all(type(item) is LabelMatcher for item in value):
        return value
    if not isinstance(value, Mapping):
        raise Unfit(f'must be a dict of labels, such as {{"severity": "critical"}}, not {type(value).__name__}')
    found = []
    for name, wanted in value.items():
        negated, pattern = isinstance(wanted, contract.not_), isinstance(wanted, contract.re)
        pattern = pattern or (isinstance(wanted, contract.not_) and wanted.pattern)
        op = ("!~" if negated else "=~") if pattern else "!=" if negated else "="
        try:
            found.append(LabelMatcher(text(name), op, text(wanted)))
        except Unfit as error:
            raise Unfit(f"of {name!r:.60} {error}") from None
    return tuple(found)


def _receiver(value: object) -> str:
    """The form of a receiver: its name, for which it stands itself too."""
    return _name(value, Receiver)


def _intervals(value: object) -> tuple[str, ...]:
    """The form of time intervals: their names, for which they stand themselves too."""
    return tuple(_name(item, TimeInterval) for item in several(str, TimeInterval)(value))


def _name(value: object, cls: type[Receiver | TimeInterval]) -> str:
    try:
        return text(value.name if isinstance(value, cls) else value)
    except Unfit:
        raise Unfit(f"must be a {cls.__name__} or the name of one, not {type(value).__name__}") from None


@dataclass(frozen=True)
class Period:
    """A time that recurs: all that is given must hold. `times` are ranges within a day, such as `09:00-17:00`.

    The others are in Alertmanager's words, such as `monday:friday`, `1:5` and `january:march`. `location` is a time
    zone of the tz database, empty for UTC.
    """

    times: Sequence[str] = field(default=(), kw_only=True)
    weekdays: Sequence[str] = field(default=(), kw_only=True)
    days_of_month: Sequence[str] = field(default=(), kw_only=True)
    months: Sequence[str] = field(default=(), kw_only=True)
    years: Sequence[str] = field(default=(), kw_only=True)
    location: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        hold(self, times=names, weekdays=names, days_of_month=names, months=names, years=names, location=text)


@dataclass(frozen=True)
class TimeInterval:
    """Times that routes name: any of the periods."""

    name: str
    periods: Sequence[Period]
    place: Place = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        hold(self, name=text, periods=several(Period))

    def __str__(self) -> str:
        """Return the name."""
        return self.name


@dataclass(frozen=True)
class Route:
    """A node of the tree: alerts that pass all of `match` enter, and the first of `routes` that they pass takes them.

    With `continue_`, those behind it may have them too. What is left empty is inherited from the route above, the
    receiver as well; at the root Alertmanager's defaults hold. `mute_during` and `active_during` name time intervals.
    """

    receiver: str | Receiver = ""  # its name, once it is held
    match: Match = field(default=(), kw_only=True)
    group_by: Sequence[str] = field(default=(), kw_only=True)
    group_wait: str = field(default="", kw_only=True)
    group_interval: str = field(default="", kw_only=True)
    repeat_interval: str = field(default="", kw_only=True)
    continue_: bool = field(default=False, kw_only=True)
    mute_during: Sequence[str | TimeInterval] = field(default=(), kw_only=True)
    active_during: Sequence[str | TimeInterval] = field(default=(), kw_only=True)
    routes: Sequence[Route] = field(default=(), kw_only=True)
    place: Place = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        hold(self, receiver=_receiver, match=_matchers, group_by=names, continue_=flag)
        hold(self, group_wait=duration, group_interval=duration, repeat_interval=duration)
        hold(self, mute_during=_intervals, active_during=_intervals, routes=several(Route))


@dataclass(frozen=True)
class Inhibition:
    """While an alert passes `source`, those that pass `target` and have the same `equal` labels are muted."""

    source: Match
    target: Match
    equal: Sequence[str] = ()
    place: Place = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        hold(self, source=_matchers, target=_matchers, equal=names)


@dataclass(frozen=True)
class Global:
    """What holds for all receivers that don't say otherwise, by the names of Alertmanager's `global`.

    `resolve_timeout` is when an alert ends whose sender no longer says so.
    """

    resolve_timeout: str = field(default="", kw_only=True)
    smtp_smarthost: str = field(default="", kw_only=True)
    smtp_from: str = field(default="", kw_only=True)
    smtp_hello: str = field(default="", kw_only=True)
    smtp_auth_username: str = field(default="", kw_only=True)
    smtp_auth_password_file: str = field(default="", kw_only=True)
    smtp_require_tls: bool = field(default=True, kw_only=True)
    slack_api_url_file: str = field(default="", kw_only=True)
    pagerduty_url: str = field(default="", kw_only=True)
    place: Place = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        hold(self, resolve_timeout=duration, smtp_smarthost=text, smtp_from=text, smtp_hello=text)
        hold(self, smtp_auth_username=text, smtp_auth_password_file=text, smtp_require_tls=flag)
        hold(self, slack_api_url_file=text, pagerduty_url=text)
        paths(
            "Global",
            self.place,
            smtp_auth_password_file=self.smtp_auth_password_file,
            slack_api_url_file=self.slack_api_url_file,
        )


@dataclass(frozen=True)
class Routing:
    """All of it: the root of the tree, which takes every alert, and what its routes name.

    `waivers` are the findings that may stay, about any part of it.
    """

    route: Route
    receivers: Sequence[Receiver] = field(kw_only=True)
    inhibitions: Sequence[Inhibition] = field(default=(), kw_only=True)
    time_intervals: Sequence[TimeInterval] = field(default=(), kw_only=True)
    global_: Global = field(default_factory=Global, kw_only=True)
    waivers: Sequence[Waiver] = field(default=(), kw_only=True)
    place: Place = field(default_factory=caller, kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        hold(self, route=one(Route), receivers=several(Receiver), inhibitions=several(Inhibition))
        hold(self, time_intervals=several(TimeInterval), global_=one(Global), waivers=several(Waiver))
        for depth, _ in walk(self.route):
            if depth > _DEEPEST:
                what = f"routing: its routes nest more than {_DEEPEST} deep"
                raise DefinitionError(what, self.place, "put routes beside each other, not one into another")

    @property
    def places(self) -> tuple[Place, ...]:
        """Where its parts are defined, each once."""
        found = [self.place, self.global_.place, *(route.place for _, route in walk(self.route))]
        for receiver in self.receivers:
            found += [receiver.place, *(one.place for one in receiver.integrations)]
        found += [inhibition.place for inhibition in self.inhibitions]
        found += [interval.place for interval in self.time_intervals]
        return tuple(dict.fromkeys(found))


_DEEPEST = 100  # what is nested deeper can't be rendered, and nobody could read it


def walk(root: Route) -> Iterator[tuple[int, Route]]:
    """Yield the routes of a tree and how deep each stands, parents before children."""
    todo = [(0, root)]
    while todo:
        depth, here = todo.pop()
        yield depth, here
        todo += [(depth + 1, child) for child in reversed(here.routes)]
