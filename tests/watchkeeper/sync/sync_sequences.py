"""Random sequences of edits of definitions, edits by hand, faults, crashes and applies against a Grafana in memory."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sync_memory import Crash, Memory, Record, board, essence, saved

from watchkeeper.sync.apply import Outcome, apply
from watchkeeper.sync.objects import Change, Dashboard, Folder
from watchkeeper.sync.plan import plan

if TYPE_CHECKING:
    from collections import Counter

    from sync_remote import Remote

OWNER = "acme"
UIDS = [f"b{number}" for number in range(6)]
FOLDERS = [f"f{number}" for number in range(4)]
FAULTS = ("down", "lost", "late", "cut", "crash", "crash after")


class World:
    """Definitions, a server, and somebody who edits both."""

    def __init__(self, seed: int, counts: Counter[str], server: Remote | None = None) -> None:
        self.random = random.Random(seed)
        self.counts = counts
        # A server with forms of its own; what a fault leaves there may ask a person.
        self.odd = seed % 5 == 4 and server is None
        self.server = server or Memory(annotates=bool(seed % 2), odd=self.odd)
        self.folders: dict[str, Folder] = {}
        self.boards: dict[str, Dashboard] = {}
        self.wrongs: list[str] = []
        self.words = 0

    def run(self) -> list[str]:
        if self.random.random() < 0.5:
            self.foreign()
        for _ in range(self.random.randrange(4, 10)):
            for _ in range(self.random.randrange(1, 6)):
                self.random.choices([self.define, self.hand, self.foreign], [8, 3, 1])[0]()
            self.sync(faulty=not self.odd and self.random.random() < 0.6, prune=self.random.random() < 0.5)
        self.sync(faulty=False, prune=True, settled=True)
        return self.wrongs + self.server.wrongs

    def word(self) -> str:
        self.words += 1
        return f"word_{self.words}"

    # The definitions change.

    def define(self) -> None:
        choice = self.random.random()
        uid = self.random.choice(UIDS)
        if choice < 0.25:
            self.define_folder()
        elif choice < 0.4:
            self.boards.pop(uid, None)
        elif choice < 0.5 and uid in self.boards:
            folder = self.random.choice(["", *self.folders])
            self.boards[uid] = replace(self.boards[uid], folder=folder)
        else:
            folder = self.random.choice(["", *self.folders])
            exprs = [self.word() for _ in range(self.random.randrange(1, 4))]
            self.boards[uid] = board(uid, self.word(), folder, *exprs)

    def define_folder(self) -> None:
        uid = self.random.choice(FOLDERS)
        if uid in self.folders and self.random.random() < 0.5:
            used = {one.folder for one in self.boards.values()} | {one.parent for one in self.folders.values()}
            if uid not in used:
                del self.folders[uid]
            return
        # The parent is one of a lower number, so that none is in itself.
        self.folders[uid] = Folder(
            uid, self.word(), self.random.choice(["", *(one for one in self.folders if one < uid)])
        )

    # Somebody works at the server.

    def hand(self) -> None:
        if not self.server.records:
            return
        kind, uid = key = self.random.choice(sorted(self.server.records))
        record = self.server.records[key]
        thing = record.thing
        choice = self.random.random()
        if choice < 0.1:
            self.server.remove(kind, uid)
        elif kind == "folder":
            top = [one for name, one in self.server.records if name == kind and one != uid]
            top = sorted(one for one in top if not self.server.records[kind, one].thing.parent)
            moved = replace(thing, parent=self.random.choice(["", *top]))
            self.server.by_hand(kind, uid, self.random.choice([replace(thing, title=self.word()), moved]))
        elif choice < 0.3:
            self.server.by_hand(kind, uid, replace(thing, folder=self.random.choice(["", *self.live_folders()])))
        elif choice < 0.4 and record.ours is not None:
            self.server.by_hand(kind, uid, record.ours)  # an edit is taken back
        elif choice < 0.5 and uid in self.boards:  # Git follows what was tried at the server, or the other way round
            wanted = self.boards[uid]
            tags = thing.model.get("tags")
            self.server.by_hand(kind, uid, replace(wanted, folder=thing.folder, model={**wanted.model, "tags": tags}))
        elif choice < 0.6:
            tags = [tag for tag in thing.model["tags"] if not tag.startswith("watchkeeper:")]
            self.server.by_hand(kind, uid, replace(thing, model={**thing.model, "tags": tags}))
        elif choice < 0.7:  # a copy, with the tag and, at worst, the annotations
            copy = Record(replace(thing, uid=self.word()), 0, record.mark)
            self.server.put(kind, copy)
        elif choice < 0.8:  # Grafana migrates and saves
            self.server.by_hand(kind, uid, replace(thing, model=saved(thing.model)))
        else:
            self.server.by_hand(kind, uid, self.edited(thing))

    def edited(self, thing: Dashboard) -> Dashboard:
        panels = [dict(panel) for panel in thing.model["panels"]]
        panels[0] = {**panels[0], "targets": [{"refId": "A", "expr": self.word()}]}
        return replace(thing, model={**thing.model, "panels": panels})

    def live_folders(self) -> list[str]:
        return sorted(uid for kind, uid in self.server.records if kind == "folder")

    def foreign(self) -> None:
        """Somebody else's object, now and then under a uid that we want or will want."""
        uid = self.random.choice([self.word(), self.random.choice(UIDS)])
        folder = self.random.choice(["", *self.live_folders()])
        if self.random.random() < 0.3:
            uid = self.random.choice([uid, self.random.choice(FOLDERS)])
            if ("folder", uid) not in self.server.records:
                self.server.put("folder", Record(Folder(uid, self.word(), ""), 0))
            return
        if ("dashboard", uid) in self.server.records:
            return
        thing = self.boards.get(uid) if self.random.random() < 0.5 else None
        thing = replace(thing, folder=folder) if thing else board(uid, self.word(), folder, self.word())
        held = self.random.random()
        record = Record(thing, 0, provisioned=held < 0.2, manager="terraform" if 0.2 <= held < 0.3 else "")
        if held > 0.8:  # another project's
            record.thing = replace(thing, model={**thing.model, "tags": ["watchkeeper:other"]})
        self.server.put("dashboard", record)

    # The tool.

    def plan(self, *, prune: bool, overwrite: list[str] | None = None) -> list[Change]:
        wanted = [*self.folders.values(), *self.boards.values()]
        live = self.server.list("folder", self.folders) + self.server.list("dashboard", self.boards)
        return plan(wanted, live, OWNER, prune=prune, overwrite=overwrite or [])

    def sync(self, *, faulty: bool, prune: bool, settled: bool = False) -> None:
        named = [uid for uid in UIDS if self.random.random() < 0.1]
        self.server.allowed = set(named)
        changes = self.plan(prune=prune, overwrite=named)
        self.reported(changes, named)
        foreign = {key: one for key, one in self.server.records.items() if one.ours is None and key[1] not in named}
        before = {key: essence(record.thing) for key, record in foreign.items()}
        if faulty:
            if self.random.random() < 0.3:
                self.hand()  # between plan and apply
                before = None
            self.server.fault = lambda: self.random.choice(FAULTS) if self.random.random() < 0.15 else ""
        outcomes: list[Outcome] = []
        try:
            outcomes = apply(changes, self.server, OWNER, workers=1 if faulty else 4)
        except Crash:
            self.counts["crashes"] += 1
        self.server.fault = lambda: ""
        self.counts["applies"] += 1
        self.counts["writes"] += sum(outcome.result == "done" for outcome in outcomes)
        for change in changes:
            self.counts[change.action] += 1
        if before is not None:
            self.untouched(before)
        if faulty:
            return
        looped = any(outcome.result != "done" for outcome in outcomes)
        for outcome in outcomes:
            if outcome.result == "failed" and "in itself" not in outcome.message:
                self.wrongs.append(f"failed without a fault: {outcome.change.uid}: {outcome.message}")
        if not looped:
            self.converged(prune=prune, settled=settled)

    # What must be so.

    def untouched(self, before: dict[tuple[str, str], Any]) -> None:
        for key, was in before.items():
            record = self.server.records.get(key)
            if record is None or essence(record.thing) != was:
                self.wrongs.append(f"a foreign object was touched: {key}")

    def reported(self, changes: list[Change], named: list[str]) -> None:
        """Each edit by hand is told, unless it is what the definitions say; and nothing else is called one."""
        told = {(change.kind, change.uid): change.action for change in changes}
        for key, record in self.server.records.items():
            kind, uid = key
            wanted = (self.folders if kind == "folder" else self.boards).get(uid)
            edited = record.ours is not None and essence(record.thing) != essence(record.ours)
            marked = self.server.keeps_owner or kind == "folder" or "watchkeeper:acme" in record.thing.model["tags"]
            if edited and uid not in named:
                self.counts["edits"] += 1
                allowed = ("conflict",) if wanted else ("conflict", "orphan") if marked else (None,)
                if kind == "folder" and not self.server.annotates and not wanted:
                    allowed = (None,)
                if not (wanted and essence(wanted) == essence(record.thing)) and told.get(key) not in allowed:
                    self.wrongs.append(f"an edit of {key} was not told, but {told.get(key)}")
            unmarked = kind == "folder" and not self.server.annotates
            held = record.provisioned or record.manager
            if told.get(key) == "conflict" and not (record.touched or record.ours is None or unmarked or held):
                self.wrongs.append(f"{key} is called edited and is not")

    def converged(self, *, prune: bool, settled: bool) -> None:
        """A second apply makes no write, and all is as wanted but what is in conflict."""
        writes = self.server.writes
        changes = self.plan(prune=prune)
        apply(changes, self.server, OWNER)
        again = [f"{change.action} {change.uid}" for change in changes if change.writes]
        if self.server.writes != writes or again:
            self.wrongs.append(f"a second apply writes: {again}")
        conflicts = {(change.kind, change.uid) for change in changes if change.action == "conflict"}
        for thing in [*self.folders.values(), *self.boards.values()]:
            key = ("folder" if isinstance(thing, Folder) else "dashboard", thing.uid)
            record = self.server.records.get(key)
            if key not in conflicts and (record is None or essence(record.thing) != essence(thing)):
                self.wrongs.append(f"{key} is not as wanted, and nothing was told")
        if settled:
            for (kind, uid), record in self.server.records.items():
                wanted = uid in (self.folders if kind == "folder" else self.boards)
                ours = record.ours is not None and not record.touched
                if kind == "dashboard" and ours and not wanted:
                    self.wrongs.append(f"{uid} was not deleted")


def run(seeds: range, counts: Counter[str]) -> list[str]:
    """Return what was wrong, with the seed of it."""
    return [f"seed {seed}: {wrong}" for seed in seeds for wrong in World(seed, counts).run()]


def run_remote(seeds: range, counts: Counter[str], *, has_apis: bool, keeps_annotations: bool = True) -> list[str]:
    """The same with the adapters, at a Grafana on loopback."""
    from standin_grafana import TOKEN, Grafana
    from sync_remote import Remote

    from watchkeeper.sync.http import Client

    wrongs: list[str] = []
    grafana = Grafana(has_apis=has_apis, keeps_annotations=keeps_annotations)
    with grafana.running():
        client = Client(grafana.url, lambda: TOKEN, sleep=lambda _: None)
        for seed in seeds:
            world = World(seed, counts, Remote(grafana, client, OWNER))
            wrongs += [f"seed {seed}: {wrong}" for wrong in world.run()]
        client.close()
    return wrongs
