"""The decorator on outputs of the real torch, on the CPU."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from dataclasses import dataclass

import pytest

from watchkeeper_fleet.agent.functions import Functions
from watchkeeper_fleet.agent.inference import CudaRequiredError, NonFiniteOutputError, monitor_inference
from watchkeeper_fleet.agent.registry import Registry

torch = pytest.importorskip("torch", reason="torch is not here")

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64)


@pytest.fixture
def functions():
    return Functions(Registry())


@pytest.fixture
def bad(functions):
    """Return how many bad outputs a function that returns its argument has counted."""
    same = monitor_inference(lambda output: output, name="same", functions=functions)

    def count(*outputs):
        counter = functions.get("same").nonfinite
        before = counter.sum()
        for output in outputs:
            assert same(output) is output
        assert functions.registry.faults == 0
        return counter.sum() - before

    return count


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("size", [1, 7, 33, 1000])
def test_one_value_among_others(bad, dtype, size):
    for value in (math.nan, math.inf, -math.inf):
        tensor = torch.ones(size, dtype=dtype)
        tensor[-1] = value
        assert bad(tensor, [tensor], {"a": (torch.ones(3), tensor)}) == 3
    assert bad(torch.ones(size, dtype=dtype)) == 0


def test_great_but_finite_values_are_fine(bad):
    """Their sum of squares is not."""
    for value, dtype in ((6e4, torch.float16), (1e38, torch.float32), (1e308, torch.float64)):
        assert bad(torch.full((10,), value, dtype=dtype)) == 0


def test_what_can_hold_no_nan(bad):
    quantized = torch.ones(4, dtype=torch.float8_e4m3fn)
    nothing = (
        torch.ones(0),
        torch.ones(3, dtype=torch.int64),
        torch.tensor(True),
        torch.ones(2, device="meta"),
        quantized,
    )
    assert bad(nothing, *nothing) == 0
    assert bad((*nothing, torch.tensor(math.nan))) == 1


def test_tensors_of_other_layouts_are_let_be(bad):
    assert bad(torch.ones(3).to_sparse(), torch.eye(3).to_sparse()) == 0


def test_all_types_and_shapes_at_once(bad):
    tensors = [torch.ones(2, 3, dtype=dtype) for dtype in FLOATS]
    assert bad(tensors, [*tensors, torch.tensor(math.nan)]) == 1


def test_outputs_as_models_have_them(bad):
    @dataclass
    class Output:
        logits: object
        hidden: object = None

    @dataclass
    class ModelOutput(OrderedDict):
        logits: object

        def __post_init__(self):
            self["logits"] = self.logits

    good, nan = torch.ones(4), torch.tensor([1, math.nan])
    assert bad(Output(good, (good,)), ModelOutput(good), good.max(dim=0), torch.nn.Parameter(good)) == 0
    assert bad(Output(good, (nan,)), ModelOutput(nan), nan.max(dim=0), torch.nn.Parameter(nan)) == 4


def test_gradients_are_not_touched(functions):
    layer = torch.nn.Linear(4, 4)
    call = monitor_inference(layer, name="layer", functions=functions)
    call(torch.ones(4)).sum().backward()
    assert layer.weight.grad is not None
    assert torch.is_grad_enabled()
    assert functions.registry.faults == 0


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad, torch.enable_grad])
def test_modes_of_torch(bad, mode):
    with mode():
        assert bad(torch.ones(3), torch.tensor(math.nan)) == 1


def test_under_autocast(bad):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert bad(torch.ones(3, 3) @ torch.ones(3, 3), torch.tensor(math.nan)) == 1


def test_with_another_default_device(bad):
    with torch.device("meta"):
        assert bad(torch.ones(3, device="cpu"), torch.tensor(math.nan, device="cpu")) == 1


def test_the_policy_raise(functions):
    call = monitor_inference(torch.log, name="log", nonfinite="raise", functions=functions)
    assert call(torch.ones(2)).tolist() == [0, 0]
    with pytest.raises(NonFiniteOutputError):
        call(torch.zeros(2))


def test_coroutines_and_generators(functions):
    async def embed(value):
        return {"embedding": torch.tensor([value])}

    def tokens(value):
        yield torch.ones(2)
        yield torch.tensor([value])

    embed = monitor_inference(embed, name="f", functions=functions)
    asyncio.run(embed(math.inf))
    list(monitor_inference(tokens, name="f", functions=functions)(math.nan))
    assert functions.get("f").nonfinite.sum() == 2


def test_without_a_gpu_no_memory_is_measured_and_required_cuda_refuses(functions):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    ran = []
    call = monitor_inference(ran.append, name="f", require_cuda=True, functions=functions)
    with pytest.raises(CudaRequiredError, match="f requires CUDA, and torch finds none"):
        call(1)
    assert ran == []
    monitor_inference(ran.append, name="g", empty_cache=True, functions=functions)(1)
    assert math.isnan(functions.get("g").delta.value)
    assert functions.registry.faults == 0
    assert not torch.cuda.is_initialized()


def test_an_output_is_read_once_and_never_copied(functions):
    """The operations issued, in the order of their first appearance."""
    from torch.utils._python_dispatch import TorchDispatchMode

    issued = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, _types, args=(), kwargs=None):
            issued.append(str(func))
            return func(*args, **(kwargs or {}))

    call = monitor_inference(lambda output: output, name="f", functions=functions)
    output = [torch.ones(1000) for _ in range(16)]
    with Log():
        call(output)
    assert issued[0] == "aten._foreach_norm.Scalar"
    assert issued[1] == "aten.stack.default"
    assert "aten.clone.default" not in issued
    # What comes after is on 16 numbers, and then on one.
    assert len(issued) < 10


# Deprecated, and in use.
@pytest.mark.filterwarnings("ignore:`torch.jit.trace:DeprecationWarning")
def test_a_traced_function(functions):
    traced = torch.jit.trace(monitor_inference(lambda x: x * 2, name="f", functions=functions), torch.ones(2))
    assert traced(torch.ones(2)).tolist() == [2, 2]
    assert "norm" not in str(traced.graph)
    assert functions.registry.faults == 0


def test_a_compiled_function(functions):
    """The eager back end: tracing is what matters, and a compiler for C++ may be missing."""
    torch._dynamo.reset()
    double = torch.compile(lambda x: x * 2, backend="eager")
    outside = monitor_inference(double, name="outside", functions=functions)
    assert outside(torch.ones(2)).tolist() == [2, 2]
    assert functions.get("outside").finished
