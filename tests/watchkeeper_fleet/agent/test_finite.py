"""`agent.watch_finite` on a real torch: any output anywhere, by name; what lies on a device is counted later."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from watchkeeper_fleet import agent
from watchkeeper_fleet.agent import finite, lifecycle
from watchkeeper_fleet.agent.finite import MOST_NAMES, Watched
from watchkeeper_fleet.agent.registry import REGISTRY, Registry
from watchkeeper_fleet.metrics.agent import NONFINITE_TENSORS

torch = pytest.importorskip("torch", reason="torch is not here")


@pytest.fixture
def watched(monkeypatch):
    """What is watched in this test alone, with the agent on; no fault may be counted."""
    watched = Watched(Registry())
    monkeypatch.setattr(finite, "WATCHED", watched)
    monkeypatch.setattr(lifecycle, "STATE", SimpleNamespace(on=True))
    before = REGISTRY.faults
    yield watched
    assert REGISTRY.faults == before


def test_what_is_given_comes_back(watched):
    x = {"loss": torch.tensor([1.0, math.nan], requires_grad=True), "tokens": [1, 2]}
    assert agent.watch_finite(x, name="loss") is x
    assert agent.watch_finite(5) == 5
    assert watched.counter("loss").sum() == 1
    assert watched.counter("output").sum() == 0
    assert x["loss"].grad_fn is None
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_anything_that_holds_some(watched, bad):
    for x in (bad, torch.tensor(bad), [torch.ones(3), (torch.tensor([bad, 1]),)], {"a": {"b": bad}}):
        agent.watch_finite(x, name="x")
    for x in (1.0, torch.ones(3), torch.ones(0), torch.ones(3, dtype=torch.int8), None, "nan", torch.full((2,), 1e38)):
        agent.watch_finite(x, name="x")
    assert watched.counter("x").sum() == 4


@pytest.mark.parametrize("kind", [torch.complex64, torch.complex128], ids=str)
def test_a_complex_number_is_as_finite_as_its_parts(watched, kind):
    great = torch.full((3, 2), torch.finfo(kind).max, dtype=kind.to_real())
    for x in (great, -great):
        agent.watch_finite(torch.view_as_complex(x), name="x")
        agent.watch_finite(torch.view_as_complex(x).conj(), name="x")
    assert watched.counter("x").sum() == 0
    for bad in (complex(0, math.nan), complex(-math.inf, 1)):
        agent.watch_finite(torch.tensor([1, bad], dtype=kind), name="x")
    assert watched.counter("x").sum() == 2


def test_gradients_flow_through(watched):
    weight = torch.ones(3, requires_grad=True)
    (agent.watch_finite(weight * 2, name="hidden") ** 2).sum().backward()
    assert weight.grad.tolist() == [8, 8, 8]
    assert watched.counter("hidden").sum() == 0


def test_names_are_bounded(watched):
    for number in range(200):
        agent.watch_finite(math.nan, name=f"layer {number}")
    agent.watch_finite(math.nan, name='a "name"\nof two lines')
    labels = {cell.labels["tensor"]: cell.sum() for cell in watched._registry._order}
    assert len(labels) == MOST_NAMES + 1
    assert labels["layer 3"] == 1
    assert labels["other"] == 201 - MOST_NAMES


def test_a_count_that_comes_back_from_a_device(watched):
    """Not counted by the look, but by a later publish, once."""
    watched.counter("loss")
    watched.tallies._slots["loss", 0, 0] = (None, None, SimpleNamespace(value=2))
    watched.publish()
    watched.publish()
    assert watched.counter("loss").sum() == 2


def test_nothing_is_looked_at_while_the_agent_is_off(watched, monkeypatch):
    monkeypatch.setattr(lifecycle, "STATE", SimpleNamespace(on=False))
    assert math.isnan(agent.watch_finite(math.nan, name="loss"))
    assert watched.counter("loss").sum() == 0


@pytest.mark.usefixtures("watched")
def test_what_can_not_be_looked_at_is_a_fault_and_no_error():
    class Hostile(dict):
        def values(self):
            raise RuntimeError("not for you")

    x = Hostile(a=1)
    before = REGISTRY.faults
    assert agent.watch_finite(x) is x
    assert REGISTRY.faults == before + 1
    REGISTRY.faults = before


def test_in_a_real_process(children):
    code = """
    import torch
    from watchkeeper_fleet import agent
    agent.start()
    with agent.step():
        for value in (1.0, float("nan"), float("inf")):
            loss = agent.watch_finite(torch.tensor(value), name="loss")
    agent.watch_finite(torch.ones(3), name="fine")
    """
    children.quiet(code, torch=None)
    found = children.values()
    assert found[f"{NONFINITE_TENSORS} tensor=loss"] == 2
    assert found[f"{NONFINITE_TENSORS} tensor=fine"] == 0
    assert found["watchkeeper_agent_faults_total"] == 0
