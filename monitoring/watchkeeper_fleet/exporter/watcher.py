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


class _Events:
    """The set of events that is waited on; made anew where it has become void. For one thread."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._set: object = None
        self._start = 0
        self._failures = 0
        self._registered: dict[int, str] = {}  # the devices in it, by the address of their handle

    def ready(self, count: int) -> bool:
        """Have the set hold all devices that answer: one that was off the bus may be back."""
        # Once may be a lost device's last word, with its event behind it; twice, and no event comes any more of any.
        if self._start != self._driver.starts or self._failures > 1:
            if self._set is not None and self._start == self._driver.starts:
                with suppress(Exception):
                    self._driver.call("nvmlEventSetFree", self._set)
            self._set, self._registered, self._failures = None, {}, 0
            self._start = self._driver.starts
        with suppress(Exception):  # a driver that has no events has none
            self._set = self._set or self._driver.call("nvmlEventSetCreate")
            for index in range(count):
                if str(index) not in self._registered.values():
                    self._register(index)
        return bool(self._registered)

    def _register(self, index: int) -> None:
        with suppress(Exception):  # a device that tells no events tells none
            handle = self._driver.call("nvmlDeviceGetHandleByIndex", index)
            self._driver.call("nvmlDeviceRegisterEvents", handle, _XID_EVENT, self._set)
            self._registered[address(handle)] = str(index)

    def wait(self, milliseconds: int) -> tuple[bool, tuple[str, str] | None]:
        """Return whether waiting worked, and device and XID where there was one."""
        try:
            event = self._driver.call("nvmlEventSetWait", self._set, milliseconds)
        except Exception as error:  # noqa: BLE001 - as in Driver.ask
            if code_of(error) == _TIMED_OUT:
                self._failures = 0
                return True, None
            self._failures += 1
            return False, None
        self._failures = 0
        gpu = self._registered.get(address(event.device))
        if gpu is None or not event.eventType & _XID_EVENT:
            return True, None
        return True, (gpu, str(event.eventData) if event.eventData in _KNOWN_XIDS else "other")


class Watcher:
    """Waits for events in a thread of its own, and sums up until it is asked."""

    def __init__(self, driver: Driver, interval: float) -> None:
        self._driver = driver
        self._interval = interval
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._count = 0
        self._events = _Events(driver)
        self._xids: dict[tuple[str, str], int] = {}
        self._throttled: dict[tuple[str, str], float] = {}
        self._throttles_known = False

    def note(self, handle: object) -> None:
        """Remember that slowdowns can be asked for, if they can of this device."""
        known = self._reasons(handle) is not None  # the counters are there before the first second is counted
        with self._lock:
            self._throttles_known |= known

    def start(self, count: int) -> None:
        """Begin to watch, or go on with, that many devices."""
        self._count = count
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="nvml-events", daemon=True)
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

    def _watch(self) -> None:
        """Wait for events, and between them sample what slows the devices down, until told to stop."""
        before = time.monotonic()
        while not self._stop.is_set():
            if not self._wait():
                self._stop.wait(self._interval)
            now = time.monotonic()
            if now - before < self._interval / 2:
                continue  # events in a row
            # A machine that slept, or a call that hung, says nothing of the time between.
            passed, before = min(now - before, 5 * self._interval), now
            for index in range(self._count):
                with suppress(Lost):
                    self._sample(index, passed)

    def _wait(self) -> bool:
        """Count the next event; False where waiting did not work and would come back at once."""
        with self._driver.events:
            if not self._events.ready(self._count):
                return False
            waited, found = self._events.wait(int(self._interval * 1000))
        if found is not None:
            with self._lock:
                self._xids[found] = self._xids.get(found, 0) + 1
        return waited

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
