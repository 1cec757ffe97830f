"""When the agent begins and ends: at torch's import or the first use, across forks, at exit.

Light to import, since with WATCHKEEPER_AGENT=1 every Python process does. What works is loaded with torch.
"""

from __future__ import annotations

import atexit
import os
import sys
from _thread import allocate_lock

from watchkeeper_fleet.agent.progress import PROGRESS
from watchkeeper_fleet.agent.registry import REGISTRY

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from watchkeeper_fleet.agent.recorder import Recorder

SWITCH = "WATCHKEEPER_AGENT"


class State:
    """Where the agent of this process stands."""

    __slots__ = ("lock", "on", "pid", "recorder", "registered")

    def __init__(self) -> None:
        self.on = False
        self.registered = False
        self.lock = allocate_lock()  # only ever tried
        self.recorder: Recorder | None = None
        self.pid = os.getpid()


STATE = State()


class TorchFinder:
    """Stands first among the finders until torch is looked for; finds nothing itself."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:  # noqa: ARG002 - the protocol's
        """Begin if it is torch that is imported."""
        if name == "torch":
            unwatch()
            begin()


FINDER = TorchFinder()


def watch() -> None:
    """Wait for torch's import."""
    if FINDER not in sys.meta_path:
        sys.meta_path.insert(0, FINDER)


def unwatch() -> None:
    """Wait no more. The list is made anew: an import that goes over it at this moment must skip nothing."""
    sys.meta_path = [finder for finder in sys.meta_path if finder is not FINDER]


def start() -> bool:
    """Begin now if torch is there, else with its import or the first use; return whether the agent is on."""
    try:
        if os.environ.get(SWITCH) == "0":
            return False
        if not STATE.on:
            STATE.on = True
            _register()
            if "torch" in sys.modules:
                begin()
            else:
                _wait()
    except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
        REGISTRY.faults += 1
    return STATE.on


def _register() -> None:
    if not STATE.registered:
        STATE.registered = True
        atexit.register(at_exit)
        os.register_at_fork(before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child)


def _wait() -> None:
    REGISTRY.wakers[:] = [first_use]
    watch()


def begin(*, used: bool = False) -> None:
    """Make the recorder and start it. Its imports are made here, not in its thread: a fork meets no half import."""
    if not STATE.on or not STATE.lock.acquire(blocking=False):
        return
    try:
        if STATE.recorder is None:
            from watchkeeper_fleet.agent.recorder import Recorder

            STATE.recorder = Recorder(on_no_torch=watch)
            if os.environ.get("WATCHKEEPER_KERNELS") == "1":
                from watchkeeper_fleet.agent.kernels import sample_kernels

                sample_kernels()
        STATE.recorder.begin(used=used)
    except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
        REGISTRY.faults += 1
    finally:
        STATE.lock.release()


def first_use() -> None:
    """Begin, since the workload has something to say; torch may come later."""
    begin(used=True)


def stop(mark: str = "clean") -> None:
    """Write the last values and end; `start` begins anew."""
    try:
        STATE.on = False
        REGISTRY.wakers.clear()
        unwatch()
        recorder, STATE.recorder = STATE.recorder, None
        if recorder is not None:
            recorder.close(mark)
    except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
        REGISTRY.faults += 1


def at_exit() -> None:
    """Say how the process ended. Python notes an exception that nobody caught before it comes to this."""
    error = getattr(sys, "last_type", None)
    stop("clean" if error is None else f"exception:{getattr(error, '__name__', '')}")


def _before_fork() -> None:
    try:
        if STATE.recorder is not None:
            STATE.recorder.ticker.pause()
    except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
        REGISTRY.faults += 1


def _after_in_parent() -> None:
    try:
        if STATE.recorder is not None:
            STATE.recorder.ticker.resume()
    except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
        REGISTRY.faults += 1


def _after_in_child() -> None:
    """Drop what is the parent's, and stay quiet until this process counts something, or brings CUDA up."""
    try:
        parents, STATE.recorder = STATE.recorder, None
        STATE.lock = allocate_lock()
        REGISTRY.reset()
        PROGRESS.reset()
        if not STATE.on:
            return
        REGISTRY.wakers[:] = [first_use]
        if parents is not None:
            parents.abandon()
            STATE.recorder = type(parents)(inherited=True, on_no_torch=watch)
            if parents.ticker.running:
                STATE.recorder.begin()
    except Exception:  # noqa: BLE001 - a fault of ours never reaches the workload
        REGISTRY.faults += 1
