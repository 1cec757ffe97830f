"""How long a GPU had nothing to do while the loop that feeds it waited: from timed events on the loop's own stream.

One event is recorded as the loop asks for a batch, one as the batch comes, one as the step with it begins. The GPU
comes to the first when it has done all that was queued before. If that is while the loop still waits, the time to the
second is what it stood idle; if not, it comes to both at once. The times are read when the events have come to pass,
at a later batch, and never waited for.

What it does not see: other streams, and work that the loader itself puts on this one, which reads as idle.
"""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from typing import Any

SIZE = 16  # waits that may be under way; a GPU that is further behind has enough to do


class Wait:
    """The events of one wait, used again and again."""

    __slots__ = ("asked", "begun", "came", "limit", "since", "stream", "to_step")

    def __init__(self, cuda: Any) -> None:
        self.asked = cuda.Event(enable_timing=True)
        self.came = cuda.Event(enable_timing=True)
        self.begun = cuda.Event(enable_timing=True)
        self.stream: Any = None
        self.since = 0.0
        # How long the loop waited, and how long it was until a step began; below 0: not yet.
        self.limit = self.to_step = -1.0

    def done(self) -> bool:
        """Whether the GPU has come to all of its events."""
        return bool(self.asked.query() and self.came.query() and (self.to_step < 0 or self.begun.query()))


class Ring:
    """The waits of one thread for one GPU. Only that thread calls it; others read the three totals.

    A wait is asked for, then answered, then perhaps a step begins with it; then it is queued until the GPU has come to
    its events, and free again. Where something is amiss on the way it is dropped and counted.
    """

    __slots__ = ("_cuda", "_device", "_free", "_made", "_now", "_queued", "dropped", "idle", "stall")

    def __init__(self, cuda: Any, device: int) -> None:
        self._cuda = cuda
        self._device = device
        self._made = 0
        self._free: list[Wait] = []
        self._now: Wait | None = None  # asked for, or answered and no step begun
        self._queued: deque[Wait] = deque()
        self.stall = 0.0
        self.idle = 0.0
        self.dropped = 0

    def ask(self, now: float) -> None:
        """Note that the loop asks for a batch: all that it has queued is before this."""
        self.leave()
        if self._now is not None:  # it was never answered
            self._drop(self._now)
        wait = None
        if not self._cuda.is_current_stream_capturing():  # even to query an event would break the capture
            self._settle()
            wait = self._take()
        if wait is None:
            self.dropped += 1
            return
        wait.since, wait.limit, wait.to_step = now, -1.0, -1.0
        wait.stream = self._cuda.current_stream(self._device)
        wait.asked.record(wait.stream)
        self._now = wait

    def answer(self, now: float, *, batch: bool) -> None:
        """Note that the wait is over: there is a batch, or there is none any more."""
        wait = self._now
        if wait is None or wait.limit >= 0:
            return
        if self._cuda.is_current_stream_capturing():
            self._drop(wait)
            return
        wait.limit = now - wait.since
        wait.came.record(wait.stream)
        if not batch:
            self.leave()

    def leave(self) -> None:
        """Note that no step will begin with the batch."""
        wait = self._now
        if wait is not None and wait.limit >= 0:
            self._now = None
            self._queued.append(wait)

    def begin(self, now: float) -> None:
        """Note that a step begins: the first after a batch ends what the GPU may have stood idle for."""
        wait = self._now
        if wait is None or wait.limit < 0:
            return
        self._now = None
        if not self._cuda.is_current_stream_capturing():
            wait.begun.record(wait.stream)
            wait.to_step = now - wait.since
        self._queued.append(wait)

    def _settle(self) -> None:
        while self._queued and self._queued[0].done():
            wait = self._queued.popleft()
            # What else was put on the stream meanwhile would make it longer than the loop was away.
            self.stall += min(wait.asked.elapsed_time(wait.came) / 1000, wait.limit)
            if wait.to_step >= 0:
                self.idle += min(wait.asked.elapsed_time(wait.begun) / 1000, wait.to_step)
            self._free.append(wait)

    def _take(self) -> Wait | None:
        if self._free:
            return self._free.pop()
        if self._made == SIZE:
            return None
        self._made += 1
        return Wait(self._cuda)

    def _drop(self, wait: Wait) -> None:
        self._now = None
        self.dropped += 1
        self._free.append(wait)
