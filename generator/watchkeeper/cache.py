"""What an unchanged run need not do again.

After a run without findings, a record is kept of all that went into it and of all that came out. As long as nothing of
either differs, `generate` has nothing to do. The record covers

- each file that was opened for reading while definitions were loaded and dashboards made, and each module that was
  loaded, ours and the libraries' among them: by inode, size, and times of last modification and change;
- the names in each folder that was listed, so that a new module is noticed;
- pyproject.toml, the definitions' name, the output folder, the Python in use, `sys.path`, and the environment, but for
  variables that only a shell or make changes;
- each file that was written, and the manifest.

It can't cover the clock, the network, or whether a file exists that was never opened: definitions that depend on those
give other output from the same input, which nothing here is made for.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FOLDER = ".watchkeeper_cache"

# What differs between two runs in one shell, and means nothing to definitions.
_NOISE = {"_", "COLUMNS", "LINES", "MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS", "OLDPWD", "PWD", "SHLVL"}

# What a run itself adds to folders.
_OURS = {"__pycache__", FOLDER}

# Clocks of file systems run behind by up to a tick of the kernel.
_TICK = 20_000_000


class Recorder:
    """Notes the files opened and the folders listed in this process, from its making on, by an audit hook (PEP 578)."""

    def __init__(self) -> None:
        self.started = time.time_ns()
        self.files: set[str] = set()
        self.folders: set[str] = set()
        self._on = True
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._on:
            return
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, (str, bytes)) and not (isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)):
                name = os.fsdecode(path)
                if not name.endswith(".pyc") and not name.startswith(("/proc/", "/sys/")):  # a module is its source
                    self.files.add(name)
        elif event in ("os.listdir", "os.scandir"):
            self.folders.add(os.fsdecode(arguments[0] or "."))

    def stop(self) -> None:
        """Note nothing more. A hook can't be taken out again."""
        self._on = False


class Cache:
    """The record of one project, definitions and output folder, in a folder that git ignores."""

    def __init__(self, root: Path, definitions: str, out: Path) -> None:
        self.root, self.definitions, self.out = root, definitions, out
        name = hashlib.sha256(os.fsencode(f"{definitions}\0{out.resolve()}")).hexdigest()[:16]
        self.path = root / FOLDER / f"{name}.json"
        self._key = self._circumstances()  # before loading puts the project's folder on sys.path

    def fresh(self) -> str:
        """Return the message of the last run where nothing differs since, else an empty string."""
        try:
            record = json.loads(self.path.read_text(encoding="utf-8"))
            same = record["key"] == self._key
            same = same and all(_state(path) == state for path, state in record["files"].items())
            same = same and all(_names(path) == names for path, names in record["folders"].items())
            return str(record["message"]) if same else ""
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return ""  # none yet, or not ours: then the work is done

    def store(self, recorder: Recorder, outputs: Iterable[str], message: str) -> None:
        """Keep the record of a run that is over; none where an input changed meanwhile, or where it can't be kept."""
        modules = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
        inputs = {str(self.root / "pyproject.toml"), *recorder.files, *(file for file in modules if file)}
        try:
            files = {path: state for path in sorted(map(os.path.abspath, inputs)) if (state := _state(path))}
            if any(changed > recorder.started - _TICK for *_, changed in files.values()):
                return
            written = (str((self.out / name).resolve()) for name in outputs)
            files |= {path: state for path in written if (state := _state(path))}
            folders = {path: _names(path) for path in sorted(map(os.path.abspath, recorder.folders))}
            record = {"key": self._key, "files": files, "folders": folders, "message": message}
            self.path.parent.mkdir(exist_ok=True)
            (self.path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
            temporary = self.path.with_suffix(f".{os.getpid()}.tmp")
            temporary.write_text(json.dumps(record), encoding="utf-8")
            temporary.replace(self.path)
        except OSError:
            return  # a folder that can't be written costs time, and nothing else

    def _circumstances(self) -> list[Any]:
        environment = sorted((name, value) for name, value in os.environ.items() if name not in _NOISE)
        secret = hashlib.sha256(json.dumps(environment).encode()).hexdigest()  # it may hold tokens
        return [self.definitions, str(self.out.resolve()), sys.version, sys.executable, list(sys.path), secret]


def _state(path: str) -> list[int] | None:
    """Return what tells one content of a regular file from another without reading it, None where there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - thousands of files in a tenth of a second: no Path object for each
    except OSError:
        return None
    return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns] if stat.S_ISREG(found.st_mode) else None


def _names(path: str) -> str:
    """Return a hash of the names in a folder, empty where there is none."""
    try:
        names = sorted(name for name in os.listdir(path) if name not in _OURS)  # noqa: PTH208 - as above
    except OSError:
        return ""
    return hashlib.sha256("\0".join(names).encode(errors="surrogateescape")).hexdigest()
