"""Writing generated files: they are owned, written whole or not at all, and hand edits are never overwritten.

`watchkeeper.manifest` at the output root lists what is ours, with the SHA-256 of each file as it was written, in the
format of `sha256sum`: `sha256sum --check watchkeeper.manifest` tells what was edited since.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
import re
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from watchkeeper.findings import Finding, Place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MANIFEST = "watchkeeper.manifest"


@dataclass(frozen=True)
class Plan:
    """What would change below `out`: relative paths with their new text, and paths to delete."""

    out: Path
    writes: dict[str, str]
    deletes: tuple[str, ...]
    unchanged: int


class OutputError(Exception):
    """Files that can't be read or written; `findings` tell each."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__("; ".join(finding.message for finding in findings))
        self.findings = findings


def plan(files: dict[str, str], out: Path) -> Plan:
    """Compare files (relative path to text) with what lies below out.

    Raises:
        OutputError: a file of someone else stands in the way, one of ours was edited by hand, or one can't be read.
    """
    findings: list[Finding] = []
    owned = _read_manifest(out)
    writes: dict[str, str] = {}
    deletes: list[str] = []
    unchanged = 0
    for path in sorted(files.keys() | owned.keys()):
        old = _read(out / path)
        new = files.get(path)
        if old == (None if new is None else new.encode()):
            unchanged += new is not None
        elif old is not None and owned.get(path) != hashlib.sha256(old).hexdigest():
            findings.append(_in_the_way(out / path, ours=path in owned))
        elif new is None:
            deletes.append(path)
        else:
            writes[path] = new
    if findings:
        raise OutputError(findings)
    manifest = "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {path}\n" for path, text in sorted(files.items()))
    if _read(out / MANIFEST) != manifest.encode() and (files or owned):
        writes[MANIFEST] = manifest
    return Plan(out, writes, tuple(deletes), unchanged)


def _in_the_way(path: Path, *, ours: bool) -> Finding:
    if ours:
        return Finding(
            "output/edited",
            "was edited by hand since it was generated",
            Place(str(path)),
            why="generating would lose the edit",
            fix="move the edit into the definition, then delete the file and generate again",
        )
    return Finding(
        "output/foreign",
        f"stands where a generated file would go, and {MANIFEST} does not list it",
        Place(str(path)),
        why="it is not ours to overwrite",
        fix="move or delete it, or give --out another folder",
    )


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise OutputError([_os_error(error, path, "read")]) from error


def _read_manifest(out: Path) -> dict[str, str]:
    """Return path to SHA-256 of the files that are ours."""
    text = _read(out / MANIFEST) or b""
    owned: dict[str, str] = {}
    for number, line in enumerate(text.decode(errors="replace").splitlines(), 1):
        match = re.fullmatch(r"([0-9a-f]{64})  ([^/\0][^\0]*)", line)
        # A path that leads out of the folder would make pruning delete someone else's file.
        if not match or ".." in match[2].split("/"):
            fix = (
                "a merge conflict? Take either side's lines, then delete what is reported as edited and generate again"
            )
            raise OutputError(
                [Finding("output/manifest", "is no line of a manifest", Place(str(out / MANIFEST), number), fix=fix)]
            )
        owned[match[2]] = match[1]
    return owned


def apply(plan: Plan) -> None:
    """Write and delete. All new content is on the disk, under temporary names, before the first file is replaced.

    Raises:
        OutputError: the folder can't be written, or the disk is full; then no file has changed.
    """
    staged: list[tuple[str, Path]] = []
    path = plan.out
    try:
        for name, text in plan.writes.items():
            path = plan.out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                raise IsADirectoryError(21, "a folder stands in the way", str(path))
            staged.append((_stage(path, text.encode()), path))
        for temporary, path in staged:  # the manifest is last, so that a crash in between heals by itself
            os.replace(temporary, path)  # noqa: PTH105 - str in, no Path object a file
        for name in plan.deletes:
            path = plan.out / name
            path.unlink()
            _drop_empty(path.parent, plan.out)
    except OSError as error:
        raise OutputError([_os_error(error, path, "written")]) from error
    finally:
        for temporary, _ in staged:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)  # noqa: PTH108 - as above


def _stage(path: Path, content: bytes) -> str:
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with open(handle, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(content)  # no fsync: what is generated can be generated again, and a thousand take seconds
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        os.chmod(temporary, mode)  # noqa: PTH101 - mkstemp makes it private, but Prometheus has to read it
    except BaseException:
        os.unlink(temporary)  # noqa: PTH108 - as above
        raise
    return temporary


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _drop_empty(folder: Path, root: Path) -> None:
    while folder != root:
        try:
            folder.rmdir()
        except OSError:  # not empty
            return
        folder = folder.parent


def _os_error(error: OSError, path: Path, done: str) -> Finding:
    why = error.strerror or str(error)
    return Finding(
        "output/file",
        f"can't be {done}: {why}",
        Place(str(path)),
        why="no file is half written" if done == "written" else "",
    )


def diff(plan: Plan) -> Iterator[str]:
    """Yield the unified diff from what lies there to what would be generated, line by line without line ends."""
    for path in sorted([*plan.writes, *plan.deletes]):
        if path == MANIFEST:
            continue  # follows from the others
        old = (_read(plan.out / path) or b"").decode(errors="replace")
        new = plan.writes.get(path, "")
        before = f"a/{path}" if (plan.out / path).exists() else "/dev/null"
        after = f"b/{path}" if path in plan.writes else "/dev/null"
        yield from difflib.unified_diff(old.splitlines(), new.splitlines(), before, after, lineterm="")
