"""Rules as files of Thanos Ruler.

The format: https://thanos.io/tip/components/rule.md/
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watchkeeper.findings import Finding
from watchkeeper.render.mimir import HEADER, plain
from watchkeeper.render.tables import Kind, read
from watchkeeper.render.yaml_text import to_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from watchkeeper.outputs import Made

    Fault = Callable[[str, str, str], None]

_STRATEGY = Kind(lambda value: value in ("abort", "warn"), 'one of "abort" and "warn"', '"warn"')


def options(table: Mapping[str, Any], fault: Fault) -> str:
    """Return the strategy that `[tool.watchkeeper.outputs.thanos]` chooses, empty for Thanos' own, which is abort."""
    key = "partial_response_strategy"
    return str(read("outputs.thanos", table, {key: _STRATEGY}, fault).get(key, ""))


def files(made: Made, strategy: str) -> tuple[dict[str, str], list[Finding]]:
    """Return a file for each group."""
    more = {"partial_response_strategy": strategy} if strategy else {}
    written = {
        f"deploy/thanos/{definition.name}.yaml": to_yaml({"groups": [plain(document["groups"][0], more)]}, HEADER)
        for definition, document in made.documents
    }
    findings = [
        Finding(
            "output/feature",
            f"group {definition.name}: query_offset, which Thanos Ruler does not have in any version",
            definition.place,
            why="it evaluates the rules at the time itself, on samples that may not be there yet",
            fix="write the offset into the expressions, or do without it",
        )
        for definition, _ in made.documents
        if definition.query_offset
    ]
    return written, findings
