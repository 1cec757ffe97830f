"""`watchkeeper sync` as a person meets it, with a Grafana on loopback."""

from __future__ import annotations

import json
import shutil
from functools import partial

import pytest
from standin_grafana import Fault, Grafana, Reply, login_page
from standin_ruler import Ruler
from sync_project import Project

from watchkeeper.sync import run
from watchkeeper.sync.http import Client


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """Return the folder of a project that is generated, to be copied."""
    project = Project(tmp_path_factory.mktemp("project"))
    project.settings()
    project.define()
    return project.path


@pytest.fixture
def grafana():
    with Grafana().running() as grafana:
        yield grafana


@pytest.fixture
def project(generated, tmp_path, grafana):
    shutil.copytree(generated, tmp_path / "work")
    project = Project(tmp_path / "work")
    project.settings(f'grafana_url = "{grafana.url}"\n')
    return project


def test_plan_apply_and_then_nothing(project, grafana):
    assert project.sync("plan").splitlines() == [
        '+ folder gpu "GPU": created',
        '+ folder memory "Memory": created',
        '+ dashboard free "Free memory": created',
        '+ dashboard use "Use": created',
        f"{grafana.url}: 4 created",
    ]
    assert grafana.writes == 0
    project.sync("drift", code=1)
    project.sync("apply", "--dry-run")
    assert grafana.writes == 0
    done = project.process("sync", "apply")
    assert done.returncode == 0
    audit = [json.loads(line) for line in done.stderr.splitlines()]
    assert [(line["kind"], line["uid"], line["outcome"]) for line in audit[:2]] == [
        ("folder", "gpu", "written"),
        ("folder", "memory", "written"),
    ]
    assert len({line["after"] for line in audit}) == 4
    assert grafana.boards["free"].folder == "memory"
    writes = grafana.writes
    assert project.sync("apply").splitlines() == [f"{grafana.url}: 4 unchanged"]
    assert project.sync("drift") == f"{grafana.url}: 4 unchanged\n"
    assert grafana.writes == writes


def test_what_was_edited_by_hand_stays(project, grafana):
    project.sync("apply")
    grafana.edit("use", lambda spec: spec["panels"][0].update(title="By hand"))
    said = project.sync("plan", code=1)
    assert '! dashboard use "Use": conflict\n    it was edited at the server since it was applied\n' in said
    assert '"By hand" -> "Up"' in said
    project.sync("apply", code=1)
    project.sync("drift", code=1)
    assert grafana.boards["use"].spec["panels"][0]["title"] == "By hand"
    found = json.loads(project.sync("apply", "--overwrite", "us?", "--format", "json"))
    [server] = found["servers"]
    assert server["counts"]["changed"] == 1
    [change] = server["changes"]
    assert (change["uid"], change["action"], change["result"]) == ("use", "changed", "done")
    project.sync("drift")


def test_a_change_and_a_delete(project, grafana):
    project.sync("apply")
    grafana.put("theirs", "Theirs")
    project.define(limit="2", boards="free")
    said = project.sync("plan", "--prune", "--format", "markdown")
    assert said.startswith("<!-- watchkeeper sync -->\n")
    assert '"min(gpu_up) > 1" -> "min(gpu_up) > 2"' in said
    assert "no longer in the definitions" in said
    project.sync("apply")
    assert "use" in grafana.boards
    project.sync("drift", code=1)
    audit = project.path / "audit.jsonl"
    assert "deleted" in project.sync("apply", "--prune", "--audit", str(audit))
    [line] = audit.read_text().splitlines()
    assert json.loads(line)["action"] == "deleted"
    assert sorted(grafana.boards) == ["free", "theirs"]
    project.sync("drift")


def test_only(project, grafana):
    said = project.sync("plan", "--only", "use")
    assert said.splitlines()[-1] == f"{grafana.url}: 1 created"
    assert project.sync("plan", "--only", "nothing", code=1) == "nothing is named by --only nothing\n"


def one_line(said):
    assert said.count("\n") == 1, said
    return said


def test_no_token(project, grafana):
    project.environment.pop("WATCHKEEPER_GRAFANA_TOKEN")
    assert "set WATCHKEEPER_GRAFANA_TOKEN" in one_line(project.sync("apply", code=3))
    assert grafana.asked == []


def test_a_wrong_token(project):
    said = one_line(project.sync("apply", code=3, WATCHKEEPER_GRAFANA_TOKEN="glsa_wrong"))
    assert "is the token right" in said
    assert "glsa_wrong" not in said


def test_rights_that_are_missing(project, grafana):
    grafana.rights -= {"dashboards:write", "dashboards:delete"}
    project.sync("plan")
    assert "lacks dashboards:write: give" in one_line(project.sync("apply", code=3))
    assert "lacks dashboards:delete, dashboards:write: give" in one_line(project.sync("apply", "--prune", code=3))


def test_a_wrong_address(project, monkeypatch):
    monkeypatch.setattr(run, "Client", partial(Client, sleep=lambda _seconds: None))
    project.settings('grafana_url = "http://127.0.0.1:1"\n')
    assert "is the server there?" in one_line(project.sync("apply", code=3))


@pytest.mark.parametrize(
    ("reply", "words"),
    [(login_page(), "login page"), (Reply(200, {"status": "success"}), "no Grafana"), (Reply(404), "no Grafana")],
    ids=["login", "another", "not-found"],
)
def test_no_grafana(project, grafana, reply, words):
    grafana.faults.append(Fault("reply", reply, times=100))
    assert words in one_line(project.sync("apply", code=3))
    assert grafana.writes == 0


def test_a_server_that_is_too_old(project, grafana):
    grafana.version = "11.1.0"
    assert "older than 12.2" in one_line(project.sync("plan", code=3))


def test_a_file_that_was_edited_by_hand(project, grafana):
    path = project.path / "dashboards/use.json"
    path.write_text(path.read_text().replace("max", "min"))
    assert "was edited by hand" in project.sync("apply", code=1)
    assert grafana.asked == []


def test_files_that_are_stale(project, grafana):
    path = project.path / "defs.py"
    path.write_text(path.read_text().replace("max(gpu_up)", "avg(gpu_up)"))
    assert "run `watchkeeper generate`" in one_line(project.sync("apply", code=1))
    assert grafana.asked == []


def test_no_server_is_named(project):
    project.settings()
    assert "no server is named" in one_line(project.sync("plan", code=1))


def test_a_write_that_is_refused(project, grafana):
    grafana.faults.append(Fault("reply", Reply(422, {"message": "spec.gnetId: wrong"}), "POST", "/dashboards"))
    said = project.sync("apply", code=3)
    assert "created: failed: " in said
    assert "spec.gnetId: wrong" in said
    assert "1 failed" in said
    project.sync("apply")
    project.sync("drift")


def test_an_audit_file_on_a_full_disk(project, grafana):
    said = one_line(project.sync("apply", "--audit", "/dev/full", code=3))
    assert said.startswith("the audit log can't be written: No space left on device; nothing more is done without it")
    assert grafana.writes == 1
    project.sync("apply")
    project.sync("drift")


def test_rules_go_to_a_ruler(project, grafana):
    with Ruler().running() as ruler:
        project.settings(f'grafana_url = "{grafana.url}"\nruler_url = "{ruler.url}"\n')
        token = {"WATCHKEEPER_RULER_TOKEN": ruler.token}
        said = project.sync("plan", **token).splitlines()
        assert said[-3:] == ["+ rule group gpu: created", "+ rule group more: created", f"{ruler.url}: 2 created"]
        assert "a token is needed" in one_line(project.sync("apply", code=3))
        assert (grafana.writes, ruler.writes) == (0, 0)
        project.sync("apply", **token)
        assert sorted(ruler.groups["watchkeeper"]) == ["gpu", "more", "watchkeeper-applied"]
        writes = grafana.writes, ruler.writes
        project.sync("drift", **token)
        project.sync("apply", "--prune", **token)
        assert (grafana.writes, ruler.writes) == writes
        ruler.groups["watchkeeper"]["gpu"]["interval"] = "5m"
        assert '    interval: "5m" -> "1m"' in project.sync("drift", code=1, **token).splitlines()
