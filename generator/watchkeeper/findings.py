"""What is wrong, where, why it matters and how to mend it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType


@dataclass(frozen=True, order=True)
class Place:
    """A place in a source file. Line and column count from 1; 0 where none is known.

    `module` is the name of the Python module whose import led there, empty outside one.
    """

    file: str
    line: int = 0
    column: int = 0
    module: str = field(default="", compare=False)

    def __str__(self) -> str:
        """Return `file:line:column`, without what is not known, as editors and terminals read it."""
        return ":".join([shorten(self.file), *(str(n) for n in (self.line, self.column) if n)])


@dataclass(frozen=True)
class Excerpt:
    """A piece of source text and the part of it, `text[start:end]`, that a finding is about."""

    text: str
    start: int
    end: int

    def lines(self) -> list[str]:
        """Return the line that holds `start`, and a line of carets under the part."""
        # No further than is shown: a file of a million characters may be a single line.
        far, near = self.start + _LOOK, max(0, self.start - _LOOK)
        begin = max(self.text.rfind("\n", near, self.start) + 1, near)
        stop = self.text.find("\n", self.start, far)
        line = self.text[begin : stop if stop >= 0 else far]
        at = self.start - begin
        width = max(1, min(self.end, begin + len(line)) - self.start)
        if len(line) > _WIDTH:  # a window around the part, so that the caret stays in sight
            cut = max(0, min(at - _WIDTH // 3, len(line) - _WIDTH))
            head, tail = "…" if cut else "", "…" if cut + _WIDTH < len(line) else ""
            line = head + line[cut : cut + _WIDTH] + tail
            at += len(head) - cut
            width = min(width, len(line) - at) or 1
        # Tabs stay tabs, so that the caret stands where the terminal puts the text.
        return [line, "".join("\t" if c == "\t" else " " for c in line[:at]) + "^" * width]


_WIDTH = 160
_LOOK = 4 * _WIDTH


@dataclass(frozen=True)
class Finding:
    """One fault: `check` is the id of the check that found it, such as `promql/syntax`.

    `severity` is `error` (exit status 1), `warning`, or `note` for a matter of style. `why` says what would go wrong,
    `fix` what to do.
    """

    check: str
    message: str
    place: Place | None = None
    excerpt: Excerpt | None = None
    why: str = ""
    fix: str = ""
    severity: str = "error"


def sort(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings by place, then check, then message, without repetitions."""
    nowhere = Place("")
    return sorted(
        set(findings), key=lambda f: (f.place or nowhere, f.check, f.message, f.excerpt.start if f.excerpt else 0)
    )


def to_text(finding: Finding, *, colour: bool = False) -> str:
    """Return `file:line:column: error[check] message` with excerpt, reason and fix on the lines below."""
    bold, hue, dim, off = ("\x1b[1m", _HUES[finding.severity], "\x1b[2m", "\x1b[0m") if colour else ("", "", "", "")
    where = f"{bold}{printable(str(finding.place))}:{off} " if finding.place else ""
    lines = [f"{where}{hue}{finding.severity}[{finding.check}]{off} {printable(finding.message)}"]
    if finding.excerpt:
        source, carets = finding.excerpt.lines()
        lines += [f"    {printable(source)}", f"    {hue}{carets}{off}"]
    lines += [
        f"  {dim}{word}:{off} {printable(text)}" for word, text in (("why", finding.why), ("fix", finding.fix)) if text
    ]
    return "\n".join(lines)


_HUES = {"error": "\x1b[31m", "warning": "\x1b[33m", "note": "\x1b[36m"}


def printable(text: str) -> str:
    """Return text with control characters and lone surrogates escaped: what is printed must not steer a terminal."""
    if text.isprintable():
        return text
    return "".join(
        c if c == "\t" or (c.isprintable() and not "\ud800" <= c <= "\udfff") else ascii(c)[1:-1] for c in text
    )


def nearest(word: str, choices: Sequence[str]) -> str:
    """Return `; did you mean "x"?` for the choice nearest to word, or an empty string."""
    import difflib  # only on the way to an error

    match = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    return f'; did you mean "{match[0]}"?' if match else ""


def caller() -> Place:
    """Return the place of the nearest call from outside this package and from outside generated code."""
    frame = sys._getframe(1)  # noqa: SLF001 - inspect.stack() reads source files and is a thousand times slower
    while frame.f_back and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    module: FrameType | None = frame
    while module and module.f_code.co_name != "<module>":
        module = module.f_back
    name = module.f_globals.get("__name__", "") if module else ""
    return Place(frame.f_code.co_filename, frame.f_lineno, module=name)


def is_ours(file: str) -> bool:
    """Tell whether a frame of this file is this package's or generated code, and not the user's."""
    return file.startswith(_OURS)


# Frames that are ours: this package, and the __init__ that dataclasses and attrs generate.
_OURS = (os.path.dirname(os.path.abspath(__file__)) + os.sep, "<string>", "<attrs generated")  # noqa: PTH100, PTH120 - pathlib costs 10 ms


def shorten(file: str) -> str:
    """Return file relative to the working directory where it lies below it, else as it is."""
    try:
        relative = os.path.relpath(file)
    except (OSError, ValueError):
        return file
    return file if relative.startswith("..") else relative
