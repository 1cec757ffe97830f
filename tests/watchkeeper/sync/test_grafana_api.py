"""What is in /api alone: history as the place of marks, titles, folders without a mark."""

from __future__ import annotations

import pytest
from standin_grafana import TOKEN, Grafana

from watchkeeper.sync import grafana_api
from watchkeeper.sync.canonical import digest
from watchkeeper.sync.grafana import DELETES, connect
from watchkeeper.sync.http import Client
from watchkeeper.sync.objects import Dashboard, Folder, Mark, Refused, Stale

OWNER = "fleet"
BOARD = Dashboard("gpu", "GPU", "", {"title": "GPU", "panels": []})
MARK = Mark(OWNER, digest(BOARD))


@pytest.fixture
def grafana():
    with Grafana(version="9.5.2", has_apis=False).running() as grafana:
        yield grafana


@pytest.fixture
def server(grafana):
    client = Client(grafana.url, lambda: TOKEN, sleep=lambda _seconds: None)
    yield connect(client, OWNER, target=(9, 0), rights=DELETES)
    client.close()


def test_nothing_is_ever_overwritten(grafana, server):
    server.create("dashboard", BOARD, MARK)
    server.update("dashboard", BOARD, MARK, server.read("dashboard", "gpu"))
    sent = [request.json for request in grafana.server.requests if request.path == "/api/dashboards/db"]
    assert [one["overwrite"] for one in sent] == [False, False]
    assert ["version" in one["dashboard"] for one in sent] == [False, True]
    assert all(one["folderUid"] == "" for one in sent)  # without it, an update moves to the top anyway


def test_a_title_that_is_taken(grafana, server):
    grafana.put("other", "GPU")
    with pytest.raises(Refused, match="holds another one of that title") as caught:
        server.create("dashboard", BOARD, MARK)
    assert caught.value.reason == "exists"
    assert not isinstance(caught.value, Stale)


def test_a_copy_has_the_tag_and_no_history_of_ours(grafana, server):
    server.create("dashboard", BOARD, MARK)
    grafana.put("copy", "Copy", spec={"tags": ["watchkeeper:fleet"]})
    copy = server.read("dashboard", "copy")
    assert (copy.owner, copy.applied) == (OWNER, "")


def test_the_tag_taken_away_leaves_the_history(grafana, server):
    server.create("dashboard", BOARD, MARK)
    grafana.edit("gpu", lambda spec: spec.update(tags=[]))
    assert server.read("dashboard", "gpu").owner == OWNER


def test_folders_have_no_mark_and_are_not_deleted(grafana, server):
    folder = Folder("f", "Folder")
    server.create("folder", folder, Mark(OWNER, digest(folder)))
    live = server.read("folder", "f")
    assert (live.owner, live.applied) == ("", "")
    with pytest.raises(Refused, match="it is kept"):
        server.delete("folder", live)
    assert "f" in grafana.folders


def test_a_folder_that_was_moved_meanwhile_is_not_moved(grafana, server):
    for uid in ("a", "b", "f"):
        grafana.put_folder(uid, uid.upper())
    live = server.read("folder", "f")
    grafana.folders["f"].folder = "a"
    with pytest.raises(Stale):
        server.update("folder", Folder("f", "F", "b"), Mark(OWNER), live)
    assert grafana.folders["f"].folder == "a"


def test_searches_have_pages(grafana, server, monkeypatch):
    monkeypatch.setattr(grafana_api, "PAGE", 3)
    for number in range(7):
        grafana.put(f"b{number}", f"Board {number}")
    assert len(server.list("dashboard", [])) == 7
    assert grafana.asked.count("GET /api/search") == 3


def test_what_goes_between_search_and_read_is_gone(grafana, server):
    grafana.put("gpu", "GPU")
    get = grafana._get

    def gone(request):
        grafana.boards.clear()
        return get(request)

    grafana.routes.insert(0, ("GET", "/api/dashboards/uid/([^/]+)", gone))
    assert server.list("dashboard", ["gpu"]) == []
