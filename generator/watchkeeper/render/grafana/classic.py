"""The current classic model of a whole dashboard, from whatever its author wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from watchkeeper.render.grafana import panels as panel_
from watchkeeper.render.grafana import variables
from watchkeeper.render.grafana.context import META, Context, drop, fill, items, place_of, sub, text
from watchkeeper.render.grafana.layout import SIZES, Flow
from watchkeeper.render.grafana.read import read
from watchkeeper.render.grafana.sources import reference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from watchkeeper.findings import Finding, Place
    from watchkeeper.model import Alert
    from watchkeeper.render.grafana.context import JSON


@dataclass(frozen=True)
class Panel:
    """Where a panel came from and where it went: `path` leads to it in the model, such as `("panels", 3)`.

    `id` is 0 where the author gave one that is no number. `alerts` are the names that the panel gives.
    """

    id: int
    key: str
    title: str
    type: str
    alerts: tuple[str, ...]
    place: Place
    path: tuple[str | int, ...]


@dataclass(frozen=True)
class Rendered:
    """A dashboard in Grafana's classic model. `folder` is the uid of its folder, empty for the default one."""

    uid: str
    title: str
    model: JSON
    place: Place
    panels: tuple[Panel, ...]
    folder: str = ""

    def panel(self, panel: Panel) -> JSON:
        """Return the panel's part of the model."""
        value: Any = self.model
        for step in panel.path:
            value = value[step]
        found: JSON = value
        return found


def schema_version(grafana: tuple[int, int]) -> int:
    """Return the schemaVersion for the oldest Grafana in use. Newer ones migrate it on load."""
    if grafana >= (12, 2):
        return 42
    return 41 if grafana >= (11, 6) else 39


def to_classic(
    source: object,
    *,
    place: Place,
    alerts: Mapping[str, Alert],
    runbook_url: Callable[[str], str],
    grafana: tuple[int, int] = (12, 2),
    removed: frozenset[str] = frozenset(),
) -> tuple[Rendered, list[Finding]]:
    """Return the dashboard in the classic model that this Grafana reads, and what is wrong with what was given.

    `place` is where the dashboard was defined, unless it knows better. `alerts` are all that a panel may name, and
    `removed` those that it may still name though the pack has them no more. `runbook_url` returns the address of a
    runbook page, empty where there is none. `source` is left as it is.

    Raises:
        DefinitionError: source is nothing that a dashboard can be made of; see `read`.
    """
    model = read(source, place)
    meta = _take(model)
    context = Context(place_of(meta, place), alerts, runbook_url, grafana, removed)
    for variable in items(sub(model, "templating"), "list"):
        if variable.get("type") == "datasource":
            context.sources[text(variable.get("name"))] = text(variable.get("query")) or "prometheus"
    _rows(model, context)
    _top(model, grafana)
    for variable in items(sub(model, "templating"), "list"):
        variables.normalise(variable, context)
    _annotations(sub(model, "annotations"), context)
    panel_.links(model)
    found = _panels(model, context)
    if context.defaulted:
        _choose_source(model)
    rendered = Rendered(
        text(model.get("uid")), text(model.get("title")), model, context.place, found, text(meta.get("folder"))
    )
    return rendered, context.findings


def _choose_source(model: JSON) -> None:
    """Let the data source be chosen where panels name none, unless there already is a variable of that name."""
    listed = sub(model, "templating").get("list")
    if type(listed) is list and not any(one.get("name") == "datasource" for one in items(model["templating"], "list")):
        listed.insert(0, {"hide": 0, "includeAll": False, "label": "Data source", "multi": False, "name": "datasource",
                          "options": [], "query": "prometheus", "refresh": 1, "regex": "", "skipUrlSync": False,
                          "type": "datasource"})  # fmt: skip


def _take(parent: JSON) -> JSON:
    """Take our own member out of the model."""
    meta = parent.pop(META, None)
    return meta if type(meta) is dict else {}


# Members that Grafana dropped, or sets itself: a generated file must not change because somebody pressed save.
_LEGACY = frozenset(
    {
        "__elements", "__inputs", "__requires", "gnetId", "hideControls", "id", "iteration", "meta", "originalTitle",
        "rows", "sharedCrosshair", "snapshot", "style", "version", "isSystem", "scopeMeta",
    }
)  # fmt: skip


def _top(model: JSON, grafana: tuple[int, int]) -> None:
    """Bring the members of the dashboard itself up to date."""
    if model.get("sharedCrosshair") and not model.get("graphTooltip"):
        model["graphTooltip"] = 1
    drop(model, _LEGACY)
    model["schemaVersion"] = schema_version(grafana)
    if model.get("refresh") is False:
        model["refresh"] = ""
    if not model.get("description", True):
        del model["description"]
    if model.get("timezone") == "":
        model["timezone"] = "browser"
    if not model.get("liveNow", True):
        del model["liveNow"]
    sub(model, "annotations")
    sub(model, "templating").setdefault("list", [])
    picker = sub(model, "timepicker")
    drop(picker, frozenset({"time_options", "collapse", "enable", "notice", "now", "status", "type"}))
    if not picker.get("hidden", True):
        del picker["hidden"]
    if picker.get("refresh_intervals") == _INTERVALS:
        del picker["refresh_intervals"]
    fill(
        model,
        {
            "editable": True,
            "fiscalYearStartMonth": 0,
            "graphTooltip": 0,
            "links": [],
            "panels": [],
            "preload": False,
            "refresh": "",
            "tags": [],
            "time": {"from": "now-6h", "to": "now"},
            "timezone": "browser",
            "weekStart": "",
        },
    )


# What Grafana offers where a dashboard does not say; grafanalib says it every time.
_INTERVALS = ["5s", "10s", "30s", "1m", "5m", "15m", "30m", "1h", "2h", "1d"]


def _annotations(annotations: JSON, context: Context) -> None:
    """Complete the annotation queries, and add the built-in one that Grafana adds on load."""
    queries = annotations.setdefault("list", [])
    for query in items(annotations, "list"):
        if query.get("builtIn"):
            query["datasource"] = {"type": "grafana", "uid": "-- Grafana --"}
        else:
            query["datasource"] = reference(query.get("datasource"), context, context.place)
        fill(query, {"enable": True, "iconColor": "red"})
    if type(queries) is list and not any(query.get("builtIn") for query in items(annotations, "list")):
        queries.insert(
            0,
            {
                "builtIn": 1,
                "datasource": {"type": "grafana", "uid": "-- Grafana --"},
                "enable": True,
                "hide": True,
                "iconColor": "rgba(0, 211, 255, 1)",
                "name": "Annotations & Alerts",
                "type": "dashboard",
            },
        )


def _rows(model: JSON, context: Context) -> None:
    """Turn the rows that dashboards had before Grafana 5 into row panels and grid positions, below its panels."""
    rows = items(model, "rows")
    if _lost(model, "rows") or any(_lost(row, "panels") for row in rows):
        context.find(
            "dashboard/feature",
            "rows must be a list of objects, each with a list of objects at panels",
            why="what is anything else there could only be left out",
            fix="put all panels in `panels`: rows went with Grafana 5",
        )
    given = model.setdefault("panels", [])
    if not rows or type(given) is not list:
        return
    flow = Flow()
    for panel in given:
        grid = panel.get("gridPos") if type(panel) is dict else None
        if type(grid) is dict and type(grid.get("y")) is int and type(grid.get("h")) is int:
            flow.fixed(grid["y"], grid["h"])
    made: list[JSON] = []
    for row in rows:
        nested = items(row, "panels")
        titled = row.get("showTitle", bool(row.get("title"))) or row.get("collapse")
        if titled:
            flow.line()
            x, y = flow.place(*SIZES["row"])
            made.append(
                {
                    "collapsed": bool(row.get("collapse")),
                    "gridPos": {"h": 1, "w": 24, "x": x, "y": y},
                    "panels": nested if row.get("collapse") else [],
                    "title": text(row.get("title")),
                    "type": "row",
                    **({"repeat": row["repeat"]} if row.get("repeat") else {}),
                }
            )
        else:
            flow.line()
        for panel in nested:
            span = panel.get("span")
            width = round(span * 2) if isinstance(span, (int, float)) and 0 < span <= 12 else 24 // len(nested) or 1
            x, y = flow.place(width, 7)
            panel["gridPos"] = {"h": 7, "w": width, "x": x, "y": y}
        if not (titled and row.get("collapse")):
            made += nested
    given += made


def _lost(parent: JSON, key: str) -> bool:
    """Tell whether something at key is no object in a list."""
    value = parent.get(key) or []
    return type(value) is not list or len(items(parent, key)) < len(value)


def _panels(model: JSON, context: Context) -> tuple[Panel, ...]:
    """Bring all panels up to date; return what is known of each, in the order of the model."""
    given = model.get("panels")
    if type(given) is not list:
        return ()
    flat: list[Any] = []
    for panel in given:
        flat.append(panel)
        if type(panel) is dict and panel.get("type") == "row" and not panel.get("collapsed"):
            flat += items(panel, "panels")  # an open row holds none: what is in it stands below it
            panel["panels"] = []
    model["panels"] = flat
    found: list[Panel] = []
    for number, panel in enumerate(flat):
        if type(panel) is not dict:
            continue
        path = ("panels", number)
        if panel.get("type") != "row":
            found.append(_panel(panel, path, context))
            continue
        meta = _take(panel)
        found.append(_identify(panel, meta, (), path, context))
        panel_.row(panel)
        for inner, nested in enumerate(panel["panels"] if type(panel["panels"]) is list else ()):
            if type(nested) is dict:
                found.append(_panel(nested, (*path, "panels", inner), context))
    return tuple(found)


def _panel(panel: JSON, path: tuple[str | int, ...], context: Context) -> Panel:
    meta = _take(panel)
    names = panel_.normalise(panel, meta, context)
    return _identify(panel, meta, names, path, context)


def _identify(panel: JSON, meta: JSON, names: tuple[str, ...], path: tuple[str | int, ...], context: Context) -> Panel:
    """Give the panel its id, and return what is known of it."""
    key = panel_.key_of(panel, meta)
    own = panel.get("id")
    if own is None:
        own = panel["id"] = panel_.id_of(key)
    elif key in context.keys and "key" not in meta:
        key = f"{key}-{own}"  # told apart by its own id, so that titles may repeat
    context.keys.add(key)
    return Panel(
        own if type(own) is int else 0,
        key,
        text(panel.get("title")),
        text(panel.get("type")),
        names,
        place_of(meta, context.place),
        path,
    )
