"""From layouts that Grafana has given up to the ones that it reads now. grafanalib 0.7.1 still writes all of these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watchkeeper.render.grafana.context import drop, fill, items, sub, text

if TYPE_CHECKING:
    from watchkeeper.render.grafana.context import JSON

# Members of a panel that no panel has any more.
PANEL = frozenset(
    {
        "aliasColors", "editable", "error", "height", "isNew", "minSpan", "pluginVersion", "renderer", "scopedVars",
        "span", "thresholds", "alert", "repeatPanelId", "repeatIteration", "repeatByRow", "repeatedByRow",
        "autoMigrateFrom", "collapse", "fill", "linewidth", "lines", "nullPointMode", "seriesOverrides", "xaxis",
        "yaxes",
    }
)  # fmt: skip
_HEATMAP = frozenset(
    {
        "cards", "color", "dataFormat", "heatmap", "hideZeroBuckets", "highlightCards", "legend", "reverseYBuckets",
        "tooltip", "tooltipDecimals", "xAxis", "xBucketNumber", "xBucketSize", "yAxis", "yBucketBound", "yBucketNumber",
        "yBucketSize",
    }
)  # fmt: skip
_TABLE = frozenset({"color", "columns", "fontSize", "mappings", "pageSize", "scroll", "showHeader", "sort", "styles"})
_FIELD_DEFAULTS = frozenset({"calcs", "values", "limit", "title", "override", "fields"})

_REDUCERS = {"avg": "mean", "current": "lastNotNull", "total": "sum", "difference": "diff"}


def calcs(names: Any) -> Any:
    """Return reducers by their present names."""
    if type(names) is not list:
        return names
    return [_REDUCERS.get(name, name) if type(name) is str else name for name in names]


def gauge(panel: JSON) -> None:
    """Move what grafanalib puts into the field defaults of a gauge to the options."""
    config, options = sub(panel, "fieldConfig"), sub(panel, "options")
    for name in ("showThresholdLabels", "showThresholdMarkers"):
        if name in config:
            options.setdefault(name, config.pop(name))
    _reduced(sub(config, "defaults"), options)


def bargauge(panel: JSON) -> None:
    """Move the `fieldOptions` of Grafana 6 to fieldConfig and options."""
    options = sub(panel, "options")
    old = options.pop("fieldOptions", None)
    drop(options, frozenset({"showThresholdLabels", "showThresholdMarkers"}))
    if type(old) is not dict:
        return
    config = sub(panel, "fieldConfig")
    defaults = sub(config, "defaults")
    given = sub(old, "defaults")
    given.update({name: old[name] for name in ("calcs", "values", "limit", "mappings") if name in old})
    steps = old.get("thresholds")
    if steps and not items(sub(defaults, "thresholds"), "steps"):
        defaults["thresholds"] = {"mode": "absolute", "steps": steps}
    fill(defaults, given)
    _reduced(defaults, options)


def _reduced(defaults: JSON, options: JSON) -> None:
    """Make `options.reduceOptions` of members that once stood among the field defaults."""
    old = {name: defaults.pop(name) for name in defaults.keys() & _FIELD_DEFAULTS}
    if not old:
        return
    if old.get("title"):
        defaults.setdefault("displayName", old["title"])
    reduce = sub(options, "reduceOptions")
    fill(reduce, {name: old[name] for name in ("calcs", "values", "limit") if name in old})


def mappings(defaults: JSON) -> list[str]:
    """Rewrite the value mappings of Grafana 7 (`{type: 1, value, text}`) to those of Grafana 8.

    Return the values that were mapped before: of those, the first mapping counts.
    """
    given = defaults.get("mappings")
    twice: list[str] = []
    if type(given) is not list or not given:
        defaults.pop("mappings", None) if given == [] else None
        return twice
    values: JSON = {}
    made: list[Any] = []
    for number, mapping in enumerate(given):
        if type(mapping) is not dict or type(mapping.get("type")) is str:
            made.append(mapping)
        elif mapping.get("type", 2 if "from" in mapping else 1) == 2:
            result = {"index": number, "text": mapping.get("text", "")}
            bounds = {name: _number(mapping.get(name)) for name in ("from", "to")}
            made.append({"type": "range", "options": {**bounds, "result": result}})
        else:
            key = mapping.get("value")
            result = {"index": number, "text": mapping.get("text", "")}
            if key in ("null", None):
                made.append({"type": "special", "options": {"match": "null", "result": result}})
            else:
                if not values:
                    made.append({"type": "value", "options": values})
                if str(key) in values:
                    twice.append(str(key))
                values.setdefault(str(key), result)
    for mapping in made:
        for result in _results(mapping):
            if result.get("color") == "":  # grafanalib's default; no colour is meant
                del result["color"]
    defaults["mappings"] = made
    return twice


def _results(mapping: Any) -> list[JSON]:
    options = mapping.get("options") if type(mapping) is dict else None
    if type(options) is not dict:
        return []
    found = list(options.values()) if mapping.get("type") == "value" else [options.get("result")]
    return [result for result in found if type(result) is dict]


def _number(value: Any) -> Any:
    if type(value) is str:
        try:
            return float(value)
        except ValueError:
            return None
    return value


def table(panel: JSON) -> None:
    """Rewrite cell display modes, in defaults and overrides, and drop what the first table panel had."""
    drop(panel, _TABLE)
    config = sub(panel, "fieldConfig")
    custom = sub(sub(config, "defaults"), "custom")
    if "displayMode" in custom:
        mode = custom.pop("displayMode")
        custom.setdefault("cellOptions", _cell(mode))
    for override in items(config, "overrides"):
        for change in items(override, "properties"):
            if change.get("id") == "custom.displayMode":
                change["id"], change["value"] = "custom.cellOptions", _cell(change.get("value"))
    options = sub(panel, "options")
    if type(footer := options.get("footer")) is dict and not footer.get("show"):
        del options["footer"]


def _cell(mode: Any) -> JSON:
    if mode in ("gradient-gauge", "lcd-gauge", "basic"):
        return {"type": "gauge", "mode": str(mode).removesuffix("-gauge")}
    if mode in ("color-background", "color-background-solid"):
        return {"type": "color-background", "mode": "basic" if str(mode).endswith("solid") else "gradient"}
    return {"type": mode}


def heatmap(panel: JSON) -> None:
    """Move the layout that heatmaps had before Grafana 9, at the top of the panel, to the options."""
    if "dataFormat" not in panel and "yBucketBound" not in panel:
        return
    options = sub(panel, "options")
    counted = panel.get("dataFormat") != "tsbuckets"
    axis, color = sub(panel, "yAxis"), sub(panel, "color")
    fill(options, {"calculate": counted})
    if counted:
        buckets: JSON = {}
        for which in ("x", "y"):
            if panel.get(f"{which}BucketSize"):
                buckets[f"{which}Buckets"] = {"mode": "size", "value": str(panel[f"{which}BucketSize"])}
            elif panel.get(f"{which}BucketNumber"):
                buckets[f"{which}Buckets"] = {"mode": "count", "value": str(panel[f"{which}BucketNumber"])}
        base = axis.get("logBase", 1)
        if base in (2, 10):
            sub(buckets, "yBuckets")["scale"] = {"type": "log", "log": base}
        if buckets:
            options["calculation"] = buckets
    bound = {"upper": "le", "lower": "ge", "middle": "unknown"}.get(text(panel.get("yBucketBound")))
    if bound and not counted:
        options["rowsFrame"] = {"layout": bound}
    if panel.get("hideZeroBuckets"):
        options["filterValues"] = {"le": 1e-9}
    options["color"] = _heat(color)
    options["yAxis"] = {
        **{name: number for name in ("min", "max", "decimals") if (number := _number(axis.get(name))) is not None},
        **({"unit": axis["format"]} if axis.get("format") else {}),
        **({"axisLabel": axis["label"]} if axis.get("label") else {}),
        "axisPlacement": "left" if axis.get("show", True) else "hidden",
        "reverse": bool(panel.get("reverseYBuckets")),
    }
    legend, tooltip = sub(panel, "legend"), sub(panel, "tooltip")
    options["legend"] = {"show": bool(legend.get("show"))}
    options["tooltip"] = {
        "mode": "single" if tooltip.get("show", True) else "none",
        "yHistogram": bool(tooltip.get("showHistogram")),
    }
    cards = sub(panel, "cards")
    if (gap := cards.get("cardPadding")) is not None:
        options["cellGap"] = gap
    if (radius := cards.get("cardRound")) is not None:
        options["cellRadius"] = radius
    drop(panel, _HEATMAP)


_DASHLIST = {
    "headings": "showHeadings",
    "limit": "maxItems",
    "query": "query",
    "recent": "showRecentlyViewed",
    "search": "showSearch",
    "starred": "showStarred",
    "tags": "tags",
}


def dashlist(panel: JSON) -> None:
    """Move what a list of dashboards once had at the top of the panel to the options."""
    options = sub(panel, "options")
    for old, new in _DASHLIST.items():
        if old in panel:
            options.setdefault(new, panel.pop(old))


def _heat(color: JSON) -> JSON:
    opacity = color.get("mode") == "opacity"
    made: JSON = {
        "mode": "opacity" if opacity else "scheme",
        "scheme": text(color.get("colorScheme")).removeprefix("interpolate") or "Oranges",
        "fill": text(color.get("cardColor")) or "dark-orange",
        "scale": "linear" if color.get("colorScale") == "linear" else "exponential",
        "exponent": color.get("exponent", 0.5),
        "steps": 64,
        "reverse": False,
    }
    made.update({name: color[name] for name in ("min", "max") if name in color})
    return made
