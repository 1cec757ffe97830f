"""A pack that was emptied by mistake: `--prune` does not take all that there is."""

import shutil

import pytest
from standin_grafana import Grafana
from standin_grafana_rules import AlertRules
from standin_ruler import TOKEN, Ruler
from sync_project import Project

RULER = {"WATCHKEEPER_RULER_TOKEN": TOKEN}


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("project"))
    project.settings('[tool.watchkeeper.outputs]\ngrafana-alerts = {datasource = "prometheus"}\n')
    project.define()
    return project.path


@pytest.fixture
def servers():
    with Grafana().running() as grafana, Ruler().running() as ruler:
        yield grafana, AlertRules(grafana), ruler


@pytest.fixture
def project(generated, tmp_path, servers):
    """A project that has applied all that it had, and has nothing any more."""
    grafana, _, ruler = servers
    shutil.copytree(generated, tmp_path / "work")
    project = Project(tmp_path / "work")
    outputs = '[tool.watchkeeper.outputs]\ngrafana-alerts = {datasource = "prometheus"}\n'
    project.settings(f'grafana_url = "{grafana.url}"\nruler_url = "{ruler.url}"\n{outputs}')
    project.sync("apply", **RULER)
    (project.path / "defs.py").write_text("from watchkeeper import Pack\n\nPACK = Pack()\n")
    assert project.run("generate").exit_code == 0
    return project


def kept(servers):
    grafana, alerts, ruler = servers
    return sorted(grafana.boards), sorted(alerts.groups), sorted(ruler.groups["watchkeeper"])


def test_an_empty_pack_deletes_nothing_and_says_so(project, servers):
    before = kept(servers)
    assert before[0] == ["free", "use"]
    assert before[1]
    for verb in ("plan", "apply"):
        said = project.sync(verb, "--prune", "--overwrite", "*", code=1, **RULER)
        assert "no dashboard at all is in the definitions: if all are to go, name them with --only" in said
        assert "no alert group at all is in the definitions" in said
        assert "no rule group at all is in the definitions" in said
        assert "deleted" not in said
    assert kept(servers) == before


def test_what_only_names_is_deleted(project, servers):
    project.sync("apply", "--prune", "--only", "use", **RULER)
    assert kept(servers)[0] == ["free"]
    project.sync("apply", "--prune", "--only", "*", **RULER)
    assert kept(servers) == ([], [], ["watchkeeper-applied"])
    assert project.sync("plan", "--prune", **RULER).count("deleted") == 0


def test_another_kind_is_deleted_as_ever(project, servers):
    """What is spared depends on its own kind: dashboards are, where there are only rules."""
    text = project.path.joinpath("defs.py").read_text()
    rule = 'Pack(groups=(Group("new", [Recording("gpu:up:min", "min by (gpu) (up)")]),))'
    (project.path / "defs.py").write_text(text.replace("Pack()", rule).replace("import", "import Group, Recording,"))
    assert project.run("generate").exit_code == 0
    project.sync("apply", "--prune", code=1, **RULER)
    assert kept(servers)[0] == ["free", "use"]
    assert kept(servers)[2] == ["new", "watchkeeper-applied"]
