"""What the oldest Alertmanager in use does not know of the routing that definitions make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Place
    from watchkeeper.project import Project
    from watchkeeper.routing import Receiver, Route, Routing

    Version = tuple[int, int]
    Use = tuple[str, Version, Place]

ID = "routing/feature"

# By https://github.com/prometheus/alertmanager/blob/main/CHANGELOG.md
_ACTIVE = (0, 24)
_LOCATION, _EMAIL_PASSWORD_FILE, _ROUTING_KEY_FILE = (0, 25), (0, 25), (0, 25)
_URL_FILE = (0, 26)
_TIMEOUT = (0, 28)


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
    if routing.global_.smtp_auth_password_file:
        yield "smtp_auth_password_file", _EMAIL_PASSWORD_FILE, routing.global_.place
    for receiver in routing.receivers:
        yield from _of_receiver(receiver)
    for interval in routing.time_intervals:
        yield f'time interval "{interval.name}"', _ACTIVE, interval.place
        if any(period.location for period in interval.periods):
            yield f'time interval "{interval.name}": location', _LOCATION, interval.place
    yield from _of_route(routing.route)


def _of_receiver(receiver: Receiver) -> Iterator[Use]:
    features = {"routing_key_file": _ROUTING_KEY_FILE, "url_file": _URL_FILE, "timeout": _TIMEOUT}
    for one in receiver.integrations:
        for field, since in features.items():
            if getattr(one, field, ""):
                yield f'{field} of a {type(one).__name__} of receiver "{receiver.name}"', since, one.place


def _of_route(route: Route) -> Iterator[Use]:
    if route.active_during:
        yield "active_during of a route", _ACTIVE, route.place
    for child in route.routes:
        yield from _of_route(child)
