"""Two projects at one Grafana, with owners of their own: neither touches what is the other's."""

import pytest
from standin_grafana import Grafana
from sync_project import DEFINITIONS, SETTINGS, Project

FOLDERS = SETTINGS.partition("[tool.watchkeeper.folders]")[2].partition("[tool.watchkeeper.sync]")[0]


class Owned(Project):
    """A project with an owner, and with the folders only if it is told so."""

    def __init__(self, path, grafana, owner, boards):
        path.mkdir()
        super().__init__(path)
        self.grafana, self.owner = grafana, owner
        self.fold()
        self.have(boards)

    def have(self, boards):
        """Have these dashboards, and no rules."""
        text = DEFINITIONS.replace(', alerts=["GpuDown"]', "").replace("groups=GROUPS, ", "").replace("LIMIT", "1")
        (self.path / "defs.py").write_text(text.replace("BOARDS", f"{boards},"))
        done = self.run("generate")
        assert done.exit_code == 0, done.stderr

    def fold(self, folders=FOLDERS):
        text = SETTINGS.replace(FOLDERS, folders).replace('"acme"', f'"{self.owner}"')
        (self.path / "pyproject.toml").write_text(f'{text}grafana_url = "{self.grafana.url}"\n')


@pytest.fixture(params=[True, False], ids=["apis", "api"])
def grafana(request):
    with Grafana(has_apis=request.param).running() as grafana:
        yield grafana


@pytest.fixture
def projects(tmp_path, grafana):
    """`first` owns what both put something into: the folders; it has the dashboard "use", `second` has "free"."""
    first = Owned(tmp_path / "first", grafana, "first", "use")
    second = Owned(tmp_path / "second", grafana, "second", "free")
    first.sync("apply", "--prune")
    second.sync("apply", "--prune")
    return first, second


def test_both_are_at_rest(projects, grafana):
    writes = grafana.writes
    for project in projects:
        assert project.sync("apply", "--prune").endswith("3 unchanged\n")
        project.sync("drift")
    assert grafana.writes == writes
    assert grafana.boards["free"].folder == "memory"


def test_a_folder_with_the_others_dashboard_stays(projects, grafana):
    first, second = projects
    first.fold("\n")
    said = first.sync("apply", "--prune")
    assert "deleted" not in said
    assert sorted(grafana.folders) == ["gpu", "memory"]
    second.sync("drift")


def test_what_both_want_is_a_conflict_for_the_second(projects, grafana):
    first, second = projects
    second.have("free, use")
    writes = grafana.writes
    said = second.sync("apply", "--prune", code=1)
    assert '! dashboard use "Use": conflict\n    it is marked as of "first"\n' in said
    assert grafana.writes == writes
    first.sync("drift")


def test_another_owner_in_the_settings_takes_nothing_over(projects, grafana):
    first, _ = projects
    first.owner = "renamed"
    first.fold()
    writes = grafana.writes
    for verb in ("plan", "apply"):
        assert 'it is marked as of "first"' in first.sync(verb, "--prune", code=1)
    assert grafana.writes == writes
    first.sync("apply", "--overwrite", "use")
    assert "3 unchanged" in first.sync("apply")
