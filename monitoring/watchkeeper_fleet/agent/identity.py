"""Who this process is: its workload, its rank, its slot on the host, and hints of its container and pod."""

from __future__ import annotations

import fcntl
import os
import re
import sys

from watchkeeper_fleet.agent.source import rank

TYPE_CHECKING = False  # typing itself is slow to import
if TYPE_CHECKING:
    from collections.abc import Mapping

SLOTS = ".slots"  # one file for all: who holds the record lock of byte N has slot N
MOST_SLOTS = 4096
_CONTAINER = re.compile(r"[0-9a-f]{64}")


def identity(folder: str, environ: Mapping[str, str] = os.environ) -> tuple[dict[str, str], int]:
    """Return the identity to write, and the descriptor that holds the slot (-1: none), which stays open."""
    wanted = environ.get("LOCAL_RANK", "")
    slot, descriptor = take_slot(folder, int(wanted) if wanted.isdecimal() and len(wanted) <= 3 else None)
    found = {
        "workload": environ.get("WATCHKEEPER_WORKLOAD") or script(sys.argv),
        "process": str(slot),
        "rank": rank(environ),
        "container": container(),
    }
    if "KUBERNETES_SERVICE_HOST" in environ:
        found["pod"] = environ.get("POD_NAME") or environ.get("HOSTNAME", "")
        found["namespace"] = environ.get("POD_NAMESPACE") or _first_line(
            "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
        )
    return {key: value for key, value in found.items() if value}, descriptor


def script(argv: list[str]) -> str:
    """Return the name of what runs: train for /job/train.py and for `-m job.train`, python where there is none."""
    path = argv[0] if argv else ""
    name = os.path.basename(path)  # noqa: PTH119 - pathlib is slow to import in a workload
    if name == "__main__.py":
        name = os.path.basename(os.path.dirname(path))  # noqa: PTH119, PTH120 - the same
    name = name.removesuffix(".py")
    return "python" if name in ("", "-", "-c", "-m") else name


def container(path: str = "/proc/self/cgroup") -> str:
    """Return the container's id if the name of the control group has one."""
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - the same
            found = _CONTAINER.findall(file.read())
    except (OSError, ValueError):
        return ""
    return found[-1] if found else ""


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - the same
            return file.readline().strip()
    except (OSError, ValueError):
        return ""


def take_slot(folder: str, wanted: int | None = None) -> tuple[int, int]:
    """Take the slot that is wanted or else the lowest that is free; return it and the descriptor that holds it.

    The lock is a record lock, as that of the spool file: the kernel drops it when the process is gone, no child
    inherits it, and it holds across pid namespaces. Where there are no locks the pid has to do.
    """
    try:
        descriptor = _open(os.path.join(folder, SLOTS))  # noqa: PTH118 - the same
    except OSError:
        return os.getpid(), -1
    for slot in (*(() if wanted is None else (wanted,)), *range(MOST_SLOTS)):
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, slot)
        except (BlockingIOError, PermissionError):  # POSIX has it that either may be the answer
            continue
        except OSError:
            break
        return slot, descriptor
    os.close(descriptor)
    return os.getpid(), -1


def _open(path: str) -> int:
    """Open the file of the slots, which belongs to whoever came first."""
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        # Not with O_CREAT: the kernel refuses that for another's file in a sticky folder (fs.protected_regular).
        return os.open(path, flags)
    except FileNotFoundError:
        pass
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        return os.open(path, flags)
    os.fchmod(descriptor, 0o666)  # whatever the umask: processes of other users need it too
    return descriptor
