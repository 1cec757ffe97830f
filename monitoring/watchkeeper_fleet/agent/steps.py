"""Steps, and the seconds in which work was offered: inside a step, and from asking for a batch to the step's end.

Every thread has a lane for each GPU that it drives. What runs long is published while it runs, so that a loader that
hangs is seen to hang. Light to import: whoever starts the agent does.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident
from time import perf_counter

from watchkeeper_fleet.agent import lifecycle
from watchkeeper_fleet.agent.boundaries import BEGIN, END, run
from watchkeeper_fleet.agent.progress import PROGRESS
from watchkeeper_fleet.agent.registry import REGISTRY, Registry

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper_fleet.agent.registry import Gauge
    from watchkeeper_fleet.agent.stall import Ring

# As in metrics.agent, which is slow to import.
STEP_WALL = "gpu_step_wall_seconds_total"
DATA_WAIT = "gpu_data_wait_seconds_total"
STALL = "gpu_stall_seconds_total"
IDLE = "gpu_idle_seconds_total"
UNMEASURED = "gpu_stall_unmeasured_waits_total"


class Clock:
    """Seconds in which at least one of some pieces was under way. One thread moves it, others read it."""

    __slots__ = ("_pieces", "_state")

    def __init__(self) -> None:
        self._pieces: set[object] = set()
        # The seconds so far, and since when it runs (0: it stands). Replaced as a whole, so that others read a pair.
        self._state = (0.0, 0.0)

    def begin(self, piece: object, since: float) -> bool:
        """Begin a piece; return whether it is the only one."""
        first = not self._pieces
        if first:
            self._state = (self._state[0], since)
        self._pieces.add(piece)
        return first

    def end(self, piece: object, now: float) -> None:
        """End a piece, which may be in another thread than it began in."""
        self._pieces.discard(piece)
        if not self._pieces:
            seconds, since = self._state
            if since:
                self._state = (seconds + now - since, 0.0)

    def running(self) -> bool:
        """Whether a piece is under way."""
        return bool(self._pieces)

    def read(self, now: float) -> float:
        """Return the seconds up to now."""
        seconds, since = self._state
        return seconds + now - since if since else seconds


class Lane:
    """What one thread does for one GPU, or on the CPU where `gpu` is empty."""

    __slots__ = ("_batch", "_source", "ended", "fed", "gpu", "ring", "thread", "wait", "wall")

    def __init__(self, gpu: str, thread: int) -> None:
        self.gpu = gpu
        self.thread = thread
        self.wall = Clock()
        self.wait = Clock()
        self.ended = 0.0  # when a step or a wait last did
        self.fed = False
        self.ring: Ring | None = None
        self._batch = 0.0  # when a batch came that no step has begun with
        self._source = 0  # and from where

    def begin(self, piece: object, now: float) -> None:
        """Begin a step in a loop over a loader. What was done with its batch before was work too."""
        since, self._batch = self._batch or now, 0.0
        self.wall.begin(piece, since)
        if self.ring is not None:
            self.ring.begin(now)

    def ask(self, source: object) -> None:
        """Begin to wait for a batch."""
        self.fed = True
        now = perf_counter()
        since, self._batch = self._batch or now, 0.0  # a loop without steps: its body was the work
        self.wall.begin(source, since)
        if self.wait.begin(source, now) and self.ring is not None:
            self.ring.ask(now)

    def answer(self, source: object, *, batch: bool) -> None:
        """End to wait: there is a batch, or there is none any more."""
        self.ended = now = perf_counter()
        self.wait.end(source, now)
        self.wall.end(source, now)
        if self.ring is not None and not self.wait.running():
            self.ring.answer(now, batch=batch)
        if batch and not self.wall.running():
            self._batch, self._source = now, id(source)

    def leave(self, source: object) -> None:
        """Note that a loop over source is over: what comes now is no work of it."""
        if self._source == id(source):
            self._batch = 0.0
            if self.ring is not None:
                self.ring.leave()


class Meter:
    """The lanes of a process."""

    __slots__ = ("_cells", "_lanes", "_registry")

    def __init__(self, registry: Registry = REGISTRY) -> None:
        self._registry = registry
        self._lanes: dict[tuple[int, int | None], Lane] = {}
        self._cells: dict[tuple[str, str], Gauge] = {}
        registry.before.append(self.compute)

    def lane(self, gpu: int | None = None) -> Lane:
        """Return the lane of this thread for a GPU, by default the current device of torch, if CUDA is up."""
        if gpu is None:
            try:
                cuda = sys.modules["torch"].cuda
                gpu = cuda.current_device() if cuda.is_initialized() else None
            except (KeyError, AttributeError):  # no torch, or one that is being imported
                pass
        key = (get_ident(), gpu)
        try:
            return self._lanes[key]
        except KeyError:
            return self._lanes.setdefault(key, Lane("" if gpu is None else str(int(gpu)), key[0]))

    def compute(self) -> None:
        """Publish the sums by GPU, none of which ever falls: another thread may be ahead of what it tells."""
        now = perf_counter()
        sums: dict[tuple[str, str], float] = {}
        for lane in self._lanes.copy().values():
            for name, seconds in _told(lane, now):
                key = (name, lane.gpu)
                sums[key] = sums.get(key, 0.0) + seconds
        for key, seconds in sums.items():
            if key not in self._cells:
                self._cells[key] = self._registry.gauge(key[0], gpu=key[1])
            self._cells[key].raise_to(seconds)

    def progress(self) -> tuple[bool, float]:
        """Return whether a step or a wait is under way, and when one last ended, by perf_counter."""
        lanes = self._lanes.copy().values()
        return any(lane.wall.running() for lane in lanes), max((lane.ended for lane in lanes), default=0.0)

    def within_a_step(self) -> bool:
        """Whether a step or a wait of this thread is under way."""
        thread = get_ident()
        return any(lane.wall.running() for (one, _), lane in self._lanes.copy().items() if one == thread)

    def reset(self) -> None:
        """Forget everything: in a forked child, the work is its parent's."""
        self._lanes = {}


def _told(lane: Lane, now: float) -> Iterator[tuple[str, float]]:
    yield STEP_WALL, lane.wall.read(now)
    if not lane.fed:
        return
    wait = lane.wait.read(now)
    yield DATA_WAIT, wait
    if lane.ring is not None:
        yield STALL, lane.ring.stall
        yield IDLE, lane.ring.idle
        yield UNMEASURED, float(lane.ring.dropped)
    elif not lane.gpu:
        yield STALL, wait  # a CPU has nothing queued: while the loop waits, no step goes on


METER = Meter()
PROGRESS.tell = METER.progress
os.register_at_fork(after_in_child=METER.reset)


class Step:
    """What to put around a step: the process is at work in it, and has made progress when it ends.

    Steps may be nested, and run in several threads, also one object of this kind. Their time is counted for a device of
    torch, the current one by default. At the end, once a second, the allocator's statistics and the device's free
    memory are read on this thread.
    """

    __slots__ = ("_entered", "_gpu")

    def __init__(self, gpu: int | None = None) -> None:
        self._gpu = gpu
        self._entered: list[tuple[Lane, object]] = []  # one, unless it is nested in itself or shared by threads

    def __enter__(self) -> None:
        try:
            if REGISTRY.wakers:
                REGISTRY.wake()
            lane = METER.lane(self._gpu)
            piece = object()
            now = perf_counter()
            if lane.fed:
                lane.begin(piece, now)
            else:
                lane.wall.begin(piece, now)
            self._entered.append((lane, piece))
        except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
            REGISTRY.faults += 1
        if BEGIN:
            run(BEGIN)

    def __exit__(self, *_: object) -> None:
        try:
            if self._entered:
                lane, piece = entry = self._entered[-1]
                if lane.thread != get_ident():
                    lane, piece = entry = self._of_this_thread(entry)
                self._entered.remove(entry)
                lane.ended = now = perf_counter()
                lane.wall.end(piece, now)
            if END:
                run(END)
            recorder = lifecycle.STATE.recorder
            if recorder is not None:
                recorder.boundary()
        except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
            REGISTRY.faults += 1

    def _of_this_thread(self, last: tuple[Lane, object]) -> tuple[Lane, object]:
        """Return what this thread entered last; where it entered nothing, it ends what another thread did."""
        thread = get_ident()
        return next((entry for entry in reversed(self._entered) if entry[0].thread == thread), last)
