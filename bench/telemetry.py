"""What each part of the agent adds to a step, on and off, beside torch's own record_function.

    .venv/bin/python bench/telemetry.py [--quick]

One JSON object a line; the first names the peer's version. All run in turn in one process on CPU torch with one thread,
after a warm-up, several times; medians of the processor's time. `off` is the same call with the agent off, or, for the
loader and the decorator, what is wrapped by them alone, and for the weights a step that does not look. Bars are on our
own seconds, and loose: other work on the machine is in them. `peer` is a record_function block around nothing, with no
profiler running. What only a GPU can show is not here.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import statistics
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

QUICK = "--quick" in sys.argv[1:]
ROUNDS = 2 if QUICK else 9


def seconds(call: Callable[[], object], repeat: int) -> float:
    """Return the processor's time for one call, with what the loop itself takes."""
    numbers = range(repeat)
    start = time.thread_time()
    for _ in numbers:
        call()
    return (time.thread_time() - start) / repeat


class Table:
    """The cases, each beside torch's own."""

    def __init__(self, peer: Callable[[], object]) -> None:
        self.peer = self.median(peer, 2000)
        self.good = True

    def median(self, call: Callable[[], object], repeat: int) -> float:
        repeat = max(repeat // 50, 1) if QUICK else repeat
        seconds(call, repeat)
        return statistics.median(seconds(call, repeat) for _ in range(ROUNDS))

    def tell(self, case: str, ours: float, bar: float, unit: str = "s", **more: object) -> None:
        line = {"case": case, "ours": float(f"{ours:.3g}"), "unit": unit, "bar": bar, **more, "ok": ours <= bar}
        print(json.dumps(line), flush=True)
        self.good = self.good and ours <= bar

    def case(
        self, case: str, on: Callable[[], object], off: Callable[[], object] | None, repeat: int, bar: float
    ) -> None:
        ours = self.median(on, repeat)
        more = {"peer": float(f"{self.peer:.3g}"), "ratio": round(ours / self.peer, 3)}
        if off is not None:
            with switched_off():
                more["off"] = float(f"{self.median(off, repeat):.3g}")
        self.tell(case, ours, bar, **more)


@contextlib.contextmanager
def switched_off() -> Iterator[None]:
    """Have the agent off for a while, with no thread started or ended."""
    from watchkeeper_fleet.agent.lifecycle import STATE

    before = STATE.on, STATE.recorder
    STATE.on, STATE.recorder = False, None
    try:
        yield
    finally:
        STATE.on, STATE.recorder = before


def steps(table: Table, _: Any) -> None:
    """A step, a batch of a loader with its step, and the decorator; progress is what they all set."""
    from watchkeeper_fleet import agent
    from watchkeeper_fleet.agent.progress import PROGRESS

    step = agent.step

    def empty() -> None:
        with step():
            pass

    def bare() -> None:
        pass

    table.case("agent.step()", empty, empty, 20_000, 5e-6)
    forever = iter(agent.loader(_Endless()))

    def batch() -> None:
        next(forever)
        with step():
            pass

    def unwatched(source: Any = iter(_Endless())) -> None:  # noqa: B008 - one source for all calls
        next(source)

    table.case("agent.loader and agent.step()", batch, unwatched, 20_000, 20e-6)
    forever.close()
    decorated = agent.monitor_inference(bare)
    table.case("agent.monitor_inference", decorated, bare, 20_000, 5e-6)
    table.case("progress, once a second", PROGRESS.compute, None, 20_000, 100e-6)


class _Endless:
    def __iter__(self) -> _Endless:
        return self

    def __next__(self) -> int:
        return 1


def finite(table: Table, torch: Any) -> None:
    """One tensor, and a nested output of 16."""
    from watchkeeper_fleet import agent

    one = torch.randn(512, 768)
    many = {f"layer{number}": [torch.randn(64, 64), torch.randn(64)] for number in range(8)}
    for case, x in (("one tensor of 512 x 768", one), ("16 leaves", many)):

        def look(x: object = x) -> None:
            agent.watch_finite(x, name="bench")

        table.case(f"agent.watch_finite, {case}", look, look, 500, 5e-3)


def weights(table: Table, torch: Any) -> None:
    """A look, at most once a second and for 0.2 % of the time, and what a step pays that has none."""
    from watchkeeper_fleet.agent.registry import Registry
    from watchkeeper_fleet.agent.weights import Weights, described

    def model(parameters: int) -> Any:
        return torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(parameters // 2)))

    for parameters in (60, 500):
        watched = model(parameters)
        watch = Weights(Registry())
        watch.add(watched, 1e9)
        watch.between_steps()

        def look(watched: Any = watched) -> None:
            described(watched)

        case = f"agent.watch_weights, a look at {parameters} parameters"
        table.case(case, look, watch.between_steps, 100, 50e-3)


def drift(table: Table, torch: Any) -> None:
    """512 embeddings of 768 dimensions at once."""
    from watchkeeper_fleet import agent
    from watchkeeper_fleet.agent.reference import measured

    reference = measured(torch.randn(2000, 768))
    for kind in (torch.float32, torch.bfloat16):
        watch = agent.drift("bench", reference)
        batch = torch.randn(512, 768).to(kind)

        def add(watch: Any = watch, batch: Any = batch) -> None:
            watch.add(batch)

        table.case(f"drift.add, 512 x 768, {str(kind).removeprefix('torch.')}", add, None, 100, 50e-3)


def kernels(table: Table, torch: Any) -> None:
    """Between recordings; then recordings of 1,000 operations of the CPU in place of kernels, at the default budget."""
    from watchkeeper_fleet.agent.kernels import BUDGET, Kernels, Sampler
    from watchkeeper_fleet.agent.recording import Recording
    from watchkeeper_fleet.agent.registry import Registry

    recording = Recording("CPU")
    # Real time, and what we say has passed besides: the sampler waits for minutes between its recordings.
    passed = 0.0

    def clock() -> float:
        return time.perf_counter() + passed

    recording.clock = clock
    sampler = Sampler(recording, Kernels(Registry()), clock=clock)

    def boundaries() -> None:
        sampler.begin()
        sampler.end()

    table.case("agent.sample_kernels, a step between recordings", boundaries, None, 20_000, 5e-6)
    x = torch.ones(8, 8)
    cycles, spent, began = 0, [], clock()
    while cycles < (3 if QUICK else 10):
        passed += 0.1
        before = sampler._costs  # noqa: SLF001 - what the sampler itself has measured
        sampler.begin()
        if recording._on:  # noqa: SLF001 - a step between recordings has nothing to do
            for _ in range(1000):
                x.add(1)
        sampler.end()
        if sampler._costs is not before:  # noqa: SLF001 - the same
            cycles += 1
            spent.append(sampler._costs[-1])  # noqa: SLF001 - the same
    passed += max(spent[-3:]) / BUDGET  # as long as the last one is paid for
    table.tell("agent.sample_kernels, a recording of 1,000 operations", statistics.median(spent), 5.0)
    share = sum(spent) / (clock() - began)
    table.tell("agent.sample_kernels, share of wall time", share, BUDGET, "ratio", recordings=cycles)


def main() -> int:
    if importlib.util.find_spec("torch") is None:
        print(json.dumps({"case": "telemetry", "peer": "torch is missing: nothing is measured"}))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WATCHKEEPER_SPOOL"] = folder
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")
        import torch

        from watchkeeper_fleet import agent

        torch.set_num_threads(1)
        peer = f"record_function of torch {torch.__version__}, no profiler"
        gpu = "not measured here: see tests/gpu"
        print(json.dumps({"case": "telemetry", "python": sys.version.split()[0], "peer": peer, "gpu": gpu}))

        def recorded() -> None:
            with torch.profiler.record_function("step"):
                pass

        table = Table(recorded)
        agent.start()
        agent.ready()
        for part in (steps, finite, weights, drift, kernels):
            part(table, torch)
        agent.stop()
    return 0 if QUICK or table.good else 1


if __name__ == "__main__":
    sys.exit(main())
