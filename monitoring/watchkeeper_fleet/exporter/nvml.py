"""The devices, as NVML has them. Every answer may be missing, late or absurd, and a device may be gone.

nvidia-ml-py is the extra [exporter]; without it, without a driver or without a device the rest is served all the same.
"""

from __future__ import annotations

import re
import threading
import time
from contextlib import suppress
from ctypes import c_void_p, cast
from typing import TYPE_CHECKING, Any

from watchkeeper_fleet.exporter.gpus import XIDS, Device, Snapshot

if TYPE_CHECKING:
    from types import ModuleType

MOST = 64  # devices, and slices of one
_UUID = re.compile(r"(GPU|MIG)-[0-9A-Za-z/-]{1,90}", re.ASCII)
_PLAIN = re.compile(r"[ -~]{1,100}", re.ASCII)
# nvmlReturn_t, which never changes: the device is off the bus, or wants a reset.
_LOST = (15, 16)
# Where NVML can't be had at all.
_FAILURES = {4: "no_permission", 9: "no_driver", 12: "no_library", 18: "version_mismatch"}
# nvmlClocksEventReasons: software thermal, hardware thermal; software power cap, power brake; hardware slowdown.
_THERMAL, _POWER, _HARDWARE = 0x60, 0x84, 0x08
# nvmlFieldValue ids. All links together; throughput in KiB.
_LINK_BYTES = {"transmit": 138, "receive": 139}
_LINK_ERRORS = {"flit_crc": 38, "data_crc": 45, "replay": 52, "recovery": 59}
_ALL_LINKS = 0xFFFFFFFF
_XID_EVENT = 0x08
_TIMED_OUT = 10
_KNOWN_XIDS = frozenset(XIDS)


class Lost(Exception):  # noqa: N818 - a state of the device
    """The device does not answer any more."""


def _number(value: object, most: float) -> Any:
    """Return value where it is a number that can be: drivers have given 4294967295 for a share (NVIDIA/go-dcgm#75)."""
    return value if isinstance(value, (int, float)) and 0 <= value <= most else None


class Nvml:
    """Looks at the devices in a thread of its own: a call can hang for minutes while a device falls off the bus."""

    def __init__(self, *, timeout: float = 3.0, interval: float = 1.0) -> None:
        self._timeout = timeout
        self._interval = interval
        self._lock = threading.Lock()
        self._busy = threading.Lock()
        self._pynvml: ModuleType | None = None
        self._started = False
        self._stop = threading.Event()
        self._watcher: threading.Thread | None = None
        self._handles: dict[int, str] = {}
        self._xids: dict[tuple[str, str], int] = {}
        self._throttled: dict[tuple[str, str], float] = {}
        self._throttles_known = False

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
        with self._lock:  # here, so that a look that comes too late takes no events with it
            done[0].xids, self._xids = self._xids, {}
            done[0].throttled, self._throttled = self._throttled, {}
            done[0].throttles_known = self._throttles_known
        return done[0]

    def close(self) -> None:
        """Stop watching. The library is left open: a call into it may hang."""
        self._stop.set()
        if self._watcher is not None:
            self._watcher.join(2 * self._interval + 1)

    def _look(self) -> Snapshot:
        try:
            nvml = self._begin()
            count = nvml.nvmlDeviceGetCount()
        except ImportError:
            return Snapshot(reason="no_package")
        except Exception as error:  # noqa: BLE001 - whatever a binding or a driver raises, torch's metrics are served
            self._started = False
            return Snapshot(reason=_FAILURES.get(getattr(error, "value", -1), "error"))
        found = Snapshot(driver=_text(self._ask("nvmlSystemGetDriverVersion")))
        count = min(count, MOST)
        for index in range(count):
            with suppress(Lost):
                found.devices += self._device(index)
        if self._watcher is None and found.devices:
            self._watcher = threading.Thread(target=self._watch, args=(count,), name="nvml-events", daemon=True)
            self._watcher.start()
        return found

    def _begin(self) -> ModuleType:
        if self._pynvml is None:
            import pynvml  # type: ignore[import-untyped]

            self._pynvml = pynvml
        if not self._started:
            self._pynvml.nvmlInit()
            self._started = True
        return self._pynvml

    def _ask(self, call: str, *arguments: object) -> Any:
        """Return what a call answers; None where the driver or the binding does not know it; Lost without a device."""
        try:
            return getattr(self._pynvml, call)(*arguments)
        except Exception as error:  # noqa: BLE001 - NVMLError, and what the binding raises over garbage
            if getattr(error, "value", 0) in _LOST:
                raise Lost from None
            return None

    def _device(self, index: int) -> list[Device]:
        """Return a device and its slices."""
        ask = self._ask
        handle = ask("nvmlDeviceGetHandleByIndex", index)
        if handle is None:
            raise Lost
        device = Device(str(index))
        self._common(handle, device)
        if not device.uuid and device.total is None:
            raise Lost  # neither name nor memory: nothing there
        with self._lock:
            self._handles[_address(handle)] = device.gpu
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
        if self._reasons(handle) is not None:  # the counters are there before the first second is counted
            self._throttles_known = True
        mode = ask("nvmlDeviceGetMigMode", handle)
        if not mode or mode[0] != 1:
            return [device]
        slices = self._slices(handle, index)
        device.sliced = True
        return [device, *slices]

    def _slices(self, handle: object, index: int) -> list[Device]:
        found = []
        most = _number(self._ask("nvmlDeviceGetMaxMigDeviceCount", handle), MOST) or 0
        for number in range(most):
            part = self._ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, number)
            if part is not None:
                device = Device(f"{index}:{number}", whole=False)
                self._common(part, device)
                found.append(device)
        return found

    def _common(self, handle: object, device: Device) -> None:
        """Fill in what devices and slices have alike."""
        ask = self._ask
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
        answers = self._ask("nvmlDeviceGetFieldValues", handle, pairs)
        values = {}
        for one, answer in zip(wanted, answers or (), strict=False):
            number = _number(answer.value.ullVal, 2**53) if answer.nvmlReturn == 0 else None
            if number is not None:
                values[one] = number
        device.nvlink_bytes = {name: values[one] * 1024 for name, one in _LINK_BYTES.items() if one in values}
        device.nvlink_errors = {name: values[one] for name, one in _LINK_ERRORS.items() if one in values}

    def _watch(self, count: int) -> None:
        """Wait for events, and between them sample what slows the devices down, until told to stop."""
        events = self._events(count)
        before = time.monotonic()
        while not self._stop.is_set():
            if events is None or not self._wait(events):
                self._stop.wait(self._interval)
            now = time.monotonic()
            if now - before < self._interval / 2:
                continue  # events in a row
            # A machine that slept, or a call that hung, says nothing of the time between.
            passed, before = min(now - before, 5 * self._interval), now
            for index in range(count):
                with suppress(Lost):
                    self._sample(index, passed)

    def _events(self, count: int) -> object | None:
        """Return the set of events, None where no device tells any."""
        events = self._ask("nvmlEventSetCreate")
        registered = False
        for index in range(count if events is not None else 0):
            with suppress(Exception):  # a device that tells no events tells none
                handle = self._ask("nvmlDeviceGetHandleByIndex", index)
                self._pynvml.nvmlDeviceRegisterEvents(handle, _XID_EVENT, events)  # type: ignore[union-attr]
                registered = True
        return events if registered else None

    def _wait(self, events: object) -> bool:
        """Count the next event; False where waiting did not work and would come back at once."""
        try:
            event = self._pynvml.nvmlEventSetWait(events, int(self._interval * 1000))  # type: ignore[union-attr]
        except Exception as error:  # noqa: BLE001 - as in _ask
            return getattr(error, "value", 0) == _TIMED_OUT
        if event.eventType & _XID_EVENT:
            xid = str(event.eventData) if event.eventData in _KNOWN_XIDS else "other"
            with self._lock:
                gpu = self._handles.get(_address(event.device))
                if gpu is not None:
                    self._xids[gpu, xid] = self._xids.get((gpu, xid), 0) + 1
        return True

    def _sample(self, index: int, passed: float) -> None:
        handle = self._ask("nvmlDeviceGetHandleByIndex", index)
        mask = self._reasons(handle) or 0
        with self._lock:
            for reason, bits in (("thermal", _THERMAL), ("power", _POWER), ("hardware", _HARDWARE)):
                # With a cause named, the hardware's own slowdown is no third reason.
                if mask & bits and not (reason == "hardware" and mask & (0x40 | 0x80)):
                    key = (str(index), reason)
                    self._throttled[key] = self._throttled.get(key, 0.0) + passed

    def _reasons(self, handle: object) -> int | None:
        """Return the mask of what slows a device down now."""
        mask = self._ask("nvmlDeviceGetCurrentClocksEventReasons", handle)
        if mask is None:  # its name before driver 535
            mask = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons", handle)
        return mask if isinstance(mask, int) else None


def _address(handle: object) -> int:
    """Return what tells a handle from others: a device that is lost can't be asked for its index any more."""
    return cast(handle, c_void_p).value or 0  # type: ignore[arg-type]


def _text(value: object) -> str:
    return value if isinstance(value, str) and _PLAIN.fullmatch(value) else ""
