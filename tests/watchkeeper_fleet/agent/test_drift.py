"""Drift of embeddings on the real torch, on the CPU: what crosses the alert's threshold, and what does not."""

from __future__ import annotations

import math
import os
import statistics
import threading

import pytest

from watchkeeper_fleet.agent import embedding_drift, reference
from watchkeeper_fleet.agent.embedding_drift import MOST_NAMES, drift, stability_index
from watchkeeper_fleet.agent.registry import Registry
from watchkeeper_fleet.alerts.inference import DRIFT
from watchkeeper_fleet.metrics.agent import (
    EMBEDDING_COSINE,
    EMBEDDING_NONFINITE,
    EMBEDDING_NORM,
    EMBEDDING_PSI,
    EMBEDDING_SAMPLES,
)

torch = pytest.importorskip("torch", reason="torch is not here")

DIMENSION = 32
THRESHOLD = DRIFT.threshold.value


class Watched:
    """Embeddings that are compared with a reference of a thousand."""

    def __init__(self, window=1000, samples=1000, seed=0):
        self.generator = torch.Generator().manual_seed(seed)
        self.registry = Registry()
        self.reference = reference.measured(self.normal(samples))
        self.drift = drift("query", self.reference, window, registry=self.registry)

    def normal(self, samples=1000, mean=1.0):
        return torch.randn(samples, DIMENSION, generator=self.generator) + mean

    def add(self, embeddings):
        self.drift.add(embeddings)
        assert self.registry.faults == 0
        return self.psi

    def value(self, metric):
        return self.registry.gauge(metric, embedding="query").value

    @property
    def psi(self):
        return self.value(EMBEDDING_PSI)

    @property
    def bad(self):
        return self.registry.counter(EMBEDDING_NONFINITE, embedding="query").sum()


@pytest.fixture(autouse=True)
def _one_thread():
    """Several wait for each other where other work is on the machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def watched():
    return Watched()


def test_a_thousand_windows_without_drift(watched):
    """The mean is what is documented, and none comes near the threshold."""
    found = [watched.add(watched.normal()) for _ in range(1000)]
    expected = 9 * (1 / 1000 + 1 / 1000)
    assert statistics.mean(found) == pytest.approx(expected, rel=0.3)
    assert max(found) < 3 * expected < THRESHOLD / 4
    assert watched.value(EMBEDDING_COSINE) == pytest.approx(1, abs=0.01)
    assert watched.value(EMBEDDING_NORM) == pytest.approx(1, abs=0.05)
    assert watched.value(EMBEDDING_SAMPLES) == 1000


def test_the_alert_fires_for_a_shift_and_not_without(watched, pack):
    """Windows of two hours, one a minute, by the pack's own rule; the second hour's are shifted, or not."""
    labels = {"embedding": "query", "instance": "n1", "cluster": "c1", "workload": "search", "process": "0"}
    first = [watched.add(watched.normal()) for _ in range(60)]
    for mean in (1.0, 2.0):
        series = {EMBEDDING_PSI: [*first, *(watched.add(watched.normal(mean=mean)) for _ in range(60))]}
        run = pack.run(series, {EMBEDDING_SAMPLES: "1000x120"}, labels=labels, interval="1m")
        if mean == 1.0:
            run.silent(DRIFT)
        else:
            run.fires(DRIFT, first="1h30m", summary="Embeddings query of search have drifted")


def test_one_direction_is_a_chi_square():
    """Its spread, which the mean of eight directions is below: sqrt(2 * (bins - 1)) * (1/n + 1/m)."""
    generator = torch.Generator().manual_seed(1)
    expected = [1000.0] * 10
    found = [
        stability_index(expected, torch.randint(10, (1000,), generator=generator).bincount(minlength=10).tolist())
        for _ in range(2000)
    ]
    factor = 1 / 1000 + 1 / 10_000
    # The expected counts are exact here, so that only the window's own 1/1000 spreads.
    assert statistics.mean(found) == pytest.approx(9 * 1 / 1000, rel=0.1)
    assert statistics.stdev(found) == pytest.approx(math.sqrt(18) / 1000, rel=0.15)
    assert max(found) < 50 * factor


@pytest.mark.parametrize("shift", [0.75, 1.0, -1.0, 3.0, 1000.0])
def test_a_shift_crosses_the_threshold(watched, shift):
    assert watched.add(watched.normal()) < THRESHOLD
    assert watched.add(watched.normal(mean=1 + shift)) > THRESHOLD


def test_another_spread_crosses_it_too(watched):
    assert watched.add((watched.normal() - 1) * 2 + 1) > THRESHOLD


def test_a_small_shift_does_not(watched):
    assert watched.add(watched.normal(mean=1.2)) < THRESHOLD


def test_the_index_of_all_in_one_bin_is_finite():
    assert 5 < stability_index([100] * 10, [1000] + [0] * 9) < 20
    assert stability_index([100] * 10, [100] * 10) == 0


def test_the_centroid_and_the_norm(watched):
    watched.add(-watched.normal())
    assert watched.value(EMBEDDING_COSINE) == pytest.approx(-1, abs=0.01)
    assert watched.value(EMBEDDING_NORM) == pytest.approx(1, abs=0.05)
    watched.add(3 * watched.normal())
    assert watched.value(EMBEDDING_COSINE) == pytest.approx(1, abs=0.01)
    assert watched.value(EMBEDDING_NORM) == pytest.approx(3, rel=0.05)


def test_batches_of_any_size_make_a_window(watched):
    embeddings = watched.normal(1000)
    watched.add(embeddings)
    whole = watched.psi, watched.value(EMBEDDING_COSINE), watched.value(EMBEDDING_NORM)
    for part in embeddings[:400].split(7):
        watched.add(part)
    for one in embeddings[400:999]:
        watched.add(one)
    watched.registry.gauge(EMBEDDING_PSI, embedding="query").set(-1)
    watched.add(embeddings[:0])
    assert watched.psi == -1  # one is missing
    watched.add(embeddings[999])
    assert (watched.psi, watched.value(EMBEDDING_COSINE), watched.value(EMBEDDING_NORM)) == pytest.approx(whole)
    assert watched.value(EMBEDDING_SAMPLES) == 1000


def test_nothing_is_shown_before_the_first_window(watched):
    watched.add(watched.normal(999))
    for metric in (EMBEDDING_PSI, EMBEDDING_COSINE, EMBEDDING_NORM, EMBEDDING_SAMPLES):
        assert math.isnan(watched.value(metric))


def test_nan_is_counted_apart(watched):
    embeddings = watched.normal(1300)
    clean = embeddings[:1000].clone()
    embeddings[1000:1100, 5] = math.nan
    embeddings[1100:, 0] = math.inf
    watched.add(embeddings)
    assert (watched.bad, watched.value(EMBEDDING_SAMPLES)) == (300, 1000)
    poisoned = watched.psi
    assert watched.add(clean) == pytest.approx(poisoned)
    assert watched.bad == 300


def test_a_window_that_nan_keeps_open(watched):
    """The alert wants a thousand that count."""
    embeddings = watched.normal(1000)
    embeddings[0] = math.nan
    watched.add(embeddings)
    assert watched.bad == 1
    assert math.isnan(watched.psi)
    watched.add(watched.normal(1))
    assert watched.bad == 1
    assert watched.value(EMBEDDING_SAMPLES) == 1000


def test_nothing_but_nan(watched):
    for batch in range(1, 4):
        watched.add(torch.full((1000, DIMENSION), math.nan))
        assert watched.bad == 1000 * batch
    assert math.isnan(watched.psi)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_types_of_embeddings(watched, dtype):
    embeddings = watched.normal()
    expected = watched.add(embeddings)
    assert watched.add(embeddings.to(dtype)) == pytest.approx(expected, abs=0.005)


def test_great_values_of_small_types(watched):
    """In 16 bits their norms would be infinite."""
    assert watched.add(torch.full((1000, DIMENSION), 6e4, dtype=torch.float16)) > THRESHOLD
    assert watched.bad == 0


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad, torch.enable_grad])
def test_modes_of_torch(watched, mode):
    """A window is filled in one mode and goes on in another."""
    with mode():
        watched.add(watched.normal(600).requires_grad_(mode is torch.enable_grad))
    watched.add(watched.normal(200))
    with torch.inference_mode():
        assert watched.add(watched.normal(200)) < THRESHOLD


def test_under_autocast_and_other_defaults(watched):
    embeddings = watched.normal()
    expected = watched.add(embeddings)
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.device("meta"):
        assert watched.add(embeddings) == pytest.approx(expected)


def test_no_gradient_goes_by_it(watched):
    layer = torch.nn.Linear(DIMENSION, DIMENSION)
    output = layer(watched.normal())
    watched.add(output)
    output.sum().backward()
    assert layer.weight.grad is not None


@pytest.mark.parametrize(
    "what",
    [
        lambda: torch.ones(3, DIMENSION + 1),
        lambda: torch.ones(2, 3, DIMENSION),
        lambda: torch.ones(DIMENSION - 1),
        lambda: torch.ones(3, DIMENSION, dtype=torch.int64),
        lambda: torch.eye(DIMENSION).to_sparse(),
        lambda: None,
        lambda: [[1.0] * DIMENSION],
    ],
    ids=["dimension", "three", "one", "integers", "sparse", "none", "list"],
)
def test_what_is_no_embedding_is_a_fault(watched, what):
    watched.drift.add(what())
    assert watched.registry.faults == 1
    watched.drift.add(watched.normal())
    assert (watched.registry.faults, watched.value(EMBEDDING_SAMPLES)) == (1, 1000)


def test_what_is_on_no_device(watched):
    watched.add(torch.ones(1000, DIMENSION, device="meta"))
    assert math.isnan(watched.psi)


@pytest.mark.filterwarnings("ignore:`torch.jit.trace:DeprecationWarning")
def test_a_traced_function(watched):
    def embed(x):
        watched.drift.add(x)
        return x * 2

    traced = torch.jit.trace(embed, torch.ones(2, DIMENSION))
    assert "norm" not in str(traced.graph)
    assert watched.registry.faults == 0


def test_wrong_arguments():
    with pytest.raises(TypeError, match=r"wants what agent.reference.load\(\) returns, not str"):
        drift("query", "reference.json")


def test_names_are_labels(watched):
    drift("a\nb" + "c" * 200, watched.reference, registry=watched.registry).add(watched.normal())
    (name,) = [
        cell.labels["embedding"]
        for cell in watched.registry._order
        if cell.name == str(EMBEDDING_PSI) and cell.labels["embedding"] != "query"
    ]
    assert len(name) == 100
    assert "\n" not in name


def test_names_are_bounded(watched, monkeypatch):
    monkeypatch.setattr(embedding_drift, "_NAMES", set())
    registry = Registry()
    for number in range(1000):
        drift(f"user {number}", watched.reference, 10, registry=registry).add(watched.normal(10))
    shown = {cell.labels["embedding"] for cell in registry._order}
    assert shown == {f"user {number}" for number in range(MOST_NAMES)}
    assert registry.faults == 1000 - MOST_NAMES
    drift("user 0", watched.reference, 20, registry=registry).add(watched.normal(20))
    assert registry.gauge(EMBEDDING_SAMPLES, embedding="user 0").value == 20


def test_several_threads(watched):
    """A batch may be left out where two meet, and nothing is ever counted twice."""
    batches = [watched.normal(50) for _ in range(20)]

    def add():
        for batch in batches:
            watched.drift.add(batch)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert watched.registry.faults == 0
    windows = watched.drift._windows.values()
    assert [window.row[0].item() for window in windows] == [window.offered for window in windows]


def test_a_signal_handler_in_the_middle(watched):
    """The one that it comes into holds the lock."""
    assert watched.drift._busy.acquire(blocking=False)
    watched.add(watched.normal())
    assert math.isnan(watched.psi)
    watched.drift._busy.release()
    assert watched.add(watched.normal()) < THRESHOLD


def test_a_forked_child_begins_with_nothing(watched, monkeypatch):
    watched.add(watched.normal(900))
    watched.drift._busy.acquire()  # by a thread that the child has not
    pid = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: pid + 1)
    watched.add(watched.normal(900))
    assert math.isnan(watched.psi)
    watched.add(watched.normal(100))
    assert watched.value(EMBEDDING_SAMPLES) == 1000


def test_nothing_is_read_back_before_a_window_is_full(watched):
    """The operations issued: none that would wait for a device."""
    from torch.utils._python_dispatch import TorchDispatchMode

    issued = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, _types, args=(), kwargs=None):
            issued.append(str(func))
            return func(*args, **(kwargs or {}))

    watched.add(watched.normal(10))
    batch = watched.normal(10)
    with Log():
        watched.add(batch)
    assert "aten._local_scalar_dense.default" not in issued
    assert not [name for name in issued if "nonzero" in name or "index" in name]
    assert len(issued) < 30


def test_in_a_process_with_an_agent(children, tmp_path):
    """A shift in a real process, by way of the spool."""
    reference.save(tmp_path / "reference.json", torch.randn(1000, 8, generator=torch.Generator().manual_seed(0)))
    (tmp_path / "spool").mkdir()
    children.folder = tmp_path / "spool"
    code = f"""
    import torch
    from watchkeeper_fleet import agent
    agent.start()
    found = agent.drift("query", agent.reference.load({str(tmp_path / "reference.json")!r}))
    embeddings = torch.randn(1200, 8, generator=torch.Generator().manual_seed(1))
    embeddings[:200] = float("nan")
    found.add(embeddings + 1)
    """
    done = children.run(code, torch=None)
    assert (done.stderr, done.returncode) == ("", 0)
    values = children.values()
    assert values["inference_embedding_psi embedding=query"] > THRESHOLD
    assert values["inference_embedding_window_samples embedding=query"] == 1000
    assert values["inference_embedding_nonfinite_total embedding=query"] == 200
    assert 0 < values["inference_embedding_norm_ratio embedding=query"] < 3
    assert values["watchkeeper_agent_faults_total"] == 0
