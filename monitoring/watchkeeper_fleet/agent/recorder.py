"""Takes what torch and the workload say into the spool file of this process, once a second and at step boundaries."""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

from watchkeeper_fleet import spool
from watchkeeper_fleet.agent import source
from watchkeeper_fleet.agent.allocator import Device
from watchkeeper_fleet.agent.identity import identity
from watchkeeper_fleet.agent.registry import REGISTRY
from watchkeeper_fleet.agent.ticker import Ticker
from watchkeeper_fleet.metrics import agent as metrics

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

FOLDER = "/run/watchkeeper"
INTERVAL = 1.0
WAITING = 0.1  # until torch has been imported
PATIENCE = 100  # ticks of waiting; then it was a search for torch, and no import
BEAT = 5.0
RETRY = 60.0  # until the folder is looked for again


class Recorder:
    """The agent's work in one process; a forked child makes another."""

    __slots__ = (
        "_beaten", "_bounded", "_busy", "_devices", "_faults", "_initialized", "_pid", "_retry", "_sampled", "_slot",
        "_texts", "_ticks", "_up", "folder", "inherited", "on_no_torch", "ready", "ticker", "used", "writer",
    )  # fmt: skip

    def __init__(self, *, inherited: bool = False, on_no_torch: Callable[[], object] = bool) -> None:
        self.folder = os.environ.get("WATCHKEEPER_SPOOL") or FOLDER
        self.inherited = inherited  # forked: no file before it is used, or has CUDA up
        self.on_no_torch = on_no_torch
        self.used = False
        self.writer: spool.Writer | None = None
        self.ticker = Ticker(self.tick, WAITING)
        self._pid = os.getpid()
        self._slot = -1
        self._busy = allocate_lock()  # only ever tried: a signal handler may find its own thread inside
        self._devices: list[Device] = []
        self._up = False
        self._texts = False
        self._ticks = 0
        self._bounded = self._sampled = self._beaten = self._retry = -1e9
        self.ready = REGISTRY.gauge(metrics.READY)
        self._initialized = REGISTRY.gauge(metrics.INITIALIZED)
        self._faults = REGISTRY.total(metrics.AGENT_FAULTS)

    def begin(self, *, used: bool = False) -> None:
        """Open the file if it is time for that, and start the thread."""
        self.used = self.used or used
        if self.tick():
            self.ticker.start()

    def tick(self) -> bool:
        """Do what is due; False where there will never be anything more."""
        try:
            return self._tick()
        except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
            REGISTRY.faults += 1
            return True

    def _tick(self) -> bool:
        torch = source.torch_module()
        if self.writer is None:
            if torch is None and not self.used:
                return self._wait()
            if self.inherited and not self.used and torch is not None and not source.initialized(torch):
                self.ticker.interval = INTERVAL
                return not source.forked_too_late(torch)
            # Not all processes of a host at the same moment.
            self.ticker.interval = INTERVAL * (0.95 + self._pid % 101 / 1000)
            self._open()
        now = time.monotonic()
        # Where there are steps, they do it, on the thread that allocates: this one might wait for its allocator's lock.
        if now - self._bounded > 2 * INTERVAL and now - self._sampled > INTERVAL / 2:
            self.sample()
        self.publish()
        return True

    def _wait(self) -> bool:
        self._ticks += 1
        if self._ticks < PATIENCE:
            return True
        self._ticks = 0
        self.on_no_torch()
        return False

    def _open(self) -> None:
        now = time.monotonic()
        if now - self._retry < RETRY or not self._busy.acquire(blocking=False):
            return
        try:
            if self.writer is not None or os.getpid() != self._pid:
                return
            self._retry = now
            who, self._slot = identity(self.folder)
            REGISTRY.unbind()
            if self.ready.value != 1:
                self.ready.set(0)
            self.writer = spool.Writer(self.folder, who)
            self._say(source.first_texts(os.environ))
            self._texts = False
        except OSError:  # no folder, no right to it, no room: looked at again later
            REGISTRY.faults += 1
            self._let_go_of_slot()
        finally:
            self._busy.release()

    def sample(self) -> None:
        """Read the allocator's statistics; makes no call that CUDA sees but once, when it has come up."""
        self._sampled = time.monotonic()
        try:
            self._sample()
        except Exception:  # noqa: BLE001 - what torch does not tell leaves the rest to publish
            REGISTRY.faults += 1

    def _sample(self) -> None:
        torch = source.torch_module()
        if torch is None or self.writer is None:
            self._initialized.set(0)
            return
        if not self._texts and getattr(torch, "version", None) is not None and hasattr(torch, "_C"):
            self._texts = True
            self._say(source.torch_texts(torch))
            if self._up:  # a new file in place of one that was removed
                self._say(source.cuda_texts(torch))
                for device in self._devices:
                    device.named = False
        if not source.initialized(torch):
            self._initialized.set(0)
            return
        self._initialized.set(1)
        if not self._up:
            self._up = True
            self._devices = [Device(index) for index in range(source.devices(torch))]
            self._say(source.cuda_texts(torch))
            source.observe_ooms(torch, self.on_oom)
        for index, device in enumerate(self._devices):
            device.update(source.statistics(torch, index))
        self._name(torch)

    def _name(self, torch: Any) -> None:
        """Tell the UUIDs of the devices in use, and of one of the others: each takes CUDA a millisecond, once."""
        unnamed = [index for index, device in enumerate(self._devices) if not device.named]
        used = [index for index in unnamed if self._devices[index].used]
        for index in used or unnamed[:1]:
            self._devices[index].name()
            self._say({f"uuid_{index}": source.uuid(torch, index)})

    def _say(self, texts: dict[str, str]) -> None:
        for key, text in texts.items():
            if self.writer is not None and text:
                self.writer.set_text(key, text)

    def boundary(self) -> None:
        """Sample at the end of a step, on the thread that drives the device, at most once a second."""
        now = time.monotonic()
        if now - self._bounded < INTERVAL or self.writer is None:
            return
        self._bounded = now
        self.sample()
        try:
            self._device_memory()
        except Exception:  # noqa: BLE001 - the same
            REGISTRY.faults += 1
        self.publish()

    def _device_memory(self) -> None:
        torch = source.torch_module()
        memory = source.device_memory(torch) if torch is not None and source.initialized(torch) else None
        if memory is not None:
            device, free, total = memory
            REGISTRY.gauge(metrics.DEVICE_FREE, gpu=str(device)).set(free)
            REGISTRY.gauge(metrics.DEVICE_TOTAL, gpu=str(device)).set(total)

    def publish(self) -> None:
        """Write the values; where another thread is at it, or a signal handler came in between, that has to do."""
        if not self._busy.acquire(blocking=False):
            return
        try:
            # A child that was forked behind Python's back would write into its parent's file.
            if self.writer is None or os.getpid() != self._pid:
                return
            self._faults.value = float(REGISTRY.faults)
            self.writer.publish(REGISTRY.values(self.writer))
            now = time.monotonic()
            if now - self._beaten > BEAT:
                self._beaten = now
                if not self.writer.beat():  # someone removed the file
                    self._release()
        finally:
            self._busy.release()

    def on_oom(self, device: int, request: int, _total: int, _free: int) -> None:
        """Note a refused request: called by torch in the thread that has failed, before it raises."""
        try:
            REGISTRY.gauge(metrics.LAST_OOM_REQUEST, gpu=str(device)).set(request)
            self.publish()
            self.ticker.nudge()  # for the rest of the statistics: here torch is in the middle of an allocation
        except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
            REGISTRY.faults += 1

    def close(self, mark: str) -> None:
        """Write the last values and how the process ended, and let go."""
        self.ticker.stop()
        if self.writer is None:  # it ends right after torch was imported
            self.tick()
        if os.getpid() != self._pid or self.writer is None:
            return
        self.sample()
        self.publish()
        if self._busy.acquire(timeout=0.5):
            try:
                self.writer.close(mark)
                self._release()
            finally:
                self._busy.release()

    def abandon(self) -> None:
        """Let go of the parent's file and slot, in a forked child."""
        if self.writer is not None:
            self.writer.abandon()
        self._let_go_of_slot()

    def _release(self) -> None:
        if self.writer is not None:
            self.writer.abandon()
        self.writer = None
        self._retry = -1e9
        self._let_go_of_slot()

    def _let_go_of_slot(self) -> None:
        slot, self._slot = self._slot, -1
        if slot >= 0:
            os.close(slot)
