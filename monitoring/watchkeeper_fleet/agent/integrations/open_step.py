"""A step that begins in one hook of a framework and ends in another."""

from __future__ import annotations

from watchkeeper_fleet import agent


class OpenStep:
    """At most one step at a time; an end without a begin is nothing, as where a framework leaves out a hook."""

    __slots__ = ("_gpu", "_step")

    def __init__(self, gpu: int | None = None) -> None:
        self._gpu = gpu
        self._step: agent.step | None = None

    def begin(self) -> None:
        """Begin a step; one that was never ended ends here."""
        self.end()
        self._step = agent.step(self._gpu)
        self._step.__enter__()

    def end(self) -> None:
        """End the step, if one is under way."""
        step, self._step = self._step, None
        if step is not None:
            step.__exit__(None, None, None)
