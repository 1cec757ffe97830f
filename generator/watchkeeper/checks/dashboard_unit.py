"""Units that Grafana does not know, and so prints behind the number as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watchkeeper.findings import Finding, nearest
from watchkeeper.render.grafana.units import is_known, known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.project import Project

ID = "dashboard/unit"


def check(project: Project) -> Iterator[Finding]:
    """Yield a finding for each unit of a panel, an override or an axis that is none of Grafana's."""
    for dashboard in project.dashboards:
        for panel in dashboard.panels:
            for where, unit in _units(dashboard.panel(panel)):
                if is_known(unit) or "$" in unit:
                    continue
                yield Finding(
                    ID,
                    f'panel "{panel.title}"{where} has the unit "{unit}", which Grafana does not know{_hint(unit)}',
                    panel.place,
                    why="the number is shown as it is, with that word behind it: 85899345920 instead of 80 GiB",
                    fix=f'use one of Grafana\'s units, or "suffix:{unit}" to have the word shown',
                )


# What Prometheus calls a unit, to what Grafana does.
_BASE = {
    "seconds": "s", "ratio": "percentunit", "byte": "bytes", "watts": "watt", "joules": "joule", "volts": "volt",
    "amperes": "amp", "%": "percent", "requests": "reqps", "count": "short", "bytes_per_second": "binBps", "us": "µs",
    "GiB": "gbytes", "MiB": "mbytes", "B": "bytes",
}  # fmt: skip


def _hint(unit: str) -> str:
    return f'; did you mean "{_BASE[unit]}"?' if unit in _BASE else nearest(unit, known())


def _units(panel: dict[str, Any]) -> Iterator[tuple[str, str]]:
    config = panel.get("fieldConfig")
    if isinstance(config, dict):
        defaults = config.get("defaults")
        if isinstance(defaults, dict) and isinstance(unit := defaults.get("unit"), str):
            yield "", unit
        overrides = config.get("overrides")
        for number, override in enumerate(overrides if isinstance(overrides, list) else ()):
            changes = override.get("properties") if isinstance(override, dict) else None
            for change in changes if isinstance(changes, list) else ():
                if isinstance(change, dict) and change.get("id") == "unit" and isinstance(change.get("value"), str):
                    yield f", override {number + 1},", change["value"]
    options = panel.get("options")
    if isinstance(options, dict):
        for name in ("yAxis", "cellValues"):
            axis = options.get(name)
            if isinstance(axis, dict) and isinstance(unit := axis.get("unit"), str):
                yield f", {name},", unit
