"""Dispatch as Alertmanager's, and what is told of it without labels: never, perhaps, certainly."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import routing_cases as cases

from watchkeeper.proof.carried import ABSENT, ANY, CERTAINLY, NEVER, PERHAPS, PRESENT, Alert, Known, fixed
from watchkeeper.proof.reach import reach
from watchkeeper.proof.routing import route

AMTOOL = shutil.which("amtool")


def names(routes):
    return [one.receiver.value for one in routes]


TREE = """
route:
  receiver: root
  routes:
  - {receiver: none, matchers: ['alertname="Watchdog"']}
  - receiver: log
    continue: true
  - receiver: page
    matchers: ['severity="critical"']
    routes:
    - {receiver: gpu, matchers: ['team="gpu"', 'gpu!=""']}
    - {matchers: [team=~"web|api"], receiver: web}
  - {receiver: ticket, matchers: [severity!~"info|"]}
receivers: [{name: root}, {name: none}, {name: log}, {name: page}, {name: gpu}, {name: web}, {name: ticket}]
"""


@pytest.mark.parametrize(
    ("labels", "ends"),
    [
        ({}, ["log"]),
        ({"alertname": "Watchdog", "severity": "critical"}, ["none"]),
        ({"severity": "critical"}, ["log", "page"]),
        ({"severity": "critical", "team": "gpu"}, ["log", "page"]),
        ({"severity": "critical", "team": "gpu", "gpu": "0"}, ["log", "gpu"]),
        ({"severity": "critical", "team": "api"}, ["log", "web"]),
        ({"severity": "warning"}, ["log", "ticket"]),
        ({"severity": "info"}, ["log"]),
    ],
)
def test_route(labels, ends):
    assert names(route(cases.read(TREE), labels)) == ends


def test_where_no_child_matches_the_parent_gets_it():
    tree = "route: {receiver: a, routes: [{receiver: b, matchers: [x=y]}]}\nreceivers: [{name: a}, {name: b}]"
    assert names(route(cases.read(tree), {"x": "z"})) == ["a"]


def test_a_deep_tree_is_no_trouble():
    depth = 3000
    # Written by hand: YAML nests as deep as its reader lets it, and the tree must not mind.
    config = cases.read("route: {receiver: a, routes: [{matchers: [x=y]}]}\nreceivers: [{name: a}]")
    (first,) = config.route.routes
    below = first
    for _ in range(depth):
        below = type(first)(below, first.receiver, first.matchers, first.place)
    deep = type(config)(config.route, config.receivers, (), {}, config.source)
    assert route(deep, {"x": "y"}) == [below]
    ways = reach(deep, Alert(None, {}, lambda _: fixed("y")))
    assert ways[below] == (CERTAINLY, CERTAINLY, None)
    assert ways[first] == (CERTAINLY, NEVER, None)


@pytest.mark.skipif(not AMTOOL, reason="amtool is not here: apt-get install prometheus-alertmanager")
def test_amtool_routes_the_same(tmp_path):
    source = Random(6)
    compared = 0
    for _ in range(15):
        text = cases.tree(source)
        (tmp_path / "c.yml").write_text(text)
        config = cases.read(text)
        for _ in range(4):
            labels = cases.concrete(source, Alert(None, {}, lambda _: ANY))
            pairs = [f"{name}={value}" for name, value in labels.items() if value]
            command = [AMTOOL, "config", "routes", "test", "--config.file", str(tmp_path / "c.yml"), *pairs]
            run = subprocess.run(command, capture_output=True, text=True, check=True)
            assert run.stdout.strip() == ",".join(names(route(config, labels))), (text, labels)
            compared += 1
    assert compared == 60


def ways(text, **labels):
    """By receiver, how an alert ends there of which this is known: texts are fixed values."""
    config = cases.read(text)
    facts = {name: fixed(value) if isinstance(value, str) else value for name, value in labels.items()}
    found = reach(config, Alert("X", {}, lambda name: facts.get(name, ABSENT)))
    return {one.receiver.value: way.reached for one, way in found.items()}


def test_reach_of_what_is_known():
    assert ways(TREE, severity="critical", team="gpu", gpu=PRESENT) == {
        "root": NEVER, "none": NEVER, "log": CERTAINLY, "page": NEVER, "gpu": CERTAINLY, "web": NEVER, "ticket": NEVER,
    }  # fmt: skip
    assert ways(TREE, severity="critical", team="gpu", gpu=ANY) == {
        "root": NEVER, "none": NEVER, "log": CERTAINLY, "page": PERHAPS, "gpu": PERHAPS, "web": NEVER, "ticket": NEVER,
    }  # fmt: skip
    assert ways(TREE, severity=ANY, team=PRESENT)["ticket"] == PERHAPS
    assert ways(TREE)["ticket"] == NEVER


FLAT = "route:\n  receiver: root\n  routes:\n{}\nreceivers: [{{name: root}}, {{name: a}}, {{name: b}}, {{name: c}}]\n"


def flat(*routes):
    """A tree of routes `receiver: matchers`, side by side."""
    lines = []
    for written in routes:
        receiver, _, matchers = written.partition(": ")
        going = ", continue: true" if receiver.endswith("+") else ""
        lines.append(f"  - {{receiver: {receiver.rstrip('+')}, matchers: ['{matchers}']{going}}}")
    return FLAT.format("\n".join(lines))


ANYTHING = {"x": ANY, "y": ANY}


@pytest.mark.parametrize(
    ("tree", "labels", "receiver", "reached"),
    [
        (flat("a: x=1", "b: x=1,y=2"), ANYTHING, "b", NEVER),  # caught before
        (flat("a+: x=1", "b: x=1,y=2"), ANYTHING, "b", PERHAPS),
        (flat("a: x=1,y=2", "b: x=1,y=2"), ANYTHING, "b", NEVER),
        (flat("a: x=1,y=2", "b: y=2"), ANYTHING, "b", PERHAPS),
        (flat("a: x=~1.*", "b: x=~1.*,y=2"), ANYTHING, "b", NEVER),
        (flat("a: x!~1.*", "b: x=~1.*", "c: y=1"), ANYTHING, "c", NEVER),  # between them they catch all
        (flat("a: x!~1.*", "b: x=~1.*"), ANYTHING, "root", NEVER),
        (flat("a: x=~1.*", "b: x=10"), ANYTHING, "b", NEVER),
        (flat("a: x=~.*", "b: x=10"), ANYTHING, "b", NEVER),
        (flat("a: ", "b: x=10"), ANYTHING, "b", NEVER),
        (flat("a: x=1,x=2"), ANYTHING, "a", NEVER),
        (flat("a: x=1,x!=1"), ANYTHING, "a", NEVER),
        (flat('a: x="",x!=""'), ANYTHING, "a", NEVER),
        (flat("a: x=~1.*,x!~1.*"), ANYTHING, "a", NEVER),
        (flat("a: x!~1.*,x=~1.*"), ANYTHING, "a", NEVER),
        (flat("a: x!~1.*,x=1"), ANYTHING, "a", NEVER),
        (flat("a: x!~1|2,x=~1|2|3", "b: x=3"), ANYTHING, "b", NEVER),
        (flat("a: x=~1|2,x=~2|3", "b: x=2"), ANYTHING, "b", NEVER),
        (flat("a: x=1", "b: x=2", "c: y=~.*"), {"x": Known(frozenset("12")), "y": ANY}, "c", NEVER),
        (flat("a: x=1", "b: x=2"), {"x": Known(frozenset("12"))}, "root", NEVER),
        (flat("a+: x=1", "b+: x=2"), {"x": Known(frozenset("12"))}, "root", NEVER),
        (flat("a: x=1", "b: x=2"), {"x": Known(frozenset("13"))}, "root", PERHAPS),
        (flat('a: x=""', "b: x=~.+"), ANYTHING, "root", NEVER),
        (flat("a: x=~.+", "b: y=1"), {"x": PRESENT, "y": ANY}, "a", CERTAINLY),
        (flat("a: y=1", "b: x=~.+"), {"x": PRESENT, "y": ABSENT}, "b", CERTAINLY),
        (flat("a: y=1", "b: x=~.+"), {"x": PRESENT, "y": ANY}, "b", PERHAPS),
    ],
)
def test_reach(tree, labels, receiver, reached):
    assert ways(tree, **labels)[receiver] == reached


def test_what_is_said_of_an_alert_holds_for_its_labels():
    told = cases.held(count=250, seed=9)
    assert told[PERHAPS] < told[NEVER] / 4  # little is left open
    assert told[CERTAINLY] > 1000
