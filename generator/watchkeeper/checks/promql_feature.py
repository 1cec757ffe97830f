"""PromQL that the oldest Prometheus in use does not know, or knows only behind a flag."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql.features import features
from watchkeeper.settings import Targets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project

ID = "promql/feature"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each feature newer than `targets.prometheus`, and for experimental ones."""
    target = project.settings.targets.prometheus
    for expression in project.expressions:
        for feature in features(expression.tree, expression.text, expression.nodes) if expression.tree else ():
            needed = feature.needs(target)
            if needed is None:
                continue
            if feature.since > target:
                why = f"the oldest in use is {target[0]}.{target[1]} (targets.prometheus)"
                fix = "do without it, or upgrade and raise the target"
            else:
                why, fix = "a server without the flag refuses it, and a later version may drop it", "do without it"
            what = f"{feature.name} needs {needed}"
            severity = "note" if target == Targets.newest().prometheus else "error"  # who runs it may have the flag
            yield expression.finding(ID, what, feature.start, feature.end, why=why, fix=fix, severity=severity)
