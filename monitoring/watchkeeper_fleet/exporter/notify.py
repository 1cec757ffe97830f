"""systemd is told how it goes (sd_notify(3)); where nobody asked, nobody is told."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Notifier:
    """Speaks to the service manager that started the process."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        # @ stands for the null byte of an address that is no file.
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self.watchdog = _watchdog(environment)

    def ready(self, status: str) -> None:
        """Tell that requests are served."""
        self._send("READY=1", f"STATUS={status}")

    def reloading(self) -> None:
        """Tell that configuration is read again; `ready` ends it."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def stopping(self) -> None:
        """Tell that the end has begun."""
        self._send("STOPPING=1")

    def alive(self) -> None:
        """Tell that it does not hang."""
        self._send("WATCHDOG=1")

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        # A manager that does not listen is no reason to stop.
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as one:
            one.settimeout(1.0)
            one.sendto("\n".join(lines).encode(), self._address)


def _watchdog(environment: Mapping[str, str]) -> float | None:
    """Return how often the manager wants to hear, in seconds: twice as often as it would give up."""
    if environment.get("WATCHDOG_PID") not in (None, str(os.getpid())):
        return None
    try:
        microseconds = int(environment.get("WATCHDOG_USEC", ""))
    except ValueError:
        return None
    return microseconds / 2e6 if microseconds > 0 else None
