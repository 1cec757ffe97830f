"""Which data source a query of a dashboard asks: Prometheus, another, or one of which nothing is known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from watchkeeper.dashboard_models import inputs, variables

if TYPE_CHECKING:
    from watchkeeper.dashboard_models import Json

__all__ = ["is_prometheus", "named_sources"]

_PROMETHEUS = frozenset({"prometheus", "grafana-amazonprometheus-datasource", "grafana-azureprometheus-datasource"})
# Grafana's own, by uid: whose `expr` is no PromQL.
_OWN = frozenset({"__expr__", "-- Dashboard --", "-- Grafana --", "grafana"})
_MIXED = "-- Mixed --"
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::\w+)?\}|(\w+))|\[\[(\w+)\]\]")
# Names say what they are of; these have queries of another language in `expr`.
_OTHERS = re.compile(r"loki|logs|tempo|pyroscope", re.IGNORECASE)


def named_sources(model: Json) -> dict[str, str]:
    """Return the plugins of the data sources that have a name in the dashboard: variables, and inputs of an export."""
    found = {name: plugin for name, plugin in inputs(model) if isinstance(plugin, str)}
    for _, one in variables(model):
        plugin = one.get("query") or one.get("pluginId")
        if one.get("type") == "datasource" and isinstance(one.get("name"), str) and isinstance(plugin, str):
            found[one["name"]] = plugin
    return found


def is_prometheus(source: Any, named: dict[str, str]) -> bool | None:
    """Tell whether a data source, a name or a reference, is a Prometheus; None where nothing says so."""
    if isinstance(source, dict):
        kind, name = source.get("type"), source.get("uid") or source.get("name")
        if isinstance(kind, str) and kind and name != _MIXED:
            return kind in _PROMETHEUS
        source = name
    if not isinstance(source, str) or source == _MIXED:
        return None
    if source in _OWN:
        return False
    match = _VARIABLE.fullmatch(source)
    plugin = named.get(match[match.lastindex]) if match and match.lastindex else None
    if plugin is not None:
        return plugin in _PROMETHEUS
    if source.lower() == "prometheus":
        return True
    return False if _OTHERS.search(source) else None
