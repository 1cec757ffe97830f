"""What is served of the devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper_fleet.exporter.gpus import REASONS, THROTTLES, XIDS, Device, Snapshot
from watchkeeper_fleet.exporter.text import Samples, add, escape
from watchkeeper_fleet.metrics import exporter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from watchkeeper_fleet.exporter.state import State

# Gauges that are there or not.
_PLAIN = (
    (exporter.UTILIZATION, "utilization"),
    (exporter.TEMPERATURE, "temperature"),
    (exporter.SLOWDOWN_TEMPERATURE, "slowdown"),
    (exporter.POWER, "power"),
    (exporter.ROW_REMAP_FAILED, "remap_failed"),
    (exporter.ROW_REMAP_PENDING, "remap_pending"),
    (exporter.PCIE_REPLAYS, "replays"),
    (exporter.PCIE_WIDTH, "lanes"),
    (exporter.PCIE_WIDTH_MAX, "lanes_max"),
)
_BY_KIND = (
    (exporter.ECC_ERRORS, "ecc"),
    (exporter.NVLINK_BYTES, "nvlink_bytes"),
    (exporter.NVLINK_ERRORS, "nvlink_errors"),
)


def serve_devices(
    samples: Samples, gpus: Snapshot, state: State, *, reserved: Mapping[str, float], by_pid: Mapping[int, str]
) -> None:
    """Add what the devices say; `by_pid` has the labels of the processes that have an agent."""
    add(samples, exporter.NVML_UP, float(not gpus.reason))
    for reason in REASONS:
        add(samples, exporter.NVML_FAILURE, float(reason == gpus.reason), reason)
    add(samples, exporter.DEVICES_VISIBLE, sum(device.whole for device in gpus.devices))
    for device in gpus.devices:
        _device(samples, device, gpus.driver)
        if not device.sliced:
            _memory(samples, device, reserved.get(device.gpu, 0.0), by_pid)
        for metric in (exporter.NODE_OOMS, exporter.NODE_ALLOC_RETRIES):
            state.count(metric, (device.gpu,))
        if device.whole:
            for xid in (*map(str, XIDS), "other"):
                state.count(exporter.XID_ERRORS, (device.gpu, xid))
            for reason in THROTTLES if gpus.throttles_known else ():
                state.count(exporter.THROTTLED, (device.gpu, reason))
    for labels, count in gpus.xids.items():
        state.count(exporter.XID_ERRORS, labels, count)
    for labels, seconds in gpus.throttled.items():
        state.count(exporter.THROTTLED, labels, seconds)


def _device(samples: Samples, device: Device, driver: str) -> None:
    add(samples, exporter.GPU_INFO, 1.0, device.gpu, device.uuid, device.name, driver)
    for metric, name in _PLAIN:
        value = getattr(device, name)
        if value is not None:
            add(samples, metric, float(value), device.gpu)
    for metric, name in _BY_KIND:
        for kind, value in getattr(device, name).items():
            add(samples, metric, float(value), device.gpu, kind)


def _memory(samples: Samples, device: Device, reserved: float, by_pid: Mapping[int, str]) -> None:
    """Add the memory of a device or a slice; of a device with slices it is that of the slices."""
    if device.total is not None:
        add(samples, exporter.GPU_TOTAL, float(device.total), device.gpu)
    if device.free is not None:
        add(samples, exporter.GPU_FREE, float(device.free), device.gpu)
    if device.used is not None:
        # Looked at a moment later than the allocators were: the difference can come out below 0.
        add(samples, exporter.NON_TORCH, max(device.used - reserved, 0.0), device.gpu)
    name = exporter.PROCESS_GPU_MEMORY.name
    for pid, size in device.processes.items():
        if pid in by_pid:
            series = f'{name}{{{by_pid[pid]},gpu="{escape(device.gpu)}"}}'
            samples.setdefault(name, []).append((series, float(size)))
