"""Writing generated files: they are owned, written whole or not at all, and hand edits are never overwritten.

`watchkeeper.manifest` at the output root lists what is ours, with the SHA-256 of each file as it was written, in the
format of `sha256sum`: `sha256sum --check watchkeeper.manifest` tells what was edited since. It is believed for paths
that we write (OURS) and for nothing else.

While a run is under way, the manifest lists a file that changes twice: with what it held, and with what it will hold.
So wherever the run is cut off, whatever lies there is known to be ours, and the next run, of these definitions or
others, goes on from there.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
import re
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from watchkeeper.findings import Finding, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MANIFEST = "watchkeeper.manifest"

# The folders and the endings that we write: what else a manifest lists is not ours to delete.
OURS = {
    "rules": (".yaml",),
    "dashboards": (".json",),
    "runbooks": (".md",),
    "deploy": (".yaml", ".yml", ".json", ".tmpl"),
}

_NAME = re.compile(r"[^\0-\x1f\x7f\ud800-\udfff]+")
_LINE = re.compile(f"([0-9a-f]{{64}})  ({_NAME.pattern})")
_TEMPORARY = re.compile(r"\.watchkeeper-([1-9]\d{0,8})-\d+\.tmp")  # with the process that made it

_KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "symbolic link",
    stat.S_IFIFO: "named pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


@dataclass(frozen=True)
class Plan:
    """What would change below `out`: relative paths with their new text, and paths to delete.

    `under_way` is the manifest from the first change to the last: it knows each file before and after. It is empty
    where the one that lies there does.
    """

    out: Path
    writes: dict[str, str]
    deletes: tuple[str, ...]
    unchanged: int
    under_way: str = ""


class OutputError(Exception):
    """Files that can't be read or written; `findings` tell each."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__("; ".join(finding.message for finding in findings))
        self.findings = findings


def plan(files: dict[str, str], out: Path) -> Plan:
    """Compare files (relative path to text) with what lies below out.

    Raises:
        OutputError: something of someone else stands in the way, a file of ours was edited by hand, or one can't be
            read.
    """
    findings = [
        Finding("output/path", f"{path!r} is no path of a generated file", fix="rename what it is generated from")
        for path in sorted(files)
        if not _is_ours(path)
    ]
    listed = _read(out / MANIFEST)
    owned = _read_manifest(out, listed or b"")
    writes: dict[str, str] = {}
    deletes: list[str] = []
    unchanged = 0
    before: list[tuple[str, str]] = []
    after: list[tuple[str, str]] = []
    blocked: dict[str, bool] = {}
    for path in sorted(files.keys() | owned.keys()):
        if _is_blocked(os.path.dirname(path), out, blocked, findings):  # noqa: PTH120 - str in, no Path object a file
            continue
        try:
            old = _read(out / path)
        except OutputError as error:
            findings += error.findings
            continue
        new = files[path].encode() if path in files else None
        if new is not None:
            after.append((path, _sha256(new)))
        if old == new:
            unchanged += new is not None
            continue
        if old is not None:
            before.append((path, _sha256(old)))
        if old is not None and before[-1][1] not in owned.get(path, ()):
            findings.append(_edited(out / path) if path in owned else _in_the_way(out / path, "file"))
        elif new is None:
            deletes.append(path)
        else:
            writes[path] = files[path]
    if findings:
        raise OutputError(findings)
    under_way = _manifest(before + after) if writes or deletes else ""
    manifest = _manifest(after)
    if listed != manifest.encode() and (files or owned):
        writes[MANIFEST] = manifest
    return Plan(out, writes, tuple(deletes), unchanged, "" if listed == under_way.encode() else under_way)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _manifest(hashes: list[tuple[str, str]]) -> str:
    return "".join(f"{digest}  {path}\n" for path, digest in sorted(hashes))


def _edited(path: Path) -> Finding:
    return Finding(
        "output/edited",
        "was edited by hand since it was generated",
        Place(str(path)),
        why="generating would lose the edit",
        fix="move the edit into the definition, then delete the file and generate again",
    )


def _in_the_way(path: Path, kind: str) -> Finding:
    if kind == "file":
        message = f"stands where a generated file would go, and {MANIFEST} does not list it"
    else:
        message = f"is a {kind}, where a generated file would go"
    return Finding(
        "output/foreign",
        message,
        Place(str(path)),
        why="it is not ours to overwrite",
        fix="move or delete it, or give --out another folder",
    )


def _is_blocked(folder: str, out: Path, known: dict[str, bool], findings: list[Finding]) -> bool:
    """Tell whether a folder below out, or one above it, is none or a link. The first time, that is a finding."""
    if not folder:
        return False
    if folder not in known:
        known[folder] = _is_blocked(os.path.dirname(folder), out, known, findings)  # noqa: PTH120 - as above
        if not known[folder]:
            try:
                kind = _kind(out / folder)
            except OutputError as error:
                findings += error.findings
                known[folder] = True
                return True
            if kind not in ("", "folder"):
                message = f"is a {kind}, where the folder of generated files would go"
                why = "what lies behind a link may be someone else's" if kind == "symbolic link" else ""
                fix = "move or delete it, or give --out another folder"
                findings.append(Finding("output/foreign", message, Place(str(out / folder)), why=why, fix=fix))
                known[folder] = True
    return known[folder]


def _kind(path: Path) -> str:
    """Return what stands there, without following or opening it; empty where there is nothing."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise OutputError([_os_error(error, path, "read")]) from error
    return _KINDS.get(stat.S_IFMT(mode), "special file")


def _read(path: Path) -> bytes | None:
    """Return the content of a regular file, None where there is nothing. Nothing else is opened: a pipe would hang."""
    kind = _kind(path)
    if not kind:
        return None
    if kind != "file":
        raise OutputError([_in_the_way(path, kind)])
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise OutputError([_os_error(error, path, "read")]) from error


def _is_ours(path: str) -> bool:
    """Tell whether it is a path that we could have written, spelled as we would."""
    top, *rest = path.split("/")
    return (
        _NAME.fullmatch(path) is not None
        and bool(rest)
        and not {"", ".", ".."} & {top, *rest}
        and path.endswith(OURS.get(top, ()))
    )


def _read_manifest(out: Path, content: bytes) -> dict[str, set[str]]:
    """Return path to SHA-256 of the files that are ours: one, or two where a run was cut off."""
    owned: dict[str, set[str]] = {}
    lines = content.decode(errors="surrogateescape").removesuffix("\n").split("\n") if content else []
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line.removesuffix("\r"))
        if not match:
            why, fix = "", "a merge conflict? Take either side's lines"
            message = "is no line of a manifest"
        elif not _is_ours(match[2]):
            message = f"lists {match[2]}, which is no path of a generated file"
            why, fix = "a file that is listed is deleted once nothing generates it", "delete this line"
        elif match[1] in owned.get(match[2], ()) or len(owned.get(match[2], ())) == 2:
            message = f"lists {match[2]} once more"
            why, fix = "", "delete this line"
        else:
            owned.setdefault(match[2], set()).add(match[1])
            continue
        fix += ", then delete what is reported as edited and generate again"
        raise OutputError([Finding("output/manifest", message, Place(str(out / MANIFEST), number), why=why, fix=fix)])
    return owned


def apply(plan: Plan, settled: Callable[[], None] = lambda: None) -> None:
    """Write and delete. All new content is on the disk, under temporary names, before the first file is replaced.

    `settled` is called between the two: before it, nothing has changed, and nothing stays of a run that is cut off
    but temporary files where it was killed, which the next one removes.

    Raises:
        OutputError: the folder can't be written, or the disk is full; then no file has changed. Or a file can't be
            replaced or deleted; then those before it have, and the next run goes on from there.
    """
    stage = _Stage(plan)
    path, done, doing = plan.out, 0, "written"
    changes = len(plan.writes) + len(plan.deletes) - (MANIFEST in plan.writes)
    try:
        stage.sweep()
        first = [(MANIFEST, plan.under_way)] if plan.under_way else []
        moves = []
        for name, text in [*first, *plan.writes.items()]:
            path = plan.out / name
            moves.append((stage.write(path, text), path))
        settled()
        last = [moves.pop()] if MANIFEST in plan.writes else []  # it forgets what the files were before
        for number, (temporary, path) in enumerate(moves):
            done = max(0, number - len(first))
            os.replace(temporary, path)  # noqa: PTH105 - str in, no Path object a file
        done, doing = changes - len(plan.deletes), "deleted"
        for name in plan.deletes:
            path = plan.out / name
            path.unlink(missing_ok=True)
            _drop_empty(path.parent, plan.out)
            done += 1
        doing = "written"
        for temporary, path in last:
            os.replace(temporary, path)  # noqa: PTH105 - as above
    except OSError as error:
        why = "no file has changed"
        if done:
            why = f"{done} of {changes} had changed before, whole; generate again, and the others follow"
        raise OutputError([_os_error(error, path, doing, why)]) from error
    finally:
        stage.clear()


class _Stage:
    """The temporary files of one run, and the folders that it made."""

    def __init__(self, plan: Plan) -> None:
        self._out = plan.out
        self._folders = {(plan.out / name).parent for name in (MANIFEST, *plan.writes, *plan.deletes)}
        self._folders |= {plan.out / folder for folder in OURS}
        self._files: list[str] = []
        self._made: list[Path] = []
        self._there: set[Path] = set()

    def sweep(self) -> None:
        """Remove the temporary files of runs that were killed. Those of a run that is still at work stay."""
        for folder in self._folders:
            if folder != self._out and _kind(folder) != "folder":
                continue
            try:
                names = os.listdir(folder)  # noqa: PTH208 - str in, no Path object a file
            except OSError:
                continue  # not made yet, or writing there tells
            for name in names:
                match = _TEMPORARY.fullmatch(name)
                if match and not _is_running(int(match[1])):
                    with contextlib.suppress(OSError):
                        (folder / name).unlink()

    def write(self, path: Path, text: str) -> str:
        """Write the text beside where it will go, and return the name."""
        self._make(path.parent)
        temporary = f"{path.parent}/.watchkeeper-{os.getpid()}-{len(self._files)}.tmp"
        self._files.append(temporary)  # first, so that it is removed wherever an interruption comes
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with open(handle, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(text.encode())  # no fsync: what is generated can be generated again, and a thousand take seconds
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(handle, os.lstat(path).st_mode & 0o777)
        return temporary

    def _make(self, folder: Path) -> None:
        if folder in self._there:
            return
        missing = []
        at = folder
        while not at.exists():
            missing.append(at)
            at = at.parent
        for at in reversed(missing):
            self._made.append(at)
            at.mkdir(exist_ok=True)
        self._there.add(folder)

    def clear(self) -> None:
        """Remove what is left of the files, and, where none has gone to its place, of the folders."""
        for temporary in self._files:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                os.unlink(temporary)  # noqa: PTH108 - str in, no Path object a file
        for folder in reversed(self._made):
            with contextlib.suppress(OSError):  # not empty: files are in their places
                folder.rmdir()


def _is_running(process: int) -> bool:
    if process == os.getpid():
        return False  # what is swept is from before
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def _drop_empty(folder: Path, root: Path) -> None:
    while folder != root:
        try:
            folder.rmdir()
        except OSError:  # not empty
            return
        folder = folder.parent


def _os_error(error: OSError, path: Path, done: str, why: str = "") -> Finding:
    return Finding("output/file", f"can't be {done}: {error.strerror or error}", Place(str(path)), why=why)


def diff(plan: Plan) -> Iterator[str]:
    """Yield the unified diff from what lies there to what would be generated, line by line without line ends."""
    for path in sorted([*plan.writes, *plan.deletes]):
        if path == MANIFEST:
            continue  # follows from the others
        content = _read(plan.out / path)
        old = (content or b"").decode(errors="replace")
        new = plan.writes.get(path, "")
        before = f"a/{path}" if content is not None else "/dev/null"
        after = f"b/{path}" if path in plan.writes else "/dev/null"
        yield from difflib.unified_diff(old.splitlines(), new.splitlines(), before, after, lineterm="")
