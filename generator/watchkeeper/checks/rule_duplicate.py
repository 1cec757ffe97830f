"""Two rules that are one: alerts of one name, series recorded twice."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from watchkeeper.findings import Finding
from watchkeeper.promql import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.model import Rule as Definition
    from watchkeeper.project import Project
    from watchkeeper.proof.catalogue import Catalogue
    from watchkeeper.subject import Rule

ID = "rule/duplicate"

_ABOVE = frozenset({">", ">="})
_BELOW = frozenset({"<", "<="})


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each rule that another one of its name shadows."""
    yield from _of_definitions(project)
    yield from _of_files(project)


def _of_definitions(project: Project) -> Iterator[Finding]:
    if not project.pack.groups:
        return
    from watchkeeper.model import Alert  # which anyone's files do without

    first: dict[object, Definition] = {}
    for group in project.pack.groups:
        for rule in group.rules:
            # Rules may record one series in parts, told apart by labels; an alert is known by its name alone, in
            # overrides, on panels and to people.
            labels = None if isinstance(rule, Alert) else frozenset({**group.labels, **rule.labels}.items())
            other = first.setdefault((type(rule), rule.name, labels), rule)
            if other is rule:
                continue
            kind = "alerts are called" if isinstance(rule, Alert) else "rules record"
            what = f"two {kind} {rule.name}, the first at {other.place}"
            why = (
                "a page could not say which, and an override would change both"
                if labels is None
                else "each overwrites the other"
            )
            fix = "rename one" if labels is None else "rename one, or give each a label of its own"
            yield Finding(ID, what, rule.place, why=why, fix=fix)


def _of_files(project: Project) -> Iterator[Finding]:
    """Anyone's alerts may share a name, as those of two severities do, where labels or expressions differ."""
    by_name: dict[tuple[bool, str], list[Rule]] = {}
    for group in project.groups:
        if group.definition is None:
            for rule in group.rules:
                by_name.setdefault((rule.is_alert, rule.name.value), []).append(rule)
    between: dict[tuple[str, str], list[Finding]] = {}
    for rules in by_name.values():
        if len(rules) > 1:  # most names are there once
            for rule, other, finding in _of_one_name(rules, project.catalogue):
                if rule.group.file == other.group.file:
                    yield finding
                else:
                    between.setdefault((rule.group.file, other.group.file), []).append(finding)
    yield from map(_between, between.values())


def _between(found: list[Finding]) -> Finding:
    """Return the first finding about two files: they may be for two servers, or one a copy of the other."""
    first = found[0]
    message = first.message
    if len(found) > 1:
        message += f"; so {'are' if len(found) > 2 else 'is'} {len(found) - 1} more of this file"
    why = f"a style point: nothing is wrong where each file has its own Prometheus; with one for both, {first.why}"
    return replace(first, message=message, why=why, severity="note")


def _of_one_name(rules: list[Rule], catalogue: Catalogue) -> Iterator[tuple[Rule, Rule, Finding]]:
    first: dict[object, Rule] = {}
    same: dict[object, Rule] = {}
    for rule in rules:
        labels = {name: text.value for name, text in (*rule.group.labels.items(), *rule.labels.items())}
        key = frozenset(labels.items())
        text = rule.expression.text
        twin = same.setdefault((key, text if "#" in text else " ".join(text.split())), rule)
        other = first.setdefault(key, rule)
        if twin is not rule and twin.expression.tree == rule.expression.tree:
            yield rule, twin, _twice(rule, twin)
        elif other is not rule and rule.expression.tree is not None and other.expression.tree is not None:
            found = _shadowed(rule, other) if rule.is_alert else _overwritten(rule, other, catalogue)
            if found is not None:
                yield rule, other, found


def _twice(rule: Rule, other: Rule) -> Finding:
    if rule.is_alert:
        why = "both are one alert to whoever is told: it ends when one of them does, and the work is done twice"
    else:
        why = "Prometheus warns of each sample that is there already, and the work is done twice"
    what = f"{rule.owner} is there twice, with the same labels and expression, {_first(rule, other)}"
    return rule.name.finding(ID, what, why=why, fix=_fix(rule, other, "delete one"), severity="warning")


def _overwritten(rule: Rule, other: Rule, catalogue: Catalogue) -> Finding | None:
    """Return a finding about two expressions recorded as one series, unless they are parts that can't meet."""
    assert rule.expression.tree is not None
    assert other.expression.tree is not None
    mine, its = _matchers(rule), _matchers(other)
    if mine is None or its is None:
        return None
    ours = rule.expression.flow(catalogue).of(rule.expression.tree)
    theirs = other.expression.flow(catalogue).of(other.expression.tree)
    for label in mine.keys() | its.keys():
        if mine.get(label) != its.get(label) and "impossible" not in (
            ours.label(label).status, theirs.label(label).status
        ):  # fmt: skip
            return None
    names = ours.names()
    is_same = _metrics(rule) == _metrics(other)
    severity = "error" if names is not None and names == theirs.names() and (not names or is_same) else "warning"
    what = f"two rules record {rule.name.value} by different expressions, {_first(rule, other)}"
    why = "where both have a series, one of the two samples is lost, now this and now that"
    if severity == "warning" and not is_same:  # the metric of one version, and that of another
        severity, why = "note", f"a point to look at: {why}"
    fix = _fix(rule, other, "rename one, or give each a label of its own")
    return rule.name.finding(ID, what, why=why, fix=fix, severity=severity)


def _shadowed(rule: Rule, other: Rule) -> Finding | None:
    """Return a finding about an alert that fires whenever another one does, as the same alert."""
    from watchkeeper.promql.threshold import ThresholdError, threshold

    assert rule.expression.tree is not None
    assert other.expression.tree is not None
    try:
        mine, its = threshold(rule.expression.tree), threshold(other.expression.tree)
    except ThresholdError:
        return None
    text, its_text = rule.expression.text, other.expression.text
    if mine.op != its.op or mine.op not in _ABOVE | _BELOW or mine.value == its.value:
        return None
    if (text[: mine.start], text[mine.end :]) != (its_text[: its.start], its_text[its.end :]):
        return None
    written = [f"{mine.op} {text[mine.start : mine.end]}", f"{its.op} {its_text[its.start : its.end]}"]
    if (mine.value < its.value) == (mine.op in _ABOVE):
        written.reverse()  # the narrower one first
    what = f"{rule.owner} is there with two thresholds and the same labels, {_first(rule, other)}"
    why = f"a style point: {written[0]} says nothing that {written[1]} does not, and both are one alert"
    return rule.name.finding(ID, what, why=why, fix="give each a severity of its own, or delete one", severity="note")


def _matchers(rule: Rule) -> dict[str, set[tuple[str, str]]] | None:
    """Return the matchers by label, which tell parts apart; None where the expression makes labels itself."""
    found: dict[str, set[tuple[str, str]]] = {}
    for node in rule.expression.nodes:
        if isinstance(node, nodes.Matcher) and node.label != "__name__":
            found.setdefault(node.label, set()).add((node.op, node.value))
        elif isinstance(node, nodes.Call) and node.name in {"label_replace", "label_join"}:
            return None
    return found


def _metrics(rule: Rule) -> set[str | None]:
    return {node.metric_name for node in rule.expression.nodes if isinstance(node, nodes.VectorSelector)}


def _first(rule: Rule, other: Rule) -> str:
    place = other.name.source.at(0, 0)[0]
    return f"the first on line {place.line}" if rule.group.file == other.group.file else f"the first at {place}"


def _fix(rule: Rule, other: Rule, fix: str) -> str:
    return fix if rule.group.file == other.group.file else f"if one Prometheus reads both files, {fix}"
