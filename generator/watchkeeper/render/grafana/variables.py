"""The variables of a dashboard, in the form that the current model has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.render.grafana.context import drop, fill, items, text
from watchkeeper.render.grafana.sources import reference

if TYPE_CHECKING:
    from watchkeeper.render.grafana.context import JSON, Context

# `definition` only repeats the query for the list in Grafana's settings page.
_LEGACY = frozenset({"useTags", "tags", "tagsQuery", "tagValuesQuery", "definition", "error", "id"})
_AUTO = frozenset({"auto", "auto_min", "auto_count"})
_ALL = "$__all"

# Members that mean something only for some types of variable.
_ONLY = {
    "datasource": frozenset({"query", "adhoc", "groupby"}),
    "sort": frozenset({"query"}),
    "regex": frozenset({"query", "datasource"}),
    "refresh": frozenset({"query", "datasource", "interval"}),
    "multi": frozenset({"query", "datasource", "custom"}),
    "includeAll": frozenset({"query", "datasource", "custom"}),
    "allValue": frozenset({"query", "datasource", "custom"}),
}


def normalise(variable: JSON, context: Context) -> None:
    """Bring one variable up to date."""
    drop(variable, _LEGACY)
    kind = text(variable.get("type"))
    for name, kinds in _ONLY.items():
        if name in variable and kind not in kinds:
            del variable[name]
    if not (kind == "interval" and variable.get("auto")):
        drop(variable, _AUTO)
    for name in ("label", "description", "allValue", "regex"):
        if variable.get(name, None) == "":
            del variable[name]
    fill(variable, {"hide": 0, "skipUrlSync": False})
    if kind in _ONLY["datasource"]:
        variable["datasource"] = reference(variable.get("datasource"), context, context.place)
    if kind == "query":
        variable["options"] = []  # Grafana asks for them
        fill(variable, {"refresh": 1, "regex": "", "sort": 1, "multi": False, "includeAll": False})
    elif kind == "datasource":
        variable["options"] = []
        fill(variable, {"refresh": 1, "regex": "", "multi": False, "includeAll": False})
    elif kind == "custom":
        fill(variable, {"multi": False, "includeAll": False})
    elif kind == "constant":
        variable["hide"] = 2
        variable["skipUrlSync"] = True
        drop(variable, frozenset({"current", "options"}))
    _options(variable, kind)
    _current(variable)


def _options(variable: JSON, kind: str) -> None:
    """Write out the options of a variable whose query lists them, as Grafana does on load."""
    query = text(variable.get("query"))
    if kind in ("interval", "custom") and query:
        variable["options"] = [_option(word) for word in query.split(",") if word.strip()]
    for option in items(variable, "options"):
        drop(option, frozenset({"tags", "isNone"}))


def _option(word: str) -> JSON:
    """Return the option for `value`, or for `text : value`."""
    label, mark, value = word.strip().partition(" : ")
    return {"selected": False, "text": label.strip(), "value": value.strip() if mark else label.strip()}


def _current(variable: JSON) -> None:
    """Keep or make the value that is chosen when the dashboard opens."""
    current = variable.get("current")
    if type(current) is dict:
        drop(current, frozenset({"tags", "isNone"}))
        if current.get("value") is None or "text" not in current:
            del variable["current"]
        else:
            current["selected"] = True
            for name in ("text", "value"):
                if variable.get("multi") and type(current[name]) is str:
                    current[name] = [current[name]]
    if variable.get("includeAll") and "current" not in variable:
        one = not variable.get("multi")
        variable["current"] = {
            "selected": True,
            "text": "All" if one else ["All"],
            "value": _ALL if one else [_ALL],
        }
    if "current" not in variable and (options := items(variable, "options")):
        variable["current"] = {"selected": True, "text": options[0].get("text"), "value": options[0].get("value")}
    if type(current := variable.get("current")) is dict:
        values = current.get("value")
        for option in items(variable, "options"):
            option["selected"] = (
                option.get("value") in values if type(values) is list else option.get("value") == values
            )
