"""`monitor_inference`, the decorator that every function which answers requests should have.

    from watchkeeper_fleet.agent.inference import monitor_inference

    @monitor_inference
    def predict(batch): ...

It works on functions, coroutines, generators of both kinds and methods. See the function for its options.
"""

from __future__ import annotations

import functools
import inspect
import os
from typing import TYPE_CHECKING, TypeVar, overload

from watchkeeper_fleet.agent import wrappers
from watchkeeper_fleet.agent.functions import Functions
from watchkeeper_fleet.agent.monitor import Monitor
from watchkeeper_fleet.agent.policies import CudaRequiredError, MemoryJumpError, NonFiniteOutputError, chosen
from watchkeeper_fleet.agent.progress import PROGRESS
from watchkeeper_fleet.agent.registry import REGISTRY

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

F = TypeVar("F")

__all__ = ["CudaRequiredError", "MemoryJumpError", "NonFiniteOutputError", "monitor_inference"]

# After the steps' hook, since both say whether the process is at work.
assert PROGRESS.compute in REGISTRY.before
FUNCTIONS = Functions(REGISTRY)
os.register_at_fork(after_in_child=FUNCTIONS.forget)

_KINDS = (
    (inspect.iscoroutinefunction, wrappers.coroutine),
    (inspect.isgeneratorfunction, wrappers.generator),
    (inspect.isasyncgenfunction, wrappers.asynchronous_generator),
)


@overload
def monitor_inference(
    function: F,
    /,
    *,
    name: str = "",
    nonfinite: str | None = "count",
    memory_jump: str | None = "count",
    require_cuda: bool = False,
    empty_cache: bool = False,
    functions: Functions = FUNCTIONS,
) -> F: ...
@overload
def monitor_inference(
    *,
    name: str = "",
    nonfinite: str | None = "count",
    memory_jump: str | None = "count",
    require_cuda: bool = False,
    empty_cache: bool = False,
    functions: Functions = FUNCTIONS,
) -> Callable[[F], F]: ...
def monitor_inference(
    function: Any = None,
    /,
    *,
    name: str = "",
    nonfinite: str | None = "count",
    memory_jump: str | None = "count",
    require_cuda: bool = False,
    empty_cache: bool = False,
    functions: Functions = FUNCTIONS,
) -> Any:
    """Measure each call: latency, calls in progress, errors by class, output that is no number, memory left behind.

    `name` is the label `function`; the qualified name if there is none.

    `nonfinite` and `memory_jump` each are `"count"`, `"raise"` (the caller gets NonFiniteOutputError or MemoryJumpError
    instead of the output), `"kill"` (the process ends at once, by SIGKILL), or None for not looking.

    - `nonfinite="count"` never waits for the GPU: it queues one reduction for each type of tensor, and the count comes
      with a later publish. `"raise"` and `"kill"` must know before they return, so each call waits for the GPU, and
      nothing is queued ahead any more. During the capture of a CUDA graph none of them looks.
    - `memory_jump` compares what is allocated after a call and before it, over the devices that hold anything, and acts
      when it is more than a tenth higher. It never waits for the GPU, and costs 20 to 40 µs for each call and device
      once there is a context. Calls that other decorated calls ran beside are not judged, since the allocator is
      everyone's. The first call of a process leaves work space behind: warm up before you raise or kill.

    Decorate what is called, not what torch.compile compiles: inside a compiled function it breaks the graph.

    `require_cuda` refuses calls with CudaRequiredError where torch has no CUDA. `empty_cache` gives torch's cache back
    to the device after a call that raised; it waits for the device, and makes the next calls slow.

    A generator's time is what it spends itself, without its consumer's, and each item counts as an output. `functions`
    is where all this is kept, for tests.
    """
    chosen("nonfinite", nonfinite)
    chosen("memory_jump", memory_jump)

    def decorate(function: Any) -> Any:
        if isinstance(function, (staticmethod, classmethod)):
            return type(function)(decorate(function.__func__))
        if not callable(function) or isinstance(function, type):
            raise TypeError(f"monitor_inference is for functions and methods, not for {function!r}")
        monitor = Monitor(
            functions,
            name or _name(function),
            nonfinite=nonfinite,
            memory_jump=memory_jump,
            require_cuda=require_cuda,
            empty_cache=empty_cache,
        )
        for kind, wrap in _KINDS:
            if kind(function) or kind(getattr(function, "__call__", None)):  # noqa: B004 - of an object with __call__
                return functools.wraps(function)(wrap(function, monitor))
        return functools.wraps(function)(wrappers.plain(function, monitor))

    return decorate if function is None else decorate(function)


def _name(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name: str = getattr(function, "__qualname__", type(function).__qualname__)
    return name.rpartition("<locals>.")[2]
