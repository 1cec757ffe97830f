"""What the kernel says, from trees of files as it lays them out."""

from __future__ import annotations

import pytest

from watchkeeper_fleet.exporter.host import TICKS, Host
from watchkeeper_fleet.exporter.state import MOST, State
from watchkeeper_fleet.metrics import exporter

OWN = 'workload="vlm",process="0",rank="0"'


@pytest.fixture
def tree(tmp_path):
    """A host with one process, whose name is meant to mislead, in a container of a pod."""
    pod = tmp_path / "cgroup/kubepods/pod1"
    (tmp_path / "proc/42").mkdir(parents=True)
    (pod / "container1").mkdir(parents=True)
    (tmp_path / "proc/vmstat").write_text("nr_free_pages 1\noom_kill 7\noom_kill_x 9\n")
    fields = ["S", "1", *["0"] * 9, "150", "50", *["0"] * 20]
    (tmp_path / "proc/42/stat").write_text(f"42 (a) S 9) {' '.join(fields)}\n")
    (tmp_path / "proc/42/cgroup").write_text("0::/kubepods/pod1/container1\n")
    for folder, kills in ((pod, 3), (pod / "container1", 2)):
        (folder / "memory.events").write_text(f"low 0\noom 5\noom_kill {kills}\noom_group_kill 0\n")
    return tmp_path


@pytest.fixture
def host(tree):
    return Host(str(tree / "proc"), str(tree / "cgroup"))


def test_a_process(host, tree):
    seen = host.process(42)
    assert seen.cpu == 200 / TICKS
    assert seen.groups == tuple(
        f"{tree}/cgroup/{place}/memory.events" for place in ("kubepods/pod1/container1", "kubepods/pod1")
    )
    assert [host.kills(group) for group in seen.groups] == [2, 3]
    assert host.oom_kills() == 7


def test_the_first_version_of_control_groups(host, tree):
    (tree / "proc/42/cgroup").write_text("12:cpu,cpuacct:/a\n5:memory:/docker/x\n0::/other\n")
    folder = tree / "cgroup/memory/docker/x"
    folder.mkdir(parents=True)
    (folder / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 4\n")
    assert host.kills(host.process(42).groups[0]) == 4


@pytest.mark.parametrize("cgroup", ["0::/\n", "", "0::\n", "nonsense", "0::/../../outside\n", "0::/gone\n"])
def test_no_group_is_known(host, tree, cgroup):
    (tree / "proc/42/cgroup").write_text(cgroup)
    assert [host.kills(group) for group in host.process(42).groups if host.kills(group) is not None] == []


@pytest.mark.parametrize("stat", ["", "42 (x", "42 (x) S 1", "42 (x) S " + "a " * 30])
def test_a_process_that_says_nothing(host, tree, stat):
    (tree / "proc/42/stat").write_text(stat)
    assert host.process(42).cpu is None
    assert host.process(43) == (None, ())


def test_a_host_that_says_nothing(tmp_path):
    assert Host(str(tmp_path), str(tmp_path)).oom_kills() is None


class Seen(Host):
    """A host of the tree on which the process of the test is number 42."""

    def process(self, pid):
        assert pid > 0
        return super().process(42)


@pytest.mark.parametrize("gone", [False, True], ids=["its group stays", "its group goes with it"])
@pytest.mark.parametrize("killed", [True, False])
def test_whom_the_kernel_killed_is_told(another, writers, tree, killed, gone):
    daemon = another(host=Seen(str(tree / "proc"), str(tree / "cgroup")))
    writers.start()
    found = daemon.scrape()
    assert found[f"torch_process_cgroup_oom_kills_total{{{OWN}}}"] == 2
    assert found["torch_host_oom_kills_total"] == 7
    pod = tree / "cgroup/kubepods/pod1"
    if killed:
        (pod / "memory.events").write_text("oom_kill 4\n")
        (pod / "container1/memory.events").write_text("oom_kill 3\n")
    if gone:
        (pod / "container1/memory.events").unlink()
    writers.kill()
    for _ in range(2):
        assert daemon.scrape()[f"torch_process_last_oom_killed{{{OWN}}}"] == killed
        (pod / "memory.events").write_text("oom_kill 40\n")  # what happens later is another's
        (pod / "container1/memory.events").write_text("oom_kill 30\n")


def test_a_kill_in_another_container_of_the_pod_is_not_taken_for_its_own(another, writers, tree):
    daemon = another(host=Seen(str(tree / "proc"), str(tree / "cgroup")))
    writers.start()
    daemon.scrape()
    (tree / "cgroup/kubepods/pod1/memory.events").write_text("oom_kill 4\n")
    writers.kill()
    assert daemon.scrape()[f"torch_process_last_oom_killed{{{OWN}}}"] == 0


def test_totals_are_bounded(tmp_path):
    state = State(tmp_path / "state.json")
    for number in range(MOST + 10):
        state.count(exporter.PROCESSES_LOST, (str(number),), 1.0)
        state.follow("file", str(number), 1.0)
    assert len(state.totals) == MOST
    assert state.follow("file", str(MOST + 5), 2.0) == 0
    state.count(exporter.PROCESSES_LOST, ("0",), 1e300)
    assert state.totals[exporter.PROCESSES_LOST.name, ("0",)] == 2.0**53
    state.save()
    assert State(tmp_path / "state.json").totals == state.totals


def test_what_was_written_half_is_not_read(tmp_path):
    path = tmp_path / "state.json"
    (tmp_path / "state.json.new").write_text('{"version": 1, "tot')
    state = State(path)
    state.count(exporter.NODE_OOMS, ("0",), 3.0)
    state.save()
    assert State(path).totals == {(exporter.NODE_OOMS.name, ("0",)): 3.0}
    assert [one.name for one in tmp_path.iterdir()] == ["state.json"]
