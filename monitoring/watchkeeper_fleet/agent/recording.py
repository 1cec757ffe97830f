"""torch's own profiler, for as long as one step, and only while the workload does not use it.

There is one in a process. Whoever prepares it cancels what runs, and where that was ours, ending ours would take the
workload's events, or the process, down. So what torch.profiler calls to prepare, to begin and to end is given a word of
ours first, which ends our recording: a profile of the workload's is complete whenever it is taken.
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
from _thread import allocate_lock, get_ident
from time import perf_counter

from watchkeeper_fleet.agent import lifecycle

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

# What the workload's profile may have to wait for ours to end, which takes milliseconds.
PATIENCE = 10.0
# In older ones a second profile beside CUDA graphs crashes (pytorch#75504, pytorch#150957).
OLDEST_CUDA = (12, 6)
# Someone else who may watch the device: Nsight and the sanitizer, and what asks Kineto by its daemon.
OTHERS = ("CUDA_INJECTION64_PATH", "KINETO_USE_DAEMON")
NO_KERNELS = ("Memcpy", "Memset")
NO_KINDS = ("gpu_memcpy", "gpu_memset", "gpu_user_annotation", "user_annotation", "cuda_sync", "overhead")


class Recording:
    """The recording of this process.

    `activity` is CUDA, or CPU in tests: torch's operations stand in for kernels, and then no other thread may be at one
    as it ends. Of CUDA alone nothing in the process is recorded, so that other threads go on.
    """

    __slots__ = ("_activity", "_event", "_forking", "_lock", "_on", "_patched", "_theirs", "clock", "spent")

    def __init__(self, activity: str = "CUDA", clock: Callable[[], float] = perf_counter) -> None:
        self._activity = activity
        self._lock = allocate_lock()
        self._on = False
        self._theirs = False  # the workload has prepared a profile, and not ended it
        self._patched = False
        self._forking = False
        self._event: Any = None
        self.clock = clock
        self.spent = 0.0  # seconds, since it was last set to 0

    def watch(self) -> bool:
        """Have the workload's profiles seen; return whether they are. Once torch has been imported."""
        if not self._patched:
            profiler = sys.modules.get("torch.autograd.profiler")
            if not hasattr(profiler, "emit_nvtx"):  # the module's last name: it has been imported as a whole
                return False
            self._patched = True
            for name, wrap in (
                ("_prepare_profiler", self._yielding),
                ("_enable_profiler", self._yielding),
                ("_disable_profiler", self._noting_end),
            ):
                setattr(profiler, name, wrap(getattr(profiler, name)))
            atexit.register(self._at_exit)
            os.register_at_fork(
                before=self._before_fork, after_in_parent=self._after_fork, after_in_child=self._in_child
            )
        return True

    def possible(self) -> bool:
        """Whether there may ever be one: a fitting torch and CUDA, and nobody else who watches the device."""
        if forked():
            return False
        torch = sys.modules["torch"]
        if self._activity == "CPU":
            return True
        version = str(torch.version.cuda or "0").split(".")
        if any(os.environ.get(name) for name in OTHERS) or tuple(map(int, version[:2])) < OLDEST_CUDA:
            return False
        return getattr(torch.autograd.ProfilerActivity, self._activity) in torch.autograd._supported_activities()  # noqa: SLF001 - what torch.profiler asks

    def ready(self) -> bool:
        """Whether there may be one now, on this thread; torch's profiler wants to begin where torch was imported."""
        if get_ident() != sys.modules["threading"].main_thread().ident:
            return False
        torch = sys.modules["torch"]
        if self._activity == "CPU":
            return True
        if lifecycle.STATE.recorder is None:  # nobody would publish it, or see to its end
            return False
        return bool(torch.cuda.is_initialized()) and not torch.cuda.is_current_stream_capturing()

    def start(self) -> bool:
        """Begin, unless the workload has a profile of its own. Return whether it began."""
        if not self._lock.acquire(blocking=False):
            return False
        begun = self.clock()
        try:
            autograd = sys.modules["torch"].autograd
            flag = getattr(autograd.profiler, "_is_profiler_enabled", False)
            if self._on or self._theirs or flag or autograd._profiler_enabled():  # noqa: SLF001 - what torch itself asks
                return False
            activities = {getattr(autograd.ProfilerActivity, self._activity)}
            self._event = None
            # autograd's own names, which are not given a word of ours.
            autograd._prepare_profiler(_configuration(autograd), activities)  # noqa: SLF001 - torch.profiler would wait for the device
            autograd._enable_profiler(_configuration(autograd), activities)  # noqa: SLF001 - the same
            self._on = True
            return True
        finally:
            self._lock.release()
            self.spent += self.clock() - begun

    def mark(self) -> None:
        """Note that the step's kernels have all been launched."""
        if self._activity == "CPU" or not self._on:
            return
        torch = sys.modules["torch"]
        if not torch.cuda.is_current_stream_capturing():
            self._event = torch.cuda.Event()
            self._event.record()

    def done(self) -> bool:
        """Whether what was launched before the mark has run; it waits for nothing."""
        event = self._event  # another thread may end the recording
        return event is None or (not sys.modules["torch"].cuda.is_current_stream_capturing() and bool(event.query()))

    def stop(self, patience: float = PATIENCE) -> list[tuple[int, str, float]] | None:
        """End it, and return device, name and seconds of what ran; None where it was ended before.

        TimeoutError where something else is at it, such as a fork, for longer than patience.
        """
        if not self._lock.acquire(timeout=patience):
            raise TimeoutError
        try:
            return self._end(read=True)
        finally:
            self._lock.release()

    def _end(self, *, read: bool) -> list[tuple[int, str, float]] | None:
        if not self._on:
            return None
        self._on = False
        self._event = None
        begun = self.clock()
        autograd = sys.modules["torch"].autograd
        result = autograd._disable_profiler()  # noqa: SLF001 - torch.profiler would wait for the device
        kind = getattr(autograd.DeviceType, self._activity)
        found = list(durations(result.events(), kind)) if read else None
        self.spent += self.clock() - begun
        return found

    def _give_way(self) -> None:
        """End ours, and begin none until theirs has ended."""
        self._theirs = True
        if self._lock.acquire(timeout=PATIENCE):
            try:
                self._end(read=False)
            finally:
                self._lock.release()

    def _yielding(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def yielding(*arguments: Any, **options: Any) -> Any:
            _quietly(self._give_way)
            return function(*arguments, **options)

        return yielding

    def _noting_end(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def noting(*arguments: Any, **options: Any) -> Any:
            try:
                return function(*arguments, **options)
            finally:
                self._theirs = False

        return noting

    def _at_exit(self) -> None:
        _quietly(lambda: self._end(read=False))

    def _before_fork(self) -> None:
        """The child must not inherit a recording; and none begins until it is there."""
        if self._lock.acquire(timeout=PATIENCE):
            self._forking = True
            _quietly(lambda: self._end(read=False))

    def _after_fork(self) -> None:
        if self._forking:
            self._forking = False
            self._lock.release()

    def _in_child(self) -> None:
        self._lock = allocate_lock()
        self._on = self._forking = False


def forked() -> bool:
    """Whether this process was forked from one that had torch: its profiler then waits for ever (seen with 2.13)."""
    if lifecycle.STATE.pid != os.getpid():
        return True
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is None or multiprocessing.parent_process() is None:
        return False
    return bool(multiprocessing.get_start_method() != "spawn")


def _configuration(autograd: Any) -> Any:
    """Return the least that records kernels, of all threads: so it can be ended on any, by whoever needs to."""
    options = sys.modules["torch"]._C._profiler._ExperimentalConfig(profile_all_threads=True)  # noqa: SLF001 - as torch.profiler does
    return autograd.ProfilerConfig(autograd.ProfilerState.KINETO, False, False, False, False, False, options)


def _quietly(function: Callable[[], object]) -> None:
    try:
        function()
    except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
        from watchkeeper_fleet.agent.registry import REGISTRY

        REGISTRY.faults += 1


def durations(events: Any, device_type: Any) -> Iterator[tuple[int, str, float]]:
    """Yield device, name and seconds of each kernel among a profile's events.

    torch tells durations in microseconds up to 2.3, and in nanoseconds since, and kinds only of late.
    """
    for event in events:
        if event.device_type() != device_type:
            continue
        name = event.name()
        kind = getattr(event, "activity_type", str)()
        if kind in NO_KINDS or name.startswith(NO_KERNELS):
            continue
        nanoseconds = getattr(event, "duration_ns", None)
        yield event.device_index(), name, nanoseconds() / 1e9 if nanoseconds is not None else event.duration_us() / 1e6
