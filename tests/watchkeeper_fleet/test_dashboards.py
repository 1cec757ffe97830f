"""The boards: readable at 3 a.m., true to the alerts, and never green where nothing is known."""

import importlib.util
import re
from pathlib import Path

import pytest

from watchkeeper import Alert, Group, Severity
from watchkeeper.building import build
from watchkeeper.project import panels_of
from watchkeeper.promql import nodes, parse, walk
from watchkeeper.promql.threshold import ThresholdError
from watchkeeper.proof.flow import Flow
from watchkeeper.settings import load_settings
from watchkeeper_fleet.pack import PACK

BOARDS = ["fleet", "gpu-memory", "gpu-stall", "inference", "trunk", "watchers"]
ALERTS = sorted(PACK.alerts)
OF_COUNTERS = {"rate", "irate", "increase"}
BAD = {"red", "orange"}


@pytest.fixture(params=BOARDS)
def board(project, request):
    return find(project, request.param)


@pytest.fixture(scope="session")
def oracles():
    """The module that holds what is rendered to both schemas of Grafana's."""
    file = Path(__file__).parents[1] / "watchkeeper" / "grafana" / "test_oracles.py"
    spec = importlib.util.spec_from_file_location("grafana_oracles", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not (module.OWN.is_dir() and module.SDK.is_dir()):
        pytest.skip("the schemas of Grafana are not here")
    return module


def find(project, uid):
    (found,) = [board for board in project.dashboards if board.uid == uid]
    return found


def panel_of(project, alert):
    """The one panel of an alert: board, panel, and its model."""
    found = [(board, panel) for board in project.dashboards for panel in board.panels if alert in panel.alerts]
    ((board, panel),) = found
    return board, panel, board.panel(panel)


def panels(board, kind=""):
    """Each panel that is no row, with its model."""
    return [(p, board.panel(p)) for p in board.panels if p.type != "row" and (not kind or p.type == kind)]


def trees(model):
    return [parse(query["expr"], variables=True) for query in model.get("targets", ())]


def steps(model):
    return [(step["value"], step["color"]) for step in model["fieldConfig"]["defaults"]["thresholds"]["steps"]]


def colour(model, value):
    """What a panel paints a value."""
    defaults = model["fieldConfig"]["defaults"]
    for mapping in defaults.get("mappings", ()):
        if f"{value:g}" in mapping["options"]:
            return mapping["options"][f"{value:g}"]["color"]
    return [shade for start, shade in steps(model) if start is None or value >= start][-1]


def test_these_are_all(project):
    assert sorted(board.uid for board in project.dashboards) == BOARDS


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_is_on_one_panel(project, alert):
    assert len(panels_of(project.pack, project.dashboards)[alert]) == 1


# What an alert is about, and what its panel shows.

ABSENT = {"ExporterDown", "KubeStateMetricsDown", "Watchdog"}  # fire on what is not there: no selector to find again
# Compared with a slope, which has no place on the axis of what is left.
BESIDE = {"GPUMemoryHeadroomLow": {("torch_cuda_memory_allocated_bytes", frozenset())}}


def deciding(tree):
    """The parts of an alert's expression that give its value: without what `and` and `unless` only narrow."""
    if isinstance(tree, nodes.Paren):
        yield from deciding(tree.expr)
    elif isinstance(tree, nodes.Binary) and tree.op in ("and", "unless"):
        yield from deciding(tree.lhs)
    elif isinstance(tree, nodes.Binary) and tree.op == "or":
        yield from (*deciding(tree.lhs), *deciding(tree.rhs))
    else:
        yield tree


def selectors(tree):
    """Each selector as its name and its own matchers, those that follow a variable left out."""
    for node in walk(tree):
        if isinstance(node, nodes.VectorSelector):
            own = {(m.label, m.op, m.value) for m in node.matchers if "$" not in m.value and m.label != "__name__"}
            yield node.metric_name, frozenset(own)


@pytest.mark.parametrize("alert", [name for name in ALERTS if name not in ABSENT])
def test_a_panel_reads_what_its_alert_decides_by(project, alert):
    _, _, model = panel_of(project, alert)
    shown = {found for tree in trees(model) for found in selectors(tree)}
    shown |= BESIDE.get(alert, set())
    for part in deciding(parse(PACK.alerts[alert].expr)):
        assert set(selectors(part)) <= shown


@pytest.mark.parametrize("alert", ALERTS)
def test_a_panel_draws_the_threshold_of_its_alert(project, alert):
    """A line is drawn where the alert compares with one number, and the panel's axis is what it compares."""
    try:
        threshold = PACK.alerts[alert].threshold
    except ThresholdError:
        return  # two numbers, or none: the board says which
    _, panel, model = panel_of(project, alert)
    if panel.type != "timeseries":
        assert panel.type in ("state-timeline", "table")  # bands, and lists of those beyond it
        return
    style = model["fieldConfig"]["defaults"]["custom"]["thresholdsStyle"]["mode"]
    values = [value for value, _ in steps(model) if value is not None]
    assert style == "line"
    assert any(value == pytest.approx(threshold.value, abs=1e-6) for value in values)


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_leads_to_a_picture_over_time_or_a_list(project, alert):
    """Not to one number, which tells neither since when nor which one."""
    _, panel, _ = panel_of(project, alert)
    assert panel.type in ("timeseries", "state-timeline", "table")


# Reading it.


def test_the_first_row_is_tiles_that_fill_it(board):
    title, *rest = board.panels
    assert (title.type, title.title[-1]) == ("row", "?")
    end = next(number for number, panel in enumerate(rest) if panel.type == "row")
    tiles = [board.panel(panel) for panel in rest[:end]]
    assert {tile["type"] for tile in tiles} == {"stat"}
    assert sum(tile["gridPos"]["w"] for tile in tiles) % 24 == 0
    assert tiles[-1]["gridPos"]["y"] + tiles[-1]["gridPos"]["h"] <= 7  # seen at once
    judging = [tile for tile in tiles if BAD & {shade for _, shade in steps(tile)}]
    assert len(judging) >= 3
    assert all(tile["options"]["colorMode"] == "background" for tile in judging)


def test_rows_ask_what_their_panels_answer(board):
    rows = [panel.title for panel in board.panels if panel.type == "row"]
    assert all(row.endswith("?") for row in rows)
    assert len(set(rows)) == len(rows) > 2


def test_every_panel_says_what_to_think_of_it(board):
    for panel, model in panels(board):
        text = model.get("description", "")
        assert text.endswith("."), panel.title
        assert 40 < len(text) < 300, panel.title
        assert len(panel.title) <= 42


def test_every_panel_has_a_unit(board):
    for panel, model in panels(board):
        config = model["fieldConfig"]
        units = {change["value"] for o in config["overrides"] for change in o["properties"] if change["id"] == "unit"}
        axis = model["options"].get("yAxis", {}).get("unit")  # a heatmap counts, and its axis has the unit
        assert config["defaults"].get("unit") or axis or (panel.type == "table" and units), panel.title


def test_lines_are_named(board):
    for panel, model in panels(board):
        if panel.type in ("timeseries", "state-timeline"):
            assert all(query["legendFormat"] != "__auto" for query in model["targets"]), panel.title


def test_keys_are_told_apart(board):
    keys = [panel.key for panel in board.panels]
    assert len(set(keys)) == len(keys)


# Asking for it.


def test_a_stat_shows_one_number(project, board):
    """Of several series it would show one after the other, too small to read."""
    for panel, model in panels(board, "stat"):
        (tree,) = trees(model)
        assert Flow(tuple(walk(tree)), project.catalogue).of(tree).names() == frozenset(), panel.title


def test_what_is_not_known_is_not_green(board):
    """`or vector(0)` stands for "none" only where none is bad."""
    for panel, model in panels(board):
        if any("vector(0)" in query["expr"] for query in model["targets"]):
            assert colour(model, 0) == "red", panel.title


def windows(tree):
    for node in walk(tree):
        if isinstance(node, nodes.Call) and node.name in OF_COUNTERS and isinstance(node.args[0], nodes.MatrixSelector):
            window = node.args[0]
            yield node.name, window.selector.metric_name, window.range


def test_a_window_follows_the_zoom_or_is_an_alerts(board):
    ours = {(name, metric, str(span)) for rule in PACK.rules for name, metric, span in windows(parse(rule.expr))}
    assert ours
    for panel, model in panels(board):
        for tree in trees(model):
            for name, metric, span in windows(tree):
                text = "$__rate_interval" if "__rate_interval" in repr(span) else str(span)
                assert text == "$__rate_interval" or (name, metric, text) in ours, panel.title


def test_variables_are_chained(board):
    chosen = [one for one in board.model["templating"]["list"] if one["type"] == "query"]
    assert chosen
    for number, one in enumerate(chosen):
        query = one["query"]["query"] if isinstance(one["query"], dict) else one["query"]
        above = {other["name"] for other in chosen[:number]}
        assert one["multi"]
        assert one["includeAll"]
        assert one["allValue"] == ".*"
        narrowed = set(re.findall(r"\$(\w+)", query))
        assert narrowed <= above
        assert bool(narrowed) == bool(above)
    for _, model in panels(board):
        for query in model["targets"]:
            for name, op in re.findall(r'(\w+)(=~|=|!~|!=)"[^"]*\$\w+', query["expr"]):
                assert op == "=~", name


# From one to the other.


def test_boards_lead_to_each_other(project, board):
    (link,) = [link for link in board.model["links"] if link["type"] == "dashboards"]
    assert (link["includeVars"], link["keepTime"], link["asDropdown"]) == (True, True, False)
    assert all(set(link["tags"]) <= set(other.model["tags"]) for other in project.dashboards)


def test_links_lead_somewhere(project, board):
    uids = {other.uid for other in project.dashboards}
    for panel, model in panels(board):
        overrides = [change for o in model["fieldConfig"]["overrides"] for change in o["properties"]]
        data = [link for change in overrides if change["id"] == "links" for link in change["value"]]
        for link in [*model.get("links", ()), *data]:
            if link["url"].startswith("/d/"):
                uid, _, rest = link["url"].removeprefix("/d/").partition("?")
                assert uid in uids, panel.title
                assert "${__url_time_range}" in rest
                assert "${__all_variables}" in rest or "var-" in rest


def test_a_panel_links_to_the_runbooks_of_its_alerts(project):
    for alert in PACK.alerts.values():
        _, _, model = panel_of(project, alert.name)
        assert any(link["url"].endswith(f"/{alert.runbook}") for link in model["links"])


def test_grafana_takes_it(board, oracles):
    assert list(oracles.faults(board.model)) == []


# What others make of the pack.


@pytest.fixture(scope="session")
def rebuilt():
    """Build another pack: the project, and what is wrong with its boards."""
    settings = load_settings(Path(__file__))

    def run(pack):
        project, findings = build(pack, settings)
        of_boards = ("alert/panel", "dashboard/", "load/", "promql/", "render/")
        return project, [finding for finding in findings if finding.check.startswith(of_boards)]

    return run


def test_another_threshold_moves_tiles_and_lines(rebuilt):
    project, _ = rebuilt(PACK.replace("GPUStallRatioHigh", threshold=0.25))
    board = find(project, "gpu-stall")
    models = {panel.key: board.panel(panel) for panel in board.panels}
    assert "> 0.25 and" in models["gpus-stalled"]["targets"][0]["expr"]
    for key in ("worst-stall-ratio", "stall-ratio"):
        assert steps(models[key]) == [(None, "green"), (0.25, "red")]


def test_an_expression_without_a_threshold_leaves_the_boards_whole(rebuilt):
    project, findings = rebuilt(PACK.replace("GPUStallRatioHigh", expr="vector(1)"))
    assert not findings
    assert "> 0.15 and" in find(project, "gpu-stall").model["panels"][1]["targets"][0]["expr"]


def test_any_alert_can_be_left_out(rebuilt):
    """One of each family, then all of them: the boards stay, without lines and links of what is gone."""
    pack = PACK
    for group in PACK.groups:
        pack = pack.without(group.alerts[0].name, reason="not here")
    project, findings = rebuilt(pack)
    assert not findings
    assert {name for board in project.dashboards for panel in board.panels for name in panel.alerts} == {*pack.alerts}
    for alert in pack.alerts:
        pack = pack.without(alert, reason="nowhere")
    project, findings = rebuilt(pack)
    assert not findings
    assert not any(panel.alerts for board in project.dashboards for panel in board.panels)


def test_a_group_of_ones_own_burns_on_the_fleets_board(rebuilt):
    alert = Alert(
        "FansFast", expr="up == 0", severity=Severity.WARNING, team="inference-sre", summary="Loud", runbook="watchdog"
    )
    project, _ = rebuilt(PACK.add(Group("our_fans", [alert])))
    board = find(project, "fleet")
    (model,) = [model for panel, model in panels(board) if panel.key == "what-burns"]
    assert model["targets"][-1]["legendFormat"] == "Our fans"
    assert 'alertname=~"FansFast"' in model["targets"][-1]["expr"]
