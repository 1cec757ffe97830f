"""Helpers for dashboards in Python. They return grafanalib's own objects, so grafanalib can be used beside them.

    import watchkeeper.dashboards as d

    def dashboard(pack):
        return d.dashboard(
            uid="gpu-memory", title="GPU memory",
            variables=[d.datasource(), d.label_values("node", GPU_TOTAL, "node")],
            panels=[
                d.row("Is it fine?"),
                d.stat("Free", f'min({GPU_FREE.where(node=re("$node"))})', unit="bytes", width=6),
                d.timeseries("Retries", f"rate({RETRIES}[$__rate_interval])", alerts=["GPUAllocatorRetrying"]),
            ],
        )

Needs the extra `generator`. What only we know of a panel (key, alerts, place) stands in its JSON under `watchkeeper`,
which rendering takes out again: a dict or a raw grafanalib panel (`extraJson`) may say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, TypedDict, Union

import attr
from grafanalib import core

from watchkeeper.findings import caller
from watchkeeper.render.grafana.layout import DEFAULT_SIZE, SIZES, Flow

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "bar_gauge", "constant", "custom", "dashboard", "dashboards_link", "datasource", "gauge", "heatmap", "interval",
    "label_values", "link", "query", "row", "stat", "state_timeline", "table", "target", "text", "textbox",
    "timeseries",
]  # fmt: skip

# PromQL, something that formats to PromQL (a metric, a recording rule), or a target; or several of them.
Exprs = Union[object, Sequence[object]]  # noqa: UP007 - evaluated at run time


class Common(TypedDict, total=False):
    """What every panel takes.

    `key`: what the panel's id and links to it are made of, by default the title in lower case with hyphens. `width`,
    `height`: grid units, of 24 columns and 30 pixels. `grid_pos`: a fixed place, `core.GridPos(h, w, x, y)`. `alerts`:
    names of the alerts whose thresholds and runbooks it shows. `thresholds`: from which value on which colour, green
    below: `{0.8: "orange", 0.9: "red"}`; None as a value is the base. `values`: what a value is shown as:
    `{0: ("down", "red")}`. `options`, `custom`, `overrides`: as in Grafana's model, for what has no parameter here.
    """

    key: str
    description: str
    unit: str
    width: int
    height: int
    grid_pos: Any
    alerts: Sequence[str]
    thresholds: Mapping[Any, str]
    values: Mapping[Any, tuple[str, str]]
    min: float
    max: float
    decimals: int
    legend: str
    links: Sequence[Any]
    overrides: Sequence[Mapping[str, Any]]
    transformations: Sequence[Mapping[str, Any]]
    options: Mapping[str, Any]
    custom: Mapping[str, Any]
    repeat: str
    interval: str
    datasource: Any


@attr.s
class _Dashboard(core.Dashboard):  # type: ignore[misc]  # grafanalib has no types
    """A grafanalib Dashboard that knows where it was made."""

    meta: dict[str, Any] = attr.ib(factory=dict)

    def to_json_data(self) -> dict[str, Any]:
        return {**super().to_json_data(), "watchkeeper": self.meta}


def dashboard(
    *,
    uid: str,
    title: str,
    panels: Iterable[Any],
    description: str = "",
    tags: Sequence[str] = (),
    variables: Iterable[Any] = (),
    links: Iterable[Any] = (),
    annotations: Iterable[Any] = (),
    time: tuple[str, str] = ("now-6h", "now"),
    refresh: str = "1m",
    timezone: str = "browser",
    folder: str = "",
    editable: bool = False,
) -> Any:
    """Return a grafanalib Dashboard, its panels placed left to right in the order given.

    A panel that has a place keeps it, and the next one starts below. `folder` is the uid of the folder in Grafana.
    Not editable by default: what is changed in Grafana's pages would be lost with the next change in Git.
    """
    make: Any = _Dashboard  # whose fields mypy can't see
    return make(
        title=title,
        uid=uid,
        description=description,
        tags=list(tags),
        templating=core.Templating(list=list(variables)),
        links=list(links),
        annotations=core.Annotations(list=list(annotations)),
        time=core.Time(*time),
        refresh=refresh,
        timezone=timezone,
        editable=editable,
        graphTooltip=core.GRAPH_TOOLTIP_MODE_SHARED_CROSSHAIR,
        panels=_placed(panels),
        meta={"place": _place(), **({"folder": folder} if folder else {})},
    )


def _placed(panels: Iterable[Any]) -> list[Any]:
    """Return copies of the panels with grid positions; what stands in an open row follows it."""
    flow = Flow()
    placed: list[Any] = []
    for panel in panels:
        if not isinstance(panel, core.RowPanel):
            placed.append(_at(panel, flow))
            continue
        flow.line()
        title = _at(panel, flow)
        if panel.collapsed:
            inside = Flow(y=flow.bottom, bottom=flow.bottom)  # where they stand once the row is opened
            placed.append(attr.evolve(title, panels=[_at(nested, inside) for nested in panel.panels]))
        else:
            placed.append(attr.evolve(title, panels=[]))
            placed += [_at(nested, flow) for nested in panel.panels]
    return placed


def _at(panel: Any, flow: Flow) -> Any:
    if not isinstance(panel, core.Panel):
        return panel  # a dict, whose author places it
    given = panel.gridPos
    if isinstance(given, core.GridPos) and given.x is not None:
        flow.fixed(given.y, given.h)
        return panel
    if given is not None and not isinstance(given, core.GridPos):
        return panel
    width, height = (given.w, given.h) if given else SIZES.get(panel.to_json_data()["type"], DEFAULT_SIZE)
    x, y = flow.place(width, height)
    placed = copy(panel)  # attr.evolve would validate all members once more, for most of the time a panel takes
    placed.gridPos = core.GridPos(h=height, w=width, x=x, y=y)
    return placed


def row(title: str, panels: Iterable[Any] = (), *, collapsed: bool = False, repeat: str = "", key: str = "") -> Any:
    """Return the title line of a row. A collapsed row holds its panels; those of an open one may just follow."""
    return core.RowPanel(
        title=title,
        panels=list(panels),
        collapsed=collapsed,
        repeat=core.Repeat(variable=repeat or None),
        extraJson={"watchkeeper": _meta(key, ())},
    )


def target(expr: object, legend: str = "", *, instant: bool = False, format: str = "", ref_id: str = "") -> Any:  # noqa: A002 - Grafana's name
    """Return a query. `legend` is Grafana's, such as `{{gpu}}`; `format` is `time_series`, `table` or `heatmap`."""
    return core.Target(
        expr=str(expr), legendFormat=legend, instant=instant, format=format or "time_series", refId=ref_id
    )


def stat(title: str, exprs: Exprs, *, graph: bool = False, calc: str = "lastNotNull", **common: Unpack[Common]) -> Any:
    """Return a panel that shows one number large, with a line behind it if `graph`."""
    return core.Stat(
        graphMode="area" if graph else "none",
        reduceCalc=calc,
        noValue=None,
        **_panel("stat", title, exprs, instant=not graph, **common),
    )


def gauge(title: str, exprs: Exprs, *, calc: str = "lastNotNull", **common: Unpack[Common]) -> Any:
    """Return a dial. Without `min` and `max` Grafana takes those of the data."""
    return core.GaugePanel(
        calc=calc, min=None, max=None, format=None, **_panel("gauge", title, exprs, instant=True, **common)
    )


def bar_gauge(title: str, exprs: Exprs, *, calc: str = "lastNotNull", **common: Unpack[Common]) -> Any:
    """Return one bar for each series, the present value of it."""
    return core.BarGauge(
        calc=calc,
        min=None,
        max=None,
        format=None,
        displayMode="gradient",
        **_panel("bargauge", title, exprs, instant=True, **common),
    )


def timeseries(
    title: str, exprs: Exprs, *, stack: bool = False, fill: int = 0, calcs: Sequence[str] = (), **common: Unpack[Common]
) -> Any:
    """Return lines over time. `fill`: opacity below them in percent; `calcs`: legend columns, such as `max`."""
    return core.TimeSeries(
        stacking={"group": "A", "mode": "normal"} if stack else {},
        fillOpacity=fill or (30 if stack else 0),
        showPoints="never",
        legendCalcs=list(calcs),
        legendDisplayMode="table" if calcs else "list",
        tooltipMode="multi",
        tooltipSort="desc",
        **_panel("timeseries", title, exprs, **common),
    )


def table(
    title: str,
    exprs: Exprs,
    *,
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    sort_by: str = "",
    **common: Unpack[Common],
) -> Any:
    """Return a table of present values, one line for each set of labels.

    `columns`: which fields are shown, in this order, and as what: `{"gpu": "GPU", "Value #A": "Free"}`. The value of
    a query is in `Value #A`, `Value #B` and so on, that of an only one in `Value`. `units`: of columns, by the name
    shown. `sort_by`: the name shown of a column; a hyphen before it puts the largest first.
    """
    changes = list(common.pop("transformations", ()))
    if columns:
        changes += [
            {"id": "merge", "options": {}},
            {"id": "filterFieldsByName", "options": {"include": {"names": list(columns)}}},
            {
                "id": "organize",
                "options": {
                    "excludeByName": {},
                    "indexByName": {name: number for number, name in enumerate(columns)},
                    "renameByName": {name: shown for name, shown in columns.items() if name != shown},
                },
            },
        ]
    overrides = list(common.pop("overrides", ()))
    for name, unit in (units or {}).items():
        matcher = {"id": "byName", "options": name}
        overrides.append({"matcher": matcher, "properties": [{"id": "unit", "value": unit}]})
    order = [core.TableSortByField(displayName=sort_by.lstrip("-"), desc=sort_by.startswith("-"))] if sort_by else []
    common["transformations"], common["overrides"] = changes, overrides
    return core.Table(sortBy=order, **_panel("table", title, exprs, instant=True, format="table", **common))


def heatmap(title: str, exprs: Exprs, **common: Unpack[Common]) -> Any:
    """Return the distribution of a histogram over time: `sum by (le) (increase(x_bucket[$__rate_interval]))`.

    `unit` is that of the observations.
    """
    common.setdefault("legend", "{{le}}")
    unit = common.pop("unit", "")
    return core.Heatmap(
        dataFormat="tsbuckets",
        yBucketBound="upper",
        hideZeroBuckets=True,
        yAxis=core.YAxis(format=unit or None),
        **_panel("heatmap", title, exprs, format="heatmap", **common),
    )


def state_timeline(title: str, exprs: Exprs, **common: Unpack[Common]) -> Any:
    """Return a band for each series, coloured by its value over time: give `values` or `thresholds`."""
    return core.StateTimeline(**_panel("state-timeline", title, exprs, **common))


def text(content: str, title: str = "", *, html: bool = False, **common: Unpack[Common]) -> Any:
    """Return a panel of Markdown, or HTML. Without a title it needs a `key` if there is more than one."""
    return core.Text(content=content, mode="html" if html else "markdown", **_panel("text", title, (), **common))


def _panel(
    kind: str,
    title: str,
    exprs: Exprs,
    *,
    instant: bool = False,
    format: str = "",  # noqa: A002 - Grafana's name
    key: str = "",
    description: str = "",
    unit: str = "",
    width: int = 0,
    height: int = 0,
    grid_pos: Any = None,
    alerts: Sequence[str] = (),
    thresholds: Mapping[Any, str] | None = None,
    values: Mapping[Any, tuple[str, str]] | None = None,
    min: float | None = None,  # noqa: A002 - Grafana's name
    max: float | None = None,  # noqa: A002 - Grafana's name
    decimals: int | None = None,
    legend: str = "",
    links: Sequence[Any] = (),
    overrides: Sequence[Mapping[str, Any]] = (),
    transformations: Sequence[Mapping[str, Any]] = (),
    options: Mapping[str, Any] | None = None,
    custom: Mapping[str, Any] | None = None,
    repeat: str = "",
    interval: str = "",
    datasource: Any = None,
) -> dict[str, Any]:
    """Return the arguments that all of grafanalib's panels share. What it can't take goes as JSON."""
    if isinstance(alerts, str):  # alerts="ABC" would be three alerts
        raise TypeError(f'{title or kind}: alerts must be a list of names, such as ["{alerts}"]')
    usual = SIZES.get(kind, DEFAULT_SIZE)
    defaults: dict[str, Any] = {
        name: value for name, value in (("unit", unit), ("min", min), ("max", max), ("decimals", decimals))
        if value is not None and value != ""
    }  # fmt: skip
    if thresholds:
        steps = {None: "green", **thresholds}
        defaults["thresholds"] = {
            "mode": "absolute",
            "steps": [{"color": colour, "value": value} for value, colour in steps.items()],
        }
    if values:
        shown = {
            str(value): {"text": word, "color": colour, "index": number}
            for number, (value, (word, colour)) in enumerate(values.items())
        }
        defaults["mappings"] = [{"type": "value", "options": shown}]
    if custom:
        defaults["custom"] = dict(custom)
    config: dict[str, Any] = {"defaults": defaults, "overrides": [dict(override) for override in overrides]}
    extra: dict[str, Any] = {"watchkeeper": _meta(key, alerts), "fieldConfig": config}
    if options:
        extra["options"] = dict(options)
    return {
        "title": title,
        "description": description or None,
        "targets": _targets(exprs, legend, instant=instant, format=format),
        "gridPos": grid_pos or core.GridPos(h=height or usual[1], w=width or usual[0], x=None, y=None),
        "thresholds": [],
        "links": list(links),
        "transformations": [dict(change) for change in transformations],
        "repeat": core.Repeat(variable=repeat or None, direction="h" if repeat else None),
        "interval": interval or None,
        "dataSource": datasource,
        "maxDataPoints": None,
        "extraJson": extra,
    }


def _targets(exprs: Exprs, legend: str, *, instant: bool, format: str) -> list[Any]:  # noqa: A002 - Grafana's name
    """Return targets, each with a refId: A, B, ... where it has none."""
    several = exprs if isinstance(exprs, (list, tuple)) else (exprs,)
    made = [
        expr if isinstance(expr, core.Target) else target(expr, legend, instant=instant, format=format)
        for expr in several
    ]
    taken = {query.refId for query in made}
    free = (name for number in range(len(made) * 2 + 1) if (name := _ref_id(number)) not in taken)
    return [query if query.refId else attr.evolve(query, refId=next(free)) for query in made]


def _ref_id(number: int) -> str:
    """Return A to Z, then AA, AB and so on."""
    name = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        name = chr(ord("A") + digit) + name
    return name


def _meta(key: str, alerts: Sequence[str]) -> dict[str, Any]:
    meta: dict[str, Any] = {"place": _place()}
    if key:
        meta["key"] = key
    if alerts:
        meta["alerts"] = [str(getattr(alert, "name", alert)) for alert in alerts]
    return meta


def _place() -> str:
    place = caller()
    return f"{place.file}:{place.line}"


def datasource(
    name: str = "datasource",
    *,
    type: str = "prometheus",  # noqa: A002 - Grafana's name
    label: str = "Data source",
    regex: str = "",
) -> Any:
    """Return the variable that chooses the data source; panels use `${datasource}` unless they say otherwise."""
    return core.Template(name=name, query=type, type="datasource", label=label, regex=regex or None)


def query(
    name: str,
    query: str,
    *,
    label: str = "",
    multi: bool = True,
    include_all: bool = True,
    all_value: str = ".*",
    regex: str = "",
    sort: int = core.SORT_ALPHA_ASC,
    hide: int = core.SHOW,
    datasource: Any = None,
) -> Any:
    """Return a variable whose values a query finds, such as `label_values(up, node)`; use it as `node=~"$node"`.

    `all_value`: what "All" stands for; `.*` also matches series without the label, and stays short for many values.
    """
    return core.Template(
        name=name,
        query=query,
        label=label or None,
        multi=multi,
        includeAll=include_all,
        allValue=all_value if include_all and all_value else None,
        regex=regex or None,
        sort=sort,
        hide=hide,
        refresh=core.REFRESH_ON_TIME_RANGE_CHANGE,
        dataSource=datasource,
    )


def label_values(name: str, series: object, of: str = "", **more: Any) -> Any:
    """Return a `query` variable: the values of the label `of` (by default, name) of a metric or selector."""
    return query(name, f"label_values({series}, {of or name})", **more)


def interval(name: str, values: str = "1m,5m,15m,1h", *, label: str = "") -> Any:
    """Return a variable of durations; the first one is chosen."""
    return core.Template(name=name, query=values, type="interval", label=label or None)


def custom(name: str, values: str, *, label: str = "", multi: bool = False, include_all: bool = False) -> Any:
    """Return a variable of fixed values, `a,b` or `shown : value,...`; the first one, or All, is chosen."""
    return core.Template(
        name=name, query=values, type="custom", label=label or None, multi=multi, includeAll=include_all
    )


def constant(name: str, value: str) -> Any:
    """Return a hidden variable with one value."""
    return core.Template(name=name, query=value, type="constant", hide=core.HIDE_VARIABLE)


def textbox(name: str, value: str = "", *, label: str = "") -> Any:
    """Return a variable that is typed in."""
    return core.Template(name=name, query=value, type="textbox", label=label or None)


def link(title: str, url: str, *, tooltip: str = "", keep_time: bool = True, new_tab: bool = False) -> Any:
    """Return a link for a dashboard or panel."""
    return core.DashboardLink(
        title=title, uri=url, type="link", tooltip=tooltip, keepTime=keep_time, targetBlank=new_tab
    )


def dashboards_link(title: str, tags: Sequence[str], *, dropdown: bool = True) -> Any:
    """Return a link, or a list of links, to the dashboards that carry all these tags."""
    return core.DashboardLink(
        title=title, type="dashboards", tags=list(tags), asDropdown=dropdown, includeVars=True, keepTime=True
    )
