"""What came of one unit-test file."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.ruler.rules import Fault
    from watchkeeper.ruler.unit.failures import Outcome


class Suite:
    """One file: its tests with their numbers and seconds, or why it could not be used."""

    __slots__ = ("cases", "faults", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.cases: list[tuple[int, Outcome, float]] = []
        self.faults: list[Fault] = []
