"""What the agent costs the workload, beside prometheus_client's multiprocess mode on the same metrics.

    .venv/bin/python bench/agent.py [--quick]

One JSON object a line; the first names the peer's version. Both sides run in turn in one process after a warm-up, each
case several times; medians. A bar on a ratio where there is a peer, on our time alone where there is none.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
QUICK = "--quick" in sys.argv[1:]
ROUNDS = 3 if QUICK else 15
REPEAT = 500 if QUICK else 20_000
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0)


def seconds(call: Callable[[], object], repeat: int = REPEAT) -> float:
    """Return the processor's time for one call, with what the loop itself takes."""
    numbers = range(repeat)
    start = time.thread_time()
    for _ in numbers:
        call()
    return (time.thread_time() - start) / repeat


def compare(case: str, ours: Callable[[], object], peer: Callable[[], object] | None, bar: float) -> bool:
    """Print a case: the bar is on the ratio, or without a peer on our own seconds."""
    times: dict[str, list[float]] = {"ours": [], "peer": []}
    for number in range(ROUNDS + 1):
        for name, call in (("ours", ours), ("peer", peer)):
            if call is not None:
                taken = seconds(call)
                if number:  # the first is a warm-up
                    times[name].append(taken)
    return tell(case, statistics.median(times["ours"]), statistics.median(times["peer"]) if peer else None, bar)


def tell(case: str, ours: float, peer: float | None, bar: float) -> bool:
    line: dict[str, Any] = {"case": case, "ours": float(f"{ours:.3g}"), "unit": "s", "bar": bar}
    measured = ours
    if peer is not None:
        measured = ours / peer
        line |= {"peer": float(f"{peer:.3g}"), "ratio": round(measured, 3)}
    print(json.dumps({**line, "ok": measured <= bar}))
    return measured <= bar


def counting(peer: Any) -> list[bool]:
    """Count and observe: what a workload does in each request."""
    from watchkeeper_fleet.agent.registry import Registry

    registry = Registry()
    counter = registry.counter("inference_errors_total", function="f", **{"class": "ValueError"})
    histogram = registry.histogram("inference_latency_seconds", BOUNDS, function="f")
    add = observe = None
    if peer is not None:
        add = peer.Counter("inference_errors", "x", ["function", "class"]).labels("f", "ValueError").inc
        peers = peer.Histogram("inference_latency_seconds", "x", ["function"], buckets=BOUNDS).labels("f")
        observe = lambda: peers.observe(0.3)  # noqa: E731 - as ours beside it
    return [
        compare("count an event", counter.add, add, 0.2 if add else 1e-6),
        compare("observe a duration", lambda: histogram.observe(0.3), observe, 0.2 if observe else 1e-6),
    ]


def publishing(_: Any) -> list[bool]:
    """Publish 60 fields, of gauges and of histograms; the peer writes each value when it is set."""
    from watchkeeper_fleet import spool
    from watchkeeper_fleet.agent.registry import Registry

    good = []
    with tempfile.TemporaryDirectory() as folder:
        for case, fill in (("60 gauges", _gauges), ("3 histograms, 60 fields", _histograms)):
            registry = Registry()
            fill(registry)
            writer = spool.Writer(folder, {"workload": "bench"})
            assert len(registry.values(writer)) == 60
            publish = partial(_publish, registry, writer)
            good.append(compare(f"publish {case}", publish, None, 10e-6))
            writer.close("clean")
    return good


def _publish(registry: Any, writer: Any) -> None:
    writer.publish(registry.values(writer))


def _gauges(registry: Any) -> None:
    for number in range(60):
        registry.gauge("torch_cuda_memory_reserved_bytes", gpu=str(number)).set(number)


def _histograms(registry: Any) -> None:
    for number in range(3):
        registry.histogram("inference_latency_seconds", BOUNDS, function=str(number)).observe(0.3)


def steps(_: Any) -> list[bool]:
    """A step with the agent on: what stands around it, most of the time."""
    from watchkeeper_fleet import agent

    step = agent.step

    def empty() -> None:
        with step():
            pass

    agent.start()
    agent.ready()
    good = [compare("a step", empty, None, 2e-6)]
    agent.stop()
    return good


def forks(_: Any) -> list[bool]:
    """A fork while the agent's thread runs, beside one without it: the thread is sent away and comes back."""
    from watchkeeper_fleet import agent

    def fork() -> None:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)

    def wall() -> float:
        taken = []
        for _ in range(5 if QUICK else 100):
            start = time.perf_counter()
            fork()
            taken.append(time.perf_counter() - start)
        return statistics.median(taken)

    without = wall()
    agent.start()
    agent.ready()
    ours = wall()
    agent.stop()
    return [tell("what a fork costs more", ours - without, None, 5e-3)]


def starting(_: Any) -> list[bool]:
    """Start a Python with the .pth line and without it, the variable being unset, then set."""
    environment = {name: value for name, value in os.environ.items() if name != "WATCHKEEPER_AGENT"}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        (packages,) = Path(folder).glob("lib/python3*/site-packages")
        python = f"{folder}/bin/python"
        line = (ROOT / "monitoring/watchkeeper_agent.pth").read_text()
        times: dict[str, list[float]] = {"without": [], "unset": [], "set": []}
        (packages / "watchkeeper.pth").write_text(f"{ROOT / 'generator'}\n{ROOT / 'monitoring'}\n")
        for _ in range(3 if QUICK else 100):
            for name, taken in times.items():
                pth = packages / "watchkeeper_agent.pth"
                pth.unlink(missing_ok=True)
                if name != "without":
                    pth.write_text(line)
                more = {"WATCHKEEPER_AGENT": "1"} if name == "set" else {}
                child = subprocess.Popen([python, "-c", "pass"], env={**environment, **more})
                _, child.returncode, usage = os.wait4(child.pid, 0)
                assert child.returncode == 0
                taken.append(usage.ru_utime + usage.ru_stime)
    median = {name: statistics.median(taken) for name, taken in times.items()}
    return [
        tell("start a Python, variable unset", median["unset"] - median["without"], None, 0.3e-3),
        tell("start a Python, agent on, no torch", median["set"] - median["without"], None, 20e-3),
    ]


def decorating(_: Any) -> list[bool]:
    """Call a decorated function beside the bare one: what the decorator adds."""
    from watchkeeper_fleet.agent import monitor_inference

    good = []
    leaves = {f"layer{number}": [object()] * 2 for number in range(8)}
    for case, output, bar in (("one value", None, 1e-6), ("an output of 16 leaves", leaves, 3e-6)):

        def bare(output: object = output) -> object:
            return output

        decorated = monitor_inference(bare)
        without, ours = [], []
        for _ in range(ROUNDS):
            without.append(seconds(bare))
            ours.append(seconds(decorated))
        cost = statistics.median(ours) - statistics.median(without)
        good.append(tell(f"the decorator on a function with {case}", cost, None, bar))
    return good


CASES: tuple[Callable[[Any], list[bool]], ...] = (counting, publishing, steps, decorating, forks, starting)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as spool:
        os.environ |= {"PROMETHEUS_MULTIPROC_DIR": folder, "WATCHKEEPER_SPOOL": spool}
        peer: Any = None
        version = "prometheus_client is missing: not compared with it"
        if importlib.util.find_spec("prometheus_client"):
            from importlib.metadata import version as version_of

            import prometheus_client as peer

            version = f"prometheus_client {version_of('prometheus_client')}, multiprocess"
        print(json.dumps({"case": "agent", "python": sys.version.split()[0], "peer": version, "rounds": ROUNDS}))
        good = [ok for case in CASES for ok in case(peer)]
    return 0 if QUICK or all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
