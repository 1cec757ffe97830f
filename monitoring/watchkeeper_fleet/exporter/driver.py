"""NVML's library by way of nvidia-ml-py: loaded late, and asked so that no answer is an answer too."""

from __future__ import annotations

import threading
from contextlib import suppress
from ctypes import c_void_p, cast
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

# nvmlReturn_t, which never changes: the device is off the bus, or wants a reset.
_LOST = (15, 16)


class Lost(Exception):  # noqa: N818 - a state of the device
    """The device does not answer any more."""


class Driver:
    """The library. Several threads may ask it at once."""

    def __init__(self) -> None:
        self._pynvml: ModuleType | None = None
        self._started = False
        self.starts = 0  # what a start before the last one gave out, such as a set of events, is void
        self.events = threading.Lock()  # held by who waits for events: the library must not end under a wait

    def begin(self) -> ModuleType:
        """Start the library if it is not; ImportError without the package, NVMLError without the rest."""
        if self._pynvml is None:
            import pynvml  # type: ignore[import-untyped]

            self._pynvml = pynvml
        if not self._started:
            with self.events:
                if self.starts:
                    # A start beside one that still counts does nothing, also where the driver was loaded anew.
                    with suppress(Exception):
                        self._pynvml.nvmlShutdown()
                self._pynvml.nvmlInit()
                self.starts += 1
            self._started = True
        return self._pynvml

    def ask(self, call: str, *arguments: object) -> Any:
        """Return what a call answers; None where the driver or the binding does not know it; Lost without a device."""
        try:
            return self.call(call, *arguments)
        except Exception as error:  # noqa: BLE001 - NVMLError, and what the binding raises over garbage
            if code_of(error) in _LOST:
                raise Lost from None
            return None

    def call(self, call: str, *arguments: object) -> Any:
        """Return what a call answers, or raise what it does."""
        return getattr(self._pynvml, call)(*arguments)

    def restart(self) -> None:
        """Start the library anew when it is asked next."""
        self._started = False


def code_of(error: Exception) -> int:
    """Return NVML's number of an error, 0 where it is none of NVML's."""
    found = getattr(error, "value", 0)
    return found if isinstance(found, int) else 0


def address(handle: object) -> int:
    """Return what tells a handle from others: a device that is lost can't be asked for its index any more."""
    return cast(handle, c_void_p).value or 0  # type: ignore[arg-type]
