"""Dashboards and folders as the resources of Git Sync."""

import json
from pathlib import Path

import jsonschema
import pytest

from watchkeeper.render import git_sync
from watchkeeper.render.grafana.text import to_text
from watchkeeper.settings import SettingsError

SDK = Path(__file__).parents[4] / "shared" / "schemas" / "foundation-sdk" / "folderv1.json"
FOLDERS = 'folders = {gpu = "GPU / all", memory = {title = "Memory", parent = "gpu"}, other = "Other"}'


def settings(folders=FOLDERS, *, grafana="12.2", options=""):
    return f'{folders}\ntargets = {{grafana = "{grafana}"}}\n[tool.watchkeeper.outputs.git-sync]\n{options}'


def test_the_tree_is_that_of_the_folders(generated):
    made = generated(settings(), boards={"a": "memory", "top": ""})
    assert list(made.files) == [
        "deploy/git-sync/GPU - all/_folder.json",
        "deploy/git-sync/GPU - all/Memory/_folder.json",
        "deploy/git-sync/GPU - all/Memory/a.json",
        "deploy/git-sync/top.json",
    ]
    assert made.findings == []


@pytest.mark.parametrize(("grafana", "version"), [("12.0", "v1beta1"), ("12.4", "v1beta1"), ("13.0", "v1")])
def test_the_resources(generated, grafana, version):
    made = generated(settings(grafana=grafana), boards={"a": "gpu"})
    assert made.files["deploy/git-sync/GPU - all/_folder.json"] == (
        f"""{{
  "apiVersion": "folder.grafana.app/{version}",
  "kind": "Folder",
  "metadata": {{
    "name": "gpu"
  }},
  "spec": {{
    "title": "GPU / all"
  }}
}}
"""
    )
    text = made.files["deploy/git-sync/GPU - all/a.json"]
    resource = {
        "apiVersion": f"dashboard.grafana.app/{version}",
        "kind": "Dashboard",
        "metadata": {"name": "a"},
        "spec": json.loads(made.boards["dashboards/a.json"]),
    }
    assert text == to_text(resource)


@pytest.mark.skipif(not SDK.exists(), reason="the schemas of Grafana are not here")
def test_a_folder_fits_the_schema_of_the_sdk(generated):
    schema = json.loads(SDK.read_text())
    made = generated(settings(grafana="13.0"), boards={"a": "gpu"})
    folder = json.loads(made.files["deploy/git-sync/GPU - all/_folder.json"])
    jsonschema.validate(folder["spec"], schema)
    assert folder["apiVersion"] == schema["definitions"]["FolderApiVersion"]["const"]
    assert folder["kind"] == schema["definitions"]["FolderKind"]["const"]


def test_folders_of_one_title_beside_each_other_stay_two(generated):
    folders = 'folders = {b = "Same", a = "same", c = {title = "Same", parent = "a"}, d = "???"}'
    made = generated(settings(folders), boards={"1": "a", "2": "b", "3": "c", "4": "d"})
    assert sorted(path.removeprefix("deploy/git-sync/") for path in made.files if "_folder" not in path) == [
        "Same b/2.json",
        "d/4.json",
        "same/1.json",
        "same/Same/3.json",
    ]


def test_an_older_grafana_has_no_git_sync(generated):
    (finding,) = generated(settings(grafana="11.6"), boards={"a": "gpu"}).findings
    assert (finding.check, finding.severity) == ("output/feature", "error")
    assert "git-sync needs Grafana 12.0; the target is 11.6" in finding.message


def test_too_many_for_one_repository(generated, monkeypatch):
    monkeypatch.setattr(git_sync, "MOST", 3)
    assert generated(settings(), boards={"a": "gpu", "b": "gpu"}).findings == []
    (finding,) = generated(settings(), boards={"a": "gpu", "b": "gpu", "c": ""}).findings
    assert (finding.check, finding.severity) == ("output/size", "warning")
    assert "4 dashboards and folders" in finding.message


def test_there_is_nothing_to_choose(generated):
    with pytest.raises(SettingsError, match=r'unknown key "outputs.git-sync.branch"'):
        generated(settings(options='branch = "main"'))
