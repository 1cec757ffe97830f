"""Data sources: every reference becomes `{"type", "uid"}`, and queries of Prometheus get their current members."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from watchkeeper.render.grafana.context import drop, fill, items, text

if TYPE_CHECKING:
    from watchkeeper.findings import Place
    from watchkeeper.render.grafana.context import JSON, Context

PROMETHEUS = "prometheus"
DEFAULT = {"type": PROMETHEUS, "uid": "${datasource}"}

# Data sources that every Grafana has, by the names that older models use.
_BUILT_IN = {
    "-- Mixed --": {"type": "datasource", "uid": "-- Mixed --"},
    "-- Dashboard --": {"type": "datasource", "uid": "-- Dashboard --"},
    "-- Grafana --": {"type": "grafana", "uid": "-- Grafana --"},
    "__expr__": {"type": "__expr__", "uid": "__expr__"},
}
_VARIABLE = re.compile(r"\$(\w+)|\$\{(\w+)(?::\w+)?\}|\[\[(\w+)(?::\w+)?\]\]")

# Members of a target that grafanalib writes and no query editor reads any more.
_LEGACY = frozenset({"intervalFactor", "metric", "query", "step", "target", "queryType"})


def variable(uid: str) -> str:
    """Return the name of the variable that a data source uid consists of, else an empty string."""
    match = _VARIABLE.fullmatch(uid)
    return next(filter(None, match.groups())) if match else ""


def reference(value: Any, context: Context, place: Place, default: JSON | None = None) -> Any:
    """Return a reference `{"type", "uid"}` for what a model has, which may be a reference, a name or nothing."""
    if type(value) is dict:
        uid = text(value.get("uid"))
        if not value:
            return _default(context, default)
        if "uid" not in value:
            value["uid"] = _default(context)["uid"]
        if "type" not in value:
            value["type"] = context.sources.get(variable(uid), PROMETHEUS)
        return value
    if value is None or value in ("", "default"):
        return _default(context, default)
    if type(value) is not str:
        return value  # for the schema to tell
    if value in _BUILT_IN:
        return dict(_BUILT_IN[value])
    if name := variable(value):
        return {"type": context.sources.get(name, PROMETHEUS), "uid": f"${{{name}}}"}
    context.find(
        "dashboard/datasource",
        f'data source "{value}" is referred to by its name',
        place=place,
        why="Grafana refers to data sources by uid since 8.3; a name breaks once it is renamed",
        fix='leave it out, for "${datasource}", or say {"type": "prometheus", "uid": "${datasource}"}',
    )
    return _default(context)


def _default(context: Context, default: JSON | None = None) -> JSON:
    if default:
        return dict(default)
    context.defaulted = True
    return dict(DEFAULT)


def targets(panel: JSON, context: Context, place: Place) -> None:
    """Bring the queries of a panel up to date."""
    own = panel["datasource"]
    for query in items(panel, "targets"):
        if "intervalFactor" in query and "step" in query:  # made by grafanalib
            drop(query, _LEGACY)
        source = query.get("datasource")
        source = reference(source, context, place, own if type(own) is dict else None)
        query["datasource"] = source
        if type(source) is dict and source.get("type") == PROMETHEUS:
            prometheus(query)


def prometheus(query: JSON) -> None:
    """Bring one query of Prometheus up to date."""
    drop(query, _LEGACY)
    for name in ("hide", "interval"):
        if not query.get(name, True):
            del query[name]
    if not query.get("legendFormat"):
        query["legendFormat"] = "__auto"
    if "range" not in query:
        query["range"] = not query.get("instant", False)
    fill(query, {"editorMode": "code", "instant": not query["range"]})
