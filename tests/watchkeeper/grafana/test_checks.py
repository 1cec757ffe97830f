"""Each check of dashboards: what it finds, said how, and what it leaves alone. Their pages are run with all others."""

import copy

import pytest
from grafanalib import core

import watchkeeper.dashboards as d
from watchkeeper.checks import NAMES

GRID = {"h": 4, "w": 6, "x": 0, "y": 0}


def panel(title="P", **more):
    return {"type": "stat", "title": title, "gridPos": GRID, "targets": [{"expr": "up", "refId": "A"}], **more}


def board(*panels, uid="x", title="X", variables=(), **more):
    return {"uid": uid, "title": title, "panels": list(panels), "templating": {"list": list(variables)}, **more}


def variable(name, **more):
    return {"name": name, "type": "query", "query": "label_values(up, job)", **more}


def messages(findings):
    return [finding.message for finding in findings]


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("dashboard_")])
def test_what_we_render_is_clean(corpus, check, name):
    sources = [make() for key, make in corpus.SOURCES.items() if key != "raw"]
    assert messages(check(name.removeprefix("dashboard_").replace("_", "-"), *sources)) == []


@pytest.mark.parametrize(
    ("uid", "part"),
    [
        ("", 'dashboard "X" has no uid'),
        ("a" * 41, "41 characters, 40 are allowed"),
        ("a b/ü", "has ' ' '/' 'ü' in it"),
    ],
)
def test_uid(check, uid, part):
    (finding,) = check("uid", board(uid=uid))
    assert part in finding.message
    assert not check("uid", board(uid="a" * 40), board(uid="A-b_9"))


@pytest.mark.parametrize("second", ["gpu", "GPU"])
def test_two_dashboards_of_one_uid_name_both_places(check, second):
    a, b = (board(uid=uid, watchkeeper={"place": f"/src/{name}.py:7"}) for uid, name in (("gpu", "a"), (second, "b")))
    (finding,) = check("uid", a, b)
    assert str(finding.place) == "/src/b.py:7"
    assert "/src/a.py:7" in finding.message


def test_title(check):
    assert "no title" in check("title", board(title=" "))[0].message
    (finding,) = check("title", board(uid="a", title="One"), board(uid="b", title="one"))
    assert 'the title "one" is already' in finding.message
    assert not check("title", board(title="One"), board(title="One", watchkeeper={"folder": "other"}))


def test_panel_id(check):
    assert not check("panel-id", board(panel("A"), panel("B"), panel("A", id=3)))
    (finding,) = check("panel-id", board(panel("Same", watchkeeper={"place": "a.py:1"}), panel("Same")))
    assert 'has the key "same", which is that of the panel at a.py:1' in finding.message
    (finding,) = check("panel-id", board(panel("A", id=7), panel("B", id=7)))
    assert 'has the id 7, which is that of "A"' in finding.message
    for wrong in (0, -1, "7", True, 1.5):
        (finding,) = check("panel-id", board(panel("A", id=wrong)))
        assert "no whole number above 0" in finding.message


def test_panel_id_looks_into_rows(check):
    row = {"type": "row", "title": "R", "collapsed": True, "gridPos": GRID, "panels": [panel("In", id=7)]}
    assert check("panel-id", board(panel("Out", id=7), row))


def test_ref_id(check):
    queries = [{"expr": "a", "refId": "A"}, {"expr": "b"}, {"expr": "c", "refId": "A"}, {"expr": "d", "refId": ""}]
    found = messages(check("ref-id", board(panel(targets=queries))))
    assert found == [
        'query 2 of panel "P" has no refId',
        'query 3 of panel "P" has the refId "A", which another query has',
        'query 4 of panel "P" has no refId',
    ]


@pytest.mark.parametrize(
    ("grid", "part"),
    [
        (None, "no place and size"),
        ({"h": 4, "w": 6, "x": 0}, "no place and size"),
        ({"h": 4, "w": "6", "x": 0, "y": 0}, "no place and size"),
        ({"h": 0, "w": 6, "x": 0, "y": 0}, "no size: w=6, h=0"),
        ({"h": 4, "w": 6, "x": 20, "y": 0}, "leaves the grid: x=20"),
        ({"h": 4, "w": 25, "x": 0, "y": 0}, "leaves the grid"),
        ({"h": 4, "w": 6, "x": -1, "y": 0}, "leaves the grid"),
    ],
)
def test_layout(check, grid, part):
    (finding,) = check("layout", board(panel(gridPos=grid)))
    assert part in finding.message


def test_layout_names_both_panels_that_overlap(check):
    a, b = panel("A", gridPos={"h": 4, "w": 6, "x": 0, "y": 0}), panel("B", gridPos={"h": 4, "w": 6, "x": 5, "y": 3})
    (finding,) = check("layout", board(b, a))
    assert 'panel "B" at x=5, y=3 overlaps "A" at x=0, y=0' in finding.message
    beside = panel("B", gridPos={"h": 4, "w": 6, "x": 6, "y": 3})
    below = panel("C", gridPos={"h": 4, "w": 6, "x": 0, "y": 4})
    assert not check("layout", board(a, beside, below))
    row = {"type": "row", "title": "R", "collapsed": True, "gridPos": {"h": 1, "w": 24, "x": 0, "y": 9}}
    assert not check("layout", board(a, {**row, "panels": [copy.deepcopy(a)]}))
    assert check("layout", board({**row, "panels": [copy.deepcopy(a), copy.deepcopy(b)]}))


@pytest.mark.parametrize("use", ["$job", "${job}", "${job:regex}", "${job.text}", "[[job]]", "[[job:csv]]"])
def test_variable(check, use):
    used = panel(targets=[{"expr": f'up{{job=~"{use}"}}', "refId": "A"}])
    (finding,) = check("variable", board(used, variables=[variable("jobs", query=f"label_values({use})")]))[:1]
    assert "uses the variable $job, which is not defined" in finding.message
    assert "did you mean" in finding.message
    assert not check("variable", board(used, variables=[variable("job")]))


@pytest.mark.parametrize("where", ["title", "description", "repeat", "link", "dashboard link", "annotation"])
def test_variable_is_looked_for_everywhere(check, where):
    more, top = {}, {}
    if where in ("title", "description"):
        more = {where: "of $gone"}
    elif where == "repeat":
        more = {"repeat": "gone"}
    elif where == "link":
        more = {"links": [{"title": "x", "url": "/d/y?var-x=${gone}"}]}
    elif where == "dashboard link":
        top = {"links": [{"title": "x", "url": "/d/y?var-x=${gone}"}]}
    else:
        top = {"annotations": {"list": [{"name": "a", "expr": "x{y='$gone'}"}]}}
    (finding,) = check("variable", board(panel(**more), **top))
    assert "$gone" in finding.message


def test_variable_knows_what_is_built_in_and_what_is_no_variable(check):
    expr = 'label_replace(rate(x[$__rate_interval]), "a", "$1", "b", "(.*)$") + $__range_s'
    links = [{"title": "x", "url": "/d/y?${__url_time_range}&x=${__field.labels.gpu}&${__all_variables}"}]
    assert not check("variable", board(panel(targets=[{"expr": expr, "refId": "A"}], links=links)))
    (finding,) = check("variable", board(panel(targets=[{"expr": "rate(x[$__rate_intervall])", "refId": "A"}])))
    assert 'did you mean "__rate_interval"?' in finding.message


def test_variable_defined_twice_or_not_used(check):
    found = check("variable", board(panel("$a"), variables=[variable("a"), variable("a"), variable("b")]))
    assert messages(found) == ['the variable "a" is defined twice', 'the variable "b" is used nowhere']
    assert [finding.severity for finding in found] == ["error", "warning"]


@pytest.mark.parametrize(
    ("unit", "hint"), [("seconds", '"s"'), ("byte", '"bytes"'), ("percentunits", '"percentunit"'), ("xyzzy", "")]
)
def test_unit(check, unit, hint):
    (finding,) = check("unit", board(panel(fieldConfig={"defaults": {"unit": unit}, "overrides": []})))
    assert f'the unit "{unit}"' in finding.message
    assert hint in finding.message


def test_unit_in_overrides_and_axes(check):
    change = {"matcher": {"id": "byName", "options": "x"}, "properties": [{"id": "unit", "value": "parsecs"}]}
    odd = panel(fieldConfig={"defaults": {}, "overrides": [change]}, options={"yAxis": {"unit": "furlongs"}})
    assert len(check("unit", board(odd))) == 2


@pytest.mark.parametrize(
    "unit", ["", "bytes", "µs", "binBps", "suffix:jobs", "currency:EUR", "time:YYYY", "bool:up/down"]
)
def test_unit_that_grafana_knows(check, unit):
    assert not check("unit", board(panel(fieldConfig={"defaults": {"unit": unit}, "overrides": []})))


def test_datasource(check):
    source = {"name": "ds", "type": "datasource", "query": "prometheus"}
    (finding,) = check("datasource", board(panel(datasource="${dss}"), variables=[source]))
    assert 'from $dss, which is no variable for data sources; did you mean "ds"?' in finding.message
    (finding,) = check("datasource", board(panel(datasource={"type": "prometheus", "uid": "P1809F7CD0C75ACF3"})))
    assert finding.severity == "warning"
    assert not check("datasource", board(panel(datasource="$ds"), variables=[source]))
    assert not check("datasource", board(panel()))  # the variable is added
    assert not check("datasource", board(panel(datasource="-- Mixed --")))


def test_datasource_by_name_is_told_when_rendered(render):
    _, (finding,) = render(board(panel(datasource="Prometheus")))
    assert finding.check == "dashboard/datasource"
    assert '"Prometheus" is referred to by its name' in finding.message


def test_schema_says_which_panel_and_where(check):
    odd = panel("Odd", options={"colorMod": "value"}, watchkeeper={"place": "a.py:9"})
    (finding,) = check("schema", board(panel("Fine"), odd, tagz=[]))[1:]
    assert (
        'panel "Odd" of dashboard x: panels[1].options has no member "colorMod"; did you mean "colorMode"?'
        in finding.message
    )
    assert str(finding.place) == "a.py:9"


def test_size(check, monkeypatch):
    from watchkeeper.checks import dashboard_size as size

    many = board(*(panel(f"P{number}") for number in range(50)))
    assert not check("size", many)
    monkeypatch.setattr(size, "LARGE", 20_000)
    (finding,) = check("size", many)
    assert finding.severity == "warning"
    monkeypatch.setattr(size, "TOO_LARGE", 40_000)
    assert check("size", many)[0].severity == "error"


def test_feature(check):
    new = board(
        panel(timeCompare="1d"),
        panel("G", type="gauge", options={"shape": "circle"}),
        variables=[variable("a", hide=3), {"name": "b", "type": "switch"}],
    )
    assert len(check("feature", new, grafana=(12, 2))) == 4
    assert len(check("feature", new, grafana=(12, 3))) == 1
    assert not check("feature", new, grafana=(13, 0))


@pytest.mark.parametrize("kind", ["graph", "singlestat", "table-old", "grafana-piechart-panel"])
def test_a_dead_panel_type_is_told_with_what_replaces_it(render, kind):
    _, (finding,) = render(board(panel(type=kind)))
    assert finding.check == "dashboard/feature"
    assert f'"{kind}"' in finding.message
    assert finding.fix.startswith("use ")


def test_an_unknown_alert_is_told_with_the_nearest(render):
    source = d.dashboard(uid="x", title="X", panels=[d.stat("P", "up", alerts=["Hott"])])
    rendered, (finding,) = render(source)
    assert finding.check == "alert/panel"
    assert 'names the alert "Hott", which does not exist; did you mean "Hot"?' in finding.message
    assert finding.place.file == __file__
    assert rendered.panels[0].alerts == ("Hott",)


def test_raw_grafanalib_with_a_graph_is_found_out(render):
    source = core.Dashboard(title="X", uid="x", panels=[core.Graph(title="G", dataSource="$ds", targets=[])])
    assert [finding.check for finding in render(source)[1]] == ["dashboard/feature"]
