"""Random routings and label sets, for comparing with a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper import not_, re
from watchkeeper.routing import Inhibition, Receiver, Route, Routing

if TYPE_CHECKING:
    from random import Random

VALUES = {
    "alertname": ["Down", "Slow", "Full"],
    "severity": ["critical", "warning", "info"],
    "team": ["ml", "web", 'a "b", c', "back\\slash", "{é\n}", "it's"],
    "node": ["n1", "n2", "n3"],
}
REGEXES = [".*", ".+", "", "critical|warning", "w.*", ".*e.*", "[a-m].*", "ml|", "(n1|n2)", "D.+n", "i?nfo", 'a "b".*']


# Of a route at the root, and so on downwards.
BELOW = ([3, 4, 5], [0, 1, 2, 3], [0, 1, 2], [0])


def match(random: Random) -> dict[str, str]:
    """Return one matcher, or two."""
    found: dict[str, str] = {}
    for name in random.sample(list(VALUES), random.randint(1, 2)):
        value = re(random.choice(REGEXES)) if random.random() < 0.4 else random.choice([*VALUES[name], ""])
        found[name] = not_(value) if random.random() < 0.3 else value
    return found


def routing(random: Random) -> Routing:
    """Return a routing in which each route has a receiver of its own."""
    receivers: list[Receiver] = []

    def route(depth: int) -> Route:
        receivers.append(Receiver(f"r{len(receivers)}"))
        own = receivers[-1]
        below = [route(depth + 1) for _ in range(random.choice(BELOW[depth]))]
        given = match(random) if depth else {}
        return Route(own, match=given, continue_=bool(depth) and random.random() < 0.3, routes=below)

    root = route(0)
    inhibitions = [
        Inhibition(match(random), match(random), random.sample(list(VALUES), random.randint(1, 2))) for _ in range(3)
    ]
    return Routing(root, receivers=receivers, inhibitions=inhibitions)


def labels(random: Random) -> dict[str, str]:
    """Return the labels of an alert, which may lack any of them."""
    chosen = {name: random.choice([*values, "other", ""]) for name, values in VALUES.items()}
    return {name: value for name, value in chosen.items() if value}
