"""The devices, as NVML has them. Every answer may be missing, late or absurd, and a device may be gone.

nvidia-ml-py is the extra [exporter]; without it, without a driver or without a device the rest is served all the same.
"""

from __future__ import annotations

import re
import threading
from contextlib import suppress
from typing import Any

from watchkeeper_fleet.exporter.driver import Driver, Lost, code_of
from watchkeeper_fleet.exporter.gpus import Device, Snapshot
from watchkeeper_fleet.exporter.watcher import Watcher

MOST = 64  # devices, and slices of one
_UUID = re.compile(r"(GPU|MIG)-[0-9A-Za-z/-]{1,90}", re.ASCII)
_PLAIN = re.compile(r"[ -~]{1,100}", re.ASCII)
# Where NVML can't be had at all.
_FAILURES = {4: "no_permission", 9: "no_driver", 12: "no_library", 18: "version_mismatch"}
# nvmlFieldValue ids. All links together; throughput in KiB.
_LINK_BYTES = {"transmit": 138, "receive": 139}
_LINK_ERRORS = {"flit_crc": 38, "data_crc": 45, "replay": 52, "recovery": 59}
_ALL_LINKS = 0xFFFFFFFF


def _number(value: object, most: float) -> Any:
    """Return value where it is a number that can be: drivers have given 4294967295 for a share (NVIDIA/go-dcgm#75)."""
    return value if isinstance(value, (int, float)) and 0 <= value <= most else None


class Nvml:
    """Looks at the devices in a thread of its own: a call can hang for minutes while a device falls off the bus."""

    def __init__(self, *, timeout: float = 3.0, interval: float = 1.0) -> None:
        self._timeout = timeout
        self._busy = threading.Lock()
        self._driver = Driver()
        self._watcher = Watcher(self._driver, interval)

    def snapshot(self) -> Snapshot:
        """Return what the devices say now; where they take too long, that they did not."""
        if not self._busy.acquire(blocking=False):
            return Snapshot(reason="timeout")  # the look before still hangs
        done: list[Snapshot] = []

        def work() -> None:
            try:
                done.append(self._look())
            except Exception:  # noqa: BLE001 - as below
                done.append(Snapshot(reason="error"))
            finally:
                self._busy.release()

        thread = threading.Thread(target=work, name="nvml", daemon=True)
        thread.start()
        thread.join(self._timeout)
        if not done:
            return Snapshot(reason="timeout")
        self._watcher.fill(done[0])  # here, so that a look that comes too late takes no events with it
        return done[0]

    def close(self) -> None:
        """Stop watching. The library is left open: a call into it may hang."""
        self._watcher.close()

    def _look(self) -> Snapshot:
        try:
            self._driver.begin()
            count = min(self._driver.call("nvmlDeviceGetCount"), MOST)
        except ImportError:
            return Snapshot(reason="no_package")
        except Exception as error:  # noqa: BLE001 - whatever a binding or a driver raises, torch's metrics are served
            self._driver.restart()
            return Snapshot(reason=_FAILURES.get(code_of(error), "error"))
        found = Snapshot(driver=_text(self._driver.ask("nvmlSystemGetDriverVersion")))
        for index in range(count):
            with suppress(Lost):
                found.devices += self._device(index)
        if found.devices:
            self._watcher.start(count)
        return found

    def _device(self, index: int) -> list[Device]:
        """Return a device and its slices."""
        ask = self._driver.ask
        handle = ask("nvmlDeviceGetHandleByIndex", index)
        if handle is None:
            raise Lost
        device = Device(str(index))
        self._common(handle, device)
        if not device.uuid and device.total is None:
            raise Lost  # neither name nor memory: nothing there
        self._watcher.note(handle)
        rates = ask("nvmlDeviceGetUtilizationRates", handle)
        percent = _number(getattr(rates, "gpu", None), 100)
        device.utilization = None if percent is None else percent / 100
        device.temperature = _number(ask("nvmlDeviceGetTemperature", handle, 0), 200)
        device.slowdown = _number(ask("nvmlDeviceGetTemperatureThreshold", handle, 1), 200)
        milliwatts = _number(ask("nvmlDeviceGetPowerUsage", handle), 1e8)
        device.power = None if milliwatts is None else milliwatts / 1000
        for kind, number in (("corrected", 0), ("uncorrected", 1)):
            errors = _number(ask("nvmlDeviceGetTotalEccErrors", handle, number, 0), 2**53)
            if errors is not None:
                device.ecc[kind] = errors
        rows = ask("nvmlDeviceGetRemappedRows", handle)
        if isinstance(rows, tuple) and len(rows) == 4:
            device.remap_pending, device.remap_failed = bool(rows[2]), bool(rows[3])
        device.replays = _number(ask("nvmlDeviceGetPcieReplayCounter", handle), 2**32 - 2)
        device.lanes = _number(ask("nvmlDeviceGetCurrPcieLinkWidth", handle), 64)
        device.lanes_max = _number(ask("nvmlDeviceGetMaxPcieLinkWidth", handle), 64)
        self._links(handle, device)
        mode = ask("nvmlDeviceGetMigMode", handle)
        if not mode or mode[0] != 1:
            return [device]
        slices = self._slices(handle, index)
        device.sliced = True
        return [device, *slices]

    def _slices(self, handle: object, index: int) -> list[Device]:
        found = []
        most = _number(self._driver.ask("nvmlDeviceGetMaxMigDeviceCount", handle), MOST) or 0
        for number in range(most):
            part = self._driver.ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, number)
            if part is not None:
                device = Device(f"{index}:{number}", whole=False)
                self._common(part, device)
                found.append(device)
        return found

    def _common(self, handle: object, device: Device) -> None:
        """Fill in what devices and slices have alike."""
        ask = self._driver.ask
        uuid = _text(ask("nvmlDeviceGetUUID", handle))
        device.uuid = uuid if _UUID.fullmatch(uuid) else ""
        device.name = _text(ask("nvmlDeviceGetName", handle))
        # The second version keeps apart what the driver holds (its number has the size in it); older drivers know the
        # first alone.
        memory = ask("nvmlDeviceGetMemoryInfo", handle, 0x02000028)
        if memory is None:
            memory = ask("nvmlDeviceGetMemoryInfo", handle)
        total = _number(getattr(memory, "total", None), 2**46)
        if total:
            device.total = total
            device.free = _number(memory.free, total)
            device.used = _number(memory.used, total)
        running = ask("nvmlDeviceGetComputeRunningProcesses_v3", handle)
        if running is None:
            running = ask("nvmlDeviceGetComputeRunningProcesses_v2", handle)
        for one in running or ():
            size = _number(one.usedGpuMemory, device.total or 2**46)
            if size is not None and 0 < one.pid < 2**31:
                device.processes[one.pid] = device.processes.get(one.pid, 0) + size

    def _links(self, handle: object, device: Device) -> None:
        wanted = [*_LINK_BYTES.values(), *_LINK_ERRORS.values()]
        pairs = [(one, _ALL_LINKS if one in _LINK_BYTES.values() else 0) for one in wanted]
        answers = self._driver.ask("nvmlDeviceGetFieldValues", handle, pairs)
        values = {}
        for one, answer in zip(wanted, answers or (), strict=False):
            number = _number(answer.value.ullVal, 2**53) if answer.nvmlReturn == 0 else None
            if number is not None:
                values[one] = number
        device.nvlink_bytes = {name: values[one] * 1024 for name, one in _LINK_BYTES.items() if one in values}
        device.nvlink_errors = {name: values[one] for name, one in _LINK_ERRORS.items() if one in values}


def _text(value: object) -> str:
    return value if isinstance(value, str) and _PLAIN.fullmatch(value) else ""
