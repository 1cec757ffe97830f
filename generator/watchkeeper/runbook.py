"""Runbook pages: what a person reads who was asleep a minute ago.

The author writes what no definition knows; the expression, the threshold and the links are the alert's own and come
from it, so that page and alert can't disagree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from watchkeeper.fields import hold, text
from watchkeeper.findings import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# What every page answers, in the order in which one asks at night.
SECTIONS = (
    "What it means",
    "False alarm?",
    "First three commands",
    "Stop the bleeding",
    "Over when",
    "Tell",
)

_HEADING = re.compile(r"## +(.+?) *")
# A code fence: its marks, and what is behind them (https://spec.commonmark.org/0.31.2/#fenced-code-blocks).
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)")


class PageError(ValueError):
    """A page that can't be read. `place` is the file."""

    def __init__(self, message: str, place: Place) -> None:
        super().__init__(message)
        self.message, self.place = message, place


@dataclass(frozen=True)
class Runbook:
    """A page of Markdown: a section for each of `SECTIONS`, and in it `{expr}`, `{threshold}`, `{for}` of the alert."""

    name: str
    text: str
    place: Place = field(compare=False)

    def __post_init__(self) -> None:
        hold(self, name=text, text=text)

    @property
    def sections(self) -> dict[str, str]:
        """The sections by their headings."""
        found: dict[str, str] = {}
        heading, body = "", [""]
        for line, is_code in lines(self.text):
            match = None if is_code else _HEADING.fullmatch(line)
            if match:
                found[heading] = "\n".join(body).strip()
                heading, body = match[1], []
            else:
                body.append(line)
        found[heading] = "\n".join(body).strip()
        del found[""]
        return found


def lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it is of a fenced block of code or one of its two fences."""
    open_ = ""
    for line in text.split("\n"):
        match = _FENCE.fullmatch(line)
        if open_:
            yield line, True
            if match and match[1].startswith(open_) and not match[2].strip():
                open_ = ""
        else:
            open_ = match[1] if match else ""
            yield line, match is not None


def read_pages(package: str) -> tuple[Runbook, ...]:
    """Return the pages that lie in a package as Markdown files, by name.

    Raises:
        ImportError: there is no such package.
        PageError: a page can't be read, or is no UTF-8.
    """
    from importlib.resources import files

    return tuple(sorted(_pages(files(package).iterdir()), key=lambda page: page.name))


def _pages(entries: Iterable[object]) -> Iterator[Runbook]:
    for entry in entries:
        name = entry.name  # type: ignore[attr-defined]
        if name.endswith(".md"):
            place = Place(str(entry), 1)
            try:
                body = entry.read_text(encoding="utf-8")  # type: ignore[attr-defined]
            except UnicodeDecodeError as error:
                raise PageError(
                    f"the runbook page {name} is not UTF-8: {error.reason} at {error.start}", place
                ) from None
            except OSError as error:
                raise PageError(f"the runbook page {name} can't be read: {error.strerror or error}", place) from None
            yield Runbook(name[:-3], body, place)
