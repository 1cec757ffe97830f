"""Samples as text: the format of Prometheus and OpenMetrics, written directly.

A collector and its objects took 12 times as long for 64 processes (facts in docs/exporter.md).
"""

from __future__ import annotations

from functools import cache

from watchkeeper.contract import Metric
from watchkeeper_fleet.metrics import agent, exporter, issues, trunk

# By the name of the family: each series, written as `name{label="value"}`, and its value.
Samples = dict[str, list[tuple[str, float]]]

TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"

FAMILIES: dict[str, Metric] = {
    metric.name: metric
    for module in (agent, exporter, issues, trunk)
    for metric in vars(module).values()
    if isinstance(metric, Metric) and not metric.external
}


def escape(value: str) -> str:
    """Return a label's value as it stands between quotation marks."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def labels_of(metric: Metric, values: tuple[str, ...]) -> str:
    """Return the labels of a metric as text, without braces."""
    return ",".join(f'{name}="{escape(value)}"' for name, value in zip(metric.labels, values, strict=True))


def series(metric: Metric, *values: str) -> str:
    """Return the series of a metric that has these values of its labels."""
    return f"{metric.name}{{{labels_of(metric, values)}}}" if values else metric.name


def add(samples: Samples, metric: Metric, value: float, *values: str) -> None:
    """Add one sample."""
    samples.setdefault(metric.name, []).append((series(metric, *values), value))


@cache
def _head(name: str, *, openmetrics: bool) -> str:
    metric = FAMILIES[name]
    kind, family = metric.type, name
    if openmetrics:
        # There the family of a counter or an info goes without the suffix that its samples have.
        family = name.removesuffix({"counter": "_total", "info": "_info"}.get(kind, ""))
    elif kind == "info":
        kind = "gauge"
    text = metric.help.replace("\\", "\\\\").replace("\n", "\\n")
    head = f"# HELP {family} {text}\n# TYPE {family} {kind}\n"
    if openmetrics and metric.unit and family.endswith(f"_{metric.unit}"):
        head += f"# UNIT {family} {metric.unit}\n"
    return head


def render(samples: Samples, *, openmetrics: bool = False) -> bytes:
    """Return the samples as one document, families in the order of their names."""
    parts: list[str] = []
    for name in sorted(samples):
        if samples[name]:
            parts.append(_head(name, openmetrics=openmetrics))
            # repr: the shortest text that is the same number; NaN and infinity never come here.
            parts += [f"{one} {value!r}\n" for one, value in samples[name]]
    if openmetrics:
        parts.append("# EOF\n")
    return "".join(parts).encode()
