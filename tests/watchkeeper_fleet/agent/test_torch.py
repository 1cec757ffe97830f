"""The agent beside a real torch, the CPU's build: what it asks of torch is there, and torch is not disturbed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

START = "from watchkeeper_fleet import agent; agent.start()"


@pytest.fixture(scope="module")
def python():
    """A Python that has torch: this one, or the one that WATCHKEEPER_TORCH_PYTHON names."""
    if importlib.util.find_spec("torch") is not None:
        return sys.executable
    if "WATCHKEEPER_TORCH_PYTHON" not in os.environ:
        pytest.skip("torch is not here")
    return os.environ["WATCHKEEPER_TORCH_PYTHON"]


@pytest.fixture
def torch(children, python):
    children.python = python
    return children


def run(torch, code, **more):
    done = torch.run(code, torch=None, **more)
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


def test_the_import_is_seen_and_reported(torch):
    assert run(torch, f"{START}\nimport torch\nprint(torch.__version__)\nagent.ready()").strip()
    found = torch.record()
    assert found.mark == "clean"
    assert found.texts["torch_version"].startswith("2.")
    assert found.texts["expandable_segments"] == "false"
    assert torch.values(found)["torch_cuda_initialized"] == 0
    assert torch.values(found)["watchkeeper_agent_faults_total"] == 0
    assert not [name for name in torch.values(found) if "gpu=" in name]  # no device, no bytes


def test_what_is_asked_of_torch_is_there(torch):
    # Of what can't be called without a GPU, that it exists; the rest is for tests/gpu.
    code = """
    import torch
    from watchkeeper_fleet.agent import source
    assert source.torch_module() is torch
    print(source.initialized(torch), source.forked_too_late(torch), source.devices(torch))
    print(dict(source.statistics(torch, 0)))
    for name in ("get_device_properties", "is_current_stream_capturing", "current_device", "mem_get_info"):
        assert callable(getattr(torch.cuda, name)), name
    print(sorted(source.torch_texts(torch)), sorted(source.cuda_texts(torch)))
    source.observe_ooms(torch, print)
    """
    assert run(torch, code) == (
        "False False 0\n{}\n['cuda_version', 'torch_version'] ['cudnn_version', 'driver_version', 'nccl_version']\n"
    )


def test_training_with_workers_is_not_disturbed(torch, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        """
import torch
from watchkeeper_fleet import agent

class Data(torch.utils.data.Dataset):
    def __len__(self): return 64
    def __getitem__(self, i): return torch.full((8,), float(i)), torch.tensor(float(i % 2))

if __name__ == "__main__":
    agent.start()
    torch.manual_seed(1)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), 1e-5)
    for method, workers in (("fork", 2), ("spawn", 1), ("forkserver", 1)):
        loader = torch.utils.data.DataLoader(Data(), 16, num_workers=workers, multiprocessing_context=method)
        for x, y in loader:
            with agent.step():
                optimizer.zero_grad()
                torch.nn.functional.mse_loss(model(x).squeeze(), y).backward()
                optimizer.step()
    agent.ready()
    print(f"{float(model.weight.sum()):.6f}")
"""
    )
    torch.folder = tmp_path / "spool"
    torch.folder.mkdir()
    sums = []
    # Not "1": spawned workers would have the agent too, where the wheel is installed.
    for switch in ({}, {"WATCHKEEPER_AGENT": "0"}):
        environment = torch.environment(torch=None, **switch)
        done = subprocess.run(
            [torch.python, str(script)], env=environment, capture_output=True, text=True, timeout=300, check=True
        )
        sums.append(done.stdout)
        assert "watchkeeper" not in done.stderr
    assert sums[0] == sums[1]
    # The workers are left alone: they count nothing, and have no device.
    found = torch.record()
    assert (found.mark, torch.values(found)["torch_process_ready"]) == ("clean", 1)
    assert torch.values(found)["torch_work_in_progress"] == 0
    assert found.heartbeat - torch.values(found)["torch_progress_timestamp_seconds"] < 60


def test_torchrun(torch, tmp_path):
    script = tmp_path / "job.py"
    script.write_text(
        "import os, torch, torch.distributed as dist\n"
        "from watchkeeper_fleet import agent\n"
        "dist.init_process_group('gloo')\n"
        "x = torch.ones(1); dist.all_reduce(x)\n"
        "agent.ready()\n"
        "dist.destroy_process_group()\n"
    )
    torch.folder = tmp_path / "spool"
    torch.folder.mkdir()
    launcher = "import sys; from torch.distributed.run import main; main(sys.argv[1:])"
    command = [torch.python, "-c", launcher, "--nproc-per-node=2", "--standalone"]
    environment = torch.environment(torch=None, OMP_NUM_THREADS="1")
    done = subprocess.run(
        [*command, "-m", "watchkeeper_fleet.agent", str(script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = {r.identity["process"]: (r.identity["rank"], r.identity["workload"], r.mark) for r in torch.records()}
    assert found == {"0": ("0", "job", "clean"), "1": ("1", "job", "clean")}


def test_a_kill_leaves_the_last_values(torch):
    code = f"""
    {START}
    import os, torch
    agent.expect(5 << 30)
    os.kill(os.getpid(), 9)
    """
    assert torch.run(code, torch=None).returncode == -9
    found = torch.record()
    assert (found.state, found.mark) == ("dead", "")
    assert torch.values(found)["torch_cuda_expected_bytes gpu=0"] == 5 << 30
    assert os.path.exists(found.path)  # noqa: PTH110 - a string
