"""Label names of metrics: well-formed, not reserved, each once, and none that the scrape overwrites."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from watchkeeper.contract import Histogram
from watchkeeper.findings import Finding
from watchkeeper.names import LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.project import Project

ID = "metric/label"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each label name that can't be, on metrics and among the target labels."""
    for label in project.pack.target_labels:
        if not LABEL.match(label):
            what = f'target label "{label}" is no label name'
            yield Finding(ID, what, project.pack.place, why=_WHY, fix=f"call it {mend(label)}")
    for metric in project.pack.metrics:
        seen: set[str] = set()
        for label in metric.labels:
            for problem, why, fix in _problems(
                label, project.pack.target_labels, histogram=isinstance(metric, Histogram)
            ):
                yield Finding(ID, f'{metric.name}: label "{label}" {problem}', metric.place, why=why, fix=fix)
            if label in seen:
                yield Finding(ID, f'{metric.name}: label "{label}" stands twice', metric.place, fix="drop one")
            seen.add(label)


_WHY = "Prometheus before 3.0 refuses the whole scrape"


def _problems(label: str, target_labels: tuple[str, ...], *, histogram: bool) -> Iterator[tuple[str, str, str]]:
    if not LABEL.match(label):
        yield "is no label name: letters, digits and underscores, no digit first", _WHY, f"call it {mend(label)}"
    elif label.startswith("__"):
        yield "starts with two underscores", "those are Prometheus' own", f"call it {label.lstrip('_') or 'something'}"
    elif histogram and label == "le":
        yield "is the histogram's own", "its buckets carry it", "drop it"
    elif label in target_labels:
        why = f"the scrape sets it, and the metric's own would become exported_{label}"
        yield "is a target label", why, "give it another name, as `workload` stands for job"


def mend(label: str) -> str:
    """Return the nearest thing to label that is a label name."""
    name = re.sub(r"[^a-zA-Z0-9_]+", "_", label).strip("_") or "label"
    return f"_{name}" if name[0].isdigit() else name
