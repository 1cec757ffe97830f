"""The agent on a real GPU: each check is a program in a child of its own, and what it leaves in the spool.

Run by run.sh. Prints one JSON object a line, and exits with 1 if a check fails.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from typing import TYPE_CHECKING

from watchkeeper_fleet import spool

if TYPE_CHECKING:
    from collections.abc import Callable

SET_UP = """
import os, sys, time, torch
from watchkeeper_fleet import agent
from watchkeeper_fleet.agent import lifecycle, recorder
from watchkeeper_fleet.agent.registry import REGISTRY
"""


class Ran:
    """A child that has ended, and its record."""

    def __init__(self, code: str, **more: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "WATCHKEEPER_SPOOL": folder, **more}
            command = [sys.executable, "-c", SET_UP + textwrap.dedent(code)]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
            self.code, self.output, self.errors = done.returncode, done.stdout, done.stderr
            self.records, _ = spool.scan(folder)

    def values(self) -> dict[str, float]:
        (record,) = self.records
        return {
            " ".join([field.name, *(f"{label}={value}" for label, value in field.labels)]): value
            for field, value in zip(record.fields, record.values, strict=True)
        }

    def well(self) -> Ran:
        assert self.code == 0, self.errors[-2000:]
        assert self.values()["watchkeeper_agent_faults_total"] == 0, "the agent counted faults"
        return self


def no_context() -> str:
    """The agent brings no CUDA up, and opens no device."""
    ran = Ran("""
        agent.start(); agent.ready(); agent.expect(1 << 30)
        with agent.step(): pass
        time.sleep(3)
        open_devices = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
                        if os.path.exists(f"/proc/self/fd/{fd}")]
        print(torch.cuda.is_initialized(), [name for name in open_devices if "nvidia" in name])
    """).well()
    assert ran.output == "False []\n", ran.output
    assert ran.values()["torch_cuda_initialized"] == 0
    return "not initialised, no device open after 3 s"


def statistics() -> str:
    """What is published is what torch says, by its own accessors; the UUID is NVML's."""
    ran = Ran("""
        agent.start()
        kept = [torch.empty(n << 20, dtype=torch.uint8, device="cuda") for n in (3, 50, 700)]
        del kept[1]
        agent.ready()
        time.sleep(2.5)
        with agent.step(): torch.ones(1, device="cuda")
        print(torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), torch.cuda.max_memory_allocated())
    """).well()
    allocated, reserved, peak = map(int, ran.output.split())
    found = ran.values()
    assert found["torch_cuda_memory_allocated_bytes gpu=0"] == allocated
    assert found["torch_cuda_memory_reserved_bytes gpu=0"] == reserved
    assert found["torch_cuda_memory_allocated_peak_bytes gpu=0"] == peak
    assert found["torch_cuda_device_total_bytes gpu=0"] > found["torch_cuda_device_free_bytes gpu=0"] > 0
    texts = ran.records[0].texts
    said = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout.lower()
    assert texts["uuid_0"] in said, (texts["uuid_0"], said)
    return json.dumps(texts)


def no_synchronisation() -> str:
    """With every synchronisation an error, a hundred samples a second, steps, and the decorator's count policy."""
    Ran("""
        recorder.INTERVAL = 0.01
        x = torch.randn(512, 512, device="cuda")
        agent.start()
        call = agent.monitor_inference(lambda x: {"a": x @ x, "b": [x + 1]})
        call(x)
        torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        end = time.monotonic() + 5
        while time.monotonic() < end:
            with agent.step():
                call(x)
        torch.cuda.set_sync_debug_mode("default")
        torch.cuda.synchronize()
    """).well()
    return "5 s of steps and decorated calls"


def graph_capture() -> str:
    """Graphs are captured while the thread samples a thousand times a second, and steps end within the capture."""
    Ran("""
        recorder.INTERVAL = 0.001
        x = torch.randn(256, 256, device="cuda")
        y = x @ x
        torch.cuda.synchronize()
        agent.start()
        for _ in range(30):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, capture_error_mode="global"):
                with agent.step():
                    y = x
                    for _ in range(200): y = y @ x * 0.01
                    time.sleep(0.02)
            graph.replay()
        torch.cuda.synchronize()
    """).well()
    return "30 captures"


def out_of_memory() -> str:
    """A real out-of-memory error is in the flight recorder: one that nobody caught, and one before a kill."""
    ran = Ran("""
        agent.start()
        free, total = torch.cuda.mem_get_info()
        kept = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
        time.sleep(1.5)
        torch.empty(total + (5 << 30), dtype=torch.uint8, device="cuda")
    """)
    (record,) = ran.records
    assert record.mark == "exception:OutOfMemoryError", record.mark
    assert ran.values()["torch_cuda_ooms_total gpu=0"] >= 1
    assert ran.values()["torch_cuda_last_oom_request_bytes gpu=0"] >= 5 << 30
    ran = Ran("""
        agent.start()
        kept = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
        time.sleep(1.5)
        try:
            torch.empty(torch.cuda.mem_get_info()[1] + (5 << 30), dtype=torch.uint8, device="cuda")
        except torch.cuda.OutOfMemoryError:
            os.kill(os.getpid(), 9)
    """)
    assert ran.values()["torch_cuda_last_oom_request_bytes gpu=0"] >= 5 << 30
    return "caught by nobody, and killed"


def workers() -> str:
    """A DataLoader's forked workers, of a parent with CUDA up, have no thread and no file."""
    ran = Ran("""
        agent.start()
        torch.ones(1, device="cuda")
        time.sleep(1.5)
        class Data(torch.utils.data.Dataset):
            def __len__(self): return 8
            def __getitem__(self, i): return torch.tensor(lifecycle.STATE.recorder.ticker.running)
        print(any(bool(x) for batch in torch.utils.data.DataLoader(Data(), 2, num_workers=2) for x in batch))
    """).well()
    assert ran.output == "False\n", ran.output
    return "2 workers"


def overhead() -> str:
    """What a step costs more with the agent on."""
    code = """
        device = "cuda" if torch.cuda.is_available() else "cpu"
        # On a CPU its own time: other work on the machine is not ours.
        count, clock = (2000, time.perf_counter) if device == "cuda" else (500, time.process_time)
        torch.set_num_threads(1)
        x = torch.randn(64, 64, device=device)
        def step():
            for _ in range(10): y = x @ x
        def bare():
            for _ in range(count): step()
        def watched():
            for _ in range(count):
                with agent.step(): step()
        def seconds(run):
            if device == "cuda": torch.cuda.synchronize()
            start = clock()
            run()
            if device == "cuda": torch.cuda.synchronize()
            return (clock() - start) / count
        seconds(bare)
        without = min(seconds(bare) for _ in range(5))
        agent.start(); agent.ready()
        print(without, min(seconds(watched) for _ in range(5)))
    """
    without, watched = map(float, Ran(code).well().output.split())
    assert watched - without < 20e-6, (without, watched)
    return f"{without * 1e6:.1f} us a step, {(watched - without) * 1e6:+.1f} us with the agent"


ON_CPU: tuple[Callable[[], str], ...] = (no_context, overhead)
ON_GPU: tuple[Callable[[], str], ...] = (statistics, no_synchronisation, graph_capture, out_of_memory, workers)


def tell(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def main(names: list[str]) -> int:
    code = "import torch; print(torch.__version__, torch.cuda.is_available())"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if said.returncode:
        sys.stderr.write(f"checks.py: no torch in {sys.executable}: set PYTHON to one that has it\n")
        return 2
    version, gpu = said.stdout.split()
    # Here, since both import this module, which is __main__ now.
    import inside_checks
    import kernel_drift_checks

    on_gpu = ON_GPU + inside_checks.ON_GPU + kernel_drift_checks.ON_GPU
    left_out = [] if gpu == "True" else [check.__name__ for check in on_gpu]
    tell(torch=version, gpu=gpu == "True", left_out=left_out)
    failed = 0
    for check in ON_CPU + on_gpu:
        if check.__name__ in left_out or (names and check.__name__ not in names):
            continue
        start = time.monotonic()
        try:
            told, good = check(), True
        except Exception as error:  # noqa: BLE001 - each check is told of, and the next is made
            told, good = f"{type(error).__name__}: {error}", False
            failed += 1
        seconds = round(time.monotonic() - start, 1)
        tell(check=check.__name__, ok=good, seconds=seconds, told=told)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
