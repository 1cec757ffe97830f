"""The examples, each in a real process of its own beside a real torch, and what they leave in the spool."""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).parents[3] / "examples"
STEPPED = ("torch_process_ready", "torch_progress_timestamp_seconds", "gpu_step_wall_seconds_total gpu=")
FED = ("gpu_data_wait_seconds_total gpu=", "gpu_stall_seconds_total gpu=")


def wanted(*modules: str) -> None:
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not here")


def started(name: str, children, **more: str) -> subprocess.Popen[str]:
    environment = {
        **children.environment(torch=None),
        "OMP_NUM_THREADS": "1",  # threads that wait for each other on a busy machine
        "HF_HUB_OFFLINE": "1",
        **more,
    }
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen([sys.executable, str(EXAMPLES / f"{name}.py")], env=environment, text=True, **pipes)


def ran(name: str, children) -> tuple[dict[str, float], float]:
    """Run an example to its end; return its last values, and the seconds it took."""
    begun = time.monotonic()
    child = started(name, children)
    try:
        output, _ = child.communicate(timeout=300)
    finally:
        child.kill()
    assert child.returncode == 0, output
    assert children.record().mark == "clean"
    return children.values(), time.monotonic() - begun


def check_steps(found: dict[str, float], took: float, names: tuple[str, ...]) -> None:
    """What all examples tell: no fault, and figures that fit between what must have been and what can have been."""
    assert found["watchkeeper_agent_faults_total"] == 0
    assert found["torch_process_ready"] == 1
    assert found["torch_work_in_progress"] == 0
    assert found["torch_progress_timestamp_seconds"] > time.time() - took - 60
    assert all(0 < found[name] < took for name in names[2:]), found
    assert set(names) <= found.keys()


def check_fed(found: dict[str, float], took: float, slept: float) -> None:
    check_steps(found, took, STEPPED + FED)
    wall, wait, stall = (found[name] for name in (STEPPED[2], *FED))
    assert slept * 0.99 <= wait < wall
    assert stall == wait  # a CPU has nothing queued


def test_a_plain_loop(children):
    wanted("torch")
    found, took = ran("plain_loop", children)
    check_fed(found, took, slept=40 * 0.008)
    assert found["gpu_step_wall_seconds_total gpu="] > 40 * 0.038 * 0.99
    assert found["torch_parameter_bytes dtype=float32"] == 4 * (64 * 256 + 256 + 256 * 64 + 64)
    assert found["torch_parameter_dtype_changes_total"] == 0
    assert found["torch_nonfinite_tensors_total tensor=loss"] == 0


def test_lightning(children):
    wanted("torch")
    if importlib.util.find_spec("lightning") is None:
        wanted("pytorch_lightning")
    found, took = ran("lightning_module", children)
    check_fed(found, took, slept=2 * 30 * 0.008)
    assert found["torch_nonfinite_tensors_total tensor=loss"] == 0


def test_hugging_face(children):
    wanted("torch", "transformers", "accelerate")
    found, took = ran("hugging_face", children)
    check_fed(found, took, slept=80 * 0.002)
    vocabulary, width, positions = 64, 32, 16
    block = 12 * width * width + 13 * width
    assert found["torch_parameter_bytes dtype=float32"] == 4 * ((vocabulary + positions + 2) * width + 2 * block)


def test_a_worker(children):
    wanted("torch")
    found, took = ran("worker", children)
    check_steps(found, took, STEPPED)
    assert found["torch_parameter_bytes dtype=bfloat16"] == 2 * (100 * 64 + 64 * 100 + 100)
    assert not any(name.startswith("gpu_stall") for name in found)  # nothing was measured, so nothing is said


@contextlib.contextmanager
def serving(children) -> Iterator[http.client.HTTPConnection]:
    """The server of the example on a free port, ended as from a keyboard."""
    child = started("asgi_server", children, PORT="0", PYTHONUNBUFFERED="1")
    told, port = [], None
    late = threading.Timer(120, child.kill)
    late.start()
    try:
        for line in child.stdout:
            told.append(line)
            if port := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                break
        late.cancel()
        assert port, told
        yield http.client.HTTPConnection("127.0.0.1", int(port[1]), timeout=120)
        child.send_signal(signal.SIGINT)
        more, _ = child.communicate(timeout=120)
        assert child.returncode == 0, [*told, more]
    finally:
        late.cancel()
        child.kill()
        child.wait()


def test_a_server(children):
    wanted("torch", "uvicorn")
    begun = time.monotonic()
    with serving(children) as server:
        answers = []
        for body in ("[1, 2]", "[3]", "[1e39]"):  # more than 32 bits hold
            server.request("POST", "/", body=body)
            answers.append(server.getresponse().read())
        server.close()
    assert answers == [b"[2.0, 4.0]", b"[6.0]", b"[Infinity]"]
    found = children.values()
    check_steps(found, time.monotonic() - begun, STEPPED)
    assert found["inference_latency_seconds_count function=predict"] == 3
    assert found["inference_nonfinite_outputs_total function=predict"] == 1
    assert children.record().mark == "clean"


@pytest.mark.parametrize(("module", "package"), [("transformers", "transformers"), ("lightning", "pytorch_lightning")])
def test_a_missing_framework_is_named(children, module, package):
    """Without site-packages there is none."""
    command = [sys.executable, "-S", "-c", f"import watchkeeper_fleet.agent.integrations.{module}"]
    environment = children.environment(torch=None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: No module named '{package}'"


def test_the_agent_imports_none_of_them(children):
    children.quiet(
        """
        import sys
        from watchkeeper_fleet import agent
        agent.start()
        for name in agent.__all__: getattr(agent, name)
        print([name for name in sys.modules if "integrations" in name])
        """,
        "[]\n",
    )
