"""Control groups, named from the root of a namespace and found in what is mounted."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from watchkeeper_fleet.exporter.cgroups import Hierarchy
from watchkeeper_fleet.exporter.host import Host

MONITORING = Path(__file__).parents[3] / "monitoring"


@pytest.fixture
def node(tmp_path):
    """A host's groups as a daemon in a pod has them mounted; it sees its own group as the root."""
    mount = tmp_path / "groups"
    own = mount / "kubepods.slice/besteffort.slice/pod1.slice/exporter.scope"
    for folder in (own, mount / "kubepods.slice/pod2.slice/gpu.scope", mount / "system.slice/sshd.service"):
        folder.mkdir(parents=True)
        (folder / "cgroup.procs").write_text("1\n")
    (own / "cgroup.procs").write_text(f"7\n{os.getpid()}\n")
    return mount


def mountinfo(mount, root):
    other = "21 1 0:5 / /sys rw - sysfs sysfs rw"
    return f"{other}\n30 21 0:26 {root} {str(mount).replace(' ', chr(92) + '040')} ro,nosuid - cgroup2 cgroup rw\nx\n"


PLACES = [
    ("/../../../../system.slice/sshd.service", "system.slice/sshd.service"),
    ("/../../../pod2.slice/gpu.scope", "kubepods.slice/pod2.slice/gpu.scope"),
    ("/../sidecar.scope", "kubepods.slice/besteffort.slice/pod1.slice/sidecar.scope"),
    ("/", "kubepods.slice/besteffort.slice/pod1.slice/exporter.scope"),
    ("/below", "kubepods.slice/besteffort.slice/pod1.slice/exporter.scope/below"),
    ("/../../../..", None),  # the root of all counts no kills
    ("/../../../../../x", None),
    ("/../x/../../y", None),
]


@pytest.mark.parametrize(("path", "place"), PLACES, ids=[path for path, _ in PLACES])
def test_a_group_next_door_is_found(node, path, place):
    hierarchy = Hierarchy(str(node), "/", mountinfo(node, "/../../../.."))
    assert hierarchy.place(path) == (place and f"{node}/{place}")


def test_a_place_with_a_blank_and_a_mount_above_another(tmp_path):
    mount = tmp_path / "a b"
    text = mountinfo(mount, "/gone") + mountinfo(mount, "/")
    assert Hierarchy(str(mount), "/own", text).place("/x/y") == f"{mount}/x/y"


@pytest.mark.parametrize(
    ("root", "path", "place"),
    [
        ("/", "/x/y", "x/y"),
        ("/", "/../x", None),
        ("/docker/1", "/docker/1/x", "x"),
        ("/docker/1", "/docker/2/x", None),
        ("/docker/1", "/docker/1", None),
    ],
)
def test_without_a_namespace(tmp_path, root, path, place):
    hierarchy = Hierarchy(str(tmp_path), "/x", mountinfo(tmp_path, root))
    assert hierarchy.place(path) == (place and f"{tmp_path}/{place}")


def test_who_does_not_find_itself_still_sees_what_is_named_from_the_root(node):
    shutil.rmtree(node / "kubepods.slice/besteffort.slice")
    hierarchy = Hierarchy(str(node), "/", mountinfo(node, "/../../../.."))
    assert hierarchy.place("/../../../../system.slice/sshd.service") == f"{node}/system.slice/sshd.service"
    assert hierarchy.place("/../../../pod2.slice/gpu.scope") is None


def test_one_that_was_moved_since_its_namespace_was_made(node):
    own = "/../other.scope"
    (node / "kubepods.slice/besteffort.slice/pod1.slice/other.scope").mkdir()
    (node / "kubepods.slice/besteffort.slice/pod1.slice/exporter.scope/cgroup.procs").write_text("")
    (node / "kubepods.slice/besteffort.slice/pod1.slice/other.scope/cgroup.procs").write_text(f"{os.getpid()}\n")
    hierarchy = Hierarchy(str(node), own, mountinfo(node, "/../../../.."))
    assert hierarchy.place("/../../../pod2.slice/gpu.scope") == f"{node}/kubepods.slice/pod2.slice/gpu.scope"
    assert hierarchy.place("/x") is None, "the name of the namespace's own root is not known"


def test_kills_in_a_pod_next_door_are_told(node, tmp_path):
    proc = tmp_path / "proc"
    for name, group in (("self", "/"), ("42", "/../../../pod2.slice/gpu.scope")):
        (proc / name).mkdir(parents=True)
        (proc / name / "cgroup").write_text(f"0::{group}\n")
    (proc / "self/mountinfo").write_text(mountinfo(node, "/../../../.."))
    (node / "kubepods.slice/pod2.slice/gpu.scope/memory.events").write_text("oom 1\noom_kill 3\n")
    (node / "kubepods.slice/pod2.slice/memory.events").write_text("oom 1\noom_kill 5\n")
    host = Host(str(proc), str(node))
    assert [host.kills(group) for group in host.process(42).groups] == [3, 5]


def test_a_real_namespace_changes_nothing():
    code = "import os; from watchkeeper_fleet.exporter.host import Host; print(Host().process(os.getppid()).groups)"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(MONITORING), str(MONITORING.with_name("generator")))),
    }
    command = [sys.executable, "-c", code]
    inside = subprocess.run(["unshare", "-C", *command], env=environment, capture_output=True, text=True, check=False)
    if inside.returncode:
        pytest.skip("control group namespaces are not permitted here")
    outside = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert inside.stdout == outside.stdout
