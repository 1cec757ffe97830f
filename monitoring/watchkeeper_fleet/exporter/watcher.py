"""What happens on the devices between two looks: events of the driver, and time in which something slows them down."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from watchkeeper_fleet.exporter.driver import Driver, Lost, address, code_of
from watchkeeper_fleet.exporter.gpus import XIDS, Snapshot

# nvmlClocksEventReasons: software thermal, hardware thermal; software power cap, power brake; hardware slowdown.
_THERMAL, _POWER, _HARDWARE = 0x60, 0x84, 0x08
_XID_EVENT = 0x08
_TIMED_OUT = 10
_KNOWN_XIDS = frozenset(XIDS)


class Watcher:
    """Waits for events in a thread of its own, and sums up until it is asked."""

    def __init__(self, driver: Driver, interval: float) -> None:
        self._driver = driver
        self._interval = interval
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._handles: dict[int, str] = {}
        self._xids: dict[tuple[str, str], int] = {}
        self._throttled: dict[tuple[str, str], float] = {}
        self._throttles_known = False

    def note(self, handle: object, gpu: str) -> None:
        """Remember whose handle this is."""
        known = self._reasons(handle) is not None  # the counters are there before the first second is counted
        with self._lock:
            self._handles[address(handle)] = gpu
            self._throttles_known |= known

    def start(self, count: int) -> None:
        """Begin to watch that many devices, if it has not begun."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, args=(count,), name="nvml-events", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop; a call that hangs is not waited for."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(2 * self._interval + 1)

    def fill(self, snapshot: Snapshot) -> None:
        """Hand over what has come up since this was called last."""
        with self._lock:
            snapshot.xids, self._xids = self._xids, {}
            snapshot.throttled, self._throttled = self._throttled, {}
            snapshot.throttles_known = self._throttles_known

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
        events = self._driver.ask("nvmlEventSetCreate")
        registered = False
        for index in range(count if events is not None else 0):
            with suppress(Exception):  # a device that tells no events tells none
                handle = self._driver.ask("nvmlDeviceGetHandleByIndex", index)
                self._driver.call("nvmlDeviceRegisterEvents", handle, _XID_EVENT, events)
                registered = True
        return events if registered else None

    def _wait(self, events: object) -> bool:
        """Count the next event; False where waiting did not work and would come back at once."""
        try:
            event = self._driver.call("nvmlEventSetWait", events, int(self._interval * 1000))
        except Exception as error:  # noqa: BLE001 - as in Driver.ask
            return code_of(error) == _TIMED_OUT
        if event.eventType & _XID_EVENT:
            xid = str(event.eventData) if event.eventData in _KNOWN_XIDS else "other"
            with self._lock:
                gpu = self._handles.get(address(event.device))
                if gpu is not None:
                    self._xids[gpu, xid] = self._xids.get((gpu, xid), 0) + 1
        return True

    def _sample(self, index: int, passed: float) -> None:
        handle = self._driver.ask("nvmlDeviceGetHandleByIndex", index)
        mask = self._reasons(handle) or 0
        with self._lock:
            for reason, bits in (("thermal", _THERMAL), ("power", _POWER), ("hardware", _HARDWARE)):
                # With a cause named, the hardware's own slowdown is no third reason.
                if mask & bits and not (reason == "hardware" and mask & (0x40 | 0x80)):
                    key = (str(index), reason)
                    self._throttled[key] = self._throttled.get(key, 0.0) + passed

    def _reasons(self, handle: object) -> int | None:
        """Return the mask of what slows a device down now."""
        mask = self._driver.ask("nvmlDeviceGetCurrentClocksEventReasons", handle)
        if mask is None:  # its name before driver 535
            mask = self._driver.ask("nvmlDeviceGetCurrentClocksThrottleReasons", handle)
        return mask if isinstance(mask, int) else None
