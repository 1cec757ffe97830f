"""One panel: identity, data source and queries, field configuration, links to runbooks."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING
from zlib import crc32

from watchkeeper.findings import nearest
from watchkeeper.render.grafana import legacy, options, sources, thresholds
from watchkeeper.render.grafana.context import META, drop, fill, items, place_of, sub, text

if TYPE_CHECKING:
    from watchkeeper.findings import Place
    from watchkeeper.model import Alert
    from watchkeeper.render.grafana.context import JSON, Context

# Panel types that went with Angular in Grafana 12, third-party plug-ins among them, and what replaces them.
DEAD = {
    "ae3e-plotly-panel": "xychart",
    "flant-statusmap-panel": "status-history",
    "grafana-piechart-panel": "piechart",
    "grafana-singlestat-panel": "stat",
    "grafana-worldmap-panel": "geomap",
    "graph": "timeseries",
    "heatmap-old": "heatmap",
    "larona-epict-panel": "canvas",
    "marcuscalidus-svg-panel": "canvas",
    "natel-discrete-panel": "state-timeline",
    "singlestat": "stat",
    "table-old": "table",
}

# Panels without a query.
_STILL = frozenset({"text", "dashlist", "news", "welcome", "gettingstarted"})
_NO_THRESHOLDS = _STILL | {"heatmap", "logs"}
_COLOUR = {"timeseries": "palette-classic", "barchart": "palette-classic", "piechart": "palette-classic"}
_COLOUR["histogram"] = "palette-classic"
_ROW = frozenset({"collapsed", "gridPos", "id", "panels", "repeat", "title", "type"})

# Left out where they say nothing, as Grafana leaves them out of what it saves.
_SAY_NOTHING: tuple[tuple[str, object], ...] = (
    ("description", ""), ("hideTimeOverride", False), ("interval", ""), ("links", []), ("repeat", ""),
    ("transformations", []), ("transparent", False), ("libraryPanel", {}),
)  # fmt: skip


def key_of(panel: JSON, meta: JSON) -> str:
    """Return the declared key of a panel, else one made of its title or type."""
    if declared := text(meta.get("key")):
        return declared
    kind = text(panel.get("type"))
    slug = slugify(text(panel.get("title"))) or kind or "panel"
    return f"row-{slug}" if kind == "row" else slug


def slugify(title: str) -> str:
    """Return title in lower case with hyphens: `GPU memory (free)` is `gpu-memory-free`."""
    plain = unicodedata.normalize("NFKD", title)
    return re.sub(r"[\W_]+", "-", plain.lower()).strip("-")


def id_of(key: str) -> int:
    """Return the panel id for a key: from the key alone, so that other panels' ids don't move; 1 to 2**31 - 1."""
    return crc32(key.encode("utf-8", "surrogatepass")) & 0x7FFFFFFF or 1


def row(panel: JSON) -> None:
    """Keep what a row has, which is little."""
    for name in panel.keys() - _ROW:
        if name in _PANEL or not panel[name]:
            del panel[name]  # grafanalib gives a row all that a panel has
    if not panel.get("repeat", True):
        del panel["repeat"]
    fill(panel, {"collapsed": False, "panels": [], "title": ""})


_PANEL = legacy.PANEL | {
    "cacheTimeout", "datasource", "description", "fieldConfig", "hideTimeOverride", "interval", "links",
    "maxDataPoints", "maxPerRow", "options", "repeatDirection", "targets", "timeFrom", "timeShift",
    "transformations", "transparent", META,
}  # fmt: skip


def normalise(panel: JSON, meta: JSON, context: Context) -> tuple[str, ...]:
    """Bring a panel that is no row up to date; return the names of the alerts that it shows."""
    kind = text(panel.get("type"))
    place = place_of(meta, context.place)
    title = text(panel.get("title"))
    panel.setdefault("title", "")
    if kind in DEAD:
        context.find(
            "dashboard/feature",
            f'panel "{title}" has the type "{kind}", which is gone',
            place=place,
            why="Angular panels were removed in Grafana 12: the panel would show nothing but an error",
            fix=f'use "{DEAD[kind]}"{_HELPERS.get(DEAD[kind], "")}',
        )
    if "error" in panel and panel.get("maxDataPoints") == 100:
        del panel["maxDataPoints"]  # grafanalib's default: 100 points on a screen of 2,000 pixels
    drop(panel, legacy.PANEL)
    for name, nothing in _SAY_NOTHING:
        if name in panel and panel[name] == nothing:
            del panel[name]
    if "repeat" not in panel:
        drop(panel, frozenset({"repeatDirection", "maxPerRow"}))
    if kind in _STILL:
        drop(panel, frozenset({"datasource", "targets"}))
    else:
        panel["datasource"] = sources.reference(panel.get("datasource"), context, place)
        panel.setdefault("targets", [])
        sources.targets(panel, context, place)
    config = sub(panel, "fieldConfig")
    defaults = sub(config, "defaults")
    config.setdefault("overrides", [])
    options.normalise(panel, kind)
    for value in legacy.mappings(defaults):
        context.find(
            "dashboard/feature",
            f'panel "{title}" maps the value {value} twice',
            place=place,
            why="only one of the two texts would ever be shown",
            fix="take one of the mappings out",
        )
    for name in ("unit", "displayName", "description"):
        if name in defaults and not defaults[name]:
            del defaults[name]
    if defaults.get("noValue") == "none":  # grafanalib's default for Stat, which reads as if it were a value
        del defaults["noValue"]
    names, alerts = _alerts(meta, context, place, title)
    if kind in _NO_THRESHOLDS:
        if not items(sub(defaults, "thresholds"), "steps"):
            del defaults["thresholds"]
    else:
        drawn = thresholds.normalise(defaults, alerts, only_explicit=kind in ("gauge", "bargauge"))
        fill(sub(defaults, "color"), {"mode": _COLOUR.get(kind, "thresholds")})
        if drawn and kind == "timeseries":
            style = sub(sub(defaults, "custom"), "thresholdsStyle")
            if style.get("mode", "off") == "off":
                style["mode"] = "line"
            if sub(defaults, "color").get("mode") != "thresholds":
                thresholds.as_lines(sub(defaults, "thresholds"))
    if not defaults.get("custom", True):
        del defaults["custom"]
    if "links" in defaults:
        if defaults["links"]:
            links(defaults)
        else:
            del defaults["links"]
    _runbooks(panel, alerts, context)
    links(panel)
    return names


_HELPERS = {
    name: f", which watchkeeper.dashboards.{helper}() makes"
    for name, helper in (("timeseries", "timeseries"), ("stat", "stat"), ("table", "table"), ("heatmap", "heatmap"),
                         ("state-timeline", "state_timeline"))
}  # fmt: skip


def _alerts(meta: JSON, context: Context, place: Place, title: str) -> tuple[tuple[str, ...], list[Alert]]:
    """Return the names of the alerts that a panel shows, and those of them that exist."""
    given = meta.get("alerts")
    if not given:
        return (), []
    named = [text(name) for name in given] if type(given) is list else [text(given)]
    names = tuple(name for name in named if name not in context.removed)
    found = []
    for name in names:
        if alert := context.alerts.get(name):
            found.append(alert)
            continue
        context.find(
            "alert/panel",
            f'panel "{title}" names the alert "{name}", which does not exist{nearest(name, sorted(context.alerts))}',
            place=place,
            why="the panel would draw no threshold, and the alert it is meant for would link to no panel",
            fix="name an alert of this pack, or take the name out",
        )
    return names, found


def _runbooks(panel: JSON, alerts: list[Alert], context: Context) -> None:
    """Link the panel to the runbook of each of its alerts."""
    for alert in alerts:
        if alert.runbook and (url := context.runbook_url(alert.runbook)):
            made = panel.setdefault("links", [])
            if type(made) is list and not any(link.get("url") == url for link in items(panel, "links")):
                made.append({"targetBlank": True, "title": f"Runbook: {alert.name}", "type": "link", "url": url})


def links(parent: JSON) -> None:
    """Complete the links of a dashboard or panel: Grafana's model has no optional member in them."""
    for link in items(parent, "links"):
        fill(
            link,
            {
                "asDropdown": False,
                "icon": "external link",
                "includeVars": False,
                "keepTime": False,
                "tags": [],
                "targetBlank": False,
                "title": "",
                "tooltip": "",
                "type": "link",
            },
        )
