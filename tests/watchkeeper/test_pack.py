"""Packs: discovered, extended, overridden."""

import functools
import os
import sys
import textwrap

import pytest

from watchkeeper import Alert, DefinitionError, Gauge, Group, Pack, Recording, Severity
from watchkeeper.building import build
from watchkeeper.settings import Settings


def alert(name="TargetDown", **changes):
    fields = {"expr": "up == 0", "severity": Severity.CRITICAL, "team": "sre", "summary": "Down", "runbook": "down"}
    return Alert(name, **{**fields, **changes})


@pytest.fixture
def pack():
    groups = (
        Group("targets", [alert(), alert("TargetSlow", expr="scrape_duration_seconds > 10")]),
        Group("other", [alert("Other")]),
    )
    return Pack(groups=groups, dashboards=({"uid": "targets", "title": "Targets"},))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return a function that writes a package's modules and makes them importable."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(**modules):
        for dotted, text in modules.items():
            path = tmp_path / (dotted.replace("__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            (path.parent / "__init__.py").touch()
            path.write_text(textwrap.dedent(text))
        return tmp_path

    yield write
    for name in [name for name in sys.modules if name.split(".")[0] in ("acme", "lib")]:
        del sys.modules[name]


def test_discover_takes_what_each_module_made(package):
    package(
        lib__base="""
            from watchkeeper import Gauge, Group, Recording
            THEIRS = Gauge("theirs", "Not ours.")
            def group(name):
                return Group(name, [Recording(f"{name}:up:sum", "sum(up)")])
        """,
        acme__metrics="""
            from lib.base import THEIRS
            from watchkeeper import Gauge
            OURS = Gauge("ours", "Ours.")
            ALSO = OURS
        """,
        acme__rules="""
            from acme.metrics import OURS
            from lib.base import group
            from watchkeeper import Recording
            MADE = group("made")          # made by a function of another package, but for this module
            LOOSE = Recording("a:b:c", f"max({OURS})")
            def dashboard(pack): return {}
            def other_dashboard(pack): return {}
            def helper(pack): return {}
        """,
        acme__views="from acme.rules import dashboard as dashboard",
    )
    found = Pack.discover("acme", target_labels=("job",))
    assert [metric.name for metric in found.metrics] == ["ours"]
    assert [group.name for group in found.groups] == ["made"]
    assert [rule.name for rule in found.loose] == ["a:b:c"]
    assert [function.__name__ for function in found.dashboards] == ["dashboard", "other_dashboard"]
    assert found.target_labels == ("job",)


def test_discover_reads_the_names_of_runbook_pages(package):
    root = package(acme__runbooks__x="")
    (root / "acme/runbooks/target-down.md").write_text("# Down\n")
    assert [page.name for page in Pack.discover("acme", runbooks="acme.runbooks").runbooks] == ["target-down"]


def test_without(pack):
    assert list(pack.without("TargetDown", reason="not here").alerts) == ["TargetSlow", "Other"]
    assert [group.name for group in pack.without("Other", reason="not here").groups] == ["targets"]
    assert list(pack.without("targets", reason="not here").alerts) == ["Other"]
    removed = pack.without("TargetDown", reason="not here").removed
    assert [(entry.name, entry.reason) for entry in removed] == [("TargetDown", "not here")]
    assert list(pack.alerts) == ["TargetDown", "TargetSlow", "Other"]  # the pack itself is as it was


def test_without_a_dashboard():
    pack = Pack(dashboards=({"uid": "a", "title": "A"}, lambda _: {"uid": "b", "title": "B"}))
    assert pack.without("b", reason="not here").dashboards == pack.dashboards[:1]


def test_a_dashboard_forgets_alerts_that_were_removed(tmp_path):
    panel = {"type": "stat", "title": "Up", "watchkeeper": {"alerts": ["TargetDown", "TargetSlow", "TargetGone"]}}
    pack = Pack(groups=(Group("g", [alert(), alert("TargetSlow")]),), dashboards=({"uid": "x", "panels": [panel]},))
    project, findings = build(pack.without("TargetSlow", reason="not here"), Settings(root=tmp_path))
    assert project.dashboards[0].panels[0].alerts == ("TargetDown", "TargetGone")
    told = [finding.message for finding in findings if "names the alert" in finding.message]
    assert len(told) == 1
    assert "TargetGone" in told[0]


def test_replace(pack):
    changed = pack.replace("TargetSlow", threshold=20, for_="5m").replace("targets", interval="30s")
    assert changed.alerts["TargetSlow"].expr == "scrape_duration_seconds > 20"
    assert changed.alerts["TargetSlow"].for_ == "5m"
    assert changed.groups[0].interval == "30s"
    assert pack.groups[0].interval == ""


def test_reassign(pack):
    assert {alert.team for alert in pack.reassign({"sre": "platform"}).alerts.values()} == {"platform"}


def test_add(pack):
    gauge, group = Gauge("ours", "Ours."), Group("ours", [Recording("ours:max", "max(ours)")])
    more = pack.add(gauge, group, {"uid": "ours"}, Pack(target_labels=("job", "cluster")))
    assert more.metrics == (gauge,)
    assert more.groups[-1] == group
    assert more.dashboards[-1] == {"uid": "ours"}
    assert more.target_labels == ("job", "instance", "cluster")
    assert more.add(gauge).metrics == (gauge,)  # the same object once


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.without("TargetDwn", reason="x"), 'the pack has no "TargetDwn"; did you mean "TargetDown"?'),
        (lambda p: p.without("target", reason="x"), 'the pack has no "target"; did you mean "targets"?'),
        (lambda p: p.replace("TargetDwn", for_="5m"), 'the pack has no "TargetDwn"; did you mean "TargetDown"?'),
        (lambda p: p.reassign({"ser": "x"}), 'no alert is the team "ser"\'s; did you mean "sre"?'),
        (lambda p: p.without("TargetDown", reason=" "), 'without("TargetDown") needs a reason'),
        (
            lambda p: p.without("Other", reason="gone").replace("Other", for_="1m"),
            'the pack has no "Other" (removed at ',
        ),
        (lambda p: p.replace("targets", intervl="1m"), 'targets has no field "intervl"; did you mean "interval"?'),
        (lambda p: p.replace("TargetSlow", threshold="x"), "alert TargetSlow: can't replace the threshold"),
        (lambda p: p.add(alert("New")), "New can't be added by itself"),
        (lambda p: p.add("a string"), "a pack holds metrics, groups, dashboards and packs, not 'a string'"),
        (lambda p: p.add(None), "a pack holds metrics, groups, dashboards and packs, not None"),
    ],
)
def test_what_cannot_be_done_says_why_and_where(pack, change, message):
    with pytest.raises(DefinitionError) as caught:
        change(pack)
    assert caught.value.message.startswith(message)
    assert caught.value.place.file == __file__


ALERT = 'Alert("{}", expr="up == 0", severity="critical", team="sre", summary="Down", runbook="down")'


def test_discover_walks_folders_that_are_no_regular_packages(package):
    root = package(acme__base="")
    for folder in ("alerts/site", "tests", "data"):
        (root / "acme" / folder).mkdir(parents=True)
    (root / "acme/alerts/site/gpu.py").write_text(f"from watchkeeper import *\nG = Group('g', [{ALERT.format('A')}])")
    (root / "acme/alerts/loop").symlink_to("..")
    (root / "acme/tests/test_x.py").write_text("1 / 0")
    (root / "acme/__main__.py").write_text("1 / 0")
    (root / "acme/data/x.json").write_text("{}")
    assert list(Pack.discover("acme").alerts) == ["A"]


def test_discover_looks_into_containers_and_classes(package):
    package(
        acme__rules=f"""
            from watchkeeper import Alert, Gauge, Group, Recording
            GROUPS = [Group("one", [{ALERT.format("A")}]), [Group("two", [{ALERT.format("B")}])]]
            LOOSE = {{"x": Recording("a:b:c", "up"), "again": GROUPS}}
            LOOSE["itself"] = LOOSE
            class Metrics:
                UP = Gauge("ours", "Ours.")
        """
    )
    found = Pack.discover("acme")
    assert [group.name for group in found.groups] == ["one", "two"]
    assert [rule.name for rule in found.loose] == ["a:b:c"]
    assert [metric.name for metric in found.metrics] == ["ours"]


def test_discover_takes_dashboards_of_any_kind(package):
    package(
        lib__views="x_dashboard = {'uid': 'theirs'}\ndef make(pack, uid='made'): return {'uid': uid}",
        acme__views="""
            import functools
            import watchkeeper.dashboards as dashboards_library
            from lib.views import make, x_dashboard
            class Maker:
                def __call__(self, pack): return {"uid": "called"}
            class Dashboard: pass
            dashboard = {"uid": "plain"}
            gpu_dashboard = functools.partial(make, uid="partial")
            called_dashboard = Maker()
            def dashboard_gpu(pack): return {"uid": "prefix"}
            def dashboards(pack): return {"uid": "plural"}
            SITE_DASHBOARD = {"title": "Constant"}
            dashboard_list = [lambda pack: {"uid": "listed"}]
            dashboard_colours = {"good": "green"}
            DASHBOARD_UID = "gpu"
            dashboard_again = dashboard
        """,
    )
    found = Pack.discover("acme")
    built = [found.build(dashboard) for dashboard in found.dashboards]
    assert [dashboard.get("uid", "") for dashboard in built] == [
        "plain", "partial", "called", "prefix", "plural", "", "listed",
    ]  # fmt: skip


def test_a_rule_is_not_loose_if_a_group_has_a_changed_copy(package):
    package(
        acme__rules=f"""
            from watchkeeper import Alert, Group
            X, Y, Z = {ALERT.format("X")}, {ALERT.format("Y")}, {ALERT.format("Z")}
            GROUP = Group("g", [X.replace(for_="5m")])
        """,
        acme__views="""
            from acme.rules import Y
            from watchkeeper import Group
            GROUP = Group("h", [Y.replace(for_="5m")])
        """,
    )
    assert [rule.name for rule in Pack.discover("acme").loose] == ["Z"]


@pytest.mark.parametrize("name", ["", ".x"])
def test_discover_tells_a_name_that_is_none(name):
    for discover in (lambda: Pack.discover(name), lambda: Pack.discover(runbooks=name)):
        with pytest.raises(DefinitionError, match=f'Pack.discover: "{name}" is no package'):
            discover()


def test_a_runbook_page_that_cannot_be_read_is_named(package):
    root = package(acme__runbooks__x="")
    page = root / "acme/runbooks/gpu.md"
    page.write_bytes(b"# \xff")
    with pytest.raises(DefinitionError, match=r"the runbook page gpu\.md is not UTF-8") as caught:
        Pack.discover("acme", runbooks="acme.runbooks")
    assert caught.value.place.file == str(page)
    page.unlink()
    page.mkdir()
    with pytest.raises(DefinitionError, match=r"the runbook page gpu\.md can't be read: Is a directory"):
        Pack.discover("acme", runbooks="acme.runbooks")


class Dumb(Exception):  # noqa: N818
    def __str__(self):
        raise RuntimeError("no")


class Odd(BaseException):
    pass


def raising(error):
    def dashboard(_):
        raise error

    return dashboard


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda _: sys.exit(0), "making the dashboard failed: SystemExit: 0"),
        (lambda _: os._exit(0), "making the dashboard failed: SystemExit: os._exit(0)"),
        (raising(Dumb()), "making the dashboard failed: Dumb"),
        (raising(Odd("what")), "making the dashboard failed: Odd: what"),
        (raising(ValueError("\n")), "making the dashboard failed: ValueError"),
        (raising(ValueError("\n\nfirst\nsecond")), "making the dashboard failed: ValueError: first"),
        (functools.partial(raising(KeyError("x"))), "making the dashboard failed: KeyError: 'x'"),
        (lambda _: sys.setrecursionlimit(10**9) or {}["x"], "making the dashboard failed: KeyError: 'x'"),
    ],
)
def test_whatever_a_dashboard_raises_is_a_finding(tmp_path, function, message):
    limit, leave = sys.getrecursionlimit(), os._exit
    _, findings = build(Pack(dashboards=(function,)), Settings(root=tmp_path))
    assert [finding.message for finding in findings] == [message]
    assert findings[0].place.file == __file__
    assert (sys.getrecursionlimit(), os._exit) == (limit, leave)


def test_an_interrupt_is_no_finding(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        build(Pack(dashboards=(raising(KeyboardInterrupt()),)), Settings(root=tmp_path))


def test_a_warning_does_not_hide_what_the_schema_says(tmp_path):
    variable = {"name": "unused", "type": "custom", "query": "a"}
    panel = {"type": "stat", "title": "Up", "gridPos": {"h": 4, "w": 4, "x": 0, "y": 0}, "optoins": {}}
    board = {"uid": "x", "title": "X", "panels": [panel], "templating": {"list": [variable]}}
    _, findings = build(Pack(dashboards=(board,)), Settings(root=tmp_path))
    assert {"dashboard/variable", "dashboard/schema"} <= {finding.check for finding in findings}
