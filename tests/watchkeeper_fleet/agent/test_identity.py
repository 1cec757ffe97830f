"""Who a process is, and what it says of its environment."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from watchkeeper_fleet.agent import identity, source
from watchkeeper_fleet.agent.allocator import PEAKS, Device, configuration, value
from watchkeeper_fleet.agent.registry import Registry


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (["/job/train.py", "--x"], "train"),
        (["train"], "train"),
        (["/usr/lib/python3/job/__main__.py"], "job"),
        (["-c"], "python"),
        (["-m"], "python"),
        ([""], "python"),
        ([], "python"),
    ],
)
def test_the_workload_is_what_runs(argv, name):
    assert identity.script(argv) == name


def test_the_rank_is_the_launchers():
    assert source.rank({"RANK": "1023"}) == "1023"
    # What is no number would be someone's label.
    for wrong in ("", "-1", "x", "\u0661", "1" * 7):
        assert source.rank({"RANK": wrong}) == "0"


def test_the_container_is_in_the_name_of_the_control_group(tmp_path):
    path = tmp_path / "cgroup"
    path.write_text(f"0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{'ab' * 32}.scope\n")
    assert identity.container(str(path)) == "ab" * 32
    path.write_text("0::/user.slice\n")
    assert identity.container(str(path)) == ""
    assert identity.container(str(tmp_path / "none")) == ""


def test_pod_and_namespace_are_those_of_kubernetes(tmp_path):
    environ = {"HOSTNAME": "llama-0", "POD_NAMESPACE": "serving"}
    found, slot = identity.identity(str(tmp_path), {**environ, "KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    os.close(slot)
    assert (found["pod"], found["namespace"]) == ("llama-0", "serving")
    found, slot = identity.identity(str(tmp_path), environ)  # any machine has a HOSTNAME
    os.close(slot)
    assert "pod" not in found


def test_slots_are_for_all_users(tmp_path):
    before = os.umask(0o077)
    try:
        _, slot = identity.take_slot(str(tmp_path))
    finally:
        os.umask(before)
    os.close(slot)
    assert (tmp_path / identity.SLOTS).stat().st_mode & 0o777 == 0o666


@pytest.mark.parametrize("hostile", ["symlink", "folder", "fifo", "none"])
def test_where_there_are_no_slots_the_pid_has_to_do(tmp_path, hostile):
    path = tmp_path / identity.SLOTS
    if hostile == "symlink":
        path.symlink_to(tmp_path / "elsewhere")
    elif hostile == "folder":
        path.mkdir()
    elif hostile == "fifo":
        os.mkfifo(path)
    folder = tmp_path / "none" if hostile == "none" else tmp_path
    slot, descriptor = identity.take_slot(str(folder))
    if hostile == "fifo":  # it opens, and nothing is ever read from it or written to it
        os.close(descriptor)
    else:
        assert (slot, descriptor) == (os.getpid(), -1)
    assert not (tmp_path / "elsewhere").exists()


def test_64_at_once_have_64_slots(tmp_path):
    code = (
        "import sys; from watchkeeper_fleet.agent.identity import take_slot\n"
        "print(take_slot(sys.argv[1])[0], flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    children = [subprocess.Popen(command, text=True, **pipes) for _ in range(64)]
    slots = [int(child.stdout.readline()) for child in children]
    for child in children:
        child.communicate()
    assert sorted(slots) == [*range(64)]


def test_the_allocators_configuration():
    old = {"PYTORCH_CUDA_ALLOC_CONF": "roundup_power2_divisions:[256:1,512:2,>:4], max_split_size_mb : 128"}
    assert configuration(old) == {"roundup_power2_divisions": "[256:1,512:2,>:4]", "max_split_size_mb": "128"}
    both = {**old, "PYTORCH_ALLOC_CONF": "expandable_segments:True"}
    assert configuration(both) == {"expandable_segments": "True"}
    assert source.first_texts(both)["expandable_segments"] == "true"
    for odd in ("", ",", ":", "a", "[", "]]a:1", "a:1,,"):
        assert isinstance(configuration({"PYTORCH_ALLOC_CONF": odd}), dict)


def test_versions_of_libraries(tmp_path):
    assert [source.cudnn_version(number) for number in (90100, 91002, 8902)] == ["9.1.0", "9.10.2", "8.9.2"]
    path = tmp_path / "version"
    path.write_text("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\nGCC 12\n")
    assert source.driver_version(str(path)) == "570.86.15"


def test_what_statistics_may_look_like():
    for odd in (None, 5, [], {"reserved_bytes": None}, {"reserved_bytes": {"all": 3}}, {"reserved_bytes": {"all": {}}}):
        assert value(odd, PEAKS[0][1]) is None


def test_peaks_are_for_life_and_totals_go_on(statistics):
    registry = Registry()
    device = Device(3, registry)
    for reserved, ooms in ((100, 2), (40, 0)):  # the workload resets both in between
        found = statistics("2.9.1", num_ooms=ooms)
        found["reserved_bytes"]["all"] = {"current": reserved, "peak": reserved}
        device.update(found)
    assert registry.gauge("torch_cuda_memory_reserved_bytes", gpu="3").value == 40
    assert registry.gauge("torch_cuda_memory_reserved_peak_bytes", gpu="3").value == 100
    assert registry.total("torch_cuda_ooms_total", gpu="3").value == 2


def test_pools_are_no_labels(statistics):
    # One sub-tree for each CUDA graph: as many as the workload likes.
    registry = Registry()
    Device(0, registry).update(statistics("2.14.1"))
    labels = {label for cell in registry._order for label in cell.labels}
    assert labels == {"gpu"}
