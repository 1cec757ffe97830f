"""What a workload calls. Nothing here raises or waits for a device; but once a second it costs a microsecond."""

from __future__ import annotations

import os
import sys

from watchkeeper_fleet.agent import lifecycle
from watchkeeper_fleet.agent.registry import REGISTRY
from watchkeeper_fleet.agent.steps import Step

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from typing import Any

    from watchkeeper_fleet.agent.feeding import Loader

EXPECTED = "torch_cuda_expected_bytes"  # as in metrics.agent, which is slow to import


def start() -> bool:
    """Start the agent: with torch if it is imported, else as soon as it is. Return whether it is on.

    WATCHKEEPER_AGENT=0 keeps it off. WATCHKEEPER_SPOOL names the folder (/run/watchkeeper), WATCHKEEPER_WORKLOAD
    the workload (the script's name).
    """
    return lifecycle.start()


def stop() -> None:
    """Stop the agent: the last values and the mark `clean` stay in the spool. At exit this happens by itself."""
    lifecycle.stop()


def ready(yes: bool = True) -> None:
    """Say that loading is over and the process serves or trains; `ready(False)` takes it back."""
    try:
        lifecycle.first_use()
        if lifecycle.STATE.recorder is not None:
            lifecycle.STATE.recorder.ready.set(1 if yes else 0)
            lifecycle.STATE.recorder.publish()
    except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
        REGISTRY.faults += 1


def expect(size: int, device: int | None = None) -> None:
    """Say that the process will want size bytes soon on a device (by default the current one); 0 when it has them."""
    try:
        lifecycle.first_use()
        if lifecycle.STATE.recorder is not None:
            REGISTRY.gauge(EXPECTED, gpu=str(_current() if device is None else int(device))).set(max(int(size), 0))
            lifecycle.STATE.recorder.publish()
    except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
        REGISTRY.faults += 1


def _current() -> int:
    """Return the current device, or the one that a launcher meant for this process while there is none."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return int(torch.cuda.current_device())
    wanted = os.environ.get("LOCAL_RANK", "")
    return int(wanted) if wanted.isdecimal() else 0


step = Step


def loader(source: Any) -> Loader:
    """Wrap the DataLoader or other source of batches that a loop goes over: `for batch in agent.loader(loader):`.

    The loop's waiting for batches is counted, and how much of it the GPU stood idle; the time from asking for a batch
    to the end of the step with it counts as offered work. It can be gone over as often as what it wraps.
    """
    from watchkeeper_fleet.agent.feeding import Feed, Loader

    return Feed(source) if hasattr(type(source), "__next__") else Loader(source)
