"""A dashboard of the classic model against its schemas.

Which schema a panel or query is held to is chosen here, by its type: a schema that tries one alternative after another
is slow, and explains badly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watchkeeper.schemas import validate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from watchkeeper.schemas.fault import Fault

# Panel types whose options we know; those of others are not looked into.
TYPES = ("bargauge", "gauge", "heatmap", "stat", "state-timeline", "table", "text", "timeseries")
_BY_TYPE = {kind: f"grafana/panel.{kind}" for kind in TYPES}


def faults(model: dict[str, Any]) -> Iterator[Fault]:
    """Yield every fault of the dashboard, each with its path in the whole model."""
    yield from validate("grafana/dashboard", _shell(model))
    for number, variable in _items(_get(model, "templating"), "list"):
        yield from validate("grafana/variable", variable, ("templating", "list", number))
    for number, panel in _items(model, "panels"):
        if panel.get("type") != "row":
            yield from _panel(panel, ("panels", number))
            continue
        yield from validate("grafana/row", panel, ("panels", number))
        for inner, nested in _items(panel, "panels"):
            yield from _panel(nested, ("panels", number, "panels", inner))


def _shell(model: dict[str, Any]) -> dict[str, Any]:
    """Return the model with its panels and variables empty: those are told of once, by their own schemas."""
    shell = dict(model)
    if "panels" in shell:
        shell["panels"] = _emptied(shell["panels"])
    if list_ := _get(model, "templating").get("list"):
        shell["templating"] = {**model["templating"], "list": _emptied(list_)}
    return shell


def _emptied(items: Any) -> Any:
    return [{} if isinstance(item, dict) else item for item in items] if isinstance(items, list) else items


def _panel(panel: dict[str, Any], path: tuple[str | int, ...]) -> Iterator[Fault]:
    yield from validate("grafana/panel", panel, path)
    kind = panel.get("type")
    if isinstance(kind, str) and kind in _BY_TYPE:
        yield from validate(_BY_TYPE[kind], panel, path)
    for number, query in _items(panel, "targets"):
        if _get(query, "datasource").get("type") == "prometheus":
            yield from validate("grafana/query.prometheus", query, (*path, "targets", number))


def _get(parent: dict[str, Any], name: str) -> dict[str, Any]:
    value = parent.get(name)
    return value if isinstance(value, dict) else {}


def _items(parent: dict[str, Any], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    value = parent.get(name)
    if isinstance(value, list):
        for number, item in enumerate(value):
            if isinstance(item, dict):
                yield number, item
