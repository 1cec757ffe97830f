"""Who is told of an alert: the pack's routing, asked as Alertmanager would route."""

from __future__ import annotations

from watchkeeper.proof.routing import inhibitors, route
from watchkeeper.ruler.history import AlertSeries
from watchkeeper.testing.evaluated import AlertFailure
from watchkeeper.testing.names import UnknownNameError, unknown
from watchkeeper.testing.wanted import braces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from watchkeeper.pack import Pack
    from watchkeeper.proof.routing import Config, Matcher, Route
    from watchkeeper.testing.bench import Bench

_MOST = 5  # reasons that a failure tells


class Fired(AlertSeries):
    """An alert that fires in a run, of which may be asked who is told."""

    __slots__ = ("_bench",)

    def __init__(self, alert: AlertSeries, bench: Bench) -> None:
        for name in AlertSeries.__slots__:
            setattr(self, name, getattr(alert, name))
        self._bench = bench

    def routes_to(self, *receivers: str) -> None:
        """Assert that all of these receivers are told of it, and maybe others; `pack.routes(labels)` lists them."""
        __tracebackhide__ = True
        config = self._bench.router
        for receiver in receivers:
            if receiver not in config.receivers:
                raise unknown("there is no receiver", receiver, config.receivers)
        told = names(config, self.labels)
        for receiver in receivers:
            if receiver not in told:
                raise AlertFailure("\n".join(_failure(config, self.labels, receiver)))


def config_of(pack: Pack | None) -> Config:
    """The pack's routing as Alertmanager reads it.

    Raises UnknownNameError where there is none, and ValueError for one that it would refuse.
    """
    if pack is None or pack.routing is None:
        raise UnknownNameError("the pack has no routing: make one in a module that Pack.discover looks at")
    from watchkeeper import routed

    config, findings = routed.read(pack.routing)
    if config is None:
        wrong = next(finding for finding in findings if finding.severity == "error")
        raise ValueError(f"{wrong.place}: {wrong.message}: run `watchkeeper check`")
    return config


def names(config: Config, labels: Mapping[str, str]) -> list[str]:
    """The receivers that are told of an alert with exactly these labels, each once, in the order of the routes."""
    return list(dict.fromkeys(one.receiver.value for one in route(config, labels)))


def inhibits(config: Config, source: Mapping[str, str], target: Mapping[str, str]) -> bool:
    """Whether the target is muted while the source fires."""
    return bool(inhibitors(config, target, [source]))


def _failure(config: Config, labels: Mapping[str, str], receiver: str) -> Iterator[str]:
    ends = route(config, labels)
    told = ", ".join(f'"{name}"' for name in names(config, labels))
    yield f'{braces(labels)} is not routed to "{receiver}", but to {told}'
    reasons = [_why_not(one, labels) for one in config.routes if one.receiver.value == receiver]
    reasons = list(dict.fromkeys(reasons))
    yield from (f"  {reason}" for reason in reasons[:_MOST])
    if not reasons:
        yield "  no route leads there"
    elif len(reasons) > _MOST:
        yield f"  and {len(reasons) - _MOST} more routes there do not take it"
    for end in ends:
        steps = [str(step) for step in _path(end)[1:]] or [str(end)]
        yield f'  it passed {" > ".join(steps)} ({_place(end)}) to "{end.receiver.value}"'


def _why_not(wanted: Route, labels: Mapping[str, str]) -> str:
    """Why an alert does not end in a route: the first thing on the way there that stops it."""
    for step in _path(wanted)[1:]:
        for matcher in step.matchers:
            if not matcher.matches(labels.get(matcher.name, "")):
                return f"{step} ({_place(step)}): {_has(matcher, labels)}"
        siblings = step.parent.routes if step.parent else []
        for before in siblings[: siblings.index(step)]:
            if not before.continue_ and _matches(before, labels):
                return f"{step} ({_place(step)}): {before} ({_place(before)}) takes it before"
    taker = next((child for child in wanted.routes if _matches(child, labels)), wanted)
    return f"{wanted} ({_place(wanted)}): {taker} below it ({_place(taker)}) takes it"


def _has(matcher: Matcher, labels: Mapping[str, str]) -> str:
    value = labels.get(matcher.name, "")
    return f'{matcher.name} is "{value}"' if value else f"it has no {matcher.name}"


def _matches(one: Route, labels: Mapping[str, str]) -> bool:
    return all(matcher.matches(labels.get(matcher.name, "")) for matcher in one.matchers)


def _path(one: Route) -> list[Route]:
    """The routes from the root to this one."""
    path = [one]
    while path[-1].parent:
        path.append(path[-1].parent)
    return path[::-1]


def _place(one: Route) -> str:
    return str(one.place.source.at(0, 0)[0])
