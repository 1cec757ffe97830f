"""Labels that a template names and the alert's series don't have: the text has a hole where they should be."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from watchkeeper.checks._templates import templates
from watchkeeper.findings import nearest
from watchkeeper.promql import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.checks._templates import Written
    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.promql.nodes import Node
    from watchkeeper.proof.flow import Labels
    from watchkeeper.ruler.template import Use
    from watchkeeper.subject import Expression, Rule

ID = "template/label"

_EXPLAINED = {
    "alertname": "alertname is added when the texts are done: $labels has what the expression gives",
    "own": "the rule's own labels are added when the texts are done: $labels has what the expression gives",
}
# What gives no more labels than its selector names, and is there to fire when there is nothing to tell of.
_STAND_INS = frozenset({"absent", "absent_over_time", "vector"})
# In an open world: these are set by rules, and next to no series has them.
_SET_BY_RULES = ("alertname", "severity")
_ALERTS = re.compile("alert", re.IGNORECASE)
_ACTION = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_CONDITION = re.compile(r"\{\{-?\s*(?:else\s+)?(?:if|with|range)\b|\b(?:or|and|not)\b")


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each label that is always empty, or empty in what one side of an `or` gives."""
    for one in templates(project.groups):
        rule = one.rule
        if rule is None or rule.expression.tree is None:
            continue
        labels: Labels | None = None
        told: set[str] = set()  # what mends one place of a label mends all
        for use in one.uses:
            if use.kind == "label" and use.name and use.name not in told:
                told.add(use.name)
                labels = labels or rule.expression.flow(project.catalogue).of(rule.expression.tree)
                if labels.cause:  # it never fires, which another check tells
                    break
                yield from _of_use(one, rule, use, labels)


def _of_use(one: Written, rule: Rule, use: Use, labels: Labels) -> Iterator[Finding]:
    name = use.name or ""
    fate = labels.label(name)
    if fate.status == "impossible":
        if not _is_guarded(one.text.value, name):
            yield _impossible(one, rule, use, labels)
    elif fate.status == "possible":
        if name in _SET_BY_RULES and _is_of_the_rule(rule, name):
            if not _is_guarded(one.text.value, name):
                what = f"{_written(one, use)} is most likely empty: the series have no label {name}"
                fix = f"write {_own(rule, name)} itself"
                why = _EXPLAINED.get(name, _EXPLAINED["own"])
                yield one.finding(ID, what, use.position, use.end, why=why, fix=fix, severity="warning")
        elif len(labels.branches) > 1:
            yield from _of_branches(one, rule, use, labels)


def _impossible(one: Written, rule: Rule, use: Use, labels: Labels) -> Finding:
    name = use.name or ""
    fate = labels.label(name)
    what = f"{_written(one, use)} is always empty: {fate.reason}"
    why = f"in {_part(rule.expression, fate.start, fate.end)}"
    names = labels.names()
    if name == "alertname":
        why, fix = _EXPLAINED["alertname"], f"write {rule.name.value} itself"
    elif name in rule.labels or name in rule.group.labels:
        why, fix = _EXPLAINED["own"], f"write {_own(rule, name)} itself"
    elif decider := _aggregation(rule.expression.nodes, fate.start):
        kept = ", ".join(label.name for label in decider.grouping if not decider.without)
        keep = f"{decider.op} by ({kept + ', ' if kept else ''}{name}) (...)"
        fix = f"keep it, {keep}, or leave it out of the text"
        if name == "__name__":
            fix = "write the metric's name itself"
        elif decider.without:
            fix = "take it out of without (), or leave it out of the text"
        elif meant := nearest(name, sorted(names or ())):
            fix += meant
    elif names:
        fix = f"the labels there are {', '.join(sorted(names))}{nearest(name, sorted(names))}"
    elif names is None:
        fix = "keep it, or leave it out of the text"
    else:
        fix = "there are no labels there: leave it out of the text"
    return one.finding(ID, what, use.position, use.end, why=f"{why}; whoever reads it sees a gap", fix=fix)


def _of_branches(one: Written, rule: Rule, use: Use, labels: Labels) -> Iterator[Finding]:
    """One side of an `or` has it and another can't: the text is whole or not, as it happens."""
    name = use.name or ""
    if _is_guarded(one.text.value, name):
        return
    for branch in labels.branches:
        fate = branch.label(name)
        if fate.status == "impossible" and not _stands_in(branch.source):
            what = f"{_written(one, use)} is empty where one side of `or` fires: {fate.reason}"
            why = f"in {_part(rule.expression, fate.start, fate.end)}; then whoever reads it sees a gap"
            fix = f"keep the label on both sides, or write {{{{ with $labels.{name} }}}}...{{{{ end }}}}"
            yield one.finding(ID, what, use.position, use.end, why=why, fix=fix, severity="warning")
            return


def _stands_in(source: Node) -> bool:
    if isinstance(source, nodes.Call):
        return source.name in _STAND_INS
    return isinstance(source, nodes.NumberLiteral)


def _is_guarded(text: str, name: str) -> bool:
    """Tell whether the template asks somewhere whether the label is there: then its author knows."""
    asked = _conditions(text)
    return name in asked and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", asked) is not None


@lru_cache(maxsize=8)  # a text may name many labels
def _conditions(text: str) -> str:
    """Return the template's actions that ask for something."""
    return "\n".join([action for action in _ACTION.findall(text) if _CONDITION.search(action)])


def _is_of_the_rule(rule: Rule, name: str) -> bool:
    """Tell whether the rule alone sets the label, and its expression has nothing to do with it."""
    if name == "alertname":
        return not _ALERTS.search(rule.expression.text) and not any(
            isinstance(node, nodes.VectorSelector) and node.metric_name is None for node in rule.expression.nodes
        )
    own = rule.labels.get(name) or rule.group.labels.get(name)
    return own is not None and "{{" not in own.value and name not in rule.expression.text


def _own(rule: Rule, name: str) -> str:
    """Return what the rule sets the label to."""
    if name == "alertname":
        return rule.name.value
    own = rule.labels.get(name) or rule.group.labels[name]
    return f'"{own.value}"'


def _aggregation(tree: tuple[Node, ...], start: int) -> nodes.Aggregate | None:
    """Return the aggregation that a fate points at, None where something else decides."""
    for node in tree:
        if isinstance(node, nodes.Aggregate) and start in (node.start, *(label.start for label in node.grouping)):
            return node
    return None


def _written(one: Written, use: Use) -> str:
    """Return how the template names the label."""
    text = one.text.value
    start = text.rfind("$", 0, use.position)
    if start >= 0 and re.fullmatch(r"\$\w*(?:\.Labels)?\.", text[start : use.position]):
        return text[start : use.end]
    return f"the label {use.name}"


def _part(expression: Expression, start: int, end: int) -> str:
    """Return the part of the expression that a fate is about, with what surrounds it, on one line."""
    text = expression.text
    before, after = text[max(0, start - 20) : start], text[end : end + 40]
    if start > len(before):  # cut between words
        before = "..." + before[before.find(" ") + 1 :]
    if end + len(after) < len(text):
        after = after[: after.rfind(" ") + 1 or None].rstrip() + "..."
    return f"`{' '.join(f'{before}{text[start:end]}{after}'.split())}`"
