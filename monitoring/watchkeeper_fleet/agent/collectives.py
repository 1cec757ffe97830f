"""`agent.watch_collectives`: how far each process group has come, as torch's flight recorder tells.

Of ranks that hang, the one whose numbers are behind is the one that the others wait for. The recorder keeps what each
group last did apart from its long list; only that is asked for, which makes no call of CUDA and looks for no stack.
"""

from __future__ import annotations

import sys
from time import monotonic

from watchkeeper_fleet.agent import lifecycle
from watchkeeper_fleet.agent.registry import REGISTRY, Registry
from watchkeeper_fleet.metrics.agent import COLLECTIVE_SEQUENCE

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from typing import Any

EVERY = 10.0
MOST_GROUPS = 8
STATES = {
    "enqueued": "last_enqueued_collective",
    "started": "last_started_collective",
    "completed": "last_completed_collective",
}
# NCCL's own recorder, and from 2.9 or so that of the other back ends.
DUMPS = ("_dump_nccl_trace", "_dump_fr_trace")


class Collectives:
    """The process groups of this process."""

    __slots__ = ("_due", "_groups", "_registry")

    def __init__(self, registry: Registry = REGISTRY) -> None:
        self._registry = registry
        self._due = 0.0
        self._groups: set[str] = set()

    def compute(self) -> None:
        """Ask, if it is time for that; the publisher calls it, on any thread, also while all others wait."""
        now = monotonic()
        if now < self._due:
            return
        self._due = now + EVERY
        for group, said in asked().items():
            numbers = {state: said.get(key, -1) for state, key in STATES.items()}
            if group not in self._groups and (len(self._groups) >= MOST_GROUPS or max(numbers.values()) < 0):
                continue
            self._groups.add(group)
            for state, number in numbers.items():
                if number >= 0:  # below: none yet, or not known of this back end
                    self._registry.gauge(COLLECTIVE_SEQUENCE, group=group, state=state).set(float(number))


def asked() -> dict[str, dict[str, int]]:
    """Return what the recorder has of each group; nothing without groups, or where this torch has no such recorder."""
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return {}
    found: dict[str, dict[str, int]] = {}
    for name in DUMPS:
        dump = getattr(sys.modules.get("torch._C._distributed_c10d"), name, None)
        if dump is None:
            continue
        import pickle  # torch has it loaded

        try:
            # Without collectives, without stacks: a list of events would be asked for on this thread.
            text = dump(False, False, False)
        except TypeError:  # before 2.4 or so it takes no options, and would give everything
            continue
        said = pickle.loads(text)  # noqa: S301 - made in this process, just now
        found = {**said.get("pg_status", {}), **found}
    return found


COLLECTIVES = Collectives()


def watch_collectives() -> None:
    """Publish which collective each process group last enqueued, started and completed, every 10 seconds.

    NCCL's numbers are there from torch 2.4 or so on, unless the variable TORCH_FR_BUFFER_SIZE is 0.
    """
    try:
        lifecycle.first_use()
        if COLLECTIVES.compute not in REGISTRY.before:
            REGISTRY.before.append(COLLECTIVES.compute)
    except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
        REGISTRY.faults += 1
