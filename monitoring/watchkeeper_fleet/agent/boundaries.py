"""What is called as a step begins and as it ends, on the step's own thread: nothing, until a part is switched on."""

from __future__ import annotations

from watchkeeper_fleet.agent.registry import REGISTRY

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable

# Whoever calls them looks first whether there are any, so that an empty list costs no call: `if BEGIN: run(BEGIN)`.
BEGIN: list[Callable[[], object]] = []
END: list[Callable[[], object]] = []


def run(hooks: list[Callable[[], object]]) -> None:
    """Call each hook. A fault of one is counted, and keeps neither the others nor the workload from going on."""
    for hook in hooks:
        try:
            hook()
        except Exception:  # noqa: BLE001, PERF203 - a fault of ours never reaches the workload
            REGISTRY.faults += 1
