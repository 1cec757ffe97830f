"""Where a control group lies in the hierarchy that is mounted here.

The kernel names groups from the root of the reader's own cgroup namespace. In a container that is the container's
group, and the group of a process next door reads `/../../pod2/x`. How far up the mounted hierarchy begins is in
`mountinfo`, in the same manner (`/../../..`); the names of the groups between the two are nowhere to be read. So this
process looks for itself in the hierarchy.
"""

from __future__ import annotations

import os
import re
from itertools import takewhile

MOST = 20_000  # groups looked through for this process


class Hierarchy:
    """One mounted hierarchy, of the second version or of a controller of the first."""

    def __init__(self, mount: str, own: str, mountinfo: str) -> None:
        """`own` is the path of this process's group, `mountinfo` the text of the kernel's list of mounts."""
        self._mount = mount
        self._up, self._below = _parts(_root(mount, mountinfo))
        # The groups from the root of the mount to that of the namespace, as far as they are known.
        self._between = self._find(own) if self._up else []

    def place(self, path: str) -> str | None:
        """Return the folder of a group, None where the mount does not hold it, or it is the root itself."""
        up, names = _parts(path)
        missing = self._up - up  # of the names that the path leaves out
        if missing < 0 or missing > len(self._between) or ".." in names:
            return None
        names = [*self._between[:missing], *names]
        below = len(self._below)
        if names[:below] != self._below or len(names) == below:
            return None
        return "/".join([self._mount, *names[below:]])

    def _find(self, own: str) -> list[str]:
        up, names = _parts(own)
        folders: list[list[str]] = [[]]
        for _ in range(self._up - up + len(names)):
            folders = [[*folder, name] for folder in folders for name in self._folders(folder)][:MOST]
        for folder in folders:
            if str(os.getpid()) in _read("/".join([self._mount, *folder, "cgroup.procs"])).split():
                return folder[: self._up - up]
        return []

    def _folders(self, folder: list[str]) -> list[str]:
        try:
            with os.scandir("/".join([self._mount, *folder])) as entries:
                return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            return []


def _root(mount: str, mountinfo: str) -> str:
    """Return which group is at the root of a mount."""
    root = "/"
    for line in mountinfo.splitlines():
        words = line.split(" ")
        if len(words) > 4 and _plain(words[4]) == mount:
            root = _plain(words[3])  # the last one covers those before
    return root


def _plain(word: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), word)


def _parts(path: str) -> tuple[int, list[str]]:
    """Return how many steps a path first goes up, and the names that follow."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    up = len([*takewhile("..".__eq__, names)])
    return up, names[up:]


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - one of thousands
            return file.read()
    except OSError:
        return ""
