"""NaN and infinity in what a call returned, counted without ever waiting for the GPU.

The check is queued on the stream that the output is on, and adds to a count that lies on the device; the count is
copied to pinned memory behind it. Whoever publishes reads that memory, which takes no call of CUDA, so that it may
be another thread: a query of an event there would break the capture of a graph (pytorch#104487). A result arrives
with a later publish than its call.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from typing import Any

# Streams times devices times functions whose counts are kept; torch has 32 streams of each priority in its pool.
SLOTS = 512


class Tallies:
    """The counts on the devices of one process, one for each function and stream."""

    __slots__ = ("_host", "_pid", "_slots")

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Drop everything, as a forked child must: the device is its parent's."""
        self._host: Any = None
        self._pid = os.getpid()
        self._slots: dict[tuple[str, int, int], tuple[Any, Any, Any]] = {}

    def add(self, function: str, bad: Any, torch: Any) -> None:
        """Queue: add bad, a truth value on a device, to the function's count. Waits for nothing."""
        device = bad.device.index
        key = (function, device, torch.cuda.current_stream(device).cuda_stream)
        slot = self._slots.get(key)
        if slot is None:
            slot = self._open(key, bad.device, torch)
            if slot is None:
                return
        count, pinned, _ = slot
        count.add_(bad)
        pinned.copy_(count, non_blocking=True)

    def _open(self, key: tuple[str, int, int], device: Any, torch: Any) -> tuple[Any, Any, Any] | None:
        if len(self._slots) >= SLOTS:
            return None
        # A tensor made inside inference mode could not be added to outside of it.
        with torch.inference_mode(mode=False):
            if self._host is None:
                self._host = torch.zeros(SLOTS, dtype=torch.int64, device="cpu", pin_memory=True)
            index = len(self._slots)
            pinned = self._host[index : index + 1]
            count = torch.zeros(1, dtype=torch.int64, device=device)
        # Read as memory: even a call of torch would be one too many on another thread.
        value = ctypes.c_int64.from_address(self._host.data_ptr() + 8 * index)
        slot = self._slots[key] = (count, pinned, value)
        return slot

    def totals(self) -> dict[str, int]:
        """Return how many bad outputs of each function have come back from the devices so far."""
        totals: dict[str, int] = {}
        if os.getpid() != self._pid:  # forked behind Python's back: the driver's memory need not be here
            self.forget()
        for (function, _, _), (_, _, value) in self._slots.copy().items():
            totals[function] = totals.get(function, 0) + value.value
        return totals


def nonfinite(tensors: list[Any], function: str, tallies: Tallies | None) -> bool:
    """Whether one of some tensors holds NaN or infinity.

    What lies on a GPU is counted in tallies later and taken for finite here, or, without tallies, waited for.
    """
    torch = sys.modules["torch"]
    # The check would become part of what is traced. torch.jit is on its way out.
    if getattr(torch.jit, "is_tracing", bool)():
        return False
    with torch.no_grad():
        groups = _groups(tensors, torch)
        return bool(groups) and _look(groups, function, tallies, torch)


def _groups(tensors: list[Any], torch: Any) -> dict[Any, dict[Any, list[Any]]]:
    """Return what can be looked at, by device and type, which one kernel must share."""
    groups: dict[Any, dict[Any, list[Any]]] = {}
    for tensor in tensors:
        # A sharded tensor: an operation on the whole of it would talk to the other ranks.
        local = getattr(tensor, "_local_tensor", tensor)
        kind = local.dtype
        if not (kind.is_floating_point or kind.is_complex) or local.layout is not torch.strided or local.is_nested:
            continue
        device = local.device
        # There is no norm of floats of 8 bits, and none of nothing.
        if device.type in ("cpu", "cuda") and local.numel() and local.element_size() > 1:
            if kind.is_complex:  # the magnitude of two great parts is infinite
                local = torch.view_as_real(local.resolve_conj())
            groups.setdefault(device, {}).setdefault(local.dtype, []).append(local)
    return groups


def _look(groups: dict[Any, dict[Any, list[Any]]], function: str, tallies: Tallies | None, torch: Any) -> bool:
    queued = []
    for device, kinds in groups.items():
        if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
            continue
        finite = None
        for tensors in kinds.values():
            # The greatest magnitude: the sum of squares overflows where no value does. NaN stays NaN in it.
            part = torch.stack(torch._foreach_norm(tensors, math.inf)).isfinite().all()  # noqa: SLF001 - in all versions from 2.1 on, and the only one in one pass
            finite = part if finite is None else finite & part
        if finite is None:
            continue
        if device.type == "cpu" or tallies is None:
            if not finite.item():
                return True
        else:
            queued.append(finite)
    for finite in queued:
        tallies.add(function, finite.logical_not(), torch)  # type: ignore[union-attr]
    return False
