"""What else a pack becomes: files below deploy/, each kind chosen by a table in `[tool.watchkeeper.outputs]`.

A kind is a module with two functions: `options(table, fault)` returns what the table says, or tells its faults as
`settings` does; `files(made, options)` returns the files by their paths and what is wrong with them. It is loaded when
a project wants that kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from watchkeeper.findings import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from watchkeeper.findings import Finding
    from watchkeeper.model import Group
    from watchkeeper.pack import Pack
    from watchkeeper.settings import Settings

    Fault = Callable[[str, str, str], None]

__all__ = ["KINDS", "Made", "files", "read"]

# By their names in the settings. All but that of Alertmanager, which a pack with routing always becomes, are optional.
KINDS = {
    "grafana-alerts": "watchkeeper.render.grafana_alerts",
    "grafana-provisioning": "watchkeeper.render.grafana_provisioning",
    "git-sync": "watchkeeper.render.git_sync",
    "kubernetes": "watchkeeper.render.kubernetes",
    "mimir": "watchkeeper.render.mimir",
    "cortex": "watchkeeper.render.cortex",
    "thanos": "watchkeeper.render.thanos",
    "scrape": "watchkeeper.render.scrape",
}


@dataclass(frozen=True)
class Made:
    """What a pack has become: files by their paths, the rule files as data too, and each alert's dashboard and panel.

    `folder_of` is the uid of each dashboard's folder by that of the dashboard, empty at the top. `previous` returns the
    text of a file as it lies there from the last time, None where there is none.
    """

    pack: Pack
    settings: Settings
    files: Mapping[str, str]
    documents: tuple[tuple[Group, dict[str, Any]], ...]
    panel_of: Mapping[str, tuple[str, int]]
    folder_of: Mapping[str, str]
    previous: Callable[[str], str | None]


def read(table: object, fault: Fault) -> dict[str, Any]:
    """Return the options of each kind that the table chooses. `fault` is told check, message and fix of each fault."""
    if not isinstance(table, dict):
        fault(
            "settings/value", "outputs must be a table", "write [tool.watchkeeper.outputs], and below it git-sync = {}"
        )
        return {}
    chosen: dict[str, Any] = {}
    for kind, options in table.items():
        if kind not in KINDS:
            message = f'unknown output "{kind}"{nearest(kind, list(KINDS))}'
            fault("settings/key", message, f"the outputs are {', '.join(KINDS)}")
        elif not isinstance(options, dict):
            fault("settings/value", f"outputs.{kind} must be a table, not {options!r}", f"write {kind} = {{}}")
        else:
            chosen[kind] = import_module(KINDS[kind]).options(options, fault)
    return chosen


def files(made: Made, chosen: Mapping[str, Any]) -> tuple[dict[str, str], list[Finding]]:
    """Return the files of the chosen kinds by their paths, and what is wrong with them."""
    written: dict[str, str] = {}
    findings: list[Finding] = []
    for kind, options in chosen.items():
        more, found = import_module(KINDS[kind]).files(made, options)
        written |= more
        findings += found
    return written, findings
