"""What the dashboards share: tiles that are green or red, columns, links, and thresholds as the pack has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import watchkeeper.dashboards as d
from watchkeeper.contract import re, selector
from watchkeeper.render.grafana.thresholds import from_alerts
from watchkeeper_fleet.alerts.watchers import WATCHDOG

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from watchkeeper import Alert, Pack

# What the variables at the top choose.
CLUSTERS = {"cluster": re("$cluster")}
NODES = {**CLUSTERS, "node": re("$node")}

LINE = {"thresholdsStyle": {"mode": "line"}}
BARS = {"drawStyle": "bars", "fillOpacity": 80}

# The Watchdog always fires. While it does, an alert that is not there does not fire; without it nothing is known.
ALIVE = selector("ALERTS", alertname=WATCHDOG.name, alertstate="firing")


def links() -> list[Any]:
    """Return the links at the top of a board: each of the others, with the same choice and time."""
    return [d.dashboards_link("Watchkeeper", ["watchkeeper"], dropdown=False)]


def to(title: str, uid: str) -> Any:
    """Return a link from a panel to another board, with the same choice and time."""
    return d.link(title, _address(uid), keep_time=False)  # the address has the time


def board(title: str, uid: str) -> dict[str, Any]:
    """Return a link from a value to another board, with the same choice and time."""
    return {"title": title, "url": _address(uid)}


def _address(uid: str) -> str:
    return f"/d/{uid}?${{__url_time_range}}&${{__all_variables}}"


def node_board(title: str, uid: str) -> dict[str, Any]:
    """Return a link from a node's name in a table to another board, narrowed to that node."""
    return {"title": title, "url": f"/d/{uid}?${{__url_time_range}}&${{cluster:queryparam}}&var-node=${{__value.text}}"}


def names(pack: Pack, *alerts: Alert) -> list[str]:
    """Return the names of those alerts that the pack still has: whoever builds on it may have taken some out."""
    return [alert.name for alert in alerts if alert.name in pack.alerts]


def level(pack: Pack, alert: Alert) -> str:
    """Return the threshold of an alert as a number of PromQL; another one may have been set since it was written."""
    try:
        value = pack.alerts.get(alert.name, alert).threshold.value
    except ValueError:  # it now compares with something else
        value = alert.threshold.value
    return f"{value:.12g}"


def colours(pack: Pack, *alerts: Alert) -> dict[Any, str]:
    """Return the thresholds of a panel next to the one that names the alerts: the same values, the same colours."""
    steps = from_alerts(pack.alerts.get(alert.name, alert) for alert in alerts)
    return {step["value"]: step["color"] for step in steps}


def counted(bad: str, of: object) -> str:
    """Return how many there are of `bad`: 0 where there are others, nothing where there are none of either."""
    return f"count({bad}) or 0 * count({of})"


def events(expr: str, of: object, legend: str) -> list[Any]:
    """Return queries for what seldom happens: a line for each series that is not 0, and one that says it is known."""
    return [d.target(f"{expr} > 0", legend), d.target(f"0 * count({of})", "all others")]


def bands(series: str, by: str, legend: str) -> list[Any]:
    """Return queries for a timeline of what is 1 or 0: each that was 0 in the time shown, and the others as one."""
    fallen = f"on ({by}) (min_over_time({series}[$__range] @ end()) == 0)"
    return [
        d.target(f"{series} and {fallen}", legend),
        d.target(f"1 + 0 * count({series} unless {fallen})", "all others"),  # no band where there are none
    ]


def tile(title: str, expr: object, description: str, **more: Any) -> Any:
    """Return a small stat that is filled with its colour. Without one (`thresholds` from "text") it only informs."""
    thresholds = more.setdefault("thresholds", {1: "red"})
    if "text" not in thresholds.values():
        more.setdefault("options", {"colorMode": "background"})
    more.setdefault("unit", "short")
    return d.stat(title, expr, description=description, **{"width": 4, "height": 3, **more})


def column(
    name: str,
    *,
    values: Mapping[Any, tuple[str, str]] | None = None,
    thresholds: Mapping[Any, str] | None = None,
    links: Sequence[Mapping[str, Any]] = (),
    width: int = 0,
) -> dict[str, Any]:
    """Return an override for a column of a table, by the name shown."""
    properties: list[dict[str, Any]] = []
    if values:
        shown = {
            str(value): {"text": word, "color": colour, "index": number}
            for number, (value, (word, colour)) in enumerate(values.items())
        }
        properties.append({"id": "mappings", "value": [{"type": "value", "options": shown}]})
    if thresholds:
        steps = [{"color": colour, "value": value} for value, colour in {None: "green", **thresholds}.items()]
        properties.append({"id": "thresholds", "value": {"mode": "absolute", "steps": steps}})
    if values or thresholds:
        properties.append({"id": "custom.cellOptions", "value": {"type": "color-background", "mode": "basic"}})
    if links:
        properties.append({"id": "links", "value": [dict(link) for link in links]})
    if width:
        properties.append({"id": "custom.width", "value": width})
    return {"matcher": {"id": "byName", "options": name}, "properties": properties}


def right_axis(query: str, unit: str, label: str) -> dict[str, Any]:
    """Return an override that draws the query of that letter against an axis of its own."""
    return {
        "matcher": {"id": "byFrameRefID", "options": query},
        "properties": [
            {"id": "unit", "value": unit},
            {"id": "custom.axisPlacement", "value": "right"},
            {"id": "custom.axisLabel", "value": label},
            {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [8, 8]}},
            {"id": "custom.thresholdsStyle", "value": {"mode": "off"}},
        ],
    }
