"""The rule files that a unit-test file names."""

from __future__ import annotations

import os

from watchkeeper.ruler.rules import Fault, RuleError, groups_of
from watchkeeper.ruler.unit import documents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.ruler.rules import Rule, RuleGroup
    from watchkeeper.ruler.unit.testfile import UnitFile


class Loaded:
    """Groups, and the patterns that named no file."""

    __slots__ = ("groups", "missing")

    def __init__(self) -> None:
        self.groups: list[RuleGroup] = []
        self.missing: list[str] = []

    def alerts(self) -> dict[str, list[Rule]]:
        """The alerting rules by name."""
        found: dict[str, list[Rule]] = {}
        for group in self.groups:
            for rule in group.rules:
                if rule.is_alert:
                    found.setdefault(rule.name, []).append(rule)
        return found


def load(file: UnitFile) -> Loaded:
    """The groups of all rule files, in order. Raises RuleError with all that is wrong with them."""
    found = Loaded()
    faults: list[Fault] = []
    folder = os.path.dirname(file.path)  # noqa: PTH120 - pathlib is slow to load
    seen = set()
    for pattern in file.rule_files:
        path = os.path.join(folder, pattern) if pattern else pattern  # noqa: PTH118
        # A name without wildcards is taken as it is: it may hold brackets.
        names = [path] if os.path.isfile(path) else _matches(path)  # noqa: PTH113
        if not names:
            found.missing.append(pattern)
        for name in names:
            if name in seen:
                continue
            seen.add(name)
            try:
                document, _ = documents.read(name)
                found.groups += groups_of(document, name)
            except RuleError as error:
                faults += error.faults
    if faults:
        raise RuleError(faults)
    return found


def _matches(pattern: str) -> list[str]:
    import glob

    return sorted(glob.glob(pattern))  # noqa: PTH207
