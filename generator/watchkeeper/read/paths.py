"""Which files there are: those that are named, and those below the folders that are named."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from watchkeeper.read.files import STANDARD_INPUT, Unreadable
from watchkeeper.walking import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from watchkeeper.findings import Finding

__all__ = ["Paths"]

SUFFIXES = (".yml", ".yaml", ".json", ".rules")


class Paths:
    """The files of some names in their order, each once, and whether it was named itself: `files`.

    `folders` are those that were listed, `findings` tell of those that could not be. Below a folder only files with
    the suffixes of rules and dashboards count; what is hidden, and what others brought, is passed over.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.folders: list[str] = []
        self.findings: list[Finding] = []
        found: dict[str, bool] = {}
        inodes: dict[tuple[int, int], list[str]] = {}
        for name, named in self._below(names):
            same = _same(name, inodes)
            found[same] = found.get(same, False) or named
        self.files = list(found.items())

    def _below(self, names: Iterable[str]) -> Iterator[tuple[str, bool]]:
        for name in names:
            if name == STANDARD_INPUT or not os.path.isdir(name):  # noqa: PTH112 - pathlib is slow to load
                yield name, True
                continue
            for folder, files in walk(name, self._unlisted):
                self.folders.append(folder)
                for file in files:
                    if file.endswith(SUFFIXES) and not file.startswith("."):
                        yield os.path.normpath(os.path.join(folder, file)), False  # noqa: PTH118 - as above

    def _unlisted(self, error: OSError) -> None:
        from watchkeeper.findings import Place

        reason = f"the folder can't be listed: {error.strerror}"
        self.findings.append(Unreadable(reason, Place(os.fspath(error.filename))).finding)


def _same(name: str, inodes: dict[tuple[int, int], list[str]]) -> str:
    """Return the first name of a file that has several, by way of links or of folders named twice."""
    if name == STANDARD_INPUT:
        return name
    try:
        status = os.stat(name)  # noqa: PTH116 - as above
    except OSError:
        return name  # reading it will tell
    names = inodes.setdefault((status.st_dev, status.st_ino), [])
    if names:  # or it is a hard link, which is a file of its own
        real = os.path.realpath(name)
        for other in names:
            if os.path.realpath(other) == real:
                return other
    names.append(name)
    return name
