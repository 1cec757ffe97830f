"""The evaluator: a large window sum by itself, and range queries beside a real Prometheus 3 over HTTP.

    .venv/bin/python bench/engine.py [--quick] [--prometheus BINARY]

One JSON object a line; the first names the versions. Ours runs in this process and ends with lists of numbers; the peer
has the same samples by remote write, and its time ends when the last byte of its JSON is read, before that is decoded.
Both run in turn after a warm-up, and both answer alike, which is checked. The peer is WATCHKEEPER_PROMETHEUS3, or
.cache/prometheus3/usr/bin/prometheus.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import platform
import statistics
import sys
import time
import urllib.parse
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from watchkeeper.engine import Data, Engine, Series
from watchkeeper.engine.labels import make

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/watchkeeper/promql"))
import diff_server  # noqa: E402  (tests ask real servers by it, too)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BAR_S = 0.2  # for the window sum
INTERVAL_MS = 15_000
START_MS = 1_700_000_010_000  # on no multiple of a step
BOUNDS = ("0.01", "0.05", "0.1", "0.5", "1", "5", "10", "+Inf")
QUERIES = {
    "rate": "rate(gpu_replays_total[5m])",
    "sum by rate": "sum by (instance) (rate(gpu_replays_total[5m]))",
    "histogram_quantile": "histogram_quantile(0.99, sum by (instance, le) (rate(step_seconds_bucket[5m])))",
    "max_over_time 1h": "max_over_time(gpu_temperature[1h])",
    "join": "gpu_used_bytes / on (instance, gpu) gpu_total_bytes > 0.5",
}


class Size:
    """How much data: `hosts` of 8 GPUs, for `hours`, asked `rounds` times."""

    def __init__(self, hosts: int, hours: int, rounds: int) -> None:
        self.hosts, self.rounds = hosts, rounds
        self.samples = hours * 3600 * 1000 // INTERVAL_MS + 1


def series(size: Size) -> Iterator[Series]:
    """Fractions, counters with resets, a classic histogram; no sample is missing."""
    random = Random(7)
    times = list(range(START_MS, START_MS + size.samples * INTERVAL_MS, INTERVAL_MS))
    for host in range(size.hosts):
        for gpu in range(8):
            labels = {"instance": f"node{host}:9400", "gpu": str(gpu)}
            for name, values in (
                ("gpu_temperature", [40 + 30 * random.random() for _ in times]),
                ("gpu_replays_total", _counter(random, len(times))),
                ("gpu_used_bytes", [random.random() * 8e10 for _ in times]),
                ("gpu_total_bytes", [8e10] * len(times)),
            ):
                yield Series(make({"__name__": name, **labels}), times, values)
        total = [0.0] * len(times)
        for bound in BOUNDS:
            total = [a + b for a, b in zip(total, _counter(random, len(times), reset=False), strict=True)]
            labels = {"__name__": "step_seconds_bucket", "instance": f"node{host}:9400", "le": bound}
            yield Series(make(labels), times, total)


def _counter(random: Random, count: int, *, reset: bool = True) -> list[float]:
    value, found = 0.0, []
    for _ in range(count):
        value = 0.0 if reset and random.random() < 0.001 else value + random.randrange(5)
        found.append(value)
    return found


def seconds(function: Callable[[], object]) -> float:
    gc.collect()
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def tell(**line: Any) -> None:
    print(json.dumps(line), flush=True)


def window_sum(engine: Engine, data: Data, size: Size) -> bool:
    """sum_over_time over 120 samples, at each sample of each series."""
    end = (START_MS + (size.samples - 1) * INTERVAL_MS) / 1000

    def ask() -> Any:
        return engine.range(data, "sum_over_time(gpu_temperature[30m])", START_MS / 1000, end, INTERVAL_MS / 1000)

    rows = ask().series
    ours = statistics.median(seconds(ask) for _ in range(size.rounds))
    case = f"window sum, 120 offsets, {len(rows)} x {len(rows[0][1])}"
    tell(case=case, ours=round(ours, 4), peer=None, unit="s", ratio=None, bar=BAR_S, ok=ours <= BAR_S)
    return ours <= BAR_S


def beside(engine: Engine, data: Data, server: diff_server.Server, size: Size, name: str) -> None:
    """One range query by both, a minute apart over all of the time."""
    expr = QUERIES[name]
    start, end = START_MS, START_MS + (size.samples - 1) * INTERVAL_MS
    form = urllib.parse.urlencode({"query": expr, "start": start / 1000, "end": end / 1000, "step": 60}).encode()

    def ours() -> Any:
        return engine.range(data, expr, start / 1000, end / 1000, 60)

    def peer() -> bytes:
        return server.post("/api/v1/query_range", form)

    rows, answer = ours().series, json.loads(peer())["data"]["result"]
    same = sorted(row[0] for row in rows) == sorted(make(one["metric"]) for one in answer) and all(
        _alike(rows, make(one["metric"]), one["values"]) for one in answer
    )
    times = [(seconds(ours), seconds(peer)) for _ in range(size.rounds)]
    mine, theirs = statistics.median(t for t, _ in times), statistics.median(t for _, t in times)
    points = sum(len(row[1]) for row in rows)
    tell(
        case=f"{name}: {len(rows)} series, {points} points",
        ours=round(mine, 4),
        peer=round(theirs, 4),
        unit="s",
        ratio=round(mine / theirs, 2),
        bar=None,
        ok=same,
    )


def _alike(rows: list[Any], labels: Any, values: list[Any]) -> bool:
    (found,) = (row for row in rows if row[0] == labels)
    return len(found[1]) == len(values) and all(
        math.isclose(mine, float(theirs), rel_tol=1e-9) or mine != mine  # noqa: PLR0124
        for mine, (_, theirs) in zip(found[2], values, strict=True)
    )


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--quick", action="store_true", help="only check that it runs: little data, one round")
    arguments.add_argument("--prometheus", metavar="BINARY", default=os.environ.get("WATCHKEEPER_PROMETHEUS3"))
    options = arguments.parse_args()
    size = Size(2, 1, 1) if options.quick else Size(56, 6, 7)
    binary = options.prometheus or str(ROOT / ".cache/prometheus3/usr/bin/prometheus")
    there = os.access(binary, os.X_OK)
    release = ".".join(map(str, diff_server.version(binary))) if there else None
    versions = {"prometheus": release, "python": platform.python_version(), "numpy": np.__version__}
    tell(versions=versions, cores=os.cpu_count())
    data = Data(series(size))
    engine = Engine(evaluator="arrays")
    fine = window_sum(engine, data, size)
    if not there:
        tell(missing="Prometheus 3 is not here: name one in WATCHKEEPER_PROMETHEUS3")
        return 0 if options.quick or fine else 1
    with diff_server.running(binary) as server:
        server.write(data.series)
        for name in QUERIES:
            beside(engine, data, server, size, name)
    return 0 if options.quick or fine else 1


if __name__ == "__main__":
    sys.exit(main())
