"""Data from files and text: series notation (`notation`), Prometheus' text format and OpenMetrics (`openmetrics`)."""

from __future__ import annotations

import re

from watchkeeper.engine.read.errors import ReadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from watchkeeper.engine.data import Data

__all__ = ["ReadError", "read"]

NOTATION = "notation"
PROMETHEUS = "prometheus"
OPENMETRICS = "openmetrics"

_SUFFIXES = {
    ".series": NOTATION,
    ".notation": NOTATION,
    ".prom": PROMETHEUS,
    ".metrics": PROMETHEUS,
    ".om": OPENMETRICS,
    ".openmetrics": OPENMETRICS,
}
_GZIP = b"\x1f\x8b"
_LOOK = 1 << 16
_LARGEST_NOTATION = 64 << 20  # bytes; its repetitions make far more samples
_COMMENT = re.compile(rb"^[ \t]*#[ \t]*(TYPE|HELP|UNIT|EOF)\b", re.MULTILINE)
# One value and one timestamp of 1973 or later in milliseconds, or of 1973 or later in seconds with a fraction.
_STAMPED = re.compile(rb'[^\s"]+[ \t]+\d{12,}(?:[ \t]*|[ \t]+#.*)|[^\s"]+[ \t]+\d{9,}\.\d+(?:[ \t]*|[ \t]+#.*)')


def read(file: BinaryIO, interval: str | float = "15s", *, path: str = "") -> Data:
    """The series in an open binary file, which may be compressed with gzip and need not be seekable.

    What it holds is told by the suffix of `path` (.series or .notation; .prom or .metrics; .om or .openmetrics; .gz may
    follow), else by its content. `interval`, a duration or seconds, is that between samples in series notation.

    Raises ReadError for what can't be read, and OSError where the file itself fails.
    """
    import io
    import zlib

    buffered: BinaryIO = file if hasattr(file, "peek") else io.BufferedReader(file)  # type: ignore[type-var]
    if not buffered.seekable():
        buffered = _spooled(buffered)
    start = buffered.read(2)
    buffered.seek(0)
    if start == _GZIP:
        import gzip

        buffered = gzip.GzipFile(fileobj=buffered)  # type: ignore[assignment]
    try:
        return _read(buffered, interval, path)
    except (EOFError, zlib.error) as error:
        raise ReadError(f"the gzip data is damaged or cut short: {error}", path=path) from None
    except OSError as error:
        if type(error).__name__ == "BadGzipFile":
            raise ReadError(f"the gzip data is damaged: {error}", path=path) from None
        raise


def _spooled(file: BinaryIO) -> BinaryIO:
    """A pipe's content as a temporary file: its end must be seen before its start can be read."""
    import shutil
    import tempfile

    copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is forgotten
    shutil.copyfileobj(file, copy)
    copy.seek(0)
    return copy


def _read(file: BinaryIO, interval: str | float, path: str) -> Data:
    kind = _kind(path) or _kind_of_content(file)
    file.seek(0)
    if kind == NOTATION:
        from watchkeeper.engine.read import notation

        text = file.read(_LARGEST_NOTATION + 1)
        if len(text) > _LARGEST_NOTATION:
            raise ReadError(f"more than {_LARGEST_NOTATION:,} bytes of series notation", path=path)
        try:
            return notation.load(text.decode(), interval, path=path)
        except UnicodeDecodeError as error:
            line = text.count(b"\n", 0, error.start) + 1
            raise ReadError(f"byte 0x{text[error.start]:02x} is not UTF-8", line, path=path) from None
    from watchkeeper.engine.read import openmetrics

    # A .prom file that ends with # EOF is OpenMetrics all the same: the difference is a factor of 1000 in its times.
    is_openmetrics = kind == OPENMETRICS or openmetrics.is_openmetrics(_tail(file))
    file.seek(0)
    return openmetrics.load(file, openmetrics=is_openmetrics, path=path)


def _kind(path: str) -> str | None:
    name = path.removesuffix(".gz")
    dot = name.rfind(".")
    return _SUFFIXES.get(name[dot:]) if dot >= 0 else None


def _kind_of_content(file: BinaryIO) -> str:
    """Which kind of text it is. `x 5` is alike in all of them; `x 5 7` is two samples unless 7 is a likely time."""
    from watchkeeper.engine.read import openmetrics

    head = file.read(_LOOK)
    if _COMMENT.search(head):
        return PROMETHEUS
    lines = head.split(b"\n")
    if len(head) == _LOOK:
        lines.pop()  # cut
    for line in lines:
        stripped = line.strip()
        if stripped and not stripped.startswith(b"#"):
            behind = stripped.rpartition(b"}")[2] if b"}}" not in stripped else b""
            if b"{" not in stripped:
                behind = stripped.partition(b" ")[2]
            if not _STAMPED.fullmatch(behind.strip()):
                return PROMETHEUS if openmetrics.is_openmetrics(_tail(file)) else NOTATION
    return PROMETHEUS if lines else NOTATION


def _tail(file: BinaryIO) -> bytes:
    """The last bytes. What is compressed is run through once, in blocks."""
    import io

    if isinstance(file, io.BufferedIOBase) and type(file).__name__ != "GzipFile":
        size = file.seek(0, 2)
        file.seek(max(0, size - _LOOK))
        return file.read()
    tail = b""
    while block := file.read(_LOOK):
        tail = (tail + block)[-1024:]
    return tail
