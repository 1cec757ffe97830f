"""Allocator statistics in the shapes of torch 2.1 to 2.14, whose keys were read in their wheels."""

from __future__ import annotations

import itertools

COUNTS = ("allocation", "segment", "active", "inactive_split")  # the docstring calls the first one `allocated`
BYTES = ("allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes", "requested_bytes")
MIB = 1 << 20


def stat(current: int) -> dict[str, int]:
    return {"current": current, "peak": current + 7, "allocated": 3 * current, "freed": 2 * current}


def pools(current: int) -> dict[str, dict[str, int]]:
    return {"all": stat(current), "small_pool": stat(current // 4), "large_pool": stat(current - current // 4)}


def statistics(version: str, **scalars: int) -> dict[str, object]:
    """Return what memory_stats_as_nested_dict() of that version returns for a device with tensors on it."""
    number = tuple(map(int, version.split(".")[:2]))
    found: dict[str, object] = {key: pools(MIB * (at + 1)) for at, key in enumerate(COUNTS + BYTES)}
    found |= {"oversize_allocations": stat(1), "oversize_segments": stat(2)}
    found |= {"max_split_size": -1, "num_alloc_retries": 3, "num_ooms": 1}
    if number >= (2, 5):
        found |= {"num_sync_all_streams": 4, "num_device_alloc": 50, "num_device_free": 8}
    if number >= (2, 14):
        found |= {"num_oom_rejections": 0}
        found["reserved_bytes_by_private_pools"] = {f"{a}_{b}": pools(5) for a, b in itertools.product((0, 7), (1, 2))}
    return found | scalars
