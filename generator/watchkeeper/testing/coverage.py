"""Which alerts were shown to fire, and which to be silent."""

from __future__ import annotations

from watchkeeper.testing import ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from watchkeeper.testing.bench import Bench


class Coverage:
    """What assertions that passed have shown, as the ledger notes it."""

    __slots__ = ("shown",)

    def __init__(self) -> None:
        self.shown: set[tuple[str, ...]] = set()

    def add(self, entries: Iterable[Sequence[str]]) -> None:
        """Take in (kind, name, expression)."""
        self.shown.update(tuple(entry) for entry in entries)

    def has(self, kind: str, name: str, expr: str) -> bool:
        """Whether this was shown."""
        return (kind, name, expr) in self.shown


def table(bench: Bench, coverage: Coverage) -> tuple[list[str], bool]:
    """The lines of the table, and whether an alert lacks a firing or a silent test."""
    rows = []
    total = 0
    for name, rules in bench.alerts.items():
        for rule in rules:
            total += 1
            fires, silent = (coverage.has(kind, name, rule.expr) for kind in (ledger.FIRES, ledger.SILENT))
            if not (fires and silent):
                rows.append((name, "yes" if fires else "no", "yes" if silent else "no"))
    lines = []
    if rows:
        width = max(len("alert"), *(len(name) for name, _, _ in rows))
        lines = [f"{'alert':{width}}  fires  silent"]
        lines += [f"{name:{width}}  {fires:5}  {silent}" for name, fires, silent in rows]
    whole = total - len(rows)
    share = 100 * whole // total if total else 100
    lines.append(f"{whole} of {total} alerts have a firing and a silent test ({share} %)")
    return lines, bool(rows)
