"""The canonical form of a dashboard, in which what Grafana rewrites by itself is no difference.

Grafana saves a dashboard in another form than it was given: it leaves defaults out or writes them in, migrates the
schema, sorts the panels, numbers versions. What it does is in its sources, below `apps/dashboard/pkg/migration`: the
defaults in `frontend_defaults.go`, the migrations in `schemaversion`. Compared is what is left without all of that.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from watchkeeper.sync.marks import TAG
from watchkeeper.sync.objects import Dashboard

if TYPE_CHECKING:
    from collections.abc import Mapping

    from watchkeeper.sync.objects import Folder

__all__ = ["SCHEME", "canonical", "digest", "simplified"]

JSON = dict[str, Any]

# The first part of each digest. When a change here gives a dashboard another canonical form, raise it: digests that
# were left at a server by another scheme then say that they can't be compared, instead of that somebody edited.
SCHEME = "1"

# Members that are never compared.
_DASHBOARD_IGNORED = frozenset(
    {
        "id", "version", "iteration", "schemaVersion",  # numbered by the server, at each save or migration
        "uid",  # what the dashboard is found by; in /apis it is the name of the resource
        "gnetId",  # where it was once downloaded; writing it is refused by some versions (grafana#118604)
        "meta",  # what may be done with it, added on load
        "__inputs", "__elements", "__requires",  # of an export for others to import
        "style", "hideControls",  # gone since Grafana 11, dropped on save
        "variables", "originalTitle", "snapshot", "scopeMeta",  # not saved, or no part of what is drawn
    }
)  # fmt: skip
_PANEL_IGNORED = frozenset(
    {
        "pluginVersion",  # written by the panel's plugin when a dashboard is opened and saved
        # The state of a panel on a page: notPersistedProps in frontend_defaults.go.
        "cachedPluginOptions", "configRev", "dataSupport", "events", "getDisplayTitle", "hasRefreshed",
        "hasSavedPanelEditChange", "isEditing", "isInView", "isNew", "isViewing", "key", "plugin", "queryRunner",
        "refreshWhenInView", "replaceVariables", "scopedVars",
    }
)  # fmt: skip
_VARIABLE_IGNORED = frozenset(
    {
        "definition",  # repeats the query for the list in the settings page
        "index",  # its place in the list, dropped on save
        "error",  # why it had no values when it was saved
    }
)
_TIMEPICKER_IGNORED = frozenset({"time_options"})  # dropped by the migration to 41
_CHOICE_IGNORED = frozenset({"selected"})  # what is chosen on a page; newer versions leave it out

# Members that say nothing with these values, since without them Grafana takes the same.
_DASHBOARD_DEFAULTS: JSON = {
    "editable": True, "fiscalYearStartMonth": 0, "graphTooltip": 0, "liveNow": False, "preload": False,
    "time": {"from": "now-6h", "to": "now"},
}  # fmt: skip
_PANEL_DEFAULTS: JSON = {
    "collapsed": False, "gridPos": {"x": 0, "y": 0, "h": 3, "w": 6}, "hideTimeOverride": False,
    "targets": [{"refId": "A"}], "transparent": False,
}  # fmt: skip
_TARGET_DEFAULTS: JSON = {"hide": False, "exemplar": False, "instant": False}
_VARIABLE_DEFAULTS: JSON = {
    "allowCustomValue": True, "hide": 0, "includeAll": False, "multi": False, "skipUrlSync": False, "sort": 0,
}  # fmt: skip
_LINK_DEFAULTS: JSON = {
    "asDropdown": False, "icon": "external link", "includeVars": False, "keepTime": False, "targetBlank": False,
}  # fmt: skip
_TIMEPICKER_DEFAULTS: JSON = {
    "hidden": False,
    "refresh_intervals": ["5s", "10s", "30s", "1m", "5m", "15m", "30m", "1h", "2h", "1d"],
}
# The query for annotations that every dashboard has; Grafana adds it on load, versions before 10 with a target.
_BUILT_IN: JSON = {
    "builtIn": 1, "datasource": {"type": "grafana", "uid": "-- Grafana --"}, "enable": True, "hide": True,
    "iconColor": "rgba(0, 211, 255, 1)", "name": "Annotations & Alerts", "type": "dashboard",
}  # fmt: skip
_BUILT_IN_TARGET: JSON = {"limit": 100, "matchAny": False, "type": "dashboard"}

_EXACT, _HUGE = 2**53, 10**308  # between them a server's 64-bit floats round integers
_AS_THEY_ARE, _NUMBERS = {str, bool, type(None)}, {bool, int, float}  # types of JSON
_DEEPEST = 200  # deeper than any dashboard, and far from the end of the stack


def canonical(model: Mapping[str, Any]) -> bytes:
    """Return the canonical form as bytes: equal for models between which Grafana makes no difference."""
    return json.dumps(simplified(model), sort_keys=True, separators=(",", ":")).encode()


def digest(thing: Dashboard | Folder) -> str:
    """Return what changes when somebody edits or moves the object.

    The uid is in it, so that the mark of a copy, which some ways of copying take along, is not that of the copy.
    """
    if isinstance(thing, Dashboard):
        said = [thing.uid, thing.folder, canonical(thing.model).decode()]
    else:
        said = [thing.uid, thing.parent, thing.title]
    return f"{SCHEME}-{hashlib.sha256(json.dumps(said).encode()).hexdigest()}"


def simplified(model: Mapping[str, Any]) -> JSON:
    """Return the canonical form as fresh JSON values, without the tag of the owner."""
    found: JSON = _plain(_without(model, _DASHBOARD_IGNORED), 0)
    _top(found)
    for variable in _dicts(_inside(found, "templating"), "list"):
        _variable(variable)
    for link in _dicts(found, "links"):
        _drop(link, _LINK_DEFAULTS)
    _set(found, "panels", _panels(found.get("panels")))
    return found


def _plain(value: Any, depth: int) -> Any:
    """Return a copy without members that say nothing: null, and empty texts, lists and objects.

    Grafana drops null everywhere on save, also the base of thresholds. Items of lists stay, for their place says
    something. Equal numbers are made the same: a server writes 1.0 as 1, and big integers as floats.
    """
    kind = type(value)
    if kind is int:
        return value if -_EXACT < value < _EXACT or abs(value) > _HUGE else int(float(value))
    if kind is float:
        return int(value) if value.is_integer() else value
    if kind in _AS_THEY_ARE:
        return value
    if depth > _DEEPEST:
        try:
            return json.dumps(value, sort_keys=True)
        except RecursionError:
            return "too deep to compare"
    if kind is not dict:
        return [item if type(item) in _AS_THEY_ARE else _plain(item, depth + 1) for item in value]
    found = {}
    for key, member in value.items():
        kept = member if type(member) in _AS_THEY_ARE else _plain(member, depth + 1)
        if kept or type(kept) in _NUMBERS:
            found[key] = kept
    return found


def _top(model: JSON) -> None:
    """Simplify the members of the dashboard itself."""
    _drop(model, _DASHBOARD_DEFAULTS)
    if not isinstance(model.get("refresh", ""), str):
        del model["refresh"]  # the migration to 40 takes all but texts for no refresh
    tags = model.get("tags")
    if isinstance(tags, list):
        named = {tag for tag in tags if isinstance(tag, str) and not tag.startswith(TAG)}
        _set(model, "tags", [*sorted(named), *(tag for tag in tags if not isinstance(tag, str))])
    if isinstance(picker := model.get("timepicker"), dict):
        picker = _without(picker, _TIMEPICKER_IGNORED)
        _drop(picker, _TIMEPICKER_DEFAULTS)
        _set(model, "timepicker", picker)
    annotations = _inside(model, "annotations")
    if isinstance(queries := annotations.get("list"), list):
        _set(annotations, "list", [query for query in queries if not _is_built_in(query)])
        _set(model, "annotations", annotations)


def _is_built_in(query: Any) -> bool:
    """Tell whether an annotation query is the one that all dashboards have, as it is by default."""
    if not isinstance(query, dict) or not query.get("builtIn"):
        return False
    query = dict(query)
    target = query.pop("target", _BUILT_IN_TARGET)
    if query.get("datasource") == "-- Grafana --":  # before the migration to 36
        query["datasource"] = _BUILT_IN["datasource"]
    return bool(query == _BUILT_IN and target == _BUILT_IN_TARGET)


def _variable(variable: JSON) -> None:
    """Simplify a variable, except for what is a choice of its author."""
    for name in variable.keys() & _VARIABLE_IGNORED:
        del variable[name]
    if variable.get("type") in ("query", "datasource", "constant"):
        variable.pop("options", None)  # asked for when the dashboard is opened
    for choice in [*_dicts(variable, "options"), _inside(variable, "current")]:
        for name in choice.keys() & _CHOICE_IGNORED:
            del choice[name]
    if isinstance(current := variable.get("current"), dict):
        _set(variable, "current", current)
    _drop(variable, _VARIABLE_DEFAULTS)


def _panels(panels: Any) -> Any:
    """Return the panels simplified, in the order of their places, in which Grafana saves them."""
    if not isinstance(panels, list):
        return panels
    kept = []
    for panel in panels:
        if not isinstance(panel, dict):
            kept.append(panel)
        # Copies that a repeated panel or row had on the page; before Grafana 11 they could be saved.
        elif "repeatPanelId" not in panel and "repeatedByRow" not in panel:
            kept.append(_panel(panel))
    return sorted(kept, key=_place)


def _place(panel: Any) -> tuple[float, float, str]:
    """Return what a panel is sorted by; its id too, since Grafana's sorting is not stable."""
    found = panel if isinstance(panel, dict) else {}
    grid = _inside(found, "gridPos")
    y, x = (grid.get(name) if isinstance(grid.get(name), (int, float)) else 0 for name in ("y", "x"))
    return y or 0, x or 0, str(found.get("id", ""))


def _panel(panel: JSON) -> JSON:
    if panel.get("libraryPanel"):
        # Of a library panel only this is saved, and the rest is that of the library.
        panel = {name: panel[name] for name in ("gridPos", "id", "libraryPanel", "title") if name in panel}
    panel = _without(panel, _PANEL_IGNORED)
    for target in _dicts(panel, "targets"):
        _drop(target, _TARGET_DEFAULTS)
    for link in _dicts(panel, "links"):
        _drop(link, _LINK_DEFAULTS)
    for override in _dicts(_inside(panel, "fieldConfig"), "overrides"):
        for one in _dicts(override, "properties"):
            if one.get("id") == "custom.hideFrom" and _inside(one, "value").get("viz"):
                one["value"]["tooltip"] = True  # by the migration to 42
    if isinstance(changes := panel.get("transformations"), list):
        panel["transformations"] = [_transformation(change) for change in changes]
    _drop(panel, _PANEL_DEFAULTS)
    _set(panel, "panels", _panels(panel.get("panels")))
    return panel


def _transformation(change: Any) -> Any:
    """Return formatTime as the convertFieldType that the migration to 43 makes of it."""
    if not isinstance(change, dict) or change.get("id") != "formatTime":
        return change
    given = _inside(change, "options")
    names = {"timeField": "targetField", "outputFormat": "dateFormat", "timezone": "timezone"}
    made = {new: given[old] for old, new in names.items() if given.get(old)}
    return {"id": "convertFieldType", "options": {"conversions": [{"destinationType": "string", **made}]}}


def _without(members: Mapping[str, Any], names: frozenset[str]) -> JSON:
    return {name: value for name, value in members.items() if name not in names}


def _drop(members: JSON, defaults: JSON) -> None:
    """Take out what is as it is by default."""
    for name, default in defaults.items():
        if name in members and type(members[name]) is type(default) and members[name] == default:
            del members[name]


def _set(parent: JSON, name: str, value: Any) -> None:
    """Set a member, or take it out if nothing is left of it."""
    if value or type(value) in _NUMBERS:
        parent[name] = value
    else:
        parent.pop(name, None)


def _inside(parent: Any, name: str) -> JSON:
    """Return a member that is an object, or an empty one."""
    found = parent.get(name)
    return found if isinstance(found, dict) else {}


def _dicts(parent: Any, name: str) -> list[JSON]:
    """Return the objects of a member that is a list."""
    found = parent.get(name)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
