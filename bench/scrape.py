"""A scrape of 64 and of 256 processes: ours beside prometheus_client's multiprocess mode, on the same metrics.

    .venv/bin/python bench/scrape.py [--quick]

One JSON object a line. `ours` is scan, collection and text, NVML apart; `peer` its collector and generate_latest.
Each process writes 60 series of its own: the counters and latencies of two functions, and gauges by device.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

BAR = 0.25
MEMORY_BAR = 60 * 2**20
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0)
GAUGES = ("reserved", "allocated", "active", "requested", "inactive_split", "reserved_peak", "allocated_peak")
COUNTERS = ("alloc_retries", "ooms", "device_alloc_calls", "device_free_calls")

OURS = """
import sys
from watchkeeper_fleet.metrics import agent
from watchkeeper_fleet.spool import Writer
folder, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
writers = []
for number in range(first, first + count):
    writer = Writer(folder, {"workload": "vlm", "process": str(number), "rank": str(number)})
    for name in GAUGES:
        writer.field(f"torch_cuda_memory_{name}_bytes", gpu="0")
    for name in COUNTERS:
        writer.field(f"torch_cuda_{name}_total", gpu="0")
    for function in ("encode", "decode"):
        for bound in [*map(str, BUCKETS), "+Inf"]:
            writer.field("inference_latency_seconds_bucket", function=function, le=bound)
        writer.field("inference_latency_seconds_sum", function=function)
        writer.field("inference_latency_seconds_count", function=function)
        writer.field("inference_errors_total", **{"function": function, "class": "ValueError"})
        writer.field("inference_in_progress", function=function)
        writer.field("inference_nonfinite_outputs_total", function=function)
    writer.field("torch_process_ready")
    writer.field("torch_work_in_progress")
    writer.field("torch_progress_timestamp_seconds")
    writer.publish([float(place) * 1.5 + 0.25 for place in range(60)])
    assert writer.dropped == 0
    writers.append(writer)
print(flush=True)
sys.stdin.read()
"""

THEIRS = """
import os, sys
from prometheus_client import Counter, Gauge, Histogram
who = ("workload", "process", "rank")
def gauge(name, labels, values):
    Gauge(name, "x", (*who, *labels), multiprocess_mode="livemostrecent").labels(*values).set(1.5)
def write(number):
    own = ("vlm", number, number)
    for name in GAUGES:
        gauge(f"torch_cuda_memory_{name}_bytes", ("gpu",), (*own, "0"))
    for name in COUNTERS:
        Counter(f"torch_cuda_{name}", "x", (*who, "gpu")).labels(*own, "0").inc(2.25)
    latency = Histogram("inference_latency_seconds", "x", (*who, "function"), buckets=BUCKETS)
    errors = Counter("inference_errors", "x", (*who, "function", "class"))
    progress = Gauge("inference_in_progress", "x", (*who, "function"), multiprocess_mode="livemostrecent")
    nonfinite = Counter("inference_nonfinite_outputs", "x", (*who, "function"))
    for function in ("encode", "decode"):
        latency.labels(*own, function).observe(0.3)
        errors.labels(*own, function, "ValueError").inc()
        progress.labels(*own, function).set(1)
        nonfinite.labels(*own, function).inc()
    for name in ("torch_process_ready", "torch_work_in_progress", "torch_progress_timestamp_seconds"):
        gauge(name, (), own)
for number in range(int(sys.argv[1])):
    child = os.fork()  # each has a file of its own
    if child == 0:
        write(str(number))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


def head() -> str:
    return f"GAUGES, COUNTERS, BUCKETS = {GAUGES!r}, {COUNTERS!r}, {BUCKETS!r}\n"


def start_ours(folder: str, count: int) -> subprocess.Popen[bytes]:
    # One process holds all files: what is measured is the reader.
    command = [sys.executable, "-c", head() + OURS, folder, "0", str(count)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    return child


def write_theirs(folder: str, count: int) -> None:
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": folder}
    subprocess.run([sys.executable, "-c", head() + THEIRS, str(count)], env=environment, check=True)


def timed(call: Callable[[], bytes]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def case(count: int, runs: int) -> bool:
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.multiprocess import MultiProcessCollector

    from watchkeeper_fleet.exporter.collection import Collector
    from watchkeeper_fleet.exporter.gpus import Snapshot
    from watchkeeper_fleet.exporter.host import Host
    from watchkeeper_fleet.exporter.state import State
    from watchkeeper_fleet.exporter.text import render

    with tempfile.TemporaryDirectory() as here:
        spool, peer = str(Path(here, "ours")), str(Path(here, "theirs"))
        Path(spool).mkdir()
        Path(peer).mkdir()
        child = start_ours(spool, count)
        write_theirs(peer, count)
        collector = Collector(
            spool, gpus=lambda: Snapshot(reason="no_library"), host=Host(), state=State(Path(here, "state.json"))
        )
        registry = CollectorRegistry()
        MultiProcessCollector(registry, path=peer)

        def ours() -> bytes:
            return render(collector.collect())

        def theirs() -> bytes:
            return generate_latest(registry)

        lines = {"ours": ours().count(b"\ninf"), "theirs": theirs().count(b"\ninf")}
        assert lines["ours"] * 0.9 < lines["theirs"] < lines["ours"] * 1.1, lines
        times: dict[str, list[float]] = {"ours": [], "peer": []}
        for _ in range(runs):  # in turn, so that a slow moment of the machine meets both
            times["ours"].append(timed(ours))
            times["peer"].append(timed(theirs))
        child.kill()
        child.communicate()
    mine, peers = statistics.median(times["ours"]), statistics.median(times["peer"])
    line = {"case": f"scrape of {count} processes", "ours": round(mine, 4), "peer": round(peers, 4), "unit": "s"}
    ok = mine <= BAR * peers
    print(json.dumps({**line, "ratio": round(mine / peers, 3), "bar": BAR, "ok": ok}), flush=True)
    return ok


def memory(count: int, runs: int) -> bool:
    """Measure the daemon itself, scraped in each of its formats."""
    with tempfile.TemporaryDirectory() as spool:
        child = start_ours(spool, count)
        command = [str(Path(sys.executable).with_name("watchkeeper")), "exporter"]
        daemon = subprocess.Popen(
            [*command, "--spool", spool, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
        )
        assert daemon.stderr is not None
        address = daemon.stderr.readline().split()[-1]
        for accept in ("text/plain", "application/openmetrics-text") * runs:
            for encoding in ("identity", "gzip"):
                headers = {"Accept": accept, "Accept-Encoding": encoding}
                with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
                    answer.read()
        # Not ru_maxrss: that of the process that started this one is in it.
        status = Path(f"/proc/{daemon.pid}/status").read_text().splitlines()
        most = int(next(line for line in status if line.startswith("VmHWM")).split()[1]) * 1024
        daemon.terminate()
        daemon.communicate()
        child.kill()
        child.communicate()
    line = {"case": f"memory of the daemon with {count} processes", "ours": most, "peer": None, "unit": "bytes"}
    print(json.dumps({**line, "bar": MEMORY_BAR, "ok": most <= MEMORY_BAR}), flush=True)
    return most <= MEMORY_BAR


def main() -> int:
    quick = "--quick" in sys.argv[1:]
    runs = 3 if quick else 21
    try:
        peer = f"prometheus_client {version('prometheus_client')}"
    except PackageNotFoundError:
        peer = ""
    told = {"case": "scrape", "python": sys.version.split()[0], "runs": runs}
    print(json.dumps({**told, "peer": peer or "prometheus_client is missing: not compared with it"}))
    sizes = (16,) if quick else (64, 256)
    good = [case(size, runs) for size in sizes] if peer else []
    good.append(memory(sizes[-1], runs))
    return 0 if all(good) or quick else 1


if __name__ == "__main__":
    sys.exit(main())
