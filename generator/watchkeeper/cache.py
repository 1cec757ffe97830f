"""What an unchanged run need not do again.

After a run without findings, a record is kept of what went into it and of all that came out. As long as nothing of
either differs, `generate` has nothing to do. The record covers

- each file that Python opened for reading or for update while definitions were loaded and dashboards made, and each
  module that was loaded, ours and the libraries' among them: by inode, size, and times of last modification and change.
  Where a file was tried and not there, that it still is not;
- the names in each folder that was listed, so that a new module is noticed;
- pyproject.toml, the definitions' name, the output folder, the working directory, the Python in use, `sys.path`, and
  the environment, but for variables that only a shell or make changes (_NOISE);
- each file that was written, and the manifest.

No record is kept, and the next run does everything, where any of these changed during the run, where an output is
missing, and where definitions did what can't be followed: started or forked a process, opened an SQLite database or a
connection, looked up a host, read a device, a pipe, /proc or /sys, or used a folder's descriptor.

It can't cover the clock, chance, the machine (os.uname, the number of cores), whether a file exists that was only asked
for (Path.exists), where a symbolic link leads that was only read, nor what a library written in C reads without telling
Python: definitions that depend on those give other output from the same input, which nothing here is made for.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import itertools
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from watchkeeper.states import FOLDER, RECORDS, SPECIAL, TICK, names_in, state_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from watchkeeper.states import State

    News = tuple[dict[str, State], dict[str, list[str] | None], bool]

# What differs between two runs in one shell, and means nothing to definitions.
_NOISE = {"_", "MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS", "OLDPWD", "PWD", "SHLVL"}

# What leads to more than files, as Python's audit events are called.
_BEYOND = {
    *("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "os.system", "pty.spawn"),
    *("subprocess.Popen", "sqlite3.connect", "sqlite3.connect/handle"),
    *("socket.connect", "socket.getaddrinfo", "socket.gethostbyaddr", "socket.gethostbyname", "socket.gethostname"),
    *("socket.getnameinfo", "socket.sendmsg", "socket.sendto"),
}


_hooked: list[object] = []
_listening: list[Recorder] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    for recorder in _listening:
        recorder.hear(event, arguments)


class Recorder:
    """Notes the files opened and the folders listed in this process, from its making on, by an audit hook (PEP 578).

    `files` and `folders` hold what each was when it was first heard of. `beyond` tells of what can't be followed.
    """

    def __init__(self) -> None:
        self.started = time.time_ns()
        self.files: dict[str, State] = {}
        self.folders: dict[str, list[str] | None] = {}
        self.beyond = False
        self.forking = False  # the program's own children, which record for themselves
        self._on = True
        sys.path_importer_cache.clear()  # so that folders are listed again; on 3.13 invalidate_caches() does not do it
        if _hook not in _hooked:  # one for all, since none can be taken out again
            _hooked.append(_hook)
            sys.addaudithook(_hook)
        _listening.append(self)

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note what an audit event says of files and folders."""
        if not self._on:
            return
        if event == "open":
            path, mode, flags = arguments
            flags = flags if isinstance(flags, int) else 0
            if isinstance(path, (str, bytes, os.PathLike)) and not flags & (os.O_WRONLY | os.O_TRUNC):
                self._opened(os.fsdecode(path), by_os=mode is None)
        elif event in ("os.listdir", "os.scandir"):
            path = arguments[0]
            if isinstance(path, int):
                self.beyond = True  # a descriptor: of which folder, nothing tells
                return
            name = _absolute(os.fsdecode(path or "."))
            if name not in self.folders:
                self._on = False  # this lists it, too
                self.folders[name] = names_in(name)
                self._on = True
        elif event in _BEYOND and not (self.forking and event == "os.fork"):
            self.beyond = True

    def _opened(self, name: str, *, by_os: bool) -> None:
        if by_os and not os.path.isabs(name):  # noqa: PTH117 - heard for thousands of files
            self.beyond = True  # os.open may be given dir_fd, and nothing tells
            return
        name = _absolute(_source(name))
        if name not in self.files:
            state = self.files[name] = state_of(name)
            if name.startswith(("/proc/", "/sys/")) or (state == SPECIAL and name != os.devnull):
                self.beyond = True

    def news(self, files: int, folders: int) -> News:
        """Return what was noted since there were so many files and folders, for `add` in another process."""
        return (
            dict(itertools.islice(self.files.items(), files, None)),
            dict(itertools.islice(self.folders.items(), folders, None)),
            self.beyond,
        )

    def add(self, news: News) -> None:
        """Note what another process did."""
        files, folders, beyond = news
        for name, state in files.items():
            self.files.setdefault(name, state)
        for name, names in folders.items():
            self.folders.setdefault(name, names)
        self.beyond |= beyond

    def stop(self) -> None:
        """Note nothing more."""
        self._on = False
        if self in _listening:
            _listening.remove(self)


class Cache:
    """The record of one project, definitions and output folder, in a folder that git ignores."""

    def __init__(self, root: Path, definitions: str, out: Path) -> None:
        self.root, self.definitions, self.out = root, definitions, out
        name = hashlib.sha256(os.fsencode(f"{definitions}\0{out.resolve()}")).hexdigest()[:16]
        self.path = root / RECORDS / f"{name}.json"
        self._folder = os.getcwd()  # noqa: PTH109 - a string is what is kept
        self._key = self._circumstances()  # before loading puts the project's folder on sys.path

    def fresh(self) -> str:
        """Return the message of the last run where nothing differs since, else an empty string."""
        try:
            if state_of(str(self.path)) in (None, SPECIAL):
                return ""  # a pipe would hang
            record = json.loads(self.path.read_text(encoding="utf-8"))
            same = record["key"] == self._key
            same = same and all(state_of(path) == state for path, state in record["files"].items())
            same = same and all(state_of(path, os.lstat) == state for path, state in record["outputs"].items())
            same = same and all(_hash(names_in(path)) == names for path, names in record["folders"].items())
            return str(record["message"]) if same else ""
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return ""  # none yet, or not ours: then the work is done

    def store(self, recorder: Recorder, outputs: Iterable[str], message: str) -> None:
        """Keep the record of a run that is over; none where an input changed meanwhile, or where it can't be kept."""
        if recorder.beyond:
            return
        try:
            files = self._files(recorder)
            written = {str(self.out.resolve() / name): None for name in outputs}
            made = {path: state_of(path, os.lstat) for path in written}
            folders = {path: names_in(path) for path in recorder.folders}
            if files is None or not all(made.values()) or SPECIAL in made.values():
                return
            ours = {self.path.parent, *(parent for path in map(Path, made) for parent in (path, *path.parents))}
            for path, names in folders.items():
                changed = set(names or ()) ^ set(recorder.folders[path] or ())
                if any(Path(path).resolve() / name not in ours for name in changed):
                    return
            hashes = {path: _hash(names) for path, names in folders.items()}
            record = {"key": self._key, "files": files, "outputs": made, "folders": hashes, "message": message}
            self.path.parent.mkdir(exist_ok=True)
            ignore = self.path.parent / ".gitignore"
            if not os.path.lexists(ignore):
                ignore.write_text("*\n", encoding="utf-8")
            temporary = self.path.with_suffix(".tmp")  # one name, so that none is left of a run that was killed
            temporary.unlink(missing_ok=True)
            temporary.write_text(json.dumps(record), encoding="utf-8")
            temporary.replace(self.path)
        except OSError:
            return  # a folder that can't be written costs time, and nothing else

    def _files(self, recorder: Recorder) -> dict[str, State] | None:
        """Return the state of each file read, None where one changed during the run."""
        modules = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
        own = {os.path.join(self._folder, name) for name in modules if isinstance(name, str)}  # noqa: PTH118
        inputs = {str(self.root / "pyproject.toml"), *recorder.files, *filter(None, map(_on_disk, own))}
        files = {path: state_of(path) for path in sorted(inputs)}
        if any(files[path] != state for path, state in recorder.files.items()):
            return None
        if any(state and state[-1] > recorder.started - TICK for state in files.values()):
            return None
        return files

    def _circumstances(self) -> list[Any]:
        environment = sorted((name, value) for name, value in os.environ.items() if name not in _NOISE)
        secret = hashlib.sha256(json.dumps(environment).encode()).hexdigest()  # it may hold tokens
        where = [self.definitions, str(self.out.resolve()), self._folder]
        return [*where, sys.version, sys.executable, list(sys.path), secret]


def _hash(names: list[str] | None) -> str:
    return "" if names is None else hashlib.sha256("\0".join(names).encode(errors="surrogateescape")).hexdigest()


def _absolute(name: str) -> str:
    """Return the name for whichever folder is the working one later. Dots stay: `link/..` is not where link is."""
    if os.path.isabs(name):  # noqa: PTH117 - heard for thousands of files
        return name
    try:
        return os.path.join(os.getcwd(), name)  # noqa: PTH109, PTH118 - as above
    except FileNotFoundError:  # the folder was deleted
        return name


def _source(name: str) -> str:
    """Return the module's file for that of its byte code, which Python itself writes and keeps up to date."""
    if not name.endswith(".pyc"):
        return name
    try:
        return importlib.util.source_from_cache(name)
    except (ValueError, NotImplementedError):  # byte code alone
        return name


def _on_disk(path: str) -> str:
    """Return the file that holds a module: the path itself, or the archive that it leads into."""
    while state_of(path) is None and path != os.path.dirname(path):  # noqa: PTH120 - as above
        path = os.path.dirname(path)  # noqa: PTH120 - as above
    return "" if state_of(path) == FOLDER else path
