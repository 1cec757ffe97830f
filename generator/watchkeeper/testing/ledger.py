"""What a test session notes of its runs: those that nothing was asserted of, and which alerts were tested.

There is no ledger unless pytest's plugin opens one: outside of a test session runs are nobody's business.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.ruler.rules import Rule
    from watchkeeper.testing.evaluated import Evaluated

FIRES = "fires"
SILENT = "silent"


class Ledger:
    """The runs that were made, and what was shown of alerts since `turn`.

    `shown` holds (FIRES or SILENT, name, expression): an alert of another pack with the same name is another alert.
    """

    __slots__ = ("runs", "shown")

    def __init__(self) -> None:
        self.runs: list[Evaluated] = []
        self.shown: set[tuple[str, str, str]] = set()

    def turn(self) -> tuple[list[Evaluated], set[tuple[str, str, str]]]:
        """Hand over what was noted, and start anew."""
        noted = self.runs, self.shown
        self.runs, self.shown = [], set()
        return noted


_open: list[Ledger] = []  # the innermost test session's is the last: a test of a plugin runs pytest in pytest


def open_() -> Ledger:
    """A new ledger, for runs to be noted in from now on."""
    ledger = Ledger()
    _open.append(ledger)
    return ledger


def close(ledger: Ledger) -> None:
    """The end of a session's ledger."""
    if ledger in _open:
        _open.remove(ledger)


def note_run(run: Evaluated) -> None:
    """A run was made."""
    if _open:
        _open[-1].runs.append(run)


def note_shown(kind: str, rule: Rule) -> None:
    """An assertion about an alert passed."""
    if _open:
        _open[-1].shown.add((kind, rule.name, rule.expr))
