"""Plan and apply through the adapters at a Grafana on loopback: to the end, and with requests that go wrong.

Here every sixth request, and with each fault others; `run_faults.py` has all.
"""

from __future__ import annotations

import pytest
from sync_faults import AFTER, FAULTS, SERVERS, begun, goes_wrong, synced

STEP = 6


@pytest.fixture(scope="module", params=SERVERS)
def world(request):
    with begun(request.param) as world:
        yield world


def test_a_sync_to_its_end(world):
    assert world.done == ("changed changed: done", "created below: done", "created made: done", "deleted gone: done")
    boards, folders = world.last
    assert boards["foreign"] == ("Foreign", "", None)
    assert boards["hand"][2][1]["title"] == "By hand"
    assert boards["changed"][:2] == ("New", "below")
    assert "gone" not in boards
    assert folders == {"theirs": ("Theirs", ""), "top": ("Top", ""), "below": ("Below", "top")}


def test_a_second_one_makes_no_write(world):
    world.reset()
    synced(world.grafana, AFTER)
    writes = world.grafana.writes
    world.grafana.server.requests.clear()
    assert synced(world.grafana, AFTER) == []
    assert world.grafana.writes == writes
    assert not any(ask.startswith(("POST", "PUT", "DELETE")) for ask in world.grafana.asked)


@pytest.mark.parametrize("name", FAULTS)
def test_whatever_goes_wrong_the_next_runs_converge(world, name):
    for number in range(list(FAULTS).index(name) % STEP, world.requests, STEP):
        goes_wrong(world, FAULTS[name], number)
