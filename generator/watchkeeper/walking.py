"""The folders below a folder in which files of the project's own may be."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def walk(top: str, unlisted: Callable[[OSError], object] | None = None) -> Iterator[tuple[str, list[str]]]:
    """Yield each folder from `top` down with its files' names, both in order; `unlisted` hears of those that can't be.

    What is hidden, and what others brought (a virtual environment, npm's modules), is passed over. Links to folders are
    not followed: there is no loop.
    """
    for folder, folders, files in os.walk(top, onerror=unlisted):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not _is_foreign(folder, name))
        yield folder, sorted(files)


def _is_foreign(folder: str, name: str) -> bool:
    return name == "node_modules" or os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))  # noqa: PTH110, PTH118 - pathlib is slow to load
