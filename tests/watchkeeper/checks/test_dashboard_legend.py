"""Legends, variables and thresholds of dashboards in Python."""

from pathlib import Path

import pytest

from watchkeeper import Alert, Gauge, Group, Pack, Recording, Severity
from watchkeeper import dashboards as d
from watchkeeper.building import build
from watchkeeper.settings import Settings

FREE = Gauge("gpu_free_bytes", "Free memory.", labels=("gpu",), unit="bytes")
LOWEST = Recording("instance:gpu_free:min", f"min by (instance) ({FREE})")
LOW = Alert("Low", expr=f"{FREE} < 10", for_="5m", severity=Severity.WARNING, team="sre", summary="Low")


def found(check, *panels, variables=()):
    def dashboard(_):
        return d.dashboard(uid="x", title="X", variables=list(variables), panels=list(panels))

    pack = Pack(metrics=(FREE,), groups=(Group("g", [LOWEST, LOW]),), dashboards=(dashboard,))
    _, findings = build(pack, Settings(root=Path()))
    return [(finding.severity, finding.message) for finding in findings if finding.check == check]


@pytest.mark.parametrize(
    ("expr", "legend", "gone"),
    [
        (f"{FREE}", "{{ gpu }} {{ instance }}", []),
        (f"{FREE}", "{{ gpus }}", ["gpus"]),
        (f"sum by (instance) ({FREE})", "{{ gpu }}", ["gpu"]),
        (f"{LOWEST}", "{{ gpu }} {{ instance }}", ["gpu"]),
        (f"{FREE}", "{{ $labels.gpu }}", ["$labels.gpu"]),
    ],
)
def test_legends(expr, legend, gone):
    told = found("dashboard/legend", d.timeseries("P", expr, legend=legend))
    assert [severity for severity, _ in told] == ["warning"] * len(gone)
    for name, (_, message) in zip(gone, told, strict=True):
        assert name in message


def test_variables():
    variables = [d.label_values("gpu", FREE, "gpu"), d.label_values("gpus", FREE, "gpus")]
    ((severity, message),) = found("dashboard/legend", variables=variables)
    assert severity == "error"
    assert "variable gpus of dashboard x" in message


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"alerts": ["Low"]}, False),
        ({"alerts": ["Low"], "thresholds": {10: "red"}}, False),
        ({"alerts": ["Low"], "thresholds": {99: "red"}}, True),
        ({"thresholds": {99: "red"}}, False),
    ],
)
@pytest.mark.parametrize("make", [d.timeseries, d.stat, d.gauge])
def test_a_panel_that_names_an_alert_draws_its_threshold(make, members, told):
    if make is d.timeseries and members.get("thresholds") == {10: "red"}:
        members = {**members, "custom": {"thresholdsStyle": {"mode": "line"}}}
    findings = found("dashboard/threshold", make("P", FREE, **members))
    message = 'panel "P" names the alert Low, and draws no threshold at 10'
    assert findings == ([("note", message)] if told else [])
