"""What tells one content of a file or a folder from another without reading it."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # What a file was: where nothing is there, None.
    State = list[int] | None

# The folder of records in a project. Like Python's byte code, a run itself adds it.
RECORDS = ".watchkeeper_cache"
_OURS = {"__pycache__", RECORDS}

FOLDER = [0]
SPECIAL = [1]  # a device, pipe or socket: its content is not to be known

# Clocks of file systems run behind by up to a tick of the kernel.
TICK = 20_000_000


def state_of(path: str, look: Callable[[str], os.stat_result] = os.stat) -> State:
    """Return what tells one content of a file from another, None where there is none."""
    try:
        found = look(path)
    except (OSError, ValueError):  # a name with a zero byte is none
        return None
    if stat.S_ISREG(found.st_mode):
        return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
    return FOLDER if stat.S_ISDIR(found.st_mode) else SPECIAL


def names_in(path: str) -> list[str] | None:
    """Return the names in a folder, None where there is none."""
    try:
        return sorted(name for name in os.listdir(path) if name not in _OURS)  # noqa: PTH208 - pathlib is slow to load
    except (OSError, ValueError):
        return None
