"""Options of each panel type: complete, since what is left out means what each version of Grafana takes it for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchkeeper.render.grafana import legacy
from watchkeeper.render.grafana.context import drop, fill, sub

if TYPE_CHECKING:
    from collections.abc import Callable

    from watchkeeper.render.grafana.context import JSON


def normalise(panel: JSON, kind: str) -> None:
    """Bring the options and custom field options of a panel up to date."""
    if rewrite := _OLD.get(kind):
        rewrite(panel)
    options = sub(panel, "options")
    if type(options.get("legend")) is dict and kind != "heatmap":
        _legend(options["legend"])
    if type(options.get("reduceOptions")) is dict:
        reduce = options["reduceOptions"]
        if "calcs" in reduce:
            reduce["calcs"] = legacy.calcs(reduce["calcs"])
    if complete := _NEW.get(kind):
        complete(options, sub(sub(sub(panel, "fieldConfig"), "defaults"), "custom"))


def _legend(legend: JSON) -> None:
    if legend.get("displayMode") == "hidden":
        legend["displayMode"], legend["showLegend"] = "list", False
    fill(legend, {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": True})


def _reduce(options: JSON) -> None:
    fill(sub(options, "reduceOptions"), {"calcs": ["lastNotNull"], "fields": "", "values": False})


def _stat(options: JSON, _: JSON) -> None:
    _reduce(options)
    fill(
        options,
        {
            "colorMode": "value",
            "graphMode": "area",
            "justifyMode": "auto",
            "orientation": "auto",
            "percentChangeColorMode": "standard",
            "showPercentChange": False,
            "textMode": "auto",
            "wideLayout": True,
        },
    )
    if options["justifyMode"] == "centre":  # as grafanalib's documentation has it
        options["justifyMode"] = "center"


def _gauge(options: JSON, _: JSON) -> None:
    _reduce(options)
    fill(
        options,
        {
            "minVizHeight": 75,
            "minVizWidth": 75,
            "orientation": "auto",
            "showThresholdLabels": False,
            "showThresholdMarkers": True,
            "sizing": "auto",
        },
    )


def _bargauge(options: JSON, _: JSON) -> None:
    _reduce(options)
    legend = sub(options, "legend")
    fill(legend, {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": False})
    fill(
        options,
        {
            "displayMode": "gradient",
            "maxVizHeight": 300,
            "minVizHeight": 16,
            "minVizWidth": 8,
            "namePlacement": "auto",
            "orientation": "horizontal",
            "showUnfilled": True,
            "sizing": "auto",
            "valueMode": "color",
        },
    )


def _timeseries(options: JSON, custom: JSON) -> None:
    _legend(sub(options, "legend"))
    fill(sub(options, "tooltip"), {"mode": "single", "sort": "none"})
    if not custom.get("stacking", True):
        custom["stacking"] = {"group": "A", "mode": "none"}
    if type(scale := custom.get("scaleDistribution")) is dict and scale.get("type", "linear") == "linear":
        scale.pop("log", None)
    if custom.get("axisLabel", None) == "":
        del custom["axisLabel"]


def _state_timeline(options: JSON, _: JSON) -> None:
    _legend(sub(options, "legend"))
    fill(sub(options, "tooltip"), {"mode": "single", "sort": "none"})
    fill(options, {"alignValue": "left", "mergeValues": True, "rowHeight": 0.9, "showValue": "auto"})


def _table(options: JSON, custom: JSON) -> None:
    fill(options, {"cellHeight": "sm", "frameIndex": 0, "showHeader": True})
    fill(custom, {"align": "auto", "cellOptions": {"type": "auto"}, "inspect": False})
    if options.get("sortBy") == []:
        del options["sortBy"]


def _heatmap(options: JSON, _: JSON) -> None:
    fill(
        sub(options, "color"),
        {"exponent": 0.5, "fill": "dark-orange", "reverse": False, "scheme": "Oranges", "steps": 64, "mode": "scheme"},
    )
    fill(sub(options, "exemplars"), {"color": "rgba(255,0,255,0.7)"})
    fill(sub(options, "legend"), {"show": True})
    fill(sub(options, "tooltip"), {"mode": "single", "yHistogram": False, "showColorScale": False})
    fill(sub(options, "yAxis"), {"axisPlacement": "left"})
    fill(options, {"calculate": False, "cellGap": 1, "showValue": "never"})


def _text(options: JSON, _: JSON) -> None:
    fill(options, {"content": "", "mode": "markdown"})
    if options["mode"] == "text":  # gone since Grafana 7: what it held is also Markdown
        options["mode"] = "markdown"


def _free_of_old(panel: JSON) -> None:
    drop(panel, frozenset({"gauge", "sparkline", "colorBackground", "colorValue", "valueName"}))


_OLD: dict[str, Callable[[JSON], None]] = {
    "bargauge": legacy.bargauge,
    "dashlist": legacy.dashlist,
    "gauge": legacy.gauge,
    "heatmap": legacy.heatmap,
    "stat": _free_of_old,
    "table": legacy.table,
}
_NEW: dict[str, Callable[[JSON, JSON], None]] = {
    "bargauge": _bargauge,
    "gauge": _gauge,
    "heatmap": _heatmap,
    "stat": _stat,
    "state-timeline": _state_timeline,
    "table": _table,
    "text": _text,
    "timeseries": _timeseries,
}
