"""Runbook pages: what a person reads who was asleep a minute ago.

The author writes what no definition knows; the expression, the threshold and the links are the alert's own and come
from it, so that page and alert can't disagree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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

_HEADING = re.compile(r"^## +(.+?) *$", re.MULTILINE)


@dataclass(frozen=True)
class Runbook:
    """A page of Markdown: a section for each of `SECTIONS`, and in it `{expr}`, `{threshold}`, `{for}` of the alert."""

    name: str
    text: str
    place: Place = field(compare=False)

    @property
    def sections(self) -> dict[str, str]:
        """The sections by their headings."""
        parts = _HEADING.split(self.text)
        return {heading: body.strip() for heading, body in zip(parts[1::2], parts[2::2], strict=True)}


def read_pages(package: str) -> tuple[Runbook, ...]:
    """Return the pages that lie in a package as Markdown files, by name.

    Raises:
        ImportError: there is no such package.
    """
    from importlib.resources import files

    return tuple(sorted(_pages(files(package).iterdir()), key=lambda page: page.name))


def _pages(entries: Iterable[object]) -> Iterator[Runbook]:
    for entry in entries:
        name = entry.name  # type: ignore[attr-defined]
        if name.endswith(".md"):
            text = entry.read_text(encoding="utf-8")  # type: ignore[attr-defined]
            yield Runbook(name[:-3], text, Place(str(entry), 1))
