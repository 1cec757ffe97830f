"""Waiting times that are longer in truth, those of nothing, and `absent()` that nothing waits for."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from watchkeeper.names import milliseconds
from watchkeeper.promql import nodes
from watchkeeper.proof.shape import bare, deciding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.subject import Group, Rule, Text

ID = "alert/for"

_length = lru_cache(maxsize=1024)(milliseconds)  # a handful of durations in thousands of rules
_NOTHING = {"for": "an alert without `for` fires at once too", "keep_firing_for": "it is over at once without it too"}
_LONGER = {
    "for": "an alert can't fire between two evaluations: it waits {interval}",
    "keep_firing_for": "an alert can't end between two evaluations: it goes on for {interval}",
}


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each `for` and `keep_firing_for` that says something else than what happens."""
    for group in project.groups:
        interval = group.interval_ms
        nothing: list[tuple[Rule, str, Text]] = []
        for rule in group.rules:
            for field, text in (("for", rule.for_), ("keep_firing_for", rule.keep_firing_for)):
                if text is not None:
                    if _length(text.value) == 0:
                        nothing.append((rule, field, text))
                    else:
                        yield from _of(group, rule, field, text, interval)
            if rule.is_alert and "absent" in rule.expression.text and not _waits(rule):
                yield from _absent(rule)
        if nothing:
            yield _nothing(*nothing[0], len(nothing) - 1)


def _nothing(rule: Rule, field: str, text: Text, more: int) -> Finding:
    """Tell of the first one of a group: files that have them have them everywhere."""
    what = f"{rule.owner}: {field}: {text.value} says nothing"
    if more:
        what += f", nor {'do' if more > 1 else 'does'} {more} more of the group"
    return text.finding(ID, what, why=f"a style point: {_NOTHING[field]}", fix=f"leave {field} out", severity="note")


def _waits(rule: Rule) -> bool:
    return rule.for_ is not None and _length(rule.for_.value) != 0


def _absent(rule: Rule) -> Iterator[Finding]:
    for expr in deciding(rule.expression.tree) if rule.expression.tree is not None else ():
        call = bare(expr.lhs) if isinstance(expr, nodes.Binary) else expr
        if isinstance(call, nodes.Call) and call.name == "absent":
            what = "nothing waits for what is absent to come back"
            why = "a style point: one lost scrape makes it fire, and so does a server that has just started"
            fix = "give the alert a `for` of a few scrapes, or write absent_over_time(...[10m])"
            yield rule.expression.finding(ID, what, call.start, call.name_end, why=why, fix=fix, severity="note")


def _of(group: Group, rule: Rule, field: str, text: Text, interval: int | None) -> Iterator[Finding]:
    length = _length(text.value)
    if length is None:  # another check tells
        return
    if interval and group.interval and length < interval:
        every = group.interval.value
        what = f"{rule.owner}: {field}: {text.value} is shorter than the interval of its group, {every}"
        why = _LONGER[field].format(interval=every)
        fix = f"write {every} or more, or give the group a shorter interval"
        yield text.finding(ID, what, why=why, fix=fix, severity="warning")
    elif interval and group.interval and field == "for" and length < 2 * interval:
        every = group.interval.value
        what = f"{rule.owner}: for: {text.value} is shorter than two intervals of its group, {every} each"
        why = "a style point: two evaluations in a row make it fire, so that one lost scrape or one peak may do"
        yield text.finding(ID, what, why=why, fix="wait for two intervals or more", severity="note")
