"""Names of recorded series: `level:metric:operations`, of which the level is what tells the series apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql import nodes
from watchkeeper.proof.shape import bare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project
    from watchkeeper.subject import Rule

ID = "rule/record-name"

_CONVENTION = "a style point: level:metric:operations says what is left, of what, and how it was made"
# Levels that are labels of targets and of nothing else. `cluster`, `node` and `namespace` may mean more than a label.
_LEVELS = frozenset({"instance", "job", "pod", "container", "device", "gpu"})


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each name that another metric has, that has no level, or whose level is not in its labels."""
    metrics = {name: metric for metric in project.pack.metrics for name in metric.series()}
    for group in project.groups:
        plain: list[Rule] = []
        for rule in group.rules:
            if rule.is_alert:
                continue
            name = rule.name.value
            if name in metrics:
                what = f"{rule.owner}: the contract declares a {metrics[name].type} of that name"
                why = "series of both kinds are mixed under one name, and each query of it adds them up"
                yield rule.name.finding(ID, what, why=why, fix="name it level:metric:operations")
            elif ":" not in name:
                plain.append(rule)
            else:
                yield from _of_level(rule, project)
        if plain:
            yield _plain(plain[0], len(plain) - 1)


def _plain(rule: Rule, more: int) -> Finding:
    """Tell of the first one of a group: who names one so names all so, as in rules that keep old names alive."""
    what = f"{rule.owner}: the name does not say that it is recorded"
    if more:
        what += f", nor {'do those' if more > 1 else 'does that'} of {more} more of the group"
    fix = f"name it level:metric:operations, such as instance:{rule.name.value}:sum"
    return rule.name.finding(ID, what, why=_CONVENTION, fix=fix, severity="note")


def _of_level(rule: Rule, project: Project) -> Iterator[Finding]:
    level = rule.name.value.partition(":")[0]
    tree = rule.expression.tree
    wanted = _LEVELS.intersection(level.split("_"))
    if not wanted or tree is None or not isinstance(bare(tree), (nodes.Aggregate, nodes.Binary, nodes.Call)):
        return
    labels = rule.expression.flow(project.catalogue).of(tree)
    for name in sorted(wanted - rule.labels.keys() - rule.group.labels.keys()):
        fate = labels.label(name)
        if fate.status == "impossible":
            what = f"{rule.owner}: its level is {level}, and its series have no label {name}: {fate.reason}"
            fix = "name it by the labels that it keeps, or keep that one"
            yield rule.name.finding(ID, what, 0, len(level), why=_CONVENTION, fix=fix, severity="note")
