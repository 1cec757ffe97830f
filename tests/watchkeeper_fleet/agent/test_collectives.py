"""Process groups, by torch's flight recorder: the real one of Gloo, and what others' would say."""

from __future__ import annotations

import pickle
import sys
from types import SimpleNamespace

import pytest

from watchkeeper_fleet.agent import collectives
from watchkeeper_fleet.agent.collectives import EVERY, MOST_GROUPS, Collectives, asked
from watchkeeper_fleet.agent.registry import Registry
from watchkeeper_fleet.metrics.agent import COLLECTIVE_SEQUENCE


def test_a_real_group(children):
    pytest.importorskip("torch", reason="torch is not here")
    code = """
    import os, torch, torch.distributed as dist
    from watchkeeper_fleet import agent
    from watchkeeper_fleet.agent.collectives import COLLECTIVES, asked
    agent.start()
    agent.watch_collectives()
    assert asked() == {}  # no group, so nothing is asked for
    dist.init_process_group("gloo", init_method=f"file://{os.environ['STORE']}", rank=0, world_size=1)
    x = torch.ones(1)
    for _ in range(3): dist.all_reduce(x)
    other = dist.new_group([0])
    dist.all_reduce(x, group=other)
    import time
    for _ in range(600):  # Gloo's own thread says what was completed, when it gets to it
        COLLECTIVES._due = 0
        COLLECTIVES.compute()
        counts = [(one["last_completed_collective"], one["last_enqueued_collective"]) for one in asked().values()]
        if counts and all(done == wanted for done, wanted in counts): break
        time.sleep(0.05)
    dist.destroy_process_group()
    assert asked() == {}
    """
    children.folder /= "spool"
    children.folder.mkdir()
    children.quiet(code, torch=None, STORE=str(children.folder.parent / "store"))
    found = {name: value for name, value in children.values().items() if name.startswith(str(COLLECTIVE_SEQUENCE))}
    # Gloo does not tell of what was started.
    assert found == {
        f"{COLLECTIVE_SEQUENCE} group=0 state=enqueued": 3,
        f"{COLLECTIVE_SEQUENCE} group=0 state=completed": 3,
        f"{COLLECTIVE_SEQUENCE} group=1 state=enqueued": 1,
        f"{COLLECTIVE_SEQUENCE} group=1 state=completed": 1,
    }
    assert children.values()["watchkeeper_agent_faults_total"] == 0


class Torch:
    """As much of torch.distributed as is asked, with a recorder of each kind."""

    def __init__(self, monkeypatch):
        self.up = True
        self.calls = []
        self.groups = {
            "0": {"last_enqueued_collective": 9, "last_started_collective": 8, "last_completed_collective": 7}
        }
        self.bindings = SimpleNamespace(_dump_nccl_trace=self.dump)
        distributed = SimpleNamespace(is_available=lambda: True, is_initialized=lambda: self.up)
        monkeypatch.setitem(sys.modules, "torch.distributed", distributed)
        monkeypatch.setitem(sys.modules, "torch._C._distributed_c10d", self.bindings)

    def dump(self, *options):
        self.calls.append(options)
        return pickle.dumps({"version": "2.10", "pg_config": {}, "pg_status": self.groups})


@pytest.fixture
def torch(monkeypatch):
    return Torch(monkeypatch)


def values(registry):
    return {(cell.labels["group"], cell.labels["state"]): cell.value for cell in registry._order}


def test_what_nccl_says(torch):
    registry = Registry()
    Collectives(registry).compute()
    assert values(registry) == {("0", "enqueued"): 9, ("0", "started"): 8, ("0", "completed"): 7}
    assert torch.calls == [(False, False, False)]  # no collectives, no stacks


def test_the_other_recorder_tells_of_groups_that_nccl_has_not(torch):
    other = {"0": {"last_enqueued_collective": 1}, "1": {"last_enqueued_collective": 2}}
    torch.bindings._dump_fr_trace = lambda *_: pickle.dumps({"pg_status": other})
    assert asked() == {"0": torch.groups["0"], "1": other["1"]}


@pytest.mark.parametrize(
    "bindings",
    [SimpleNamespace(), SimpleNamespace(_dump_nccl_trace=lambda: b""), None],
    ids=["no recorder", "one without options", "no bindings"],
)
@pytest.mark.usefixtures("torch")
def test_a_torch_that_does_not_offer_it(monkeypatch, bindings):
    assert asked()
    monkeypatch.setitem(sys.modules, "torch._C._distributed_c10d", bindings)
    assert asked() == {}


def test_nothing_is_asked_before_there_is_a_group(torch, monkeypatch):
    torch.up = False
    assert asked() == {}
    monkeypatch.setitem(sys.modules, "torch.distributed", SimpleNamespace(is_available=lambda: False))
    assert asked() == {}
    monkeypatch.delitem(sys.modules, "torch.distributed")
    assert asked() == {}
    assert torch.calls == []


def test_no_more_often_than_every_10_seconds(torch, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(collectives, "monotonic", lambda: now[0])
    watched = Collectives(Registry())
    for _ in range(100):
        watched.compute()
        now[0] += 0.5
    assert len(torch.calls) == 50 / EVERY


def test_groups_are_bounded_and_what_was_not_yet_is_left_out(torch):
    nothing = dict.fromkeys(torch.groups["0"], -1)
    torch.groups = {"new": nothing, **{str(n): torch.groups["0"] for n in range(50)}}
    registry = Registry()
    Collectives(registry).compute()
    assert len(values(registry)) == 3 * MOST_GROUPS
