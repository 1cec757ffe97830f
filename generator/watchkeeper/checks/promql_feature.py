"""PromQL that the oldest Prometheus in use does not know, or knows only behind a flag."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.promql.features import features

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding
    from watchkeeper.project import Project

ID = "promql/feature"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each feature newer than `targets.prometheus`, and for experimental ones."""
    target = project.settings.targets.prometheus
    for expression in project.expressions:
        for feature in features(expression.tree) if expression.tree else ():
            since = ".".join(map(str, feature.since))
            if feature.since > target:
                what = f"{feature.name} needs Prometheus {since}"
                why = f"the oldest in use is {target[0]}.{target[1]} (targets.prometheus)"
                fix = "do without it, or upgrade and raise the target"
            elif feature.experimental:
                what, why = (
                    f"{feature.name} is experimental",
                    "a server without the flag refuses it, and a later version may drop it",
                )
                fix = "do without it"
            else:
                continue
            yield expression.finding(ID, what, feature.start, feature.end, why=why, fix=fix)
