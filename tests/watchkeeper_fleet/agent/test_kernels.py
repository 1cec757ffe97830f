"""The kernel sampler without torch: names, places, and when a recording is made."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from watchkeeper_fleet.agent import kernels
from watchkeeper_fleet.agent.kernel_names import label_of
from watchkeeper_fleet.agent.kernels import FIRST_COST, MOST_SECONDS, Kernels, Sampler
from watchkeeper_fleet.agent.recording import durations
from watchkeeper_fleet.agent.registry import CAPACITY, Registry
from watchkeeper_fleet.metrics.agent import KERNEL

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"),
        ("triton_poi_fused_add_relu_0", "triton_poi_fused_add_relu_0"),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::Add<float>, array<char*, 3ul> >(int)",
            "at::native::vectorized_elementwise_kernel",
        ),
        (
            "void at::native::(anonymous namespace)::softmax_warp_forward<float, float, float, 5, true>(float*, int)",
            "at::native::softmax_warp_forward",
        ),
        (
            "void at::native::unrolled_elementwise_kernel<f(A&)::{lambda()#3}::operator()() const>(int)",
            "at::native::unrolled_elementwise_kernel",
        ),
        ("void flash::fwd_kernel<Traits<64, (bool)1>, true>(flash::Params)", "flash::fwd_kernel"),
        ("void f<&A::operator->>(int)", "f"),
        ("std::enable_if<!(false), void>::type gemv2T_kernel_val<int, float>(float)", "gemv2T_kernel_val"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm>(Params)", "cutlass::Kernel2"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "nccl"),
        ("ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)", "nccl"),
        ("k" * 300, "k" * 100),
        ("a\nb", "a?b"),
        ("a<<<b", "a"),
        ("<int>", "other"),
        ("", "other"),
    ],
)
def test_names(name, label):
    assert label_of(name) == label


@dataclass
class Old:
    """A kernel or another event as torch 2.1 tells it."""

    what: str
    microseconds: int
    where: str = "CUDA"
    index: int = 0

    def name(self):
        return self.what

    def device_type(self):
        return self.where

    def device_index(self):
        return self.index

    def duration_us(self):
        return self.microseconds


@dataclass
class New(Old):
    """The same as torch 2.14 does."""

    kind: str = "kernel"

    def duration_ns(self):
        return self.microseconds * 1000

    def duration_us(self):
        raise AttributeError("there is none any more")

    def activity_type(self):
        return self.kind


def test_events_of_old_and_new_torch():
    both = [("gemm", 12, "CUDA", 1), ("Memcpy HtoD (Pageable -> Device)", 3), ("Memset (Device)", 1)]
    old = [Old(*what) for what in both] + [Old("aten::mm", 9, "CPU")]
    new = [New(*what) for what in both] + [New("aten::mm", 9, "CPU")]
    new += [New("ProfilerStep#1", 7, kind="gpu_user_annotation"), New("copy", 7, kind="gpu_memcpy")]
    assert list(durations(old, "CUDA")) == list(durations(new, "CUDA")) == [(1, "gemm", pytest.approx(12e-6))]


def label_sets(registry):
    return {(cell.labels["gpu"], cell.labels["kernel"]) for cell in registry._order if cell.name == str(KERNEL)}


def counts(registry, kernel, gpu="0"):
    row = [0.0] * 100
    registry.histogram(KERNEL, KERNEL.buckets, gpu=gpu, kernel=kernel).fold(row, 0)
    return row


def test_the_most_expensive_have_a_place():
    registry = Registry()
    found = [(0, f"k{n}<int>(float)", n * 1e-3) for n in range(1, 31)]
    Kernels(registry, top=3).count([*found, (0, "ncclDevKernel_AllReduce(args)", 5.0)])
    assert label_sets(registry) == {("0", name) for name in ("k28", "k29", "k30", "other", "nccl")}


def test_names_are_bounded_for_ever():
    """Compiled kernels are numbered, and never end."""
    registry = Registry()
    counted = Kernels(registry, top=5)
    for cycle in range(200):
        counted.count([(gpu, f"triton_fused_{cycle}_{n}", 1e-3 * n) for n in range(1, 9) for gpu in (0, 1)])
    assert len({kernel for _, kernel in label_sets(registry)}) == 5 + 2
    assert len(label_sets(registry)) == 2 * (5 + 2)
    # Those of the first cycle keep their place.
    assert ("0", "triton_fused_0_8") in label_sets(registry)


def test_cheap_kernels_leave_places_for_others():
    registry = Registry()
    counted = Kernels(registry, top=3)
    counted.count([(0, "gemm", 1.0), (0, "fill", 1e-3), (0, "copy", 1e-3)])
    counted.count([(0, "attention", 1.0), (0, "gemm", 1.0)])
    assert {kernel for _, kernel in label_sets(registry)} == {"gemm", "attention", "other", "nccl"}


def test_durations_are_in_their_buckets():
    registry = Registry()
    Kernels(registry).count([(0, "gemm", 2e-5), (0, "gemm", 2e-5), (0, "gemm<int>", 2e-3)])
    row = counts(registry, "gemm")
    bounds = list(KERNEL.buckets)
    assert row[bounds.index(1e-5)] == 0
    assert row[bounds.index(5e-5)] == 2
    assert row[bounds.index(5e-3)] == 3


def test_where_the_spool_is_full_the_rest_is_other():
    registry = Registry()
    for number in range(CAPACITY - 40):
        registry.gauge("torch_cuda_expected_bytes", gpu=str(number))
    counted = Kernels(registry)
    for _ in range(3):
        counted.count([(0, f"k{n}", 1e-3) for n in range(10)])
    assert label_sets(registry) == {("0", "other"), ("0", "nccl")}
    assert max(counts(registry, "other")[: len(KERNEL.buckets)]) == 30


class Machine:
    """Time that passes only when it is said to, and recordings that cost some of it."""

    def __init__(self, budget=0.005):
        self.now = 1000.0
        self.cost = 0.4
        self.spent = 0.0
        self.paid = 0.0  # by the machine's own account
        self.started = self.stopped = 0
        self.on = self.busy = self.queued = self.locked = False
        self.seen = True
        self.able = True
        self.sampler = Sampler(self, Kernels(Registry()), budget, clock=lambda: self.now)

    def watch(self):
        return self.seen

    def possible(self):
        return self.able

    def ready(self):
        return True

    def start(self):
        if self.busy:
            return False
        self.started += 1
        self.on = True
        self.pay(self.cost / 2)
        return True

    def mark(self):
        pass

    def done(self):
        return not self.queued

    def stop(self, patience=10.0):
        if self.locked:
            raise TimeoutError(patience)
        if not self.on:
            return None
        self.on = False
        self.stopped += 1
        self.pay(self.cost / 2)
        return [(0, "gemm", 1e-3)]

    def pay(self, seconds):
        self.now += seconds
        self.spent += seconds
        self.paid += seconds

    def step(self, seconds=0.1):
        self.sampler.begin()
        self.now += seconds
        self.sampler.end()

    def run(self, seconds, step=0.1):
        end = self.now + seconds
        while self.now < end:
            self.step(step)


@pytest.mark.parametrize("budget", [0.001, 0.005, 0.05])
def test_the_budget_is_kept(budget):
    machine = Machine(budget)
    begun = machine.now
    for cost in (0.4, 0.5, 0.1, 2.0, 0.01, 0.5):
        machine.cost = cost
        machine.run(4000)
        # At any time at most one recording has been made and not yet been paid for.
        assert machine.paid - machine.cost <= budget * (machine.now - begun)
    assert machine.started > 5
    assert machine.paid <= budget * (machine.now - begun)
    # And it is used, not only kept.
    assert machine.paid > budget * (machine.now - begun) / 20


def test_the_first_is_paid_for_before_it_is_made():
    machine = Machine()
    machine.run(FIRST_COST / 0.005 - 1)
    assert machine.started == 0
    machine.run(3)
    assert (machine.started, machine.stopped) == (1, 1)


def test_after_hours_without_steps_there_is_one_not_many():
    machine = Machine()
    machine.now += 1e6
    machine.run(10)
    assert machine.started == 1


def test_it_is_ended_when_what_the_step_launched_has_run():
    machine = Machine()
    machine.queued = True
    machine.run(101)
    assert (machine.started, machine.stopped) == (1, 0)
    machine.step()
    assert machine.on
    machine.queued = False
    machine.sampler.begin()
    assert not machine.on


def test_not_for_ever():
    machine = Machine()
    machine.queued = True
    machine.run(110)
    assert (machine.started, machine.stopped) == (1, 1)


def test_nested_steps_are_one():
    machine = Machine()
    machine.now += 101
    machine.sampler.begin()
    machine.step()
    machine.step()
    assert machine.on
    machine.sampler.end()
    assert not machine.on


def test_a_step_that_does_not_end():
    machine = Machine()
    machine.now += 101
    machine.sampler.begin()
    machine.sampler.expire()
    assert machine.on
    machine.now += MOST_SECONDS + 1
    machine.sampler.expire()
    assert not machine.on
    machine.sampler.end()
    machine.run(10)
    assert machine.started == machine.stopped == 1


def test_one_that_can_not_be_ended_now_is_ended_later():
    """The publisher does not wait for what a fork holds: the fork waits for the publisher."""
    machine = Machine()
    machine.now += 101
    machine.sampler.begin()
    machine.now += MOST_SECONDS + 1
    machine.locked = True
    machine.sampler.expire()
    machine.locked = False
    assert machine.on
    machine.sampler.expire()
    assert not machine.on
    assert not machine.sampler.off


def test_steps_that_overlap_for_ever():
    """Requests of a server: there is always one that has not ended."""
    machine = Machine()
    machine.now += 101
    machine.sampler.begin()
    for _ in range(100):
        machine.sampler.begin()
        machine.now += 0.1
        machine.sampler.end()
        assert machine.on == (machine.stopped == 0)
    assert (machine.started, machine.stopped) == (1, 1)


def test_one_that_was_ended_for_the_workload_counts_as_well():
    machine = Machine()
    machine.now += 101
    machine.sampler.begin()
    machine.on = False
    machine.sampler.end()
    machine.run(10)
    assert (machine.started, machine.stopped) == (1, 0)
    machine.run(100)
    assert (machine.started, machine.stopped) == (2, 1)


def test_while_the_workload_has_a_profile_it_is_tried_now_and_then():
    machine = Machine()
    machine.busy = True
    machine.run(200)
    assert machine.started == 0
    machine.busy = False
    machine.run(2)
    assert machine.started == 1


def test_before_torch_is_there():
    machine = Machine()
    machine.seen = False
    machine.run(200)
    assert machine.started == 0


def test_where_it_can_never_be():
    machine = Machine()
    machine.able = False
    machine.run(200)
    machine.able = True
    machine.run(200)
    assert machine.started == 0


@pytest.mark.parametrize("what", ["start", "stop"])
def test_after_a_fault_there_is_no_other(what, monkeypatch):
    machine = Machine()

    def fail():
        raise OSError("CUPTI is busy")

    monkeypatch.setattr(machine, what, fail)
    machine.now += 101
    with pytest.raises(OSError, match="busy"):  # which the boundary counts
        machine.step()
    monkeypatch.undo()
    started = machine.started
    machine.run(1000)
    assert machine.started == started


def test_other_values_later():
    machine = Machine()
    machine.run(50)
    machine.sampler.set(3, 0.05)
    machine.run(1)
    assert machine.started == 1
    machine.sampler.set(3, 0.005)
    machine.run(50)
    assert machine.started == 1


@pytest.fixture
def nobody_samples(monkeypatch):
    """The process as it was before anyone asked for samples, and afterwards too."""
    monkeypatch.setattr(kernels, "_SAMPLERS", [])
    monkeypatch.setattr(kernels.boundaries, "BEGIN", [])
    monkeypatch.setattr(kernels.boundaries, "END", [])
    monkeypatch.setattr(kernels, "REGISTRY", Registry())


@pytest.mark.usefixtures("nobody_samples")
def test_it_is_off_until_it_is_asked_for(monkeypatch):
    monkeypatch.delenv("WATCHKEEPER_AGENT", raising=False)
    assert kernels.sample_kernels()
    assert kernels.sample_kernels(top=5, budget=0.01)
    assert (len(kernels.boundaries.BEGIN), len(kernels.boundaries.END)) == (1, 1)


@pytest.mark.usefixtures("nobody_samples")
@pytest.mark.parametrize(
    "values", [{"top": 0}, {"top": 1000}, {"top": "x"}, {"budget": 0}, {"budget": 0.5}, {"budget": None}], ids=str
)
def test_values_that_make_no_sense(values):
    assert not kernels.sample_kernels(**values)
    assert kernels.REGISTRY.faults == 1
    assert not kernels._SAMPLERS


@pytest.mark.usefixtures("nobody_samples")
def test_an_agent_that_is_kept_off(monkeypatch):
    monkeypatch.setenv("WATCHKEEPER_AGENT", "0")
    assert not kernels.sample_kernels()
    assert not kernels._SAMPLERS


def test_it_imports_no_torch():
    code = "import sys\nfrom watchkeeper_fleet.agent import kernels\n"
    code += "print(kernels.sample_kernels(), 'torch' in sys.modules)"
    path = os.pathsep.join([str(ROOT / "generator"), str(ROOT / "monitoring")])
    environment = {**os.environ, "PYTHONPATH": path, "WATCHKEEPER_AGENT": ""}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"
