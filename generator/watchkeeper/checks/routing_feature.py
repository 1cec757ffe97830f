"""What the oldest Alertmanager in use does not know of the routing that definitions make."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from watchkeeper.findings import Finding
from watchkeeper.names import LABEL
from watchkeeper.routing.definitions import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from watchkeeper.findings import Place
    from watchkeeper.project import Project
    from watchkeeper.routing import LabelMatcher, Receiver, Route, Routing
    from watchkeeper.routing.definitions import Match

    Version = tuple[int, int]
    Use = tuple[str, Version, Place]

ID = "routing/feature"

# By https://github.com/prometheus/alertmanager/blob/main/CHANGELOG.md
_MATCHERS, _API_URL_FILE = (0, 22), (0, 22)
_ACTIVE = (0, 24)
_LOCATION, _EMAIL_PASSWORD_FILE, _ROUTING_KEY_FILE = (0, 25), (0, 25), (0, 25)
_URL_FILE = (0, 26)
# A label name with other characters than letters, digits and _.
_UTF8 = (0, 27)
_UTF8_EQUAL, _TIMEOUT = (0, 28), (0, 28)


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each feature newer than `targets.alertmanager`."""
    target = project.settings.targets.alertmanager
    routing = project.pack.routing
    for what, since, place in _uses(routing) if routing else ():
        if since > target:
            yield Finding(
                ID,
                f"{what} needs Alertmanager {since[0]}.{since[1]}",
                place,
                why=f"the oldest in use is {target[0]}.{target[1]} (targets.alertmanager), and it refuses the file",
                fix="do without it, or upgrade and raise the target",
            )


def _uses(routing: Routing) -> Iterator[Use]:
    for field, since in (("smtp_auth_password_file", _EMAIL_PASSWORD_FILE), ("slack_api_url_file", _API_URL_FILE)):
        if getattr(routing.global_, field):
            yield field, since, routing.global_.place
    for receiver in routing.receivers:
        yield from _of_receiver(receiver)
    for interval in routing.time_intervals:
        yield f'time interval "{interval.name}"', _ACTIVE, interval.place
        if any(period.location for period in interval.periods):
            yield f'time interval "{interval.name}": location', _LOCATION, interval.place
    for _, route in walk(routing.route):
        yield from _of_route(route)
    for inhibition in routing.inhibitions:
        yield from _of_match(inhibition.source, "an inhibition", inhibition.place)
        yield from _of_match(inhibition.target, "an inhibition", inhibition.place)
        yield from _of_names(inhibition.equal, "equal of an inhibition", _UTF8_EQUAL, inhibition.place)


def _of_receiver(receiver: Receiver) -> Iterator[Use]:
    for one in receiver.integrations:
        for field, since in _FILES.items():
            if getattr(one, field, ""):
                yield f'{field} of a {type(one).__name__} of receiver "{receiver.name}"', since, one.place


_FILES = {
    "api_url_file": _API_URL_FILE,
    "routing_key_file": _ROUTING_KEY_FILE,
    "url_file": _URL_FILE,
    "timeout": _TIMEOUT,
}


def _of_route(route: Route) -> Iterator[Use]:
    yield from _of_match(route.match, "a route", route.place)
    yield from _of_names((name for name in route.group_by if name != "..."), "group_by of a route", _UTF8, route.place)
    if route.active_during:
        yield "active_during of a route", _ACTIVE, route.place


def _of_match(match: Match, owner: str, place: Place) -> Iterator[Use]:
    held = cast("tuple[LabelMatcher, ...]", match)  # whatever was given
    if held:
        yield f"what {owner} matches (matchers)", _MATCHERS, place
    yield from _of_names((matcher.name for matcher in held), f"a matcher of {owner}", _UTF8, place)


def _of_names(names: Iterable[str], owner: str, since: Version, place: Place) -> Iterator[Use]:
    for name in names:
        if not LABEL.match(name):
            yield f'the label name "{name}" in {owner}', since, place
