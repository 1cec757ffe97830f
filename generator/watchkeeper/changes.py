"""What changed since a revision in Git: all is read and checked, and what changed is reported."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from watchkeeper.scopes import Lines, Scopes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from subprocess import CompletedProcess

    from watchkeeper.findings import Finding, Place

__all__ = ["Changes", "RevisionError", "changes_since", "former", "touched"]


class RevisionError(Exception):
    """A revision that nothing can be compared with: the message is one line."""


class Changes:
    """Changed lines by file. A file that Git does not keep has changed as a whole: nothing is known of how it was."""

    __slots__ = ("_lines", "_tracked")

    def __init__(self, tracked: Iterable[str], lines: Mapping[str, Sequence[Lines]]) -> None:
        self._tracked = frozenset(tracked)
        self._lines = lines

    def of(self, file: str) -> Sequence[Lines]:
        """Return the changed lines of a file in order; an empty range is where lines were taken out."""
        real = os.path.realpath(file)
        return self._lines.get(real, ()) if real in self._tracked else [_ALL]


_ALL = Lines(0, 2**63)

# Settings of the user's that would change what a diff looks like are overridden. What the attributes call binary is
# compared too: generated files often are called so, to hide them in reviews.
_DIFF = [
    *("diff", "--unified=0", "--inter-hunk-context=0", "--no-color", "--no-ext-diff", "--no-textconv", "--text"),
    *("--find-renames", "--indent-heuristic", "--ignore-submodules=all", "--no-relative"),
    *("--src-prefix=a/", "--dst-prefix=b/"),
]

_RAW = [
    *("diff", "--raw", "-z", "--no-abbrev", "--no-renames", "--diff-filter=DMT"),
    *("--no-ext-diff", "--ignore-submodules=all", "--no-relative"),
]


def changes_since(revision: str, root: str) -> Changes:
    """Return what changed since HEAD left the revision's branch, committed or not, in the repository of a folder.

    Raises:
        RevisionError: there is no such revision, no repository, or no Git.
    """
    top, base = _base(revision, root)
    diff, tracked = _git(root, *_DIFF, base, "--"), _git(top, "ls-files", "-z")
    for answer in (diff, tracked):
        if answer.returncode:
            raise RevisionError(f"Git can't tell what changed since {revision}: {_first_line(answer)}")
    return Changes(
        (f"{top}/{os.fsdecode(name)}" for name in tracked.stdout.split(b"\0") if name),
        {f"{top}/{os.fsdecode(name)}": lines for name, lines in _changed(diff.stdout).items()},
    )


def former(revision: str, root: str, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """Return what was in the wanted files that were changed or deleted since; one that was renamed counts as deleted.

    Raises:
        RevisionError: there is no such revision, no repository, or no Git.
    """
    top, base = _base(revision, root)
    answer = _git(root, *_RAW, base, "--")
    if answer.returncode:
        raise RevisionError(f"Git can't tell what changed since {revision}: {_first_line(answer)}")
    parts = answer.stdout.split(b"\0")
    names: dict[bytes, list[str]] = {}
    for told, name in zip(parts[::2], parts[1::2], strict=False):  # the last part is empty
        path = f"{top}/{os.fsdecode(name)}"
        mode, _, blob, *_ = told.removeprefix(b":").split()
        if mode.startswith(b"100") and wanted(path):  # a file, and no link
            names.setdefault(blob, []).append(path)
    blobs = _git(top, "cat-file", "--batch", given=b"".join(blob + b"\n" for blob in names)).stdout if names else b""
    return {name: content for blob, content in _contents(blobs) for name in names[blob]}


def _contents(blobs: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield name and content of what `git cat-file --batch` says, without what it has not."""
    at = 0
    while at < len(blobs):
        start = blobs.index(b"\n", at) + 1
        name, kind, *size = blobs[at:start].split()
        at = start
        if kind == b"blob":
            at += int(size[0]) + 1
            yield name, blobs[start : at - 1]


def _base(revision: str, root: str) -> tuple[str, str]:
    """Return the top folder of the repository, and the commit where HEAD left the revision's branch."""
    if not revision or revision.startswith("-") or not revision.isprintable():
        raise RevisionError(f"{revision!r} is no revision: name a branch, a tag or a commit, such as origin/main")
    found = _git(root, "rev-parse", "--show-toplevel")
    if found.returncode:
        if b"not a git repository" in found.stderr:
            raise RevisionError(f"{root} is in no Git repository, so there is nothing to compare with")
        raise RevisionError(f"Git can't read the repository of {root}: {_first_line(found)}")
    top = os.fsdecode(found.stdout.removesuffix(b"\n"))
    found = _git(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if found.returncode:
        raise RevisionError(f"Git knows no revision {revision}: fetch it first, since a clone in CI is often shallow")
    commit = found.stdout.decode().strip()
    # What others did on that branch in the meantime is none of our changes.
    found = _git(root, "merge-base", commit, "HEAD")
    return top, found.stdout.decode().strip() or commit


def _git(folder: str, *arguments: str, given: bytes = b"") -> CompletedProcess[bytes]:
    import subprocess

    # Messages in English, no lock on the index, and no settings for diffs, which would go before our own.
    environment = {name: value for name, value in os.environ.items() if name != "GIT_DIFF_OPTS"}
    environment |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        return subprocess.run(  # noqa: S603 - a list of arguments, of which the one from outside is no option
            ["git", "-c", "core.quotePath=off", *arguments],  # noqa: S607 - the user's own Git
            cwd=folder,
            env=environment,
            input=given,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        what = "Git is not installed" if error.filename == "git" else f"Git can't run in {folder}: {error.strerror}"
        raise RevisionError(what) from None


def _first_line(answer: CompletedProcess[bytes]) -> str:
    from watchkeeper.findings import printable

    lines = answer.stderr.decode(errors="replace").strip().splitlines() or [f"it ended with {answer.returncode}"]
    return printable(lines[0].removeprefix("fatal: "))


_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def _changed(diff: bytes) -> dict[bytes, list[Lines]]:
    """Return the changed lines of a diff by file; those of deleted files have no name."""
    changed: dict[bytes, list[Lines]] = {}
    name = b""
    lines = iter(diff.split(b"\n"))
    for line in lines:
        if line.startswith(b"+++ "):
            name = _name(line[4:])
            continue
        hunk = _HUNK.match(line)
        if not hunk:
            continue
        old, first, new = int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1)
        # The lines themselves are passed over by number: one of them may look like a header.
        pieces = list(_pieces(lines, old + new))
        if any(b"watchkeeper:" in piece and b"allow-file" in piece for piece in pieces):
            span = _ALL  # what was waived in all of the file may not be any more
        else:
            span = Lines(first, first + new - 1) if new else _gap(first, pieces)
        changed.setdefault(name, []).append(span)
    return {name: [_ALL] if _ALL in ranges else ranges for name, ranges in changed.items()}


def _pieces(lines: Iterator[bytes], number: int) -> Iterator[bytes]:
    while number:
        line = next(lines)
        if not line.startswith(b"\\"):  # \ No newline at end of file
            number -= 1
            yield line


def _gap(before: int, pieces: list[bytes]) -> Lines:
    """Return what changed where lines were only taken out, behind the line `before`.

    They are no part of what stands before or behind them if a list's item was taken out, or a comment; else the end
    of what stands before may be gone.
    """
    texts = [text[1:].strip() for text in pieces]
    if any(text.startswith(b"#") and b"watchkeeper:" in text for text in texts):
        return Lines(before, before + 1)
    first = next((text for text in texts if text and not text.startswith(b"#")), b"-")
    return Lines(before + 1, before) if first.startswith(b"-") else Lines(before, before)


_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def _name(written: bytes) -> bytes:
    """Return the name in a line of a header, empty where there is none. Some have quotes as in C, some a tab behind."""
    if written.startswith(b'"'):
        written = _ESCAPE.sub(
            lambda match: bytes([int(match[1], 8)]) if len(match[1]) == 3 else _ESCAPED.get(match[1], match[1]),
            written[1 : written.rindex(b'"')],
        )
    else:
        written = written.removesuffix(b"\t")
    return written[2:] if written.startswith(b"b/") else b""


def touched(
    findings: Iterable[Finding], changes: Changes, scopes: Mapping[str, Iterable[tuple[int, int]]]
) -> list[Finding]:
    """Return the findings about what changed: where a line of the rule, or of the definition's call, did.

    `scopes` are, by file, the first and last lines of its rules. What stands outside of them, or in a file that has
    none, such as a dashboard, has changed where its file has; what stands in no file always.
    """
    known = {file: Scopes(ranges) for file, ranges in scopes.items()}
    statements: dict[str, dict[int, Lines]] = {}
    files: dict[str, Sequence[Lines]] = {}

    def is_touched(place: Place | None) -> bool:
        if not place:
            return True
        if place.file not in files:
            files[place.file] = changes.of(place.file)
        changed = files[place.file]
        if not changed:
            return False
        if place.file in known:
            lines = known[place.file].innermost(place.line)
        elif place.file.endswith(".py"):
            if place.file not in statements:
                statements[place.file] = _statements(place.file)
            lines = statements[place.file].get(place.line)
        else:
            lines = None
        if not lines:
            return True
        at = bisect_left(changed, lines.first, key=lambda other: other.last)
        return at < len(changed) and lines.meets(changed[at])

    answers: dict[Place | None, bool] = {}
    kept = []
    for finding in findings:
        if finding.place not in answers:
            answers[finding.place] = is_touched(finding.place)
        if answers[finding.place]:
            kept.append(finding)
    return kept


def _statements(file: str) -> dict[int, Lines]:
    """Return the lines of each call and each function of a Python file, by the line that a traceback names."""
    import ast
    import warnings

    try:
        with open(file, "rb") as source, warnings.catch_warnings():  # noqa: PTH123 - pathlib costs 10 ms
            warnings.simplefilter("ignore")  # they were given when the file was imported
            tree = ast.parse(source.read())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}  # it was read before; what can't be followed counts as changed
    found: dict[int, Lines] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            # A method's call that begins on an earlier line is told by the line of its name, since Python 3.11.
            at, first = {node.lineno, node.func.end_lineno or node.lineno}, node.lineno
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min(part.lineno for part in (node, *node.decorator_list))
            at = {first}
        else:
            continue
        lines = Lines(first, node.end_lineno or first)
        for line in at:  # of those that begin on one line, the longest
            found[line] = max(found.get(line, lines), lines, key=lambda one: one.last - one.first)
    return found
