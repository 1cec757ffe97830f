"""What is done before and after a call of a decorated function: refuse, measure, look, act."""

from __future__ import annotations

import sys

from watchkeeper_fleet.agent.growth import initialized
from watchkeeper_fleet.agent.nonfinite import nonfinite as holds_nonfinite
from watchkeeper_fleet.agent.policies import CudaRequiredError, MemoryJumpError, NonFiniteOutputError, kill
from watchkeeper_fleet.agent.trees import take_apart

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from watchkeeper_fleet.agent.functions import Functions
    from watchkeeper_fleet.agent.growth import Span

# The post-mortem's mark: a tenth more than before.
JUMP = 1.1


class Monitor:
    """One decorated function with its options."""

    __slots__ = (
        "_empty_cache",
        "_jump",
        "_nonfinite",
        "_require_cuda",
        "_tallies",
        "begin",
        "function",
        "growth",
        "guarded",
        "looks",
        "registry",
    )

    def __init__(
        self,
        functions: Functions,
        name: str,
        *,
        nonfinite: str | None,
        memory_jump: str | None,
        require_cuda: bool,
        empty_cache: bool,
    ) -> None:
        self.function = functions.get(name)
        self.growth = functions.growth
        # What a function is called with nearly always, without the step in between.
        self.begin = self._refuse_or_begin if require_cuda or not memory_jump else self.growth.begin
        # What `begin` and `examine` need not be called for.
        self.guarded = require_cuda
        self.looks = nonfinite is not None
        self.registry = functions.registry
        self._nonfinite = nonfinite
        self._jump = memory_jump
        self._require_cuda = require_cuda
        self._empty_cache = empty_cache
        self._tallies = functions.tallies if nonfinite == "count" else None

    def _refuse_or_begin(self) -> Span | None:
        """Refuse the call, or return a span where memory is measured."""
        if self._require_cuda and initialized() is None:
            torch = sys.modules.get("torch")
            if torch is None or not torch.cuda.is_available():
                raise CudaRequiredError(
                    f"{self.function.name} requires CUDA, and torch finds none: the call is refused"
                )
        return self.growth.begin() if self._jump else None

    def end(self, span: Span) -> None:
        """Judge the memory that a call left behind."""
        measured = self.growth.end(span)
        if measured is None:
            return
        before, after = measured
        self.function.delta.set(float(after - before))
        if 0 < before * JUMP < after:
            self.function.jumps.add(1.0)
            if self._jump != "count":
                words = f"{self.function.name} left {after} bytes allocated where {before} were before"
                self._act(self._jump, MemoryJumpError(words))

    def examine(self, output: object) -> None:
        """Look for NaN and infinity in an output, where that is wanted."""
        if not self.looks:
            return
        try:
            tensors, finite = take_apart(output)
            if finite and not tensors:
                return
            bad = not finite or holds_nonfinite(tensors, self.function.name, self._tallies)
        except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload; an error of the device comes up again where the workload meets it
            self.registry.faults += 1
            return
        if bad:
            self.function.nonfinite.add(1.0)
            if self._nonfinite != "count":
                self._act(self._nonfinite, NonFiniteOutputError(f"{self.function.name} returned NaN or infinity"))

    def _act(self, policy: str | None, error: Exception) -> None:
        if policy == "kill":
            kill(error)
        raise error

    def failed(self, error: BaseException) -> None:
        """Count the error; free the cache where that is wanted."""
        self.function.failed(error)
        if self._empty_cache and isinstance(error, Exception):
            torch = initialized()
            try:
                if torch is not None and not torch.cuda.is_current_stream_capturing():
                    torch.cuda.empty_cache()
            except Exception:  # noqa: BLE001 - the workload's own error is the one to see
                self.registry.faults += 1
