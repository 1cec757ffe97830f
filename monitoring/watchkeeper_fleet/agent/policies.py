"""What happens when a call returned NaN, or left much more memory behind: a count, an exception, or the end."""

from __future__ import annotations

import contextlib
import os
import signal

from watchkeeper_fleet.agent import lifecycle

POLICIES = (None, "count", "raise", "kill")


class NonFiniteOutputError(ValueError):
    """A call returned NaN or infinity, and its policy is raise."""


class MemoryJumpError(RuntimeError):
    """More than a tenth more memory was allocated after a call than before it, and its policy is raise."""


class CudaRequiredError(RuntimeError):
    """A call was refused: it requires CUDA, and there is none."""


def chosen(option: str, policy: str | None) -> str | None:
    """Return the policy, or raise ValueError for what is none."""
    if policy not in POLICIES:
        raise ValueError(f"{option} is {policy!r}: it may be 'count', 'raise', 'kill', or None for not looking")
    return policy


def kill(error: Exception) -> None:
    """End this process at once, with a line to stderr: no handler, no finally and no atexit runs.

    The last values and the mark `exception:Class` are in the spool by then: the flight recorder tells why.
    As pid 1 of a container a process is deaf to its own SIGKILL, so it then exits with the code that stands for it.
    """
    lifecycle.stop(f"exception:{type(error).__name__}")
    with contextlib.suppress(OSError):  # nobody listens
        os.write(2, f"watchkeeper: {error}; this process ends by its policy kill\n".encode(errors="replace"))
    os.kill(os.getpid(), signal.SIGKILL)
    os._exit(128 + signal.SIGKILL)
