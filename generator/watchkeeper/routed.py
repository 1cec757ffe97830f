"""A pack's routing made into Alertmanager's files, and read again as Alertmanager reads them: one truth for all checks.

What is wrong is told at the definitions that it comes from.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from watchkeeper.read.alertmanager import config
from watchkeeper.read.documents import Unreadable, documents
from watchkeeper.read.source import File
from watchkeeper.render import page
from watchkeeper.render.alertmanager import TEMPLATES, Placed, document, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.findings import Finding, Place
    from watchkeeper.proof.routing import Config
    from watchkeeper.routing import Routing
    from watchkeeper.settings import Settings

__all__ = ["FOLDER", "files", "read"]

FOLDER = "deploy/alertmanager"
_NAME = f"{FOLDER}/alertmanager.yaml"


def files(routing: Routing, settings: Settings) -> dict[str, str]:
    """Return the configuration and the templates that it names, by their paths."""
    text = to_text(document(routing), routing.place.module)
    return {_NAME: text, f"{FOLDER}/{TEMPLATES}": page.templates(settings)}


def read(routing: Routing) -> tuple[Config | None, list[Finding]]:
    """Return the routing as Alertmanager reads it, and what is wrong with it; None where it would be refused."""
    data = document(routing)
    file = _Generated(_NAME, to_text(data, routing.place.module))
    try:
        (node,) = documents(file)
    except Unreadable as error:  # a text that YAML can't hold
        return None, [error.finding]
    file.places = sorted(_places(data, node), key=lambda pair: pair[0])
    return config(node, file)


class _Generated(File):
    """A generated file whose places are those of the definitions, as far as a line comes from one."""

    __slots__ = ("places",)

    def __init__(self, name: str, text: str) -> None:
        super().__init__(name, text)
        self.places: list[tuple[int, Place]] = []

    def place(self, index: int) -> Place:
        """Return the place of the definition that a character comes from."""
        at = bisect_right([start for start, _ in self.places], index) - 1
        return self.places[at][1] if at >= 0 else super().place(index)


def _places(data: Any, node: Any) -> Iterator[tuple[int, Place]]:
    """Yield where each definition's part of the file begins. `data` is what the file holds, and `node` that as read."""
    todo: list[tuple[Any, Any]] = [(data, node)]
    for here, written in todo:  # it grows as it is walked
        if isinstance(here, Placed):
            yield written.start_mark.index, here.place
        if isinstance(here, dict):
            pairs = zip(here.values(), written.value, strict=True)
            for value, (key, inner) in pairs:
                if isinstance(here, Placed) and value and isinstance(value, list) and isinstance(value[0], Placed):
                    yield key.start_mark.index, here.place  # the key itself, behind what came before
                todo.append((value, inner))
        elif isinstance(here, list):
            todo += zip(here, written.value, strict=True)
