"""What torch's caching allocator says of one device, as values of the contract.

`torch.cuda.memory_stats_as_nested_dict()` has been there since before 2.1; which keys are in it differs from version to
version and from backend to backend, so every key is optional, and one that is missing publishes nothing.
"""

from __future__ import annotations

from watchkeeper_fleet.agent.registry import REGISTRY
from watchkeeper_fleet.metrics import agent as metrics

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from watchkeeper_fleet.agent.registry import Gauge, Registry, Total

# The docstring of memory_stats has other names for some keys; these are the ones that are really there.
GAUGES = (
    (metrics.RESERVED, ("reserved_bytes", "all", "current")),
    (metrics.ALLOCATED, ("allocated_bytes", "all", "current")),
    (metrics.ACTIVE, ("active_bytes", "all", "current")),
    (metrics.REQUESTED, ("requested_bytes", "all", "current")),
    (metrics.INACTIVE_SPLIT, ("inactive_split_bytes", "all", "current")),
    (metrics.OVERSIZE_ALLOCATIONS, ("oversize_allocations", "current")),
    (metrics.OVERSIZE_SEGMENTS, ("oversize_segments", "current")),
)
# torch's own peaks start anew at reset_peak_memory_stats(); ours are for the life of the process.
PEAKS = (
    (metrics.RESERVED_PEAK, ("reserved_bytes", "all", "peak")),
    (metrics.ALLOCATED_PEAK, ("allocated_bytes", "all", "peak")),
)
TOTALS = (
    (metrics.ALLOC_RETRIES, ("num_alloc_retries",)),
    (metrics.OOMS, ("num_ooms",)),
    (metrics.DEVICE_ALLOCS, ("num_device_alloc",)),
    (metrics.DEVICE_FREES, ("num_device_free",)),
    (metrics.SYNC_ALL_STREAMS, ("num_sync_all_streams",)),
)
_POOLS = "reserved_bytes_by_private_pools"
# They are there at 0 for every device that the process sees: the first event may be an out-of-memory error at 0 bytes.
# But not before the daemon can tell which one it is.
_FROM_THE_START = TOTALS[:2]


class Device:
    """The cells of one device of this process; `gpu` is torch's index, which the daemon turns into NVML's."""

    __slots__ = ("_gauges", "_index", "_peaks", "_pools", "_registry", "_totals", "named", "used")

    def __init__(self, index: int, registry: Registry = REGISTRY) -> None:
        self._index = index
        self._registry = registry
        self._gauges: list[tuple[Gauge, tuple[str, ...]]] = []
        self._peaks: list[tuple[Gauge, tuple[str, ...]]] = []
        self._totals: list[tuple[Total, tuple[str, ...]]] = []
        self._pools: tuple[Gauge, Gauge] | None = None
        self.used = False
        self.named = False

    def name(self) -> None:
        """Note that the UUID has been told, or that there is none to tell."""
        self.named = True
        if not self.used:
            gpu = str(self._index)
            self._totals = [(self._registry.total(metric, gpu=gpu), path) for metric, path in _FROM_THE_START]

    def update(self, statistics: Mapping[str, Any]) -> None:
        """Take over statistics; a device that nothing was allocated on shows no bytes."""
        if not self.used and value(statistics, PEAKS[0][1]):
            self.used = True
            gpu = str(self._index)
            self._gauges = [(self._registry.gauge(metric, gpu=gpu), path) for metric, path in GAUGES]
            self._peaks = [(self._registry.gauge(metric, gpu=gpu), path) for metric, path in PEAKS]
            self._totals = [
                (self._registry.total(metric, gpu=gpu), path)
                for metric, path in TOTALS
                if value(statistics, path) is not None
            ]
        for gauge, path in self._gauges:
            found = value(statistics, path)
            if found is not None:
                gauge.set(found)
        for gauge, path in self._peaks:
            found = value(statistics, path)
            if found is not None:
                gauge.raise_to(found)
        for total, path in self._totals:
            found = value(statistics, path)
            if found is not None:
                total.follow(found)
        pools = statistics.get(_POOLS)
        if self.used and isinstance(pools, dict):
            self._count(pools)

    def _count(self, pools: dict[str, Any]) -> None:
        """Publish how many private pools there are and what they hold: each has a number, a label without a bound."""
        if self._pools is None:
            gpu = str(self._index)
            self._pools = (
                self._registry.gauge(metrics.PRIVATE_POOLS, gpu=gpu),
                self._registry.gauge(metrics.PRIVATE_POOLS_RESERVED, gpu=gpu),
            )
        held = [value(pool, ("all", "current")) or 0.0 for pool in pools.values()]
        self._pools[0].set(sum(size > 0 for size in held))  # one that is gone stays in the list, at 0
        self._pools[1].set(sum(held))


def value(statistics: Any, path: tuple[str, ...]) -> float | None:
    """Return the number at the end of a path of keys, None where there is none."""
    for key in path:
        if not isinstance(statistics, dict):
            return None
        statistics = statistics.get(key)
    return float(statistics) if isinstance(statistics, (int, float)) else None


def configuration(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of the allocator's configuration as torch reads them, the newest of its variables first."""
    for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"):
        if name in environ:
            return dict(_settings(environ[name]))
    return {}


def _settings(text: str) -> list[tuple[str, str]]:
    """Split `a:1,b:[256:1,512:2],c:True` at the commas outside of brackets."""
    found: list[tuple[str, str]] = []
    depth = start = 0
    for place, character in enumerate(text + ","):
        depth += (character == "[") - (character == "]")
        if character == "," and depth <= 0:
            key, colon, setting = text[start:place].partition(":")
            if colon:
                found.append((key.strip(), setting.strip()))
            start = place + 1
    return found
