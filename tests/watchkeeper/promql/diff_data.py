"""Random data for differential.py: gappy, resetting, stale, with NaN and Inf, fractions and negative values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from watchkeeper.engine import Series
from watchkeeper.engine.data import STALE
from watchkeeper.engine.histogram import Histogram
from watchkeeper.engine.labels import make

if TYPE_CHECKING:
    from random import Random

SPAN_MS = 50 * 60_000
JOBS = ("api", "db", "web")
INSTANCES = ("a:1", "b:2", "c:3")
BOUNDS = ("0.1", "0.5", "1", "2.5", "10", "+Inf")

# name: kind, labels beside job
METRICS = {
    "requests_total": ("counter", ("instance", "code")),
    "errors_total": ("counter", ("instance", "code")),
    "bytes_total": ("fractions", ("instance",)),
    "temp": ("gauge", ("instance",)),
    "load": ("gauge", ("instance",)),
    "limit": ("gauge", ()),
    "up": ("switch", ("instance",)),
    "odd": ("odd", ("instance",)),
    "build_info": ("one", ("instance", "version")),
    "target_info": ("one", ("instance", "os")),
    "lat_bucket": ("bucket", ("instance", "le")),
    "lat_sum": ("fractions", ("instance",)),
    "lat_count": ("counter", ("instance",)),
}
CODES = ("200", "404", "500")


def labels_of(name: str) -> tuple[str, ...]:
    return ("job", *METRICS[name][1])


def make_series(random: Random, base_ms: int) -> list[Series]:
    """All series of a world, in order of their labels, which is the order a server gets them in."""
    found = []
    for name, (kind, more) in METRICS.items():
        for job in JOBS:
            instances = INSTANCES if "instance" in more else ("",)
            for instance in instances:
                if random.random() < 0.15:
                    continue
                labels = {"__name__": name, "job": job, "instance": instance}
                if "code" in more:
                    codes = [code for code in CODES if random.random() < 0.8]
                    found += [_series(random, {**labels, "code": code}, kind, base_ms) for code in codes]
                elif kind == "bucket":
                    found += _buckets(random, labels, base_ms)
                elif "version" in more:
                    found.append(_series(random, {**labels, "version": random.choice(("1.0", "1.1"))}, kind, base_ms))
                elif "os" in more:
                    found.append(_series(random, {**labels, "os": random.choice(("linux", "bsd"))}, kind, base_ms))
                else:
                    found.append(_series(random, labels, kind, base_ms))
    found.sort(key=lambda series: series.labels)
    return found


def make_histograms(random: Random, base_ms: int) -> list[Series]:
    """Native histograms, mostly counters: `dur` by job and instance."""
    found = []
    for job in JOBS:
        for instance in INSTANCES:
            when = times(random, base_ms)
            values: list[Histogram | float] = []
            # Never without a bucket: a server may give such a sample the empty buckets of its chunk, and then takes the
            # zero bucket for one of positive observations.
            buckets: dict[int, float] = {0: 1.0}
            total = zeros = 0.0
            schema = random.choice((0, 0, 1, 3))
            for _ in when:
                if random.random() < 0.02:
                    buckets, total, zeros = {1: 1.0}, 0.0, 0.0
                for _ in range(random.randrange(4)):
                    index = random.randrange(-3, 6)
                    buckets[index] = buckets.get(index, 0.0) + random.randrange(1, 4)
                    total += random.random() * 5
                zeros += random.random() < 0.2
                count = sum(buckets.values()) + zeros
                values.append(
                    Histogram(schema, count=count, sum=total, zero_threshold=0.001, zero_count=zeros, positive=buckets)
                )
            found.append(Series({"__name__": "dur", "job": job, "instance": instance}, when, values))
    return sorted(found, key=lambda series: series.labels)


def times(random: Random, base_ms: int) -> list[int]:
    """When a series has samples: regular or not, with gaps, from late on, until early."""
    gap = random.choice((15_000, 15_000, 15_000, 30_000, 60_000))
    jitter = random.choice((0, 0, 50, 4000))
    phase = random.choice((0, 0, random.randrange(gap)))
    first = random.choice((0, 0, 0, random.randrange(SPAN_MS // 2)))
    last = random.choice((SPAN_MS, SPAN_MS, SPAN_MS - random.randrange(SPAN_MS // 2)))
    holes = [(start, start + random.randrange(60_000, 600_000)) for start in _some(random, SPAN_MS)]
    found: list[int] = []
    for at in range(first + phase, last, gap):
        time = base_ms + at + (random.randint(-jitter, jitter) if jitter else 0)
        inside = any(start <= at < end for start, end in holes)
        if not inside and random.random() > 0.02 and (not found or time > found[-1]):
            found.append(time)
    return found


def _some(random: Random, size: int) -> list[int]:
    return [random.randrange(size) for _ in range(random.choice((0, 0, 1, 2)))]


def _series(random: Random, labels: dict[str, str], kind: str, base_ms: int) -> Series:
    when = times(random, base_ms)
    values = list(_values(random, kind, len(when)))
    if random.random() < 0.3:
        for place in _some(random, max(1, len(when))):
            if place < len(values):
                values[place] = STALE
    return Series(make(labels), when, values)


def _values(random: Random, kind: str, count: int) -> list[float]:
    return {
        "counter": _counter,
        "fractions": _fractions,
        "gauge": _gauge,
        "switch": lambda random, count: [float(random.random() < 0.8) for _ in range(count)],
        "one": lambda _, count: [1.0] * count,
        "odd": _odd,
    }[kind](random, count)


def _counter(random: Random, count: int) -> list[float]:
    value = float(random.choice((0, 0, random.randrange(10**6))))
    found = []
    top = random.choice((2, 10, 1000))
    for _ in range(count):
        value = float(random.randrange(top)) if random.random() < 0.02 else value + random.randrange(top)
        found.append(value)
    return found


def _fractions(random: Random, count: int) -> list[float]:
    value = random.random() * random.choice((1, 1e6))
    found = []
    for _ in range(count):
        value = random.random() if random.random() < 0.02 else value + random.random() * 3
        found.append(value)
    return found


def _gauge(random: Random, count: int) -> list[float]:
    size = random.choice((1, 40, 1e5))
    middle = random.choice((0, size, -size))
    if random.random() < 0.1:
        return [float(middle)] * count
    if random.random() < 0.3:
        return [float(random.randrange(-5, 20)) for _ in range(count)]
    return [middle + random.gauss(0, 1) * size for _ in range(count)]


def _odd(random: Random, count: int) -> list[float]:
    strange = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-12, 1e12, -1.5)
    share = random.choice((0.05, 0.3, 0.9))
    return [random.choice(strange) if random.random() < share else random.gauss(0, 10) for _ in range(count)]


def _buckets(random: Random, labels: dict[str, str], base_ms: int) -> list[Series]:
    """A classic histogram: rising counters, cumulative over the buckets; sometimes one of them is missing."""
    when = times(random, base_ms)
    totals = [0.0] * len(BOUNDS)
    columns: list[list[float]] = [[] for _ in BOUNDS]
    broken = random.random() < 0.1
    for _ in when:
        if random.random() < 0.02:
            totals = [0.0] * len(BOUNDS)
        for _ in range(random.randrange(5)):
            hit = random.randrange(len(BOUNDS))
            totals = [total + (index >= hit) for index, total in enumerate(totals)]
        for index, column in enumerate(columns):
            column.append(totals[index] - (broken and random.random() < 0.1))
    return [
        Series(make({**labels, "le": bound}), when, column)
        for bound, column in zip(BOUNDS, columns, strict=True)
        if random.random() > 0.02
    ]


def largest(series: list[Series], expr: str) -> float:
    """The largest finite input among the metrics that an expression may name; the bar for differences of nothing."""
    found = 1.0
    for one in series:
        name = dict(one.labels)["__name__"]
        if name in expr or "__name__" in expr or expr[:1] == "{":
            found = max(
                [found, *(abs(value) for value in one.values if isinstance(value, float) and math.isfinite(value))]
            )
    return found
