"""Dashboards of every kind that people write: what is rendered from them is held to everything we know of Grafana.

Run as a program, it prints the text of all of them.
"""

import sys
from types import SimpleNamespace

from grafanalib import core

import watchkeeper.dashboards as d
from watchkeeper import Gauge, Severity
from watchkeeper.findings import Place
from watchkeeper.render.grafana import to_classic, to_text

TEMPERATURE = Gauge("gpu_temperature_celsius", "Temperature.", labels=("gpu",), unit="celsius")


def alert(name, op, value, severity=Severity.CRITICAL, runbook=""):
    """An alert whose threshold is known without parsing."""
    return SimpleNamespace(
        name=name, severity=severity, runbook=runbook, threshold=SimpleNamespace(op=op, value=float(value))
    )


class Unclear:
    """An alert that compares with no one literal."""

    name, severity, runbook = "Unclear", Severity.INFO, "unclear"

    @property
    def threshold(self):
        raise ValueError("no single literal")


ALERTS = {
    one.name: one
    for one in (
        alert("Hot", ">", 85.5, runbook="hot"),
        alert("Warm", ">=", 70, Severity.WARNING),
        alert("Low", "<", 0.1, Severity.WARNING, "low"),
        Unclear(),
    )
}


def helpers():
    """Every helper, with every option."""
    return d.dashboard(
        uid="helpers",
        title="Every helper",
        description="All of it, ünïcode too.",
        tags=["gpu", "test"],
        folder="gpus",
        time=("now-1h", "now"),
        refresh="30s",
        timezone="utc",
        editable=True,
        variables=[
            d.datasource(),
            d.label_values("cluster", "up"),
            d.label_values("node", 'up{cluster=~"$cluster"}', label="Node", all_value="", sort=3, hide=1),
            d.query("pod", "query_result(up)", multi=False, include_all=False, regex="/(.*)/"),
            d.interval("step", "1m,5m", label="Step"),
            d.custom("mode", "One : 1, two", label="Mode", multi=True, include_all=True),
            d.constant("prefix", "gpu_"),
            d.textbox("search", "x", label="Search"),
        ],
        links=[d.dashboards_link("More", ["gpu"]), d.link("Docs", "https://example.org", tooltip="Read", new_tab=True)],
        annotations=[
            {"name": "Deploys", "expr": "changes(build_info[1m]) > 0", "iconColor": "blue", "datasource": None}
        ],
        panels=[
            d.row("First"),
            d.stat("Stat", TEMPERATURE, unit="celsius", graph=True, calc="max", decimals=1, alerts=["Hot", "Warm"]),
            d.stat("States", "up", values={0: ("down", "red"), 1: ("up", "green")}, width=3, height=3, key="states"),
            d.gauge("Gauge", "x", min=0, max=1.0, unit="percentunit", thresholds={0.8: "orange", 0.9: "red"}),
            d.bar_gauge("Bars", ["a", "b"], legend="{{gpu}}", calc="mean", alerts=["Low"]),
            d.timeseries(
                "Lines",
                [d.target("rate(a[$__rate_interval])", "{{gpu}}", ref_id="B"), "b", d.target("c", instant=True)],
                stack=True,
                calcs=["max", "lastNotNull"],
                description="Lines.",
                links=[d.link("Node", "/d/node?var-node=$node")],
                alerts=["Hot", "Unclear"],
                custom={"axisLabel": "°C", "spanNulls": 60000},
                options={"legend": {"placement": "right"}},
                repeat="node",
                interval="15s",
            ),
            d.table(
                "Table",
                ["a", "b"],
                columns={"gpu": "GPU", "Value #A": "A", "Value #B": "B"},
                units={"A": "bytes"},
                sort_by="-A",
                overrides=[
                    {
                        "matcher": {"id": "byName", "options": "B"},
                        "properties": [{"id": "custom.cellOptions", "value": {"type": "color-background"}}],
                    }
                ],
                transformations=[{"id": "labelsToFields", "options": {}}],
            ),
            d.heatmap("Heat", "sum by (le) (increase(x_bucket[$__rate_interval]))", unit="s"),
            d.timeseries("Fixed", "x", grid_pos=core.GridPos(h=5, w=5, x=19, y=40), fill=10),
            d.row(
                "Closed",
                [
                    d.state_timeline("State", "up", values={"0": ("down", "red")}, datasource="${datasource}"),
                    d.text("# Text\n$prefix $search $mode $step $pod", key="words"),
                    d.text("<b>bold</b>", "HTML", html=True, width=6, height=2),
                ],
                collapsed=True,
            ),
        ],
    )


def raw():
    """What grafanalib's own users write, with its defaults."""
    target = core.Target(expr='rate(x[5m]) > 1 or up{a="$ds"}', legendFormat="{{a}}", refId="A")
    source = {"dataSource": "$ds", "targets": [target]}
    grid = iter(core.GridPos(h=8, w=8, x=x, y=y) for y in range(0, 200, 8) for x in (0, 8, 16))
    panels = [
        core.TimeSeries(
            title="T", **source, gridPos=next(grid), unit="bytes", thresholds=[core.Threshold("green", 0, 0.0),
            core.Threshold("red", 1, 5.0)], legendDisplayMode="hidden", valueMin=0, lineWidth=2,
            overrides=[{"matcher": {"id": "byRegexp", "options": "a.*"}, "properties": [{"id": "unit", "value": "s"}]}],
        ),
        core.Stat(title="S", **source, gridPos=next(grid), alignment="center", mappings=[
            core.StatValueMappings(core.StatValueMappingItem("off", "0", "red"), core.StatValueMappingItem("on", "1")),
            core.StatRangeMappings("much", 2, 9, "blue")]),
        core.Stat(title="S7", **source, gridPos=next(grid), mappings=[
            core.StatValueMapping("old", mapValue="1"), core.StatRangeMapping("some", startValue="2", endValue="9")]),
        core.GaugePanel(title="G", **source, gridPos=next(grid), label="shown", limit=3, calc="last"),
        core.BarGauge(title="B", **source, gridPos=next(grid), label="shown", thresholdLabels=True, decimals=2,
                      dataLinks=[core.DataLink("more", "https://example.org", True)]),
        core.Table(title="Ta", **source, gridPos=next(grid), displayMode="color-background-solid", filterable=True,
                   overrides=[{"matcher": {"id": "byName", "options": "x"},
                               "properties": [{"id": "custom.displayMode", "value": "lcd-gauge"}]}]),
        core.Heatmap(title="H1", **source, gridPos=next(grid), xBucketSize="30s", yBucketNumber=10,
                     yAxis=core.YAxis(format="s", logBase=2, decimals=1, min="0", label="wait")),
        core.Heatmap(title="H2", **source, gridPos=next(grid), dataFormat="tsbuckets", yBucketBound="lower",
                     hideZeroBuckets=True, reverseYBuckets=True, legend={"show": True}, cards={"cardPadding": 2,
                     "cardRound": 3}, color=core.HeatmapColor(mode="opacity", colorScale="linear", min=1.0, max=9.0)),
        core.StateTimeline(title="St", **source, gridPos=next(grid)),
        core.Text(title="Te", content="hello", mode="text", gridPos=next(grid)),
        core.Logs(title="L", **source, gridPos=next(grid)),
        core.PieChartv2(title="P", **source, gridPos=next(grid)),
        core.BarChart(title="Bc", **source, gridPos=next(grid)),
        core.Histogram(title="Hi", **source, gridPos=next(grid)),
        core.News(title="N", gridPos=next(grid)),
        core.DashboardList(title="D", gridPos=next(grid)),
        core.TimeSeries(title="Alerts", **source, gridPos=next(grid), repeat=core.Repeat("h", "node", 4),
                        extraJson={"watchkeeper": {"key": "with-alerts", "alerts": ["Hot"]}}),
    ]  # fmt: skip
    return core.Dashboard(
        title="Raw grafanalib",
        uid="raw",
        sharedCrosshair=True,
        templating=core.Templating(
            list=[
                core.Template("ds", "prometheus", type="datasource"),
                core.Template("node", "label_values(node)", dataSource="$ds", includeAll=True, default="a"),
                core.Template("custom", "a,b", type="custom", default="b"),
            ]
        ),
        links=[core.ExternalLink("https://example.org", "Out")],
        panels=panels,
    ).auto_panel_ids()


def rows():
    """grafanalib's rows, which Grafana gave up in version 5."""
    return core.Dashboard(
        title="Rows",
        uid="rows",
        templating=core.Templating(list=[core.Template("datasource", "prometheus", type="datasource")]),
        rows=[
            core.Row(title="One", showTitle=True, panels=[core.TimeSeries(title=name, span=4) for name in "abcd"]),
            core.Row(title="Two", collapse=True, panels=[core.Stat(title="in", span=12)]),
            core.Row(panels=[core.Stat(title="x"), core.Stat(title="y")]),
        ],
    )


def exported():
    """A dict as Grafana 10 exported it, with what the years have left in it."""
    source = {"type": "prometheus", "uid": "${datasource}"}
    return {
        "__inputs": [], "__requires": [{"type": "grafana"}], "id": 7, "iteration": 1, "version": 12, "gnetId": 123,
        "uid": "exported", "title": "Exported", "schemaVersion": 38, "style": "dark", "refresh": False,
        "timepicker": {"time_options": ["5m"], "refresh_intervals": ["1m"]},
        "annotations": {"list": [{"builtIn": 1, "datasource": "-- Grafana --", "enable": True, "hide": True,
                                  "iconColor": "rgba(0, 211, 255, 1)", "name": "Annotations & Alerts",
                                  "type": "dashboard"}]},
        "templating": {"list": [
            {"name": "datasource", "type": "datasource", "query": "prometheus", "current": {}},
            {"name": "q", "type": "query", "datasource": source, "definition": "label_values(x)",
             "query": "label_values(x)", "current": {"isNone": True, "text": "None", "value": ""}, "multi": True,
             "useTags": False},
        ]},
        "panels": [
            {"id": 2, "type": "row", "title": "Open, with panels in it", "collapsed": False,
             "gridPos": {"h": 1, "w": 24, "x": 0, "y": 0},
             "panels": [{"id": 3, "type": "timeseries", "title": "was inside $q", "datasource": source,
                         "gridPos": {"h": 8, "w": 12, "x": 0, "y": 1},
                         "targets": [{"refId": "A", "expr": "x", "range": True}],
                         "fieldConfig": {"defaults": {"custom": {"hideFrom": {"legend": False, "tooltip": False,
                                                                              "viz": False}}}, "overrides": []},
                         "options": {"legend": {"displayMode": "list", "placement": "bottom", "calcs": []}}}]},
            {"id": 4, "type": "table", "title": "table", "datasource": source, "pluginVersion": "10.0.0",
             "gridPos": {"h": 8, "w": 12, "x": 12, "y": 1}, "targets": [{"refId": "A", "expr": "x", "format": "table"}],
             "options": {"footer": {"show": False, "reducer": ["sum"], "countRows": False, "fields": ""}}},
            {"id": 5, "type": "stat", "title": "mixed", "datasource": "-- Mixed --",
             "gridPos": {"h": 8, "w": 12, "x": 0, "y": 9},
             "targets": [{"refId": "A", "expr": "x", "datasource": source},
                         {"refId": "B", "type": "math", "expression": "$A * 2", "datasource": "__expr__"}],
             "fieldConfig": {"defaults": {"thresholds": {"mode": "percentage", "steps": [
                 {"color": "red", "value": 80}, {"color": "green", "value": 0}]}}, "overrides": []}},
            {"id": 6, "type": "xychart", "title": "unknown to us", "datasource": source, "options": {"mapping": "auto"},
             "gridPos": {"h": 8, "w": 12, "x": 12, "y": 9}, "targets": []},
        ],
        "time": {"from": "now-6h", "to": "now"}, "weekStart": "",
    }  # fmt: skip


class Foundation:
    """As grafana-foundation-sdk has it: nested objects with to_json()."""

    class Target:
        def to_json(self):
            return {"expr": "up", "refId": "A", "legendFormat": None}

    class Panel:
        def to_json(self):
            return {
                "type": "timeseries",
                "title": "Up",
                "id": 1,
                "gridPos": {"h": 8, "w": 12, "x": 0, "y": 0},
                "targets": [Foundation.Target()],
                "fieldConfig": {"defaults": {"unit": "short"}, "overrides": []},
            }

    def to_json(self):
        return {"uid": "foundation", "title": "Foundation", "panels": [self.Panel()], "templating": VARIABLES}


VARIABLES = {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]}


def fleet():
    from watchkeeper_fleet.dashboards.gpu_memory import dashboard
    from watchkeeper_fleet.pack import PACK

    return dashboard(PACK)


def fleet_alerts():
    from watchkeeper_fleet.alerts.gpu_memory import GROUP

    return {one.name: alert(one.name, ">", 0.3, one.severity, one.runbook) for one in GROUP.alerts}


SOURCES = {
    "helpers": helpers, "raw": raw, "rows": rows, "exported": exported, "foundation": Foundation, "fleet": fleet,
}  # fmt: skip


def render(source, grafana=(12, 2), alerts=None):
    """Return the rendered dashboard and the findings."""
    return to_classic(
        source,
        place=Place("dashboards.py", 1),
        alerts={**ALERTS, **fleet_alerts()} if alerts is None else alerts,
        runbook_url=lambda name: f"https://runbooks.example.org/{name}",
        grafana=grafana,
    )


if __name__ == "__main__":
    for make in SOURCES.values():
        sys.stdout.buffer.write(to_text(render(make())[0].model).encode())
