"""Plan and apply through the adapters at a Grafana on loopback, with each request in turn going wrong."""

from __future__ import annotations

import contextlib
import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from standin_grafana import TOKEN, Fault, Grafana, Reply, login_page

from watchkeeper.sync.apply import apply
from watchkeeper.sync.grafana import DELETES, connect
from watchkeeper.sync.http import Client
from watchkeeper.sync.objects import Dashboard, Folder, Refused
from watchkeeper.sync.plan import plan

if TYPE_CHECKING:
    from collections.abc import Iterator

OWNER = "fleet"
SERVERS = {
    "13": {"version": "13.0.0"},
    "12 on tables": {"version": "12.2.0", "keeps_annotations": False},
    "11": {"version": "11.1.0", "has_apis": False},
}
FAULTS = {
    "cut before": Fault("cut-before"),
    "cut after": Fault("cut-after"),
    "truncated": Fault("truncated"),
    "429": Fault(reply=Reply(429, {}, {"Retry-After": "1"})),
    "503": Fault(reply=Reply(503, {})),
    "500": Fault(reply=Reply(500, {"message": "An unexpected error happened"})),
    "login page": Fault(reply=login_page()),
}


def board(uid: str, title: str, folder: str = "") -> Dashboard:
    return Dashboard(uid, title, folder, {"title": title, "uid": uid, "panels": [{"id": 1, "title": title}]})


BEFORE = [
    Folder("top", "Top"),
    board("same", "Same", "top"),
    board("changed", "Old"),
    board("gone", "Gone"),
    board("hand", "Hand"),
]
AFTER = [
    Folder("top", "Top"),
    Folder("below", "Below", "top"),
    board("same", "Same", "top"),
    board("changed", "New", "below"),
    board("made", "Made", "below"),
    board("hand", "Wanted otherwise"),
]


@dataclass
class Nth(Fault):
    """A fault of one request, with `left` others before it."""

    left: int = 0

    def hits(self, _request: Any) -> bool:
        self.left -= 1
        return self.left == -1


def synced(grafana: Grafana, wanted: list[Any]) -> list[str]:
    """Plan and apply once; return the writes and what came of them."""
    client = Client(grafana.url, lambda: TOKEN, sleep=lambda _seconds: None)
    try:
        server = connect(client, OWNER, target=(10, 0), rights=DELETES)
        live = []
        for kind, type_ in (("folder", Folder), ("dashboard", Dashboard)):
            live += server.list(kind, {thing.uid for thing in wanted if isinstance(thing, type_)})
        outcomes = apply(plan(wanted, live, OWNER, prune=True), server, OWNER, workers=1)
        return sorted(f"{outcome.change.action} {outcome.change.uid}: {outcome.result}" for outcome in outcomes)
    finally:
        client.close()


def seen(grafana: Grafana) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what people see: dashboards, and folders."""
    boards = {uid: (one.title, one.folder, one.spec.get("panels")) for uid, one in grafana.boards.items()}
    return boards, {uid: (one.title, one.folder) for uid, one in grafana.folders.items()}


@dataclass
class World:
    """A server, and what it had before `AFTER` was wanted: `BEFORE` applied, and people at work since."""

    grafana: Grafana
    first: Any
    last: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    requests: int = 0
    done: tuple[str, ...] = ()

    def reset(self) -> None:
        grafana = self.grafana
        grafana.boards, grafana.folders = copy.deepcopy(self.first)
        grafana.faults.clear()
        grafana.server.requests.clear()
        grafana.writes = 0


@contextlib.contextmanager
def begun(name: str) -> Iterator[World]:
    """Yield the world of a server, after one sync in which nothing goes wrong."""
    with Grafana(**SERVERS[name]).running() as grafana:
        grafana.put("foreign", "Foreign", spec={"tags": ["theirs"]})
        grafana.put_folder("theirs", "Theirs")
        synced(grafana, BEFORE)
        grafana.edit("hand", lambda spec: spec["panels"].append({"id": 2, "title": "By hand"}))
        world = World(grafana, copy.deepcopy((grafana.boards, grafana.folders)))
        world.reset()
        world.done = tuple(synced(grafana, AFTER))
        world.requests, world.last = len(grafana.asked), copy.deepcopy(seen(grafana))
        yield world


def goes_wrong(world: World, fault: Fault, number: int) -> None:
    """Let one request go wrong; see that nobody's work is lost, that further runs converge, and then write nothing."""
    grafana, last = world.grafana, world.last
    world.reset()
    grafana.faults.append(Nth(fault.kind, fault.reply, left=number))
    for _ in range(3):
        done = None
        with contextlib.suppress(Refused):
            done = synced(grafana, AFTER)
        boards, folders = seen(grafana)
        assert boards["foreign"] == last[0]["foreign"], f"request {number}"
        assert boards["hand"] == last[0]["hand"], f"request {number}"
        assert folders["theirs"] == last[1]["theirs"], f"request {number}"
        if done == []:
            break
    assert seen(grafana) == last, f"request {number}"
    writes = grafana.writes
    assert synced(grafana, AFTER) == [], f"request {number}"
    assert grafana.writes == writes, f"request {number}"
