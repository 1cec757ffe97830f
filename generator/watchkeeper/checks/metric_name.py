"""Metric names: well-formed, declared once, and ending as their type and unit want it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.contract import Counter, Histogram, Info, Metric
from watchkeeper.findings import Finding
from watchkeeper.names import METRIC

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.project import Project

ID = "metric/name"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each metric whose name is wrong or taken."""
    owner: dict[str, Metric] = {}
    for metric in project.pack.metrics:
        for problem, fix in _problems(metric):
            yield Finding(ID, f"{metric.type} {metric.name}: {problem}", metric.place, why=_WHY, fix=fix)
        for series in metric.series():
            first = owner.setdefault(series, metric)
            if first is not metric:
                what = f"{metric.name} makes the series {series}, which {first.name} at {first.place} makes already"
                yield Finding(ID, what, metric.place, why="an exporter can't register both", fix="drop or rename one")
        if not metric.help.strip():
            yield Finding(
                ID,
                f"{metric.name} has no help",
                metric.place,
                why=_WHY,
                fix="say in a sentence what is counted or measured",
            )


_WHY = "the name and help are all that a reader of a query sees of the metric"


def _problems(metric: Metric) -> Iterator[tuple[str, str]]:
    name = metric.name
    if not METRIC.match(name):
        yield "a metric name has only letters, digits, underscores and colons, and starts with no digit", "rename it"
        return
    if metric.external:
        return
    if ":" in name:
        yield "a colon is for recording rules", f"call it {name.replace(':', '_')}"
    if isinstance(metric, Counter) != name.endswith("_total"):
        if isinstance(metric, Counter):
            yield "a counter ends in _total", f"call it {name}_total"
        else:
            yield f"_total is the ending of counters, and this is a {metric.type}", "rename it, or declare a Counter"
    if isinstance(metric, Info) and not name.endswith("_info"):
        yield "an info metric ends in _info", f"call it {name}_info"
    if isinstance(metric, Histogram):
        yield from _buckets(metric)
    unit, stem = metric.unit, name.removesuffix("_total").removesuffix("_info")
    if unit and not stem.endswith(f"_{unit}"):
        yield f"the name does not end in its unit, {unit}", f"call it {stem}_{unit}{name[len(stem) :]}"


def _buckets(metric: Histogram) -> Iterator[tuple[str, str]]:
    bounds = metric.buckets
    finite = all(b == b and abs(b) != float("inf") for b in bounds)  # noqa: PLR0124 - NaN is what differs from itself
    if not finite or list(bounds) != sorted(set(bounds)):
        yield f"buckets must rise and be finite: {', '.join(map(repr, bounds))}", "+Inf is added by itself"
