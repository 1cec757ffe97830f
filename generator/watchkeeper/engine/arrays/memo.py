"""What was evaluated already, within a budget of memory."""

from __future__ import annotations

from watchkeeper.engine.arrays.frame import Frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.arrays.context import Value
    from watchkeeper.engine.arrays.notes import Note
    from watchkeeper.promql.nodes import Expr

    Key = tuple[int, int]  # the number of a context and that of an expression
    Entry = tuple[Value, list[Note], Expr]

# Numbers in all frames that are kept: 9 bytes each.
_BUDGET = 32_000_000


class Memo:
    """Values of expressions. Those that were used longest ago go when there are too many; the newest always stays."""

    __slots__ = ("_entries", "_size")

    def __init__(self) -> None:
        self._entries: dict[Key, Entry] = {}  # in the order of their last use
        self._size = 0

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def get(self, key: Key) -> Entry | None:
        """The value, its notes and the expression that it was evaluated for."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._entries[key] = entry
        return entry

    def put(self, key: Key, entry: Entry) -> None:
        """Keep a value."""
        self._entries[key] = entry
        self._size += _size(entry)
        while self._size > _BUDGET and len(self._entries) > 1:
            self._size -= _size(self._entries.pop(next(iter(self._entries))))


def _size(entry: Entry) -> int:
    value = entry[0]
    return value.values.size if isinstance(value, Frame) else len(value)
