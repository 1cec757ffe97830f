"""Rules as a namespace of Cortex' ruler, as cortextool loads, compares and syncs it.

The format: https://github.com/cortexproject/cortex-tools#rules
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watchkeeper.render.mimir import NAMESPACE, namespace
from watchkeeper.render.tables import read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from watchkeeper.findings import Finding
    from watchkeeper.outputs import Made

    Fault = Callable[[str, str, str], None]


def options(table: Mapping[str, Any], fault: Fault) -> str:
    """Return the namespace that `[tool.watchkeeper.outputs.cortex]` names."""
    return str(read("outputs.cortex", table, {"namespace": NAMESPACE}, fault).get("namespace", "watchkeeper"))


def files(made: Made, name: str) -> tuple[dict[str, str], list[Finding]]:
    """Return the file of the namespace."""
    return {f"deploy/cortex/{name}.yaml": namespace(made, name, {})}, []
