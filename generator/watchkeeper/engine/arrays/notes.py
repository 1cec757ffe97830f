"""Warnings and infos as they arise, kept so that the last one told of each text is the one of the last step."""

from __future__ import annotations

from watchkeeper.promql.nodes import Subquery, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine.annotations import Annotations
    from watchkeeper.promql.nodes import Node


# Steps before the first: what does not depend on time is evaluated once and first, then subqueries over all of theirs.
FIXED = -2
INSIDE = -1


class Note:
    """One message, the node at whose start it is told, and the last step, by number, at which it arose."""

    __slots__ = ("message", "node", "step")

    def __init__(self, message: str, node: Node, step: int) -> None:
        self.message = message
        self.node = node
        self.step = step


def telling(notes: list[Note]) -> list[Note]:
    """Of each message the note that would be told in the end; it is the same whatever comes before or behind."""
    if len(notes) < 2:
        return notes
    last: dict[str, Note] = {}
    for note in notes:
        known = last.get(note.message)
        if known is None or note.step >= known.step:
            last[note.message] = note
    return list(last.values())


def moved(notes: list[Note], root: Node, other: Node) -> list[Note]:
    """The notes of `root` as those of `other`, an equal expression that stands elsewhere."""
    if root is other or not notes:
        return notes
    places = {id(node): index for index, node in enumerate(walk(root))}
    targets = list(walk(other))
    return [Note(note.message, targets[places[id(note.node)]], note.step) for note in notes]


def before(notes: list[Note], step: int) -> list[Note]:
    """Notes of another grid, in order, as if they arose at FIXED or INSIDE."""
    return [Note(note.message, note.node, step) for note in sorted(notes, key=_step)]


def later(notes: list[Note], steps: int) -> list[Note]:
    """Notes of steps that are counted from another one, so many steps later."""
    return [Note(note.message, note.node, note.step + steps if note.step >= 0 else note.step) for note in notes]


def tell(notes: list[Note], annotations: Annotations) -> None:
    """Give the notes, in the order in which a step-wise evaluation would have met them."""
    for note in sorted(notes, key=_step):
        # Prometheus forgets where a subquery stands and tells the start of the expression.
        annotations.add(note.message, 0 if isinstance(note.node, Subquery) else note.node.start)


def _step(note: Note) -> int:
    return note.step
