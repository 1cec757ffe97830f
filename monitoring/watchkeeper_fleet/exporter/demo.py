"""Synthetic devices and processes, for people without hardware: the same path as real ones, and all of it by the clock.

Eight devices. `pretrain` trains on the first six; now and then its last rank waits for data. `serving` answers requests
on the other two; its memory grows until the allocator retries, runs out, and the process is started anew.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from typing import TYPE_CHECKING

from watchkeeper._version import __version__
from watchkeeper_fleet.exporter.collection import Look, Seen, collect
from watchkeeper_fleet.exporter.gpus import Device, Snapshot
from watchkeeper_fleet.exporter.host import Host, Process
from watchkeeper_fleet.exporter.state import State
from watchkeeper_fleet.exporter.text import Samples, add
from watchkeeper_fleet.metrics import agent, exporter
from watchkeeper_fleet.spool import Field, Record

if TYPE_CHECKING:
    from collections.abc import Callable

DEVICES, TRAINING = 8, 6
GIB = 2**30
TOTAL = 80 * GIB
CONTEXT = 0.6 * GIB  # of a process, outside of the allocator
LIFE = 1800.0  # seconds that a serving process lasts
STEP = 0.4  # seconds
_TEXTS = {
    "python_version": "3.12.9",
    "torch_version": "2.9.1",
    "cuda_version": "12.8",
    "driver_version": "570.124.06",
    "cudnn_version": "9.10.2",
    "nccl_version": "2.27.5",
    "backend": "native",
    "expandable_segments": "false",
}


def _uuid(gpu: int) -> str:
    return f"00000000-0000-4000-8000-{gpu:012x}"


def _wave(now: float, gpu: int, period: float) -> float:
    """Return something between 0 and 1 that moves, each device at its own time."""
    return 0.5 + 0.5 * math.sin(2 * math.pi * (now / period + gpu / DEVICES))


class _Life:
    """How a process stands at a time: when it began, and what came of it."""

    __slots__ = ("age", "born", "gpu", "now", "trains")

    def __init__(self, gpu: int, now: float, begun: float) -> None:
        self.gpu = gpu
        self.now = now
        self.trains = gpu < TRAINING
        # The two that serve are not started anew at the same time.
        shift = 0.0 if self.trains else (gpu - TRAINING) * LIFE / 2
        self.born = begun if self.trains else begun + math.floor((now - begun + shift) / LIFE) * LIFE - shift
        self.age = max(now - self.born, 0.0)

    @property
    def allocated(self) -> float:
        """Bytes of live tensors; where there are steps they are counted as one ends, when activations are gone."""
        if self.trains:
            return (44 + 0.4 * _wave(self.now, self.gpu, 7 * STEP)) * GIB
        return (30 + 42 * min(self.age / LIFE, 1.0) + 0.6 * _wave(self.now, self.gpu, 60.0)) * GIB

    @property
    def reserved(self) -> float:
        """Bytes that the allocator holds."""
        return 62.0 * GIB if self.trains else min(self.allocated + 6 * GIB, TOTAL - 1.5 * GIB)

    @property
    def stalled(self) -> float:
        """Seconds in which the device stood idle: of every ten minutes, two in which a tenth of the time goes."""
        if not self.trains:
            return 0.0
        share = 0.12 if self.gpu == TRAINING - 1 else 0.01
        return (self.age // 600 * 120 + min(self.age % 600, 120)) * share + self.age * 0.005

    @property
    def retries(self) -> float:
        """Cache flushes: one in five seconds in the last two minutes of a life."""
        return 0.0 if self.trains else max(self.age - (LIFE - 120), 0.0) // 5

    def fields(self) -> dict[Field, float]:
        """Return what the agent in it reports."""
        gpu = (("gpu", _uuid(self.gpu)),)
        found = {
            (agent.RESERVED.name, gpu): self.reserved,
            (agent.ALLOCATED.name, gpu): self.allocated,
            (agent.ACTIVE.name, gpu): self.allocated,
            (agent.REQUESTED.name, gpu): self.allocated * 0.97,
            (agent.INACTIVE_SPLIT.name, gpu): (self.reserved - self.allocated) * 0.4,
            (agent.RESERVED_PEAK.name, gpu): 62.0 * GIB if self.trains else self.reserved,
            (agent.ALLOCATED_PEAK.name, gpu): 56.0 * GIB if self.trains else self.allocated,
            (agent.ALLOC_RETRIES.name, gpu): self.retries,
            (agent.OOMS.name, gpu): self.retries // 10,
            (agent.DEVICE_ALLOCS.name, gpu): 180 + 20 * self.retries,
            (agent.DEVICE_FREES.name, gpu): 20 * self.retries,
            (agent.OVERSIZE_ALLOCATIONS.name, gpu): 0.0,
            (agent.OVERSIZE_SEGMENTS.name, gpu): 0.0,
            (agent.EXPECTED.name, gpu): 0.0,
            (agent.DEVICE_FREE.name, gpu): TOTAL - self.reserved - CONTEXT,
            (agent.DEVICE_TOTAL.name, gpu): float(TOTAL),
            (agent.INITIALIZED.name, ()): 1.0,
            (agent.READY.name, ()): float(self.age > 30),
            (agent.WORK_IN_PROGRESS.name, ()): 1.0,
            (agent.PROGRESS_TIMESTAMP.name, ()): self.now - self.age % STEP,
            (agent.AGENT_FAULTS.name, ()): 0.0,
        }
        if self.retries >= 10:
            found[agent.LAST_OOM_REQUEST.name, gpu] = 2.0 * GIB
        if self.trains:
            found[agent.STALL.name, gpu] = self.stalled
            found[agent.IDLE.name, gpu] = self.stalled * 1.2
            found[agent.DATA_WAIT.name, gpu] = self.stalled * 1.1
            found[agent.STEP_WALL.name, gpu] = self.age
        else:
            found |= self._inference()
        return {Field(name, labels): value for (name, labels), value in found.items()}

    def _inference(self) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
        function = (("function", "generate"),)
        calls = math.floor(self.age * 4)
        found: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {
            (agent.IN_PROGRESS.name, function): 1 + math.floor(3 * _wave(self.now, self.gpu, 45.0)),
            (agent.OLDEST_IN_PROGRESS.name, function): self.age % 1.5,
            (agent.NONFINITE.name, function): 0.0,
            (agent.MEMORY_JUMPS.name, function): 0.0,
            (agent.MEMORY_DELTA.name, function): 42 * GIB / (4 * LIFE),
            (agent.INFERENCE_ERRORS.name, (*function, ("class", "OutOfMemoryError"))): self.retries // 10,
            (agent.INFERENCE_ERRORS.name, (*function, ("class", "RuntimeError"))): 0.0,
            (agent.INFERENCE_ERRORS.name, (*function, ("class", "other"))): 0.0,
            (agent.LATENCY.sum.name, function): calls * 0.31,
        }
        for bound in (*agent.LATENCY.buckets, math.inf):
            # Half of the calls take 0.25 s or less, and 99 of 100 1.2 s or less.
            share = 1.0 if bound == math.inf else 1 - 2 ** -((bound / 0.25) ** 1.2)
            le = "+Inf" if bound == math.inf else repr(bound)
            found[agent.LATENCY.bucket.name, (*function, ("le", le))] = math.floor(calls * share)
        return found

    def record(self) -> Record:
        """Return the file that the agent in it writes."""
        fields = self.fields()
        workload = "pretrain" if self.trains else "serving"
        slot = str(self.gpu)
        start = str(int(self.born))
        return Record(
            identity={"workload": workload, "process": slot, "rank": slot if self.trains else "0", "start_time": start},
            texts={**_TEXTS, f"gpu_uuid_{0}": _uuid(self.gpu)},
            fields=tuple(fields),
            values=tuple(fields.values()),
            generation=int(self.age) + 1,
            heartbeat=self.now,
            created=self.born,
            path=f"/demo/{slot}-{start}",
            inode=(0, self.gpu),
            owner=0,
            pid=1000 + self.gpu,
            state="live",
            mark="",
        )


class _DemoHost(Host):
    """A kernel that has killed nobody."""

    def __init__(self) -> None:
        super().__init__(proc="/nonexistent", cgroups="/nonexistent")
        self.ages: dict[int, float] = {}

    def oom_kills(self) -> int | None:
        return 0

    def process(self, pid: int) -> Process:
        return Process(self.ages.get(pid, 0.0) * 1.4, ("demo",))

    def kills(self, group: str) -> int | None:  # noqa: ARG002 - as the base class has it
        return 0


class Demo:
    """Collects what does not exist."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._begun = clock() - 600.0  # so that there is something to see from the start
        self._state = State()
        self._seen = Seen()
        self._host = _DemoHost()

    def collect(self) -> Samples:
        """Return the samples of now."""
        start = time.perf_counter()
        now = max(self._clock(), self._begun)
        lives = [_Life(gpu, now, self._begun) for gpu in range(DEVICES)]
        self._host.ages = {1000 + life.gpu: life.age for life in lives}
        records = [life.record() for life in lives]
        gpus = Snapshot([_device(life, now - self._begun) for life in lives], driver="570.124.06")
        for file in {*self._state.files()} - {record.path.rpartition("/")[2] for record in records}:
            self._state.forget(file)
        samples = collect(Look(records, Counter(), gpus, now), self._host, self._state, self._seen)
        add(samples, exporter.STATE_SAVED, 0.0)
        add(samples, exporter.BUILD_INFO, 1.0, __version__)
        add(samples, exporter.COLLECTION_DURATION, time.perf_counter() - start)
        return samples


def _device(life: _Life, uptime: float) -> Device:
    busy = 0.97 if life.trains else 0.3 + 0.5 * _wave(life.now, life.gpu, 45.0)
    used = int(life.reserved + CONTEXT)
    return Device(
        gpu=str(life.gpu),
        uuid=f"GPU-{_uuid(life.gpu)}",
        name="NVIDIA H100 80GB HBM3",
        total=TOTAL,
        free=TOTAL - used,
        used=used,
        utilization=round(busy, 2),
        temperature=round(42 + 28 * busy + 4 * _wave(life.now, life.gpu, 300.0)),
        slowdown=87,
        power=round(90 + 560 * busy + 20 * _wave(life.now, life.gpu, 30.0), 1),
        ecc={"corrected": int(uptime // 7200) if life.gpu == 2 else 0, "uncorrected": 0},
        remap_failed=False,
        remap_pending=False,
        replays=0,
        lanes=16,
        lanes_max=16,
        nvlink_bytes=dict.fromkeys(("transmit", "receive"), int(uptime * 2e9) if life.trains else 0),
        nvlink_errors=dict.fromkeys(("flit_crc", "data_crc", "replay", "recovery"), 0),
        processes={1000 + life.gpu: used},
    )
