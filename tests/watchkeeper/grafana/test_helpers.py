"""The helpers: grafanalib objects, placed one after the other, that know where they were made."""

import json

import pytest
from grafanalib import core
from grafanalib._gen import DashboardEncoder

import watchkeeper.dashboards as d


def places(dashboard):
    return [
        (panel.title, panel.gridPos.x, panel.gridPos.y, panel.gridPos.w, panel.gridPos.h) for panel in dashboard.panels
    ]


def board(*panels):
    return d.dashboard(uid="x", title="X", panels=panels)


def test_they_are_grafanalibs_own(corpus):
    made = corpus.helpers()
    assert isinstance(made, core.Dashboard)
    for panel in made.panels:
        assert isinstance(panel, core.Panel)
    json.dumps(made.to_json_data(), cls=DashboardEncoder)
    assert isinstance(d.datasource(), core.Template)
    assert isinstance(d.target("x"), core.Target)
    assert isinstance(d.link("a", "/b"), core.DashboardLink)


def test_grafanalib_can_go_on_with_them(render):
    made = board(d.stat("A", "x"), core.Stat(title="Raw")).auto_panel_ids()
    rendered, _ = render(made)
    assert [panel.id for panel in rendered.panels] == [1, 2]
    assert rendered.place.file == __file__


def test_panels_flow_from_left_to_right():
    made = board(
        d.row("One"),
        d.stat("a", "x"),
        d.timeseries("b", "x", width=14, height=6),
        d.stat("c", "x", width=8),
        d.timeseries("d", "x", width=16),
        d.row("Two", [d.stat("e", "x"), d.stat("f", "x")]),
        d.stat("g", "x", grid_pos=core.GridPos(h=3, w=4, x=20, y=50)),
        d.stat("h", "x"),
    )
    assert places(made) == [
        ("One", 0, 0, 24, 1), ("a", 0, 1, 4, 4), ("b", 4, 1, 14, 6), ("c", 0, 7, 8, 4), ("d", 8, 7, 16, 8),
        ("Two", 0, 15, 24, 1), ("e", 0, 16, 4, 4), ("f", 4, 16, 4, 4), ("g", 20, 50, 4, 3), ("h", 0, 53, 4, 4),
    ]  # fmt: skip


def test_a_closed_row_takes_one_line():
    made = board(d.row("Closed", [d.stat("in", "x"), d.stat("side", "x")], collapsed=True), d.stat("below", "x"))
    assert places(made) == [("Closed", 0, 0, 24, 1), ("below", 0, 1, 4, 4)]
    assert [(panel.gridPos.x, panel.gridPos.y) for panel in made.panels[0].panels] == [(0, 1), (4, 1)]


def test_a_panel_may_be_on_two_dashboards():
    shared = d.stat("Shared", "x")
    one, two = board(shared), board(d.row("Row"), shared)
    assert one.panels[0].gridPos.y == 0
    assert two.panels[1].gridPos.y == 1
    assert shared.gridPos.x is None


def test_ref_ids():
    panel = d.timeseries("T", ["a", d.target("b", ref_id="A"), "c"])
    assert [(query.expr, query.refId) for query in panel.targets] == [("a", "B"), ("b", "A"), ("c", "C")]
    many = d.timeseries("T", [str(number) for number in range(30)])
    assert [query.refId for query in many.targets][24:] == ["Y", "Z", "AA", "AB", "AC", "AD"]


def test_a_target_is_not_changed_by_the_panel():
    query = d.target("x")
    d.timeseries("T", [query])
    assert query.refId == ""


def test_metrics_stand_for_their_names(corpus):
    assert d.stat("T", corpus.TEMPERATURE).targets[0].expr == "gpu_temperature_celsius"
    assert d.label_values("gpu", corpus.TEMPERATURE).query == "label_values(gpu_temperature_celsius, gpu)"


def test_alerts_may_be_given_as_objects(corpus):
    assert d.stat("T", "x", alerts=[corpus.ALERTS["Hot"]]).extraJson["watchkeeper"]["alerts"] == ["Hot"]


def test_mistakes():
    with pytest.raises(TypeError, match=r'alerts must be a list of names, such as \["Hot"\]'):
        d.stat("T", "x", alerts="Hot")
    with pytest.raises(TypeError, match="widht"):
        d.stat("T", "x", widht=4)
