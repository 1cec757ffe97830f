"""Names of alerts and recorded series, as the target version takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.findings import Finding
from watchkeeper.model import Alert
from watchkeeper.names import METRIC

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.project import Project

ID = "rule/name"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each rule whose name can't be."""
    for rule in project.pack.rules:
        if isinstance(rule, Alert):
            if not rule.name.strip():
                yield Finding(ID, "an alert has no name", rule.place, fix='write Alert("SomethingIsWrong", ...)')
        elif not METRIC.match(rule.name):
            what = f'recording rule "{rule.name}": a series name has letters, digits, _ and :, no digit first'
            yield Finding(
                ID, what, rule.place, why="Prometheus refuses the file", fix="name it level:metric:operations"
            )
