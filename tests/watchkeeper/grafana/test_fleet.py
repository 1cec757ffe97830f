"""The fleet's own dashboards: readable in five seconds, and each alert on one panel."""

from collections import Counter

import pytest

from watchkeeper.project import panels_of
from watchkeeper_fleet.alerts.gpu_memory import GROUP
from watchkeeper_fleet.pack import PACK


@pytest.fixture
def board(corpus, render):
    rendered, findings = render(corpus.fleet(), alerts=PACK.alerts)
    assert not findings
    return rendered


def test_each_alert_on_gpu_memory_is_on_one_panel(board):
    named = Counter(name for panel in board.panels for name in panel.alerts)
    assert named == {alert.name: 1 for alert in GROUP.alerts}
    assert all(len(panels_of(PACK, [board])[alert.name]) == 1 for alert in GROUP.alerts)


def test_every_panel_says_what_it_shows(board):
    for panel in board.panels:
        part = board.panel(panel)
        if panel.type == "row":
            assert panel.title.endswith("?")
            continue
        assert part["description"].endswith(".")
        if panel.type == "timeseries":
            assert part["fieldConfig"]["defaults"]["unit"]
            assert all(query["legendFormat"] != "__auto" for query in part["targets"])


def test_the_first_row_answers_whether_it_is_fine(board):
    first = [panel for panel in board.panels if board.panel(panel)["gridPos"]["y"] == 1]
    assert board.panels[0].title == "Is it fine?"
    assert {panel.type for panel in first} == {"stat"}
    assert sum(board.panel(panel)["gridPos"]["w"] for panel in first) == 24


def test_everything_follows_the_variables(board):
    variables = {one["name"]: one for one in board.model["templating"]["list"]}
    assert [*variables] == ["datasource", "cluster", "node", "workload", "gpu"]
    assert all(one["multi"] and one["includeAll"] for name, one in variables.items() if name != "datasource")
    assert '$cluster"' in variables["node"]["query"]
    assert '$node"' in variables["workload"]["query"]
    for panel in board.panels:
        for query in board.panel(panel).get("targets", ()):
            assert 'cluster=~"$cluster",node=~"$node",gpu=~"$gpu"' in query["expr"]


def test_thresholds_are_those_of_the_alerts(board):
    def steps(key):
        (panel,) = [panel for panel in board.panels if panel.key == key]
        steps = board.panel(panel)["fieldConfig"]["defaults"]["thresholds"]["steps"]
        return [(step["color"], step["value"]) for step in steps]

    assert steps("reserved-but-unused") == [
        ("green", None),
        ("red", PACK.alerts["HighGPUMemoryFragmentation"].threshold.value),
    ]
    assert [colour for colour, _ in steps("cache-flushes-in-2-minutes")] == ["green", "orange"]
    assert [colour for colour, _ in steps("out-of-memory-errors")] == ["green", "red"]


def test_an_override_of_the_alert_moves_the_line(corpus, render):
    pack = PACK.replace("HighGPUMemoryFragmentation", threshold=0.5)
    rendered, _ = render(corpus.fleet(), alerts=pack.alerts)
    (panel,) = [panel for panel in rendered.panels if panel.key == "reserved-but-unused"]
    assert rendered.panel(panel)["fieldConfig"]["defaults"]["thresholds"]["steps"][1]["value"] == 0.5
