"""The adapters of both of Grafana's APIs, against the one on loopback: what is the same for both."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest
from standin_grafana import ACTIONS, TOKEN, Fault, Grafana, Reply, login_page

from watchkeeper.sync.canonical import digest
from watchkeeper.sync.grafana import DELETES, HISTORY, READS, WRITES, connect
from watchkeeper.sync.http import Client
from watchkeeper.sync.objects import Dashboard, Folder, Mark, Refused, Stale, Unsure

OWNER = "fleet"
TARGET = (10, 0)
# The same tests for all that a server may be: /apis of 12 and 13, /apis over the tables of /api, and /api alone.
SERVERS = {
    "12": {"version": "12.3.1"},
    "13": {"version": "13.0.0", "namespace": "org-4"},
    "12 on tables": {"version": "12.2.0", "keeps_annotations": False},
    "11": {"version": "11.1.0", "has_apis": False},
}


@pytest.fixture(params=SERVERS)
def grafana(request):
    with Grafana(**SERVERS[request.param]).running() as grafana:
        yield grafana


@pytest.fixture
def connected(grafana):
    """What connects, with one client for each token."""
    with contextlib.ExitStack() as stack:

        def connected(token: str = TOKEN, **settings):
            client = Client(grafana.url, lambda: token, sleep=lambda _seconds: None)
            stack.callback(client.close)
            return connect(client, OWNER, **{"target": TARGET, **settings})

        yield connected


@pytest.fixture
def server(connected):
    return connected(rights=DELETES)


def board(uid: str = "gpu", title: str = "GPU", folder: str = "", **model) -> Dashboard:
    made = {
        "title": title,
        "uid": uid,
        "id": None,
        "version": 3,
        "gnetId": 12,
        "schemaVersion": 42,
        "tags": ["a"],
        **model,
    }
    return Dashboard(uid, title, folder, made)


def mark_of(thing, stored: str = "") -> Mark:
    return Mark(OWNER, digest(thing), stored)


def test_what_was_created_is_read_back_with_its_mark(grafana, server):
    grafana.put_folder("f", "Folder")
    wanted = board(folder="f", panels=[{"id": 1, "type": "text", "title": "Panel"}])
    version = server.create("dashboard", wanted, mark_of(wanted))
    live = server.read("dashboard", "gpu")
    assert live is not None
    assert (live.object.uid, live.object.title, live.object.folder) == ("gpu", "GPU", "f")
    assert digest(live.object) == digest(wanted)
    assert (live.owner, live.applied, live.stored) == (OWNER, digest(wanted), "")
    assert live.version == version
    assert not live.provisioned
    assert not live.manager
    assert "watchkeeper:fleet" in grafana.boards["gpu"].spec["tags"]
    assert grafana.writes == 1


def test_what_there_is_is_not_created_again(grafana, server):
    grafana.put("gpu", "Theirs")
    with pytest.raises(Stale):
        server.create("dashboard", board(), mark_of(board()))
    assert grafana.boards["gpu"].title == "Theirs"
    assert grafana.writes == 0


def test_an_update_changes_moves_and_marks_in_one_request(grafana, server):
    grafana.put_folder("a", "A")
    grafana.put_folder("b", "B")
    server.create("dashboard", board(folder="a"), mark_of(board(folder="a")))
    wanted = board(title="New", folder="b")
    version = server.update("dashboard", wanted, mark_of(wanted, "1-x"), server.read("dashboard", "gpu"))
    live = server.read("dashboard", "gpu")
    assert (live.object.title, live.object.folder) == ("New", "b")
    assert (live.applied, live.stored, live.version) == (digest(wanted), "1-x", version)
    assert grafana.writes == 2


def test_to_the_top(grafana, server):
    grafana.put_folder("a", "A")
    server.create("dashboard", board(folder="a"), mark_of(board(folder="a")))
    server.update("dashboard", board(), mark_of(board()), server.read("dashboard", "gpu"))
    assert server.read("dashboard", "gpu").object.folder == ""


def test_an_update_of_what_somebody_wrote_meanwhile_writes_nothing(grafana, server):
    server.create("dashboard", board(), mark_of(board()))
    live = server.read("dashboard", "gpu")
    grafana.edit("gpu", lambda spec: spec.update(title="By hand"))
    with pytest.raises(Stale, match="somebody else has written"):
        server.update("dashboard", board(title="New"), mark_of(board(title="New")), live)
    assert grafana.boards["gpu"].title == "By hand"
    grafana.remove("gpu")
    with pytest.raises(Stale):
        server.update("dashboard", board(title="New"), mark_of(board(title="New")), live)
    assert "gpu" not in grafana.boards
    grafana.put("gpu", "Made anew")
    with pytest.raises(Stale):
        server.update("dashboard", board(title="New"), mark_of(board(title="New")), live)
    assert grafana.boards["gpu"].title == "Made anew"


def test_an_edit_by_hand_leaves_what_was_applied(grafana, server):
    server.create("dashboard", board(), mark_of(board()))
    for number in range(3):
        grafana.edit("gpu", lambda spec, number=number: spec.update(title=f"By hand {number}"), "a message")
    live = server.read("dashboard", "gpu")
    assert (live.owner, live.applied) == (OWNER, digest(board()))
    assert digest(live.object) != live.applied
    [listed] = server.list("dashboard", ["gpu"])
    assert listed == live


def test_delete(grafana, server):
    server.create("dashboard", board(), mark_of(board()))
    old = server.read("dashboard", "gpu")
    grafana.edit("gpu", lambda spec: spec.update(title="By hand"))
    with pytest.raises(Stale):
        server.delete("dashboard", old)
    assert "gpu" in grafana.boards
    new = server.read("dashboard", "gpu")
    server.delete("dashboard", new)
    assert server.read("dashboard", "gpu") is None
    with pytest.raises(Stale):
        server.delete("dashboard", new)


def test_what_was_deleted_and_made_anew_is_another(grafana, server):
    server.create("dashboard", board(), mark_of(board()))
    live = server.read("dashboard", "gpu")
    grafana.remove("gpu")
    grafana.put("gpu", "Made anew")
    with pytest.raises(Stale):
        server.delete("dashboard", live)
    assert grafana.boards["gpu"].title == "Made anew"


def test_a_list_has_all_pages(grafana, server):
    grafana.page = 7
    for number in range(20):
        grafana.put(f"b{number}", f"Board {number}", spec={"tags": ["x"], "panels": [{"id": 1}]})
    grafana.put("other", "Other", spec={"tags": ["watchkeeper:other"], "panels": [{"id": 1}]})
    server.create("dashboard", board(), mark_of(board()))
    found = {live.object.uid: live for live in server.list("dashboard", ["b3"])}
    assert len(found) == 22
    assert found["b3"].object.model["panels"] == [{"id": 1}]
    assert found["b4"].object.model == {}
    assert found["gpu"].applied == digest(board())
    assert (found["other"].owner, found["other"].applied) == ("other", "")


def test_folders(server):
    top, below = Folder("top", "Top"), Folder("below", "Below", "top")
    for folder in (top, below):
        server.create("folder", folder, Mark(OWNER, digest(folder)))
    live = {one.object.uid: one for one in server.list("folder", ["top", "below"])}
    assert {uid: one.object for uid, one in live.items()} == {"top": top, "below": below}
    with pytest.raises(Stale):
        server.create("folder", top, Mark(OWNER, digest(top)))
    moved = Folder("below", "Renamed")
    version = server.update("folder", moved, Mark(OWNER, digest(moved)), live["below"])
    now = server.read("folder", "below")
    assert (now.object, now.version) == (moved, version)
    with pytest.raises(Stale):
        server.update("folder", Folder("below", "Mine", "top"), Mark(OWNER, "1-x"), live["below"])
    assert server.read("folder", "none") is None


def test_folders_of_others(grafana, server):
    grafana.put_folder("theirs", "Theirs")
    [live] = server.list("folder", [])
    assert (live.object, live.owner, live.applied) == (Folder("theirs", "Theirs"), "", "")


def test_what_is_provisioned_is_seen_and_not_written(grafana, server):
    grafana.put("gpu", "GPU", provisioned=True)
    live = server.read("dashboard", "gpu")
    assert live.provisioned
    with pytest.raises(Refused) as caught:
        server.update("dashboard", board(), mark_of(board()), live)
    assert caught.value.reason == "provisioned"
    with pytest.raises(Refused):
        server.delete("dashboard", live)
    assert grafana.writes == 0


@pytest.mark.parametrize("kind", ["cut-after", "cut-before", "truncated"])
def test_a_write_whose_answer_is_lost(grafana, server, kind):
    grafana.faults.append(Fault(kind, method="POST"))
    with pytest.raises(Unsure):
        server.create("dashboard", board(), mark_of(board()))
    assert (server.read("dashboard", "gpu") is None) == (kind == "cut-before")


def test_what_the_server_refuses(grafana, server):
    with pytest.raises(Refused, match="folder not found") as caught:
        server.create("dashboard", board(folder="none"), mark_of(board(folder="none")))
    assert not isinstance(caught.value, Stale)
    grafana.rights.discard("dashboards:create")
    grafana.rights.discard("dashboards:write")
    with pytest.raises(Refused) as caught:
        server.create("dashboard", board(), mark_of(board()))
    assert caught.value.reason == "forbidden"
    assert grafana.writes == 0


@pytest.mark.parametrize(
    "data",
    [[], "null", {"metadata": 1, "items": 5}, {"items": [{"spec": {}}]}],
    ids=["list", "null", "numbers", "unnamed"],
)
def test_what_no_grafana_answers(grafana, server, data):
    grafana.put("gpu", "GPU")
    if grafana.has_apis or data != []:  # that is an empty search
        grafana.faults.append(Fault(reply=Reply(200, data)))
        with pytest.raises(Refused) as caught:
            server.list("dashboard", ["gpu"])
        assert caught.value.reason == "malformed"
    grafana.faults[:] = [Fault(reply=Reply(200, data))]
    with pytest.raises(Refused) as caught:
        server.read("dashboard", "gpu")
    assert caught.value.reason == "malformed"


# Before anything is done.


@pytest.mark.parametrize("rights", [READS, WRITES, DELETES], ids=["reads", "writes", "deletes"])
def test_rights_are_checked_first(grafana, connected, rights):
    needed = set(rights) | (set() if grafana.has_apis else {HISTORY})
    assert needed <= set(ACTIONS)
    grafana.rights = set(needed)
    connected(rights=rights)
    for right in sorted(needed):
        grafana.rights = needed - {right}
        with pytest.raises(Refused, match=f"the token lacks {right}: ") as caught:
            connected(rights=rights)
        assert caught.value.reason == "rights"
    assert not any(ask.startswith(("POST", "PUT", "DELETE")) for ask in grafana.asked)


def test_the_history_needs_a_right_too(grafana, connected):
    connected(rights=DELETES).create("dashboard", board(), mark_of(board()))
    grafana.rights = set(READS)
    if not grafana.has_apis:
        with pytest.raises(Refused, match="the token lacks dashboards:write"):
            connected()
    elif not grafana.keeps_annotations:
        with pytest.raises(Refused, match="give the token dashboards:write"):
            connected().list("dashboard", ["gpu"])
    else:
        assert connected().list("dashboard", ["gpu"])[0].applied == digest(board())


def test_a_server_that_does_not_tell_rights(grafana, connected):
    grafana.rights = set()
    grafana.faults.append(Fault(reply=Reply(404, {}), path="permissions"))
    connected(rights=DELETES)


def test_a_server_that_is_too_old(connected):
    with pytest.raises(Refused, match=r"is older than 99\.1") as caught:
        connected(target=(99, 1))
    assert caught.value.reason == "version"


def test_a_server_that_is_just_new_enough(grafana, connected):
    major, minor, _ = grafana.version.split(".")
    connected(target=(int(major), int(minor)))


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault(reply=login_page(), times=9), "html"),
        (Fault(reply=Reply(302, {}, {"Location": "https://login.example.org/?token=x"})), "redirect"),
        (Fault(reply=Reply(200, {"status": "up"}), path="health"), "malformed"),
        (Fault(reply=Reply(404, {"message": "no"}), path="health"), "malformed"),
        (Fault(reply=Reply(403, {}), path="health"), "unauthorized"),
        (Fault(reply=Reply(200, {"database": "failing"}), path="health"), "server"),
        (Fault(reply=Reply(503, {"database": "failing"}), path="health", times=9), "server"),
        (Fault(reply=Reply(200, {"buildInfo": {"version": "latest"}}), path="settings"), "version"),
        (Fault(reply=Reply(200, []), path="settings"), "malformed"),
    ],
    ids=["login page", "redirect", "other", "404", "403", "failing", "503", "no version", "no settings"],
)
def test_what_is_no_grafana(grafana, connected, fault, reason):
    grafana.faults.append(replace(fault))
    with pytest.raises(Refused) as caught:
        connected()
    assert caught.value.reason == reason
    assert TOKEN not in str(caught.value)


def test_a_wrong_token(connected):
    with pytest.raises(Refused, match="is the token right") as caught:
        connected("wrong")
    assert caught.value.reason == "unauthorized"


def test_no_token(grafana, connected):
    with pytest.raises(Refused, match="set WATCHKEEPER_GRAFANA_TOKEN") as caught:
        connected("")
    assert (caught.value.reason, grafana.asked) == ("token", [])
