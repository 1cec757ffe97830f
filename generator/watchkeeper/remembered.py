"""What a command said of files the last time: said again while none of them, nor the program, has changed."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from watchkeeper.cache import TICK, names_in, state_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST = 200  # records kept; each is of one command line in one folder


class Said(NamedTuple):
    """Standard output, standard error and exit status."""

    out: str
    err: str
    status: int


class Remembered:
    """The record of one command line in one folder, among the user's cached files."""

    def __init__(self, command: list[Any], today: str) -> None:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111 - pathlib is slow to load
        name = hashlib.sha256(json.dumps([os.getcwd(), command]).encode()).hexdigest()[:16]  # noqa: PTH109 - as above
        self.folder = os.path.join(cache, "watchkeeper")  # noqa: PTH118 - as above
        self.path = os.path.join(self.folder, f"{name}.json")  # noqa: PTH118 - as above
        self._key = [today, sys.version, sys.executable]
        self._started = time.time_ns()

    def recall(self) -> Said | None:
        """Return what was said the last time where nothing differs since, else None."""
        try:
            with open(self.path, encoding="utf-8") as file:  # noqa: PTH123 - as above
                record = json.load(file)
            same = record["key"] == self._key
            same = same and all(state_of(path) == state for path, state in record["files"].items())
            same = same and all(names_in(path) == names for path, names in record["folders"].items())
            return Said(*record["said"]) if same else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def keep(self, said: Said, files: Iterable[str], folders: Iterable[str]) -> None:
        """Keep what was said of these files and folders; nothing where one may have changed meanwhile."""
        modules = [module for name, module in list(sys.modules.items()) if name.startswith("watchkeeper")]
        own = [name for name in (getattr(module, "__file__", None) for module in modules) if name]
        states = {path: state_of(path) for path in (*own, *files)}
        if any(state is None or state[-1] > self._started - TICK for state in states.values()):
            return
        names = {path: names_in(path) for path in folders}
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - as above
            temporary = f"{self.path}.{os.getpid()}"
            with open(temporary, "w", encoding="utf-8") as file:  # noqa: PTH123 - as above
                json.dump({"key": self._key, "files": states, "folders": names, "said": said}, file)
            os.replace(temporary, self.path)  # noqa: PTH105 - as above
            self._prune()
        except (OSError, ValueError):
            return  # a folder that can't be written costs time, and nothing else

    def _prune(self) -> None:
        kept = [entry for entry in os.scandir(self.folder) if entry.is_file()]
        if len(kept) > _MOST:
            for entry in sorted(kept, key=lambda one: one.stat().st_mtime)[: len(kept) - _MOST]:
                os.unlink(entry.path)  # noqa: PTH108 - as above
