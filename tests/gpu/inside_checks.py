"""What only a GPU can show of stalls, tensors, weights and process groups: checks as those of checks.py."""

from __future__ import annotations

from checks import Ran

# A step of so many milliseconds on the device, which takes the CPU next to none.
SLEEP = """
def calibrated():
    begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(1000)
    torch.cuda.synchronize()
    begun.record(); torch.cuda._sleep(10_000_000); ended.record()
    torch.cuda.synchronize()
    return 10_000_000 / begun.elapsed_time(ended)
cycles = calibrated()
def work(milliseconds): torch.cuda._sleep(int(cycles * milliseconds))
def batches(count, milliseconds):
    for number in range(count):
        time.sleep(milliseconds / 1000)
        yield number
"""


def _shares(ran: Ran) -> tuple[float, float, float, float]:
    """Return what of the offered time was waiting, stall and idleness, and how many waits were not measured."""
    found = ran.well().values()
    wall = found["gpu_step_wall_seconds_total gpu=0"]
    shares = (found[f"gpu_{name}_seconds_total gpu=0"] / wall for name in ("data_wait", "stall", "idle"))
    return (*shares, found["gpu_stall_unmeasured_waits_total gpu=0"])


def starved() -> str:
    """A loader that takes 40 ms, and steps that keep the device busy for 10 of them: it stands idle for the rest."""
    ran = Ran(
        SLEEP
        + """
agent.start()
for _ in agent.loader(batches(60, 40)):
    with agent.step(): work(10)
torch.cuda.synchronize()
for _ in agent.loader(batches(1, 0)): pass  # has the last events read
"""
    )
    wait, stall, idle, unmeasured = _shares(ran)
    assert wait > 0.9, wait
    assert 0.65 < stall < 0.85, stall
    assert stall <= idle + 0.001 < 0.9, (stall, idle)
    assert unmeasured == 0, unmeasured
    return f"waits {wait:.3f}, stalls {stall:.3f}, idle {idle:.3f}"


def hidden() -> str:
    """A loader that takes 20 ms behind steps of 60: the loop waits a lot, and the device stands idle for nothing."""
    ran = Ran(
        SLEEP
        + """
agent.start()
behind = []
for _ in agent.loader(batches(60, 20)):
    with agent.step():
        work(60)
        behind.append(torch.cuda.Event()); behind[-1].record()
        if len(behind) > 2: behind.pop(0).synchronize()
torch.cuda.synchronize()
for _ in agent.loader(batches(1, 0)): pass
"""
    )
    wait, stall, idle, unmeasured = _shares(ran)
    assert wait > 0.2, wait
    assert stall < 0.03, stall
    assert unmeasured == 0, unmeasured
    return f"waits {wait:.3f}, stalls {stall:.3f}, idle {idle:.3f}"


def far_behind() -> str:
    """A device that is further behind than the ring is long: nothing waits, and what was not measured is counted."""
    ran = Ran(
        SLEEP
        + """
agent.start()
begun = time.monotonic()
for _ in agent.loader(batches(60, 0)):
    with agent.step(): work(50)
print(time.monotonic() - begun)
torch.cuda.synchronize()
"""
    )
    *_, unmeasured = _shares(ran)
    assert float(ran.output) < 1, f"the loop took {ran.output} s for steps that it only queues"
    assert unmeasured > 30, unmeasured
    return f"{unmeasured:.0f} of 60 not measured"


def inside_without_synchronisation() -> str:
    """With every synchronisation an error: loops, steps, tensors and weights."""
    ran = Ran("""
        from watchkeeper_fleet.agent import weights
        recorder.INTERVAL = 0.01
        model = torch.nn.Linear(512, 512, device="cuda")
        x = torch.randn(512, 512, device="cuda")
        agent.start()
        agent.watch_weights(model)
        def epoch(count):
            for number in agent.loader(range(count)):
                with agent.step():
                    loss = model(x).mean() if number else x.mean() * float("nan")
                    agent.watch_finite({"loss": loss}, name="loss")
                weights.WEIGHTS._due = 0
                for one in weights.WEIGHTS._models: one.due = 0
        epoch(3)
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        end = time.monotonic() + 5
        count = 1
        while time.monotonic() < end:
            epoch(50)
            count += 1
        torch.cuda.set_sync_debug_mode("default")
        torch.cuda.synchronize()
        print(count)
    """).well()
    found = ran.values()
    assert found["torch_nonfinite_tensors_total tensor=loss"] == float(ran.output), (found, ran.output)
    assert found["torch_parameter_bytes dtype=float32"] == 4 * 512 * 513
    assert found["torch_parameter_dtype_changes_total"] == 0
    return f"5 s, {ran.output.strip()} losses that were NaN"


def inside_a_capture() -> str:
    """Graphs are captured with loops, steps and tensors within, while the thread samples a thousand times a second."""
    Ran("""
        recorder.INTERVAL = 0.001
        x = torch.randn(256, 256, device="cuda")
        agent.start()
        agent.watch_collectives()
        def loop():
            y = x
            for _ in agent.loader(range(5)):
                with agent.step():
                    y = agent.watch_finite(y @ x * 0.01, name="y")
            time.sleep(0.02)
        loop()
        torch.cuda.synchronize()
        for _ in range(30):
            graph = torch.cuda.CUDAGraph()
            loop()
            with torch.cuda.graph(graph, capture_error_mode="global"): loop()
            graph.replay()
        torch.cuda.synchronize()
    """).well()
    return "30 captures"


def process_groups() -> str:
    """NCCL's flight recorder tells how far a group has come, while it runs and after."""
    ran = Ran("""
        import tempfile, torch.distributed as dist
        from watchkeeper_fleet.agent.collectives import COLLECTIVES
        agent.start()
        agent.watch_collectives()
        torch.cuda.set_device(0)
        store = "file://" + os.path.join(tempfile.mkdtemp(), "store")
        dist.init_process_group("nccl", init_method=store, rank=0, world_size=1)
        x = torch.ones(1 << 20, device="cuda")
        for _ in range(5): dist.all_reduce(x)
        torch.cuda.synchronize()
        gauge = REGISTRY.gauge("torch_collective_sequence", group="0", state="completed")
        end = time.monotonic() + 30
        while gauge.value != 5 and time.monotonic() < end:
            time.sleep(0.2)
            COLLECTIVES._due = 0
            COLLECTIVES.compute()
        dist.destroy_process_group()
    """).well()
    found = {name: value for name, value in ran.values().items() if name.startswith("torch_collective")}
    assert found["torch_collective_sequence group=0 state=completed"] == 5, found
    assert found["torch_collective_sequence group=0 state=enqueued"] == 5, found
    return str(found)


def cost_of_a_wait() -> str:
    """What a batch costs more behind agent.loader: three events, and what is read of those before."""
    ran = Ran("""
        x = torch.randn(64, 64, device="cuda")
        def bare():
            for _ in range(2000): y = x @ x
        def watched():
            for _ in agent.loader(range(2000)):
                with agent.step(): y = x @ x
        def seconds(run):
            torch.cuda.synchronize()
            begun = time.perf_counter()
            run()
            torch.cuda.synchronize()
            return (time.perf_counter() - begun) / 2000
        agent.start()
        bare(); watched()
        print(min(seconds(bare) for _ in range(5)), min(seconds(watched) for _ in range(5)))
    """).well()
    without, watched = map(float, ran.output.split())
    assert watched - without < 60e-6, (without, watched)
    return f"{without * 1e6:.1f} us a batch, {(watched - without) * 1e6:+.1f} us watched"


ON_GPU = (
    starved,
    hidden,
    far_behind,
    inside_without_synchronisation,
    inside_a_capture,
    process_groups,
    cost_of_a_wait,
)
