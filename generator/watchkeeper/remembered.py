"""What a command said of files the last time: said again while none of them, nor the program, has changed."""

from __future__ import annotations

import json
import os
import sys
import time
from binascii import crc32
from typing import TYPE_CHECKING, Any, NamedTuple

from watchkeeper.states import SPECIAL, TICK, names_in, state_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST = 200  # records kept; each is of one command line in one folder
_LONGEST = 1 << 20  # characters that a record may say


class Said(NamedTuple):
    """Standard output, standard error and exit status."""

    out: str
    err: str
    status: int


class Remembered:
    """The record of one command line in one folder, among the user's cached files.

    It holds on the day `today` for the same Python, since checks may ask for the date.
    """

    def __init__(self, command: list[Any], today: str) -> None:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - pathlib is slow to load
        self._key = [os.getcwd(), command, today, sys.version, sys.executable]  # noqa: PTH109 - as above
        self._key = json.loads(json.dumps(self._key))  # as it is read again: tuples are lists
        name = f"{crc32(json.dumps(self._key[:2]).encode()):08x}"  # hashlib is slow to load, and the key tells apart
        self.folder = os.path.join(cache, "watchkeeper")  # noqa: PTH118 - as above
        self.path = os.path.join(self.folder, f"{name}.json")  # noqa: PTH118 - as above
        self._started = time.time_ns()

    def recall(self) -> Said | None:
        """Return what was said the last time where nothing differs since, else None."""
        try:
            if state_of(self.path) in (None, SPECIAL):
                return None  # a pipe would hang
            with open(self.path, encoding="utf-8") as file:  # noqa: PTH123 - as above
                record = json.load(file)
            same = record["key"] == self._key
            same = same and all(state_of(path) == state for path, state in record["files"].items())
            same = same and all(names_in(path) == names for path, names in record["folders"].items())
            said = Said(*record["said"])
            return said if same and [type(part) for part in said] == [str, str, int] else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None  # none yet, or not ours: then the work is done

    def keep(self, said: Said, files: Iterable[str], folders: Iterable[str]) -> None:
        """Keep what was said of these files and folders; nothing where one may have changed meanwhile."""
        if len(said.out) > _LONGEST or not os.path.isabs(self.folder):  # noqa: PTH117 - as above
            return
        modules = [module for name, module in list(sys.modules.items()) if name.startswith("watchkeeper")]
        own = [name for name in (getattr(module, "__file__", None) for module in modules) if name]
        states = {path: state_of(path) for path in (*own, *files)}
        if any(state is None or state[-1] > self._started - TICK for state in states.values()):
            return
        names = {path: names_in(path) for path in folders}
        temporary = f"{self.path}.{os.getpid()}"  # of two that run at once, the later one's stays
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - as above
            with open(temporary, "w", encoding="utf-8") as file:  # noqa: PTH123 - as above
                json.dump({"key": self._key, "files": states, "folders": names, "said": said}, file)
            os.replace(temporary, self.path)  # noqa: PTH105 - as above
            self._prune()
        except (OSError, ValueError):
            return  # a folder that can't be written costs time, and nothing else

    def _prune(self) -> None:
        kept = [entry for entry in os.scandir(self.folder) if entry.is_file(follow_symlinks=False)]
        if len(kept) > _MOST:
            for entry in sorted(kept, key=lambda one: one.stat().st_mtime)[: len(kept) - _MOST]:
                os.unlink(entry.path)  # noqa: PTH108 - as above
