"""`agent.watch_weights` on models of a real torch: what counts as a change of types, and how often."""

from __future__ import annotations

import gc
import threading
import warnings

import pytest

from watchkeeper_fleet.agent import weights
from watchkeeper_fleet.agent.registry import Registry
from watchkeeper_fleet.agent.weights import MOST_MODELS, Weights, changed, described
from watchkeeper_fleet.metrics.agent import DTYPE_CHANGES, PARAMETER_BYTES

torch = pytest.importorskip("torch", reason="torch is not here")
nn = torch.nn
prune = pytest.importorskip("torch.nn.utils.prune", reason="torch is not here")


def model():
    return nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Sequential(nn.Linear(8, 4)))


def types_of(one):
    return described(one)[0]


def differs(one, change):
    """Whether a change of a model is one of its parameters' types."""
    before = types_of(one)
    change(one)
    after = types_of(one)
    return before != after and changed(before, after)


def test_bytes_by_type():
    one = model()
    one[0].half()
    types, sizes = described(one)
    assert sizes == {"float16": 2 * 72, "float32": 4 * (8 + 8 + 36)}
    assert types[".0"] == {"weight": ("float16", True, False), "bias": ("float16", True, False)}
    assert types[".1"]["num_batches_tracked"] == ("int64", False, False)


def test_what_is_shared_counts_once():
    one = nn.Sequential(nn.Embedding(4, 8), nn.Linear(8, 4, bias=False))
    one[1].weight = one[0].weight
    assert described(nn.Sequential(one, one))[1] == {"float32": 128}


class Quantized(nn.Module):
    """Weights in buffers, and no parameter any more, as GPTQ and others have it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("qweight", torch.zeros(8, 8, dtype=torch.int8))
        self.register_buffer("scales", torch.ones(8))


def to_int8(one):
    for layer in (one[0], one[2][0]):
        layer.weight = nn.Parameter(layer.weight.detach().to(torch.int8), requires_grad=False)


def in_place(one):
    one[0].weight.requires_grad = False
    one[0].weight.data = one[0].weight.data.to(torch.int8)


def a_layer(one):
    one[2][0] = Quantized()


class Packed8(nn.Module):
    """A layer of torch.ao.nn.quantized: its weights are in an object of another language, in a part of it."""

    def __init__(self):
        super().__init__()
        self._packed_params = nn.Module()
        self._packed_params.dtype = torch.qint8
        self._packed_params.__dict__["_packed_params"] = object()


def packed(one):
    one[0] = Packed8()


class Holder(nn.Module):
    """A layer that is in a part of the model's own kind."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner


def dynamically(one):
    """As torch itself has it: no parameter remains of the layers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is on its way out
        quantize = torch.ao.quantization.quantize_dynamic
        quantize(one, {nn.Linear}, dtype=torch.qint8, inplace=True)
    assert not any(isinstance(layer, nn.Linear) for layer in one.modules())


def a_part_of_it(one):
    """The whole of a part is replaced, by one of another structure."""
    one[2] = Holder(Holder(Quantized()))


def all_of_it(one):
    one.half()


def name_of(function):
    return function.__name__


@pytest.mark.parametrize(
    "change", [to_int8, in_place, a_layer, packed, dynamically, a_part_of_it, all_of_it], ids=name_of
)
def test_changes_of_types(change):
    assert differs(model(), change)


def adapters(one):
    """As LoRA is put into a layer: the layer itself moves down."""
    inner = one[0]
    one[0] = nn.Module()
    one[0].base_layer = inner
    one[0].lora = nn.Linear(8, 2, dtype=torch.bfloat16)


def pruned(one):
    prune.l1_unstructured(one[0], "weight", 0.5)


def normed(one):
    torch.nn.utils.parametrizations.weight_norm(one[0])


def another_part(one):
    one[2] = Holder(nn.Linear(8, 4))


def other_values(one):
    one.load_state_dict({name: value + 1 for name, value in one.state_dict().items()})


def a_cache(one):
    """A buffer that a layer makes as it is first called."""
    one[0].register_buffer("cache", torch.zeros(2, dtype=torch.bfloat16))


def a_buffer(one):
    one[1].running_mean = one[1].running_mean.double()


def one_less(one):
    one[0].bias = None


def another_shape(one):
    one[2][0] = nn.Linear(8, 40)


NO_CHANGES = [
    adapters,
    pruned,
    normed,
    another_part,
    other_values,
    a_cache,
    a_buffer,
    one_less,
    another_shape,
]


@pytest.mark.parametrize("change", NO_CHANGES, ids=name_of)
def test_what_is_no_change_of_types(change):
    assert not differs(model(), change)


class Packed(torch.Tensor):
    """A tensor that is made of others and claims to be of the type that it stands for."""

    @staticmethod
    def __new__(cls, data):
        return torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=torch.bfloat16)

    def __init__(self, data):
        self.data_of_it, self.scale = data, torch.ones(1)

    def __tensor_flatten__(self):
        return ["data_of_it", "scale"], None

    @classmethod
    def __torch_dispatch__(cls, func, _types, _args=(), _kwargs=None):
        if func is torch.ops.aten.detach.default:
            return _args[0]
        raise NotImplementedError(f"{func}: nothing may be done with its values")


def test_a_tensor_that_is_made_of_others():
    one = nn.Sequential(nn.Linear(8, 8, bias=False, dtype=torch.bfloat16))
    before = types_of(one)
    one[0].weight = nn.Parameter(Packed(torch.zeros(8, 8, dtype=torch.int8)), requires_grad=False)
    types, sizes = described(one)
    assert types == {".0": {"weight": ("float32+int8", True, False)}}
    assert sizes == {"int8": 64, "float32": 4}
    assert changed(before, types)


def test_layers_that_know_no_shape_yet():
    one = nn.Sequential(nn.LazyLinear(4))
    assert described(one)[1] == {"float32": 0}
    assert not differs(one, lambda one: one(torch.ones(2, 3)))


class Watch:
    """Weights under a clock that is set by hand."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        self.registry = Registry()
        self.weights = Weights(self.registry)
        monkeypatch.setattr(weights, "monotonic", lambda: self.now)
        monkeypatch.setattr(weights, "perf_counter", lambda: 0.0)  # a look costs nothing
        monkeypatch.setattr(weights.lifecycle.STATE, "on", True)

    def step(self, seconds=1.0):
        self.now += seconds
        self.weights.between_steps()

    def changes(self):
        return self.registry.counter(DTYPE_CHANGES).sum()

    def bytes_of(self, kind):
        return self.registry.gauge(PARAMETER_BYTES, dtype=kind).value


@pytest.fixture
def watch(monkeypatch):
    return Watch(monkeypatch)


def test_weights_swapped_under_a_running_model_are_counted_once(watch):
    one = model()
    watch.weights.add(one, 1.0)
    watch.step()
    assert (watch.changes(), watch.bytes_of("float32")) == (0, 4 * (72 + 16 + 36))
    to_int8(one)
    for _ in range(10):
        watch.step()
    assert watch.changes() == 1
    assert (watch.bytes_of("int8"), watch.bytes_of("float32")) == (64 + 32, 4 * (8 + 16 + 4))


def test_a_swap_that_takes_longer_than_a_look_is_one(watch):
    one = nn.Sequential(*(nn.Linear(4, 4) for _ in range(5)))
    watch.weights.add(one, 1.0)
    for layer in one:
        layer.half()
        watch.step()
    assert watch.changes() == 1
    watch.step()
    one.float()
    watch.step()
    assert watch.changes() == 2
    assert watch.bytes_of("float16") == 0


def test_another_adapter_in_place_of_one():
    """As a server changes them, by names."""
    one = nn.ModuleDict({"layer": nn.Linear(8, 8), "adapters": nn.ModuleDict({"a": nn.Linear(8, 2)})})

    def change(one):
        del one["adapters"]["a"]
        one["adapters"]["b"] = nn.Linear(8, 2, dtype=torch.bfloat16)

    assert not differs(one, change)


def test_a_layer_within_a_part_that_is_replaced():
    one = nn.ModuleList([Holder(nn.Linear(8, 8)), nn.Linear(8, 8)])

    def change(one):
        one[0] = Packed8()

    assert differs(one, change)


def test_threads_that_end_their_steps_at_once_count_a_change_once(watch, monkeypatch):
    one = model()
    watch.weights.add(one, 1.0)
    to_int8(one)
    looks = []

    def look(model):
        looks.append(watch.now)
        thread = threading.Thread(target=watch.weights.between_steps)
        thread.start()
        thread.join()
        return described(model)

    monkeypatch.setattr(weights, "described", look)
    watch.step()
    assert watch.changes() == 1
    assert len(looks) == 1
    watch.weights.forked()
    watch.step()
    assert len(looks) == 2


def test_a_model_that_can_not_be_looked_at_is_no_matter_to_the_others(watch):
    broken, fine = model(), model()
    watch.weights.add(broken, 1.0)
    watch.weights.add(fine, 1.0)
    del broken._parameters
    to_int8(fine)
    watch.step()
    assert (watch.changes(), watch.registry.faults) == (1, 1)
    watch.step(0.5)  # nor is it looked at with every step
    assert watch.registry.faults == 1


def test_it_looks_no_more_often_than_it_was_told(watch, monkeypatch):
    one = model()
    watch.weights.add(one, 10.0)
    looks = []
    monkeypatch.setattr(weights, "described", lambda model: looks.append(watch.now) or described(model))
    for _ in range(100):
        watch.step(0.5)
    assert len(looks) == 5


def test_a_look_that_costs_much_is_a_rare_one(watch, monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(weights, "perf_counter", lambda: next(clock))  # a second each
    one = model()
    watch.weights.add(one, 1.0)
    watch.step()
    to_int8(one)
    for _ in range(498):
        watch.step()
    assert watch.changes() == 0
    watch.step(3)
    assert watch.changes() == 1


def test_the_model_is_not_kept_alive(watch):
    one = model()
    watch.weights.add(one, 1.0)
    del one
    gc.collect()
    watch.step()
    assert watch.bytes_of("float32") == 0
    watch.step()


def test_models_are_bounded_and_add_up(watch):
    models = [nn.Linear(4, 4, bias=False) for _ in range(MOST_MODELS + 4)]
    for one in models:
        watch.weights.add(one, 1.0)
        watch.weights.add(one, 1.0)
    assert watch.bytes_of("float32") == 64 * MOST_MODELS


def test_a_model_that_another_thread_changes_meanwhile():
    one = nn.ModuleDict()
    on = True

    def change():
        number = 0
        while on:
            number += 1
            one[f"layer {number % 50}"] = nn.Linear(2, 2)
            one.pop(f"layer {number % 7}") if f"layer {number % 7}" in one else None

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(300):
            described(one)
    finally:
        on = False
        thread.join()


def test_in_a_real_process(children):
    code = """
    import torch
    from watchkeeper_fleet import agent
    from watchkeeper_fleet.agent import weights
    agent.start()
    agent.watch_weights("no model")
    model = torch.nn.Linear(16, 16, bias=False)
    agent.watch_weights(model)
    def serve():
        weights.WEIGHTS._due = 0
        for one in weights.WEIGHTS._models: one.due = 0
        with agent.step(): pass
    serve()
    model.weight = torch.nn.Parameter(model.weight.detach().to(torch.int8), requires_grad=False)
    with agent.step():
        serve()  # within a step nothing is looked at
        assert weights.WEIGHTS._due == 0
    for _ in range(3): serve()
    """
    children.quiet(code, torch=None)
    found = children.values()
    assert found[f"{DTYPE_CHANGES}"] == 1
    assert found[f"{PARAMETER_BYTES} dtype=int8"] == 256
    assert found[f"{PARAMETER_BYTES} dtype=float32"] == 0
    assert found["watchkeeper_agent_faults_total"] == 1  # what is no model


def test_fully_sharded(children):
    """FSDP leaves the outermost parameters whole and in the type that it computes in after a call without gradients."""
    code = """
    import os, warnings
    warnings.simplefilter("ignore")  # torch's own
    import torch, torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    from watchkeeper_fleet.agent.weights import changed, described
    dist.init_process_group("gloo", init_method=f"file://{os.environ['STORE']}", rank=0, world_size=1)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8, bias=False))
    fully_shard(model, mesh=init_device_mesh("cpu", (1,)), mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
    before, sizes = described(model)
    with torch.no_grad():
        model(torch.ones(2, 8))
    whole, _ = described(model)
    print(sizes, before == whole, changed(before, whole), changed(whole, before))
    dist.destroy_process_group()
    """
    done = children.run(code, torch=None, STORE=str(children.folder / "store"))
    assert done.stdout == "{'float32': 256.0} False False False\n", done.stderr
