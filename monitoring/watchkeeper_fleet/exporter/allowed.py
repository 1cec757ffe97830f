"""What of a spool file is served: the series of the contract, with its labels. All else a workload wrote is dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from watchkeeper.contract import Counter, Histogram, Info, Metric
from watchkeeper_fleet.exporter.text import escape
from watchkeeper_fleet.metrics import agent, exporter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from watchkeeper_fleet.exporter.text import Samples
    from watchkeeper_fleet.spool import Field

OWN = len(agent.PROCESS)  # the labels that the daemon adds come first in every metric of a process


class Part(NamedTuple):
    """A series of the contract as a file names it."""

    metric: Metric
    labels: tuple[str, ...]  # beyond those of the process, and without le


PARTS: dict[str, Part] = {
    name: Part(metric, metric.labels[OWN:])
    for metric in vars(agent).values()
    # What an info metric says stands in the texts of a file.
    if isinstance(metric, Metric) and not isinstance(metric, Info)
    for name in metric.series()
}
# Of which totals are kept for the host.
CARRIED: dict[str, Counter] = {
    agent.OOMS.name: exporter.NODE_OOMS,
    agent.ALLOC_RETRIES.name: exporter.NODE_ALLOC_RETRIES,
}
# The one that may be below 0.
SIGNED = agent.EMBEDDING_COSINE.name


def bound(number: float) -> str:
    """Return the bound of a bucket as Go writes it, which OpenMetrics wants."""
    text = repr(float(number))
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{exponent[0]}{exponent[1:].zfill(2)}" if exponent else text


class Plan:
    """Where the values of one file go: made when a file is first seen or what it describes changes."""

    __slots__ = ("_histograms", "_plain", "carried", "dropped", "fields", "progress", "reserved")

    def __init__(self, fields: tuple[Field, ...], process: str, gpu_of: Callable[[str], str]) -> None:
        self.fields = fields
        self.dropped = 0
        # Places of values that more is made of.
        self.progress: int | None = None
        self.reserved: list[tuple[int, str]] = []  # and of which device
        self.carried: list[tuple[int, str, str, str]] = []  # counter, device as written, device
        # The place of the value, the family, the series.
        self._plain: list[tuple[int, str, str]] = []
        # The family, place and series of each bucket, of the sum, and the series of the count.
        self._histograms: list[tuple[str, list[tuple[int, str]], tuple[int, str], str]] = []
        taken: set[str] = set()
        buckets: dict[tuple[str, str], dict[str, int]] = {}
        for place, (name, labels) in enumerate(fields):
            part = PARTS.get(name)
            given = dict(labels)
            le = given.pop("le", None)
            if part is None or given.keys() != set(part.labels):
                self.dropped += 1
                continue
            written = given.get("gpu", "")
            if written:
                given["gpu"] = gpu_of(written)
            text = process + "".join(f',{label}="{escape(given[label])}"' for label in part.labels)
            if isinstance(part.metric, Histogram):
                key = _part_of(part.metric, name, le)
                if key is not None:
                    buckets.setdefault((part.metric.name, text), {}).setdefault(key, place)
            elif le is None and f"{name}{{{text}}}" not in taken:
                taken.add(f"{name}{{{text}}}")
                self._plain.append((place, name, f"{name}{{{text}}}"))
                self._note(place, name, written, given.get("gpu", ""))
            else:
                self.dropped += 1
        for (family, text), places in buckets.items():
            metric = PARTS[f"{family}_sum"].metric
            assert isinstance(metric, Histogram)
            limits = [*map(bound, metric.buckets), "+Inf"]
            if not all(one in places for one in (*limits, "sum")):
                self.dropped += len(places)
                continue
            rows = [(places[limit], f'{family}_bucket{{{text},le="{limit}"}}') for limit in limits]
            total = (places["sum"], f"{family}_sum{{{text}}}")
            self._histograms.append((family, rows, total, f"{family}_count{{{text}}}"))

    def _note(self, place: int, name: str, written: str, gpu: str) -> None:
        if name == agent.PROGRESS_TIMESTAMP.name:
            self.progress = place
        elif name == agent.RESERVED.name:
            self.reserved.append((place, gpu))
        elif name in CARRIED:
            self.carried.append((place, name, written, gpu))

    def __len__(self) -> int:
        return len(self._plain) + sum(len(rows) + 2 for _, rows, _, _ in self._histograms)

    def write(self, values: Sequence[float], samples: Samples) -> None:
        """Add the values of a file."""
        for place, family, series in self._plain:
            value = values[place]
            samples[family].append((series, value if value >= 0 or family == SIGNED else 0.0))
        for family, rows, (place, total), number in self._histograms:
            lines = samples[family]
            count = 0.0  # a bucket holds what the one below it does
            for bucket, series in rows:
                if values[bucket] > count:  # noqa: PLR1730 - max() takes four times as long, for each bucket
                    count = values[bucket]
                lines.append((series, count))
            lines.append((total, max(values[place], 0.0)))
            lines.append((number, count))


def _part_of(metric: Histogram, name: str, le: str | None) -> str | None:
    """Return which part of a histogram a series is: a bound as `bound` writes it, or sum; None where it is none."""
    if le is None:
        return "sum" if name == metric.sum.name else None
    if name != metric.bucket.name:
        return None
    try:
        number = float(le)
    except ValueError:
        return None
    return "+Inf" if number == float("inf") else bound(number) if number in metric.buckets else None
