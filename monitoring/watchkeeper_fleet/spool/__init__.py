"""The spool: one small memory-mapped file per process, which the daemon of the host reads (docs/spool.md).

Standard library only. The agent needs the writer alone, and the reader is loaded when it is first asked for.
"""

from typing import TYPE_CHECKING, Any

from watchkeeper_fleet.spool.layout import CAPACITY, LARGEST, SIZE, SUFFIX, VERSION, Field
from watchkeeper_fleet.spool.writer import Writer, whereabouts

if TYPE_CHECKING:
    from watchkeeper_fleet.spool.files import REASONS, Refused, remove, shared, sweep
    from watchkeeper_fleet.spool.reader import Record, Scanner, read, scan

__all__ = [
    "CAPACITY",
    "LARGEST",
    "REASONS",
    "SIZE",
    "SUFFIX",
    "VERSION",
    "Field",
    "Record",
    "Refused",
    "Scanner",
    "Writer",
    "read",
    "remove",
    "scan",
    "shared",
    "sweep",
    "whereabouts",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from watchkeeper_fleet.spool import files, reader

    globals()[name] = found = getattr(files if hasattr(files, name) else reader, name)
    return found
