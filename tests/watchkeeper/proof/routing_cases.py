"""Random routing trees and alerts, for tests of what is said of them."""

from __future__ import annotations

from random import Random

import yaml

from watchkeeper.proof.carried import ABSENT, ANY, CERTAINLY, NEVER, PERHAPS, PRESENT, Alert, Known
from watchkeeper.proof.reach import reach
from watchkeeper.proof.routing import route
from watchkeeper.read.alertmanager import config
from watchkeeper.read.documents import documents
from watchkeeper.read.source import File

VALUES = {
    "alertname": ["Down", "Slow", "Full"],
    "severity": ["page", "ticket", "info"],
    "team": ["ml", "web"],
    "gpu": ["0", "1"],
}
REGEXES = [".*", ".+", "", "page|ticket", "p.*", ".*e.*", "[a-m].*", "ml|", "(0|1)", "D.+n", "i?nfo", "Down|Slow|Full"]


def read(text):
    file = File("alertmanager.yml", text)
    (node,) = documents(file)
    found, findings = config(node, file)
    assert found is not None, findings
    return found


def matcher(random):
    name = random.choice(list(VALUES))
    op = random.choice(["=", "=", "=", "!=", "=~", "=~", "!~"])
    value = random.choice(REGEXES) if "~" in op else random.choice([*VALUES[name], ""])
    return f'{name}{op}"{value}"'


def tree(random):
    """A configuration in which each route has a receiver of its own."""
    count = 0

    def route(depth):
        nonlocal count
        data = {"receiver": f"r{count}"}
        count += 1
        if depth:
            data["matchers"] = [matcher(random) for _ in range(random.choice([0, 1, 1, 1, 2, 2, 3]))]
            if random.random() < 0.25:
                data["continue"] = True
        if depth < 3:
            data["routes"] = [route(depth + 1) for _ in range(random.choice([0, 1, 2, 3, 4][: 5 - depth]))]
        return data

    root = route(0)
    return yaml.safe_dump({"route": root, "receivers": [{"name": f"r{n}"} for n in range(count)]})


def known(random, name):
    """What may be known of a label."""
    kind = random.randrange(5)
    if kind == 0:
        return Known(frozenset(random.sample([*VALUES[name], ""], random.randint(1, 3))))
    if kind == 1:
        return Known(frozenset({random.choice(VALUES[name])}))
    return (ABSENT, PRESENT, ANY)[kind - 2]


def alert(random):
    facts = {name: known(random, name) for name in VALUES}
    return Alert(None, {}, lambda name: facts.get(name, ANY))


def concrete(random, about):
    """Labels that an alert may have of which this is known; those that it lacks are left out."""
    labels = {}
    for name, values in VALUES.items():
        fact = about.label(name)
        choices = fact.values if fact.values is not None else {*values, "", "other"} - fact.excluded
        value = random.choice(sorted(choices))
        if value or random.random() < 0.5:
            labels[name] = value
    return labels


def held(count, seed):
    """Hold what is said of alerts against alerts with labels; return how often each was said.

    With a count of 12,000 it takes a minute: `python -c "import routing_cases; print(routing_cases.held(12000, 1))"`.
    """
    random = Random(seed)
    told = {NEVER: 0, PERHAPS: 0, CERTAINLY: 0}
    for _ in range(count):
        config = read(tree(random))
        for _ in range(4):
            about = alert(random)
            ways = reach(config, about)
            for _ in range(4):
                labels = concrete(random, about)
                ends = route(config, labels)
                entered = set(ends)
                for end in ends:
                    while end.parent:
                        end = end.parent  # noqa: PLW2901 - up to the root
                        entered.add(end)
                for one, way in ways.items():
                    told[way.reached] += 1
                    assert {NEVER: one not in entered, PERHAPS: True, CERTAINLY: one in entered}[way.entered], labels
                    assert {NEVER: one not in ends, PERHAPS: True, CERTAINLY: one in ends}[way.reached], labels
    return told
