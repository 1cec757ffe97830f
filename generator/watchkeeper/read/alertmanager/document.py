"""Alertmanager's configuration, read as Alertmanager reads it.

The format: https://prometheus.io/docs/alerting/latest/configuration/
What it refuses is a finding: `yaml/key` and `yaml/value` for the shape, `alertmanager/config` for the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watchkeeper.findings import Finding, nearest
from watchkeeper.names import LABEL, milliseconds
from watchkeeper.proof.routing import Config, InhibitRule, Matcher, Receiver, Route
from watchkeeper.read.alertmanager import keys as known
from watchkeeper.read.alertmanager.matchers import MatcherError, make, matchers
from watchkeeper.read.alertmanager.nodes import CONFIG, VALUE, Nodes, is_null
from watchkeeper.read.alertmanager.receivers import receivers
from watchkeeper.read.alertmanager.times import time_intervals

if TYPE_CHECKING:
    from watchkeeper.read.alertmanager.nodes import Entries
    from watchkeeper.read.source import File
    from watchkeeper.subject import Text

__all__ = ["config"]

# A tree that holds itself by way of an alias has no end.
_MAX_ROUTES = 100_000


def config(node: Any, file: File) -> tuple[Config | None, list[Finding]]:
    """Return the configuration of a YAML document, and what is wrong with it; None where it would be refused."""
    nodes = Nodes(file)
    if node is None:
        place = file.place(0)
        return None, [Finding(CONFIG, "the file is empty", place, None, _UNREAD, "write a configuration, or remove it")]
    top = nodes.mapping(node, known.TOP, "the configuration")
    intervals = time_intervals(nodes, top)
    known_receivers = receivers(nodes, top)
    root = None
    if "route" not in top or is_null(top["route"][1]):
        nodes.fault(CONFIG, node, "there is no route", "add a `route:` with a receiver: all alerts begin there")
    else:
        root = _routes(nodes, top["route"][1], known_receivers, intervals)
    rules = [_inhibit_rule(nodes, rule) for rule in nodes.items(top, "inhibit_rules", "mapping", "the configuration")]
    if root is None or any(finding.severity == "error" for finding in nodes.findings):
        return None, nodes.findings
    return Config(root, known_receivers, rules, intervals, nodes.span(node)), nodes.findings


def _routes(nodes: Nodes, node: Any, known_receivers: dict[str, Receiver], intervals: dict[str, Text]) -> Route | None:
    root: Route | None = None
    todo: list[tuple[Any, Route | None]] = [(node, None)]
    for count, (here, parent) in enumerate(todo):  # it grows as it is read; parents come before children
        if count >= _MAX_ROUTES:
            nodes.fault(CONFIG, here, f"more than {_MAX_ROUTES} routes", "does an alias lead back to its own route?")
            return None
        entries = nodes.mapping(here, known.ROUTE, "a route")
        receiver = nodes.text(entries["receiver"][1]) if "receiver" in entries else None
        if receiver is not None and receiver.value and receiver.value not in known_receivers:
            what = f'there is no receiver "{receiver.value}"{nearest(receiver.value, list(known_receivers))}'
            nodes.fault(CONFIG, entries["receiver"][1], what, "name one of `receivers:`")
        if receiver is None or not receiver.value:
            receiver = parent.receiver if parent else nodes.place(here)
        route = Route(
            parent,
            receiver,
            _matchers(nodes, entries, "matchers", "match", "match_re"),
            nodes.place(here),
            group_by=_group_by(nodes, entries),
            continue_="continue" in entries and entries["continue"][1].value.lower() in _TRUE,
        )
        if parent is None:
            root = route
            _root(nodes, here, entries, route)
        _waits(nodes, entries)
        for name in ("mute_time_intervals", "active_time_intervals"):
            for item in nodes.items(entries, name, "scalar", "a route"):
                if item.value not in intervals:
                    what = f'there is no time interval "{item.value}"{nearest(item.value, list(intervals))}'
                    nodes.fault(CONFIG, item, what, "name one of `time_intervals:`")
        todo += [(child, route) for child in nodes.items(entries, "routes", "mapping", "a route")]
    return root


_TRUE = {"true", "yes", "on", "y"}


def _root(nodes: Nodes, node: Any, entries: Entries, route: Route) -> None:
    if not route.receiver.value:
        nodes.fault(CONFIG, node, "the root route has no receiver", "name the one that gets what no route matches")
    if route.continue_:
        nodes.fault(
            CONFIG, entries["continue"][0], "the root route can't continue: nothing stands beside it", "remove it"
        )
    for name in ("matchers", "match", "match_re", "mute_time_intervals", "active_time_intervals"):
        if name in entries and entries[name][1].value and not is_null(entries[name][1]):
            what = f"the root route may not have {name}: it takes every alert, at any time"
            nodes.fault(CONFIG, entries[name][0], what, "move it to a route below")


def _waits(nodes: Nodes, entries: Entries) -> None:
    for name in ("group_interval", "repeat_interval"):
        if name in entries and milliseconds(entries[name][1].value) == 0:
            nodes.fault(CONFIG, entries[name][1], f"{name} can't be 0", "write how long to wait, such as 5m")


def _group_by(nodes: Nodes, entries: Entries) -> tuple[Text, ...] | None:
    found: dict[str, Text] = {}
    for item in nodes.items(entries, "group_by", "scalar", "a route"):
        label = nodes.text(item)
        if not label.value:
            nodes.fault(CONFIG, item, "group_by holds an empty label name", "name a label")
        elif label.value in found:
            nodes.fault(CONFIG, item, f"group_by holds {label.value} twice", "keep one")
        found[label.value] = label
    if "..." in found and len(found) > 1:
        nodes.fault(CONFIG, entries["group_by"][1], "group_by has `...`, all labels, and others", "write ['...'] alone")
    return tuple(found.values()) or None


def _matchers(nodes: Nodes, entries: Entries, name: str, equal: str, regex: str) -> list[Matcher]:
    """Return the matchers of a route or of a side of an inhibition, written in the new or in the deprecated way."""
    found: list[Matcher] = []
    for item in nodes.items(entries, name, "scalar", "a route"):
        text = nodes.text(item)
        try:
            found += matchers(text)
        except MatcherError as error:
            fix = 'write label="value", or =~ with a regular expression'
            fault = text.finding(CONFIG, f"{name}: {error}", error.start, error.end, why=_UNREAD, fix=fix)
            nodes.findings.append(fault)
    for key, op in ((equal, "="), (regex, "=~")):
        if key not in entries or is_null(entries[key][1]):
            continue
        if not any(
            finding.severity == "note" for finding in nodes.findings
        ):  # once a file: it is written so throughout
            nodes.fault(
                CONFIG,
                entries[key][0],
                f"{key} is deprecated",
                f"write it as {name}",
                severity="note",
                why="a matter of style for now; a later version drops it",
            )
        for label_node, label, text in nodes.pairs(entries, key):
            if not LABEL.match(label):
                nodes.fault(CONFIG, label_node, f'{key}: "{label}" is not a label name', "letters, digits and _")
            try:
                found.append(make(label, op, text.value, text))
            except MatcherError as error:
                nodes.findings.append(text.finding(CONFIG, f"{key} of {label}: {error}", why=_UNREAD, fix="mend it"))
    return found


_UNREAD = "Alertmanager refuses the whole file, and goes on with the configuration it had"


def _inhibit_rule(nodes: Nodes, node: Any) -> InhibitRule:
    what = "an inhibition"
    entries = nodes.mapping(node, known.INHIBIT_RULE, what)
    equal = nodes.texts(entries, "equal", what)
    for label in equal:
        if not label.value:
            nodes.fault(VALUE, entries["equal"][1], "equal holds an empty label name", "name a label")
    return InhibitRule(
        _matchers(nodes, entries, "source_matchers", "source_match", "source_match_re"),
        _matchers(nodes, entries, "target_matchers", "target_match", "target_match_re"),
        equal,
        nodes.place(node),
    )
