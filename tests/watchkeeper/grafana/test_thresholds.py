"""Thresholds and runbook links that come from the alerts a panel names."""

import pytest
from grafanalib import core

import watchkeeper.dashboards as d
from watchkeeper import Alert, Severity
from watchkeeper.render.grafana.thresholds import from_alerts


def steps(corpus, *alerts):
    made = from_alerts([corpus.alert(f"A{number}", *one) for number, one in enumerate(alerts)])
    return [(step["color"], step["value"]) for step in made]


CRITICAL, WARNING, INFO = Severity.CRITICAL, Severity.WARNING, Severity.INFO


@pytest.mark.parametrize(
    ("alerts", "made"),
    [
        ([(">", 0.3)], [("green", None), ("red", 0.3)]),
        ([(">=", 3, WARNING)], [("green", None), ("orange", 3)]),
        ([("<", 0.1, INFO)], [("blue", None), ("green", 0.1)]),
        ([("<=", 0.1)], [("red", None), ("green", 0.1)]),
        ([(">", 70, WARNING), (">=", 85.5)], [("green", None), ("orange", 70.00000000000001), ("red", 85.5)]),
        ([(">", 0.5, WARNING), (">", 0.5)], [("green", None), ("red", 0.5)]),
        ([("<", 0.1), (">", 0.9, WARNING)], [("red", None), ("green", 0.1), ("orange", 0.9)]),
        ([("<", 5), (">", 2.5, WARNING)], [("red", None), ("orange", 5)]),
        ([("==", 0.0)], []),
        ([("!=", 1.0)], []),
        ([(">", float("inf"))], []),
        ([], []),
    ],
)
def test_steps(corpus, alerts, made):
    assert steps(corpus, *alerts) == made


def test_a_count_of_nothing_is_not_above_nothing(corpus):
    (_, (_, value)) = steps(corpus, (">", 0))
    assert 0 < value < 1e-6


def test_a_real_alert():
    alert = Alert("A", expr="increase(x_total[2m]) > 2.5", severity=WARNING, team="t", summary="s")
    unclear = Alert("B", expr="a > b", severity=WARNING, team="t", summary="s")
    broken = Alert("C", expr="a >", severity=WARNING, team="t", summary="s")
    assert from_alerts([unclear, alert, broken]) == [
        {"color": "green", "value": None},
        {"color": "orange", "value": 2.5},
    ]


@pytest.mark.parametrize("make", [d.stat, d.gauge, d.bar_gauge, d.timeseries, d.table, d.state_timeline])
def test_a_panel_draws_its_alerts(panel, make):
    defaults = panel(make("P", "x", alerts=["Hot", "Warm", "Unclear"]))["fieldConfig"]["defaults"]
    assert defaults["thresholds"]["steps"] == [
        {"color": "green", "value": None},
        {"color": "orange", "value": 70},
        {"color": "red", "value": 85.5},
    ]
    style = defaults.get("custom", {}).get("thresholdsStyle")
    assert style == ({"mode": "line"} if make is d.timeseries else None)


def test_the_line_of_less_than_has_the_colour_of_what_is_below(panel):
    made = panel(d.timeseries("P", "x", alerts=["Low", "Hot"]))["fieldConfig"]["defaults"]["thresholds"]["steps"]
    assert [step["color"] for step in made] == ["orange", "transparent", "red"]
    made = panel(d.stat("P", "x", alerts=["Low", "Hot"]))["fieldConfig"]["defaults"]["thresholds"]["steps"]
    assert [step["color"] for step in made] == ["orange", "green", "red"]


def test_explicit_thresholds_win(panel):
    made = panel(d.timeseries("P", "x", alerts=["Hot"], thresholds={1: "purple"}))["fieldConfig"]["defaults"]
    assert made["thresholds"]["steps"] == [{"color": "green", "value": None}, {"color": "purple", "value": 1}]
    assert made["custom"]["thresholdsStyle"] == {"mode": "off"}


def test_a_style_of_the_authors_is_kept(panel):
    made = panel(d.timeseries("P", "x", alerts=["Hot"], custom={"thresholdsStyle": {"mode": "area"}}))
    assert made["fieldConfig"]["defaults"]["custom"]["thresholdsStyle"] == {"mode": "area"}


def test_an_alert_without_a_literal_draws_nothing(panel):
    made = panel(d.timeseries("P", "x", alerts=["Unclear"]))["fieldConfig"]["defaults"]
    assert made["thresholds"]["steps"] == [{"color": "green", "value": None}]
    assert made["custom"]["thresholdsStyle"] == {"mode": "off"}


def test_links_to_runbooks(panel):
    links = panel(d.stat("P", "x", alerts=["Hot", "Warm", "Low"], links=[d.link("Mine", "/x")]))["links"]
    assert [(link["title"], link["url"]) for link in links] == [
        ("Mine", "/x"),
        ("Runbook: Hot", "https://runbooks.example.org/hot"),
        ("Runbook: Low", "https://runbooks.example.org/low"),
    ]


def test_the_thresholds_of_grafanalib(panel):
    given = [core.Threshold("green", 0, 0.0), core.Threshold("red", 1, 5.0)]
    mended = [{"color": "green", "value": None}, {"color": "red", "value": 5}]  # it writes the string "null"
    assert (
        panel(core.TimeSeries(title="P", thresholds=given))["fieldConfig"]["defaults"]["thresholds"]["steps"] == mended
    )
    assert panel(core.Stat(title="P", thresholds=given))["fieldConfig"]["defaults"]["thresholds"]["steps"] == mended


@pytest.mark.parametrize("make", [core.GaugePanel, core.BarGauge])
def test_what_grafanalib_gives_a_gauge_that_says_nothing_is_not_the_authors(panel, make):
    green = [{"color": "green", "value": None}]
    assert panel(make(title="P"))["fieldConfig"]["defaults"]["thresholds"]["steps"] == green
    own = make(title="P", thresholds=[core.Threshold("green", 0, 0.0), core.Threshold("red", 1, 90.0)])
    assert panel(own)["fieldConfig"]["defaults"]["thresholds"]["steps"][1] == {"color": "red", "value": 90}
