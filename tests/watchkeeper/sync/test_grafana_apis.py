"""What is in /apis alone: one request a page, annotations of others, folders that hold something, managers."""

from __future__ import annotations

import pytest
from standin_grafana import TOKEN, Fault, Grafana, Reply

from watchkeeper.sync import grafana_apis, marks
from watchkeeper.sync.canonical import digest
from watchkeeper.sync.grafana import DELETES, connect
from watchkeeper.sync.http import Client
from watchkeeper.sync.objects import Dashboard, Folder, Mark, Refused, Stale

OWNER = "fleet"
BOARD = Dashboard("gpu", "GPU", "", {"title": "GPU", "panels": []})
FOLDER = Folder("f", "Folder")


@pytest.fixture
def grafana():
    with Grafana(version="13.1.0", namespace="stacks-12").running() as grafana:
        yield grafana


@pytest.fixture
def server(grafana):
    client = Client(grafana.url, lambda: TOKEN, sleep=lambda _seconds: None)
    yield connect(client, OWNER, target=(12, 2), rights=DELETES)
    client.close()


def mark_of(thing) -> Mark:
    return Mark(OWNER, digest(thing))


def test_a_plan_is_one_request_a_page(grafana, server, monkeypatch):
    monkeypatch.setattr(grafana_apis, "PAGE", 10)
    for number in range(35):
        board = Dashboard(f"b{number}", f"Board {number}", "", {"title": f"Board {number}"})
        server.create("dashboard", board, mark_of(board))
    grafana.server.requests.clear()
    listed = server.list("dashboard", [f"b{number}" for number in range(35)])
    path = "/apis/dashboard.grafana.app/v1/namespaces/stacks-12/dashboards"
    assert grafana.asked == [f"GET {path}"] * 4
    assert all(live.applied == digest(live.object) for live in listed)


def test_what_others_keep_with_it_stays(grafana, server):
    stored = grafana.put(
        "gpu", "GPU", annotations={"team.example/x": "1", "grafana.app/message": "theirs"}, labels={"a": "b"}
    )
    server.update("dashboard", BOARD, mark_of(BOARD), server.read("dashboard", "gpu"))
    assert stored.annotations["team.example/x"] == "1"
    assert stored.annotations[marks.APPLIED] == digest(BOARD)
    assert stored.annotations["grafana.app/message"] == marks.message(mark_of(BOARD))
    [put] = [request for request in grafana.server.requests if request.method == "PUT"]
    assert put.json["metadata"]["labels"]["a"] == "b"
    assert "grafana.app/managedBy" not in put.json["metadata"]["annotations"]


def test_a_mark_is_written_anew(grafana, server):
    server.create("dashboard", BOARD, Mark(OWNER, digest(BOARD), "1-stored"))
    server.update("dashboard", BOARD, mark_of(BOARD), server.read("dashboard", "gpu"))
    assert marks.STORED not in grafana.boards["gpu"].annotations


def test_a_description_of_a_folder_stays(grafana, server):
    stored = grafana.put_folder("f", "Old")
    stored.spec["description"] = "Ask Kim"
    server.update("folder", FOLDER, mark_of(FOLDER), server.read("folder", "f"))
    live = server.read("folder", "f")
    assert (live.object, live.owner, live.applied) == (FOLDER, OWNER, digest(FOLDER))
    assert grafana.folders["f"].spec["description"] == "Ask Kim"


def test_a_folder_is_deleted_when_it_is_empty(grafana, server):
    server.create("folder", FOLDER, mark_of(FOLDER))
    live = server.read("folder", "f")
    grafana.put("gpu", "Theirs", "f")
    grafana.rules["f"] = 2
    with pytest.raises(Stale, match='"Folder" holds 2 alertrules, 1 dashboards, which would go with it'):
        server.delete("folder", live)
    grafana.rules.clear()
    # Put there between the question and the delete: Grafana asks itself too.
    grafana.faults.append(Fault(reply=Reply(200, {"counts": []}), path="counts"))
    with pytest.raises(Stale, match="holds something now"):
        server.delete("folder", live)
    assert "gpu" in grafana.boards
    grafana.remove("gpu")
    server.delete("folder", live)
    assert grafana.folders == {}
    deletes = [request.json for request in grafana.server.requests if request.method == "DELETE"]
    assert all("gracePeriodSeconds" not in options for options in deletes)


def test_what_another_tool_manages(grafana, server):
    managed = {"grafana.app/managedBy": "terraform", "grafana.app/managerId": "platform"}
    grafana.put("gpu", "GPU", annotations=managed)
    live = server.read("dashboard", "gpu")
    assert (live.manager, live.provisioned) == ("terraform platform", False)


def test_a_manager_is_not_changed(grafana, server):
    live = server.read("dashboard", grafana.put("gpu", "GPU").uid)
    grafana.boards["gpu"].annotations["grafana.app/managedBy"] = "terraform"
    with pytest.raises(Refused, match="another tool holds it") as caught:
        server.update("dashboard", BOARD, mark_of(BOARD), live)
    assert caught.value.reason == "provisioned"


def test_a_list_without_end(grafana, server):
    page = Reply(200, {"metadata": {"continue": "same"}, "items": []})
    grafana.faults.append(Fault(reply=page, times=9))
    with pytest.raises(Refused, match="the list has no end"):
        server.list("dashboard", [])


def test_what_the_schema_does_not_take(grafana, server):
    grafana.faults.append(Fault(reply=Reply(422, {"message": "spec.panels: conflicting values"}), method="POST"))
    with pytest.raises(Refused, match=r"422: spec\.panels: conflicting values"):
        server.create("dashboard", BOARD, mark_of(BOARD))


def test_a_server_that_finds_a_conflict_in_every_write_is_not_asked_again(grafana, server):
    # grafana#130334: with SQLite
    grafana.faults.append(Fault(reply=Reply(409, {"message": "database is locked"}), method="POST", times=9))
    with pytest.raises(Stale, match="database is locked"):
        server.create("dashboard", BOARD, mark_of(BOARD))
    assert len([ask for ask in grafana.asked if ask.startswith("POST")]) == 1


@pytest.mark.parametrize(
    ("versions", "path"),
    [
        (
            {"dashboard.grafana.app": ["v2", "v1", "v1beta1"], "folder.grafana.app": ["v1beta1"]},
            "/apis/dashboard.grafana.app/v1/",
        ),
        (
            {"dashboard.grafana.app": ["v0alpha1", "v1beta1"], "folder.grafana.app": ["v1"]},
            "/apis/dashboard.grafana.app/v1beta1/",
        ),
        ({"dashboard.grafana.app": ["v2"], "folder.grafana.app": ["v1"]}, "/api/"),
        ({"dashboard.grafana.app": ["v1"]}, "/api/"),
        ({}, "/api/"),
    ],
    ids=["newest", "beta", "v2 only", "no folders", "nothing"],
)
def test_which_api_is_used(grafana, versions, path):
    groups = [{"name": name, "versions": [{"version": one} for one in all_]} for name, all_ in versions.items()]
    grafana.faults.append(Fault(reply=Reply(200, {"kind": "APIGroupList", "groups": groups}), path="^/apis$"))
    client = Client(grafana.url, lambda: TOKEN, sleep=lambda _seconds: None)
    connect(client, OWNER, target=(12, 0), rights=DELETES).read("dashboard", "none")
    client.close()
    assert grafana.server.requests[-1].path.startswith(path)


def test_uids_are_quoted(grafana, server):
    assert server.read("dashboard", "a/../b c") is None
    assert grafana.server.requests[-1].raw_path.endswith("/dashboards/a%2F..%2Fb%20c")
