"""A thread that calls a function again and again, and steps aside while its process forks."""

from __future__ import annotations

import os
import time
from _thread import allocate_lock, get_ident, get_native_id, start_new_thread

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Ticker:
    """Calls tick every `interval` seconds in a thread of its own, until tick returns False.

    The thread is a plain one: nothing waits for it at exit, and threading does not list it. While the process forks it
    is away: the child never gets a copy of something half done, and no workload sees Python's warning that it forks
    beside threads.
    """

    __slots__ = ("_bell", "_ended", "_ident", "_native", "_on", "_paused", "interval", "tick")

    def __init__(self, tick: Callable[[], bool], interval: float) -> None:
        self.tick = tick
        self.interval = interval
        self._on = False  # wanted; it may be paused
        self._paused = 0
        self._bell = allocate_lock()
        self._ended = allocate_lock()
        self._ident = self._native = 0

    @property
    def running(self) -> bool:
        """Whether there is a thread, or will be after the fork."""
        return self._on

    def start(self) -> None:
        """Begin; nothing where it runs already."""
        if not self._on:
            self._on = True
            self._begin()

    def nudge(self) -> None:
        """Have the next call now."""
        _ring(self._bell)

    def stop(self) -> None:
        """End, and wait for the thread, but not for long."""
        if self._on:
            self._on = False
            self._end()

    def pause(self) -> None:
        """Send the thread away. Forks of several threads may overlap, so pauses are counted."""
        self._paused += 1
        if self._on and self._paused == 1:
            self._end()

    def resume(self) -> None:
        """Have it back after as many calls as there were of pause."""
        self._paused -= 1
        if self._on and self._paused == 0:
            self._begin()

    def _begin(self) -> None:
        self._native = 0
        self._bell, self._ended = allocate_lock(), allocate_lock()
        self._bell.acquire()
        self._ended.acquire()
        try:
            self._ident = start_new_thread(self._run, (self._bell, self._ended))
        except RuntimeError:  # no thread to be had: what calls publish themselves still do
            self._on = False

    def _end(self) -> None:
        if self._ident == get_ident():
            return
        # The flags are read by the thread after its bell.
        bell, self._bell = self._bell, allocate_lock()
        _ring(bell)
        if self._ended.acquire(timeout=0.5):
            gone(self._native)

    def _run(self, bell: Any, ended: Any) -> None:  # locks, whose class has another name in every other version
        try:
            self._native = get_native_id()
            while True:
                bell.acquire(timeout=self.interval)
                if self._bell is not bell or not self.tick():
                    break
            if self._bell is bell:
                self._on = False
        finally:
            ended.release()


def _ring(bell: Any) -> None:
    try:  # noqa: SIM105 - contextlib is slow to import
        bell.release()
    except RuntimeError:  # it rings already
        pass


def gone(thread: int) -> None:
    """Wait until the kernel has done with a thread that has run its last Python, some 50 µs."""
    path = f"/proc/self/task/{thread}"
    for _ in range(2000):  # 0.2 s: on a busy machine it may wait for a processor first
        if not os.path.exists(path):  # noqa: PTH110 - pathlib is slow to import in a workload
            return
        time.sleep(0.0001)
