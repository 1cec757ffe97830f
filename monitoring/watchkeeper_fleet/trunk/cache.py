"""What GitHub has answered, kept on disk: after a restart a question that was answered costs no request, or a free one.

The file is a line a page of an answer, between a head with the version and a tail with the check sum; written whole or
not at all.
"""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

FORMAT = "watchkeeper trunk"
VERSION = 2
LARGEST = 64 * 2**20  # about 300,000 jobs

Row = tuple[Any, ...]  # of text, numbers and None


@dataclass(frozen=True, slots=True)
class Page:
    """A page of an answer, boiled down to rows. What is final will not change: nobody has to ask again."""

    etag: str
    more: bool
    final: bool
    rows: tuple[Row, ...]


class Cache:
    """Pages by the question that they answer, and in `kept` what else has to outlive the process, as JSON has it.

    A file that can't be used is no reason to stop: `refused` tells of it, and all is asked anew. `saved` says whether
    the file is up to date.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._path = None if path is None else Path(path)
        self.pages: dict[str, Page] = {}
        self.kept: dict[str, Any] = {}
        self.refused = ""
        self.saved = self._path is not None
        if self._path is not None:
            self._load(self._path)

    def keep(self, keys: Collection[str]) -> None:
        """Forget all pages but these."""
        self.pages = {key: page for key, page in self.pages.items() if key in keys}

    def save(self) -> None:
        """Write the file."""
        if self._path is None:
            return
        temporary = self._path.with_name(f"{self._path.name}.new")
        try:
            with temporary.open("wb") as file:
                self._write(file)
                file.flush()
                os.fsync(file.fileno())
                fits = file.tell() <= LARGEST
            if fits:
                temporary.replace(self._path)
            else:
                temporary.unlink()
            self.saved = fits
        except OSError:
            self.saved = False

    def _write(self, file: IO[bytes]) -> None:
        total = 0

        def line(data: object) -> None:
            nonlocal total
            text = json.dumps(data, separators=(",", ":")).encode() + b"\n"
            total = zlib.crc32(text, total)
            file.write(text)

        line({"format": FORMAT, "version": VERSION, "kept": self.kept})
        for key, page in self.pages.items():
            line([key, page.etag, page.more, page.final, page.rows])
        file.write(b'{"crc32":%d}\n' % total)

    def _load(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                if os.fstat(file.fileno()).st_size > LARGEST:
                    raise ValueError(f"it has more than {LARGEST >> 20} MiB")  # noqa: TRY301 - all its faults end below
                self._read(file)
        except FileNotFoundError:
            return
        except OSError as error:
            self.refused = f"{path} can't be read: {os.strerror(error.errno or 0)}"
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            reason = str(error) if type(error) is ValueError else "it is damaged"
            self.refused = f"{path} is not used: {reason}; all is asked anew"
        if self.refused:
            self.pages, self.kept = {}, {}

    def _read(self, file: IO[bytes]) -> None:
        first = file.readline(LARGEST)
        head = json.loads(first)
        if not isinstance(head, dict) or head.get("format") != FORMAT or head.get("version") != VERSION:
            raise ValueError("it is no state of this version")
        total = zlib.crc32(first)
        before: bytes | None = None
        for text in file:
            if before is not None:
                self._take(json.loads(before))
                total = zlib.crc32(before, total)
            before = text
        if before is None or json.loads(before) != {"crc32": total}:
            raise ValueError("it is damaged")
        kept = head.get("kept")
        self.kept = kept if isinstance(kept, dict) else {}

    def _take(self, line: Any) -> None:
        key, etag, more, final, rows = line
        # The same names come with every commit: each is held once.
        self.pages[key] = Page(
            etag, more, final, tuple(tuple(intern(one) if type(one) is str else one for one in row) for row in rows)
        )
