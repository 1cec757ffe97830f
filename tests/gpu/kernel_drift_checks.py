"""What only a GPU can show of the kernel sampler and of drift: checks as those of checks.py."""

from __future__ import annotations

from checks import Ran

# A sampler that is due at every step from here on, and the one of the public name.
SAMPLE = """
from watchkeeper_fleet.agent import kernels
agent.start()
x = torch.randn(2048, 2048, device="cuda")
(x @ x).sum()
torch.cuda.synchronize()
assert agent.sample_kernels()
(sampler,) = kernels._SAMPLERS
recording = sampler._recording
def due(): sampler._due = 0
def settle(limit=50):
    # The recording ends at the first boundary that finds the step's event done.
    for _ in range(limit):
        if not sampler._on: return
        time.sleep(0.02)
        with agent.step(): pass
    raise AssertionError("a recording did not end")
"""


def _quantile(values: dict[str, float], kernel: str, share: float) -> float:
    """Return the upper bound of the bucket that holds the quantile of a kernel's durations, in seconds."""
    found = {}
    for name, value in values.items():
        labels = dict(part.split("=", 1) for part in name.split(" ")[1:])
        if name.startswith("gpu_kernel_seconds_bucket") and labels.get("kernel") == kernel:
            found[float(labels["le"])] = value
    total = max(found.values())
    return min(bound for bound, count in sorted(found.items()) if count >= share * total)


def kernels_are_named_and_timed() -> str:
    """A matrix product is in the bucket where CUDA events see it; the labels are bounded."""
    ran = Ran(
        SAMPLE
        + """
y = x @ x
begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
begun.record()
for _ in range(20): torch.mm(x, x, out=y)
ended.record()
torch.cuda.synchronize()
print(begun.elapsed_time(ended) / 20 / 1000)
for _ in range(5):
    due()
    with agent.step():
        for _ in range(20): torch.mm(x, x, out=y)
    settle()
names = {kernel for _, kernel in sampler._kernels._histograms}
assert not sampler.off and len(names) <= 22, names
print(*sorted(sampler._kernels._admitted))
"""
    ).well()
    each, admitted = ran.output.splitlines()
    found = {kernel: _quantile(ran.values(), kernel, 0.5) for kernel in admitted.split()}
    assert any(bound / 10 <= float(each) <= bound for bound in found.values()), (each, found)
    return f"{float(each) * 1e6:.0f} us by events; medians at most {found}"


def sampling_does_not_wait() -> str:
    """Neither begin nor end of a recording waits for a device that is busy for half a second."""
    ran = Ran(
        SAMPLE
        + """
due()
with agent.step(): x @ x  # the first one brings CUPTI up
settle()
torch.cuda.synchronize()
due()
begun = time.monotonic()
with agent.step():
    for _ in range(2): torch.cuda._sleep(500_000_000)
    launched = time.monotonic()
after = time.monotonic()
assert sampler._on, "the recording ended before its step had run"
busy = not torch.cuda.current_stream().query()
torch.cuda.synchronize()
settle()
print(busy, after - begun, time.monotonic() - begun, sampler._costs)
"""
    ).well()
    busy, took, _, *costs = ran.output.split(maxsplit=3)
    assert busy == "True", ran.output
    assert float(took) < 0.4, f"a step took {took} s beside a busy device"
    return f"{float(took) * 1e3:.1f} ms for a step; costs of cycles {costs}"


def profiles_of_the_workload_are_complete() -> str:
    """With kernels: within a recorded step, before its recording has ended, in a thread, and after many of ours."""
    ran = Ran(
        SAMPLE
        + """
import threading
from torch.profiler import ProfilerActivity as A, profile, schedule
def seen(p): return sum(e.count for e in p.key_averages() if "gemm" in e.key.lower() or "cutlass" in e.key.lower())
def taken():
    with profile(activities=[A.CPU, A.CUDA]) as p:
        for _ in range(5): x @ x
        torch.cuda.synchronize()
    return seen(p)
alone = taken()
found = []
for _ in range(5):
    due()
    with agent.step():
        assert sampler._on and recording._on
        x @ x
        found.append(taken())
    settle()
    due()
    with agent.step(): torch.cuda._sleep(100_000_000)
    found.append(taken())
    settle()
    due()
    with agent.step():
        thread = threading.Thread(target=lambda: found.append(taken()))
        thread.start(); thread.join()
    settle()
kept = []
with profile(activities=[A.CPU, A.CUDA], schedule=schedule(wait=1, warmup=1, active=1, repeat=2), acc_events=True,
             on_trace_ready=lambda p: kept.append(seen(p))) as p:
    for _ in range(8):
        due()
        with agent.step():
            for _ in range(5): x @ x
            torch.cuda.synchronize()
        settle()
        p.step()
assert alone >= 5, alone
assert found == [alone] * 15, (alone, found)
assert kept and kept[0] == alone, (alone, kept)
assert not sampler.off
print(alone, len(found), kept)
"""
    ).well()
    return ran.output.strip()


def captures_beside_the_sampler() -> str:
    """Graphs are captured within steps while the sampler is always due; replays of graphs are sampled."""
    ran = Ran(
        SAMPLE
        + """
y = x @ x
torch.cuda.synchronize()
for _ in range(10):
    graph = torch.cuda.CUDAGraph()
    due()
    with torch.cuda.graph(graph, capture_error_mode="global"):
        with agent.step():
            y = x @ x
    for _ in range(2):
        due()
        with agent.step(): graph.replay()
        settle()
torch.cuda.synchronize()
assert not sampler.off
print(len(sampler._kernels._admitted))
"""
    ).well()
    assert int(ran.output) > 0, "no kernel of a replay was seen"
    return "10 captures, 20 recorded replays"


def sampling_keeps_its_budget() -> str:
    """Half a minute of steps with a budget of 5 %: what it cost by the clock, and what the steps became."""
    ran = Ran(
        SAMPLE
        + """
sampler._costs = [0.01]
assert agent.sample_kernels(budget=0.05)
begun = time.monotonic()
spent = cycles = 0
last = None
while time.monotonic() - begun < 30:
    with agent.step():
        for _ in range(50): x @ x
        torch.cuda.synchronize()
    if sampler._costs is not last:
        last = sampler._costs
        cycles += 1
        spent += last[-1]
print(cycles, spent / (time.monotonic() - begun), max(sampler._costs))
"""
    ).well()
    cycles, share, cost = map(float, ran.output.split())
    assert cycles >= 2, cycles
    return f"{cycles:.0f} cycles, {share:.4f} of wall time, the dearest of late {cost * 1e3:.1f} ms"


def drift_on_the_device() -> str:
    """With every synchronisation an error; the figures are those of the CPU, in each type, and captures go on."""
    ran = Ran("""
        from watchkeeper_fleet.agent.embedding_drift import drift
        from watchkeeper_fleet.agent.reference import measured
        from watchkeeper_fleet.agent.registry import Registry
        agent.start()
        generator = torch.Generator().manual_seed(0)
        before = torch.randn(2000, 256, generator=generator)
        later = torch.randn(1000, 256, generator=generator) + 0.7
        reference = measured(before)
        def figures(registry):
            names = ("psi", "centroid_cosine_ratio", "norm_ratio")
            return [registry.gauge(f"inference_embedding_{name}", embedding="e").value for name in names]
        there = Registry()
        drift("e", reference, registry=there).add(later)
        found = []
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            registry = Registry()
            watch = drift("e", reference, registry=registry)
            parts = later.to("cuda", dtype).split(100)
            bad = torch.full((3, 256), float("nan"), device="cuda", dtype=dtype)
            graph = torch.cuda.CUDAGraph()
            torch.cuda.synchronize()
            torch.cuda.set_sync_debug_mode("error")
            watch.add(bad)
            for part in parts: watch.add(part)
            with torch.inference_mode(), torch.autocast("cuda", dtype=torch.float16):
                end = time.monotonic() + 20
                while registry.gauge("inference_embedding_psi", embedding="e").value != \\
                      registry.gauge("inference_embedding_psi", embedding="e").value:
                    assert time.monotonic() < end, "no window was read"
                    watch.add(bad[:0]); watch.add(bad[:1])
            torch.cuda.set_sync_debug_mode("default")
            with torch.cuda.graph(graph): watch.add(parts[0])
            found.append(figures(registry))
            assert registry.faults == 0
        for other in found:
            assert all(abs(a - b) < 0.03 for a, b in zip(figures(there), other)), (figures(there), found)
        print(figures(there), found)
    """).well()
    return ran.output.strip()


ON_GPU = (
    kernels_are_named_and_timed,
    sampling_does_not_wait,
    profiles_of_the_workload_are_complete,
    captures_beside_the_sampler,
    sampling_keeps_its_budget,
    drift_on_the_device,
)
