"""Random sequences of edits, crashes and applies at a ruler on loopback, with a referee that sees each write.

`python ruler_sequences.py 1000` is the long form.
"""

from __future__ import annotations

import copy
import json
import random
from typing import TYPE_CHECKING, Any

import yaml
from standin_ruler import TOKEN, Reply, stored
from standin_server import Fault

from watchkeeper.sync.apply import apply
from watchkeeper.sync.http import Client
from watchkeeper.sync.objects import Refused
from watchkeeper.sync.rule_groups import RULE_GROUP, RuleGroup
from watchkeeper.sync.ruler import MARKS
from watchkeeper.sync.ruler import Ruler as Adapter
from watchkeeper.sync.run import Remote, planned

if TYPE_CHECKING:
    from standin_ruler import Ruler
    from standin_server import Request

SPACE, OWNER = "fleet", "acme"
NAMES = ("a", "b", "c", "d")
KINDS = {RULE_GROUP.name: RULE_GROUP}


class Sequence:
    """One namespace with a history: `hand` has the groups that somebody else wrote last, as they wrote them."""

    def __init__(self, ruler: Ruler, seed: int) -> None:
        self.ruler, self.random = ruler, random.Random(seed)
        ruler.groups.clear()
        ruler.server.faults.clear()
        self.hand: dict[str, Any] = {}
        self.wrongs: list[str] = []
        self.wanted: dict[str, RuleGroup] = {}
        self.count = 0
        self._answer = ruler.answer
        ruler.server.answer = self._watched

    def run(self, steps: int) -> list[str]:
        """Take some steps, then look whether all converges; return what went wrong."""
        steps_ = (self.define, self.define, self.edit, self.remove, self.sync, self.sync, self.broken, self.broken)
        for _ in range(steps):
            self.random.choice(steps_)()
        self.settled()
        return self.wrongs

    def groups(self) -> dict[str, Any]:
        return {name: group for name, group in self.ruler.groups.get(SPACE, {}).items() if name != MARKS}

    # What happens.

    def define(self) -> None:
        name = self.random.choice(NAMES)
        if name in self.wanted and self.random.random() < 0.3:
            del self.wanted[name]
        else:
            self.wanted[name] = RuleGroup(name, self._group(name, f"def_{self.random.randrange(3)}"))

    def edit(self) -> None:
        name = self.random.choice(NAMES)
        self.count += 1
        group = stored(self._group(name, f"hand_{self.count}"))
        self.ruler.groups.setdefault(SPACE, {})[name] = group
        self.hand[name] = copy.deepcopy(group)

    def remove(self) -> None:
        name = self.random.choice(NAMES)
        self.ruler.groups.get(SPACE, {}).pop(name, None)
        self.hand.pop(name, None)

    def sync(self) -> list[str]:
        """Apply, and return what the plan said of each group."""
        client = Client(self.ruler.url, lambda: TOKEN, attempts=2, sleep=lambda _seconds: None)
        try:
            server = Adapter(client, OWNER, SPACE)
            remote = Remote(client.url, OWNER, server, KINDS, {RULE_GROUP.name: list(self.wanted.values())})
            changes = planned(remote, prune=True)
            apply(changes, server, OWNER, kinds=KINDS, workers=1)
        except Refused:
            return []
        finally:
            client.close()
        return [f"{change.uid} {change.action}" for change in changes]

    def broken(self) -> None:
        """Apply, with answers lost or refused, or with an end at any request: from there on nothing gets through."""
        kind = self.random.choice(("cut-before", "cut-after", "500", "end"))
        fault = Fault("reply", Reply(401, {}), times=1000) if kind == "end" else Fault(kind)
        if kind == "500":
            fault = Fault("reply", Reply(500, "down"), times=2)
        pause = Fault("bye", times=self.random.randrange(12))
        self.ruler.server.faults[:] = [pause, fault]
        self.sync()
        self.ruler.server.faults.clear()

    def settled(self) -> None:
        """A run converges: what nobody edited is as wanted, what was edited is told, and the next writes nothing."""
        self.sync()
        writes = self.ruler.writes
        said = self.sync()
        if self.ruler.writes != writes:
            self.wrongs.append("a second apply wrote")
        for name, group in self.wanted.items():
            if name in self.hand and f"{name} conflict" not in said:
                self.wrongs.append(f"an edit of {name} was not told")
            if name not in self.hand and self.groups().get(name) != stored(dict(group.data)):
                self.wrongs.append(f"{name} is not as wanted: {said}")
        for name in self.groups().keys() - self.wanted.keys() - self.hand.keys():
            self.wrongs.append(f"{name} was left behind")

    # The referee.

    def _watched(self, request: Request) -> Reply:
        if request.method == "POST":
            group = yaml.safe_load(request.body)
            self._written(group["name"], stored(group))
        elif request.method == "DELETE":
            self._written(request.path.rpartition("/")[2], None)
        return self._answer(request)

    def _written(self, name: str, group: Any) -> None:
        if name not in self.hand:
            return
        if group != self.hand[name]:
            self.wrongs.append(f"what somebody wrote into {name} is lost")
        del self.hand[name]

    def _group(self, name: str, expr: str) -> dict[str, Any]:
        return {"name": name, "interval": "60s", "rules": [{"record": "r", "expr": expr, "labels": {"a": "1"}}]}


def run(ruler: Ruler, seeds: range, steps: int = 12) -> list[str]:
    """Run a sequence for each seed; return what went wrong."""
    wrongs = []
    original = ruler.server.answer
    for seed in seeds:
        wrongs += [f"seed {seed}: {wrong}" for wrong in Sequence(ruler, seed).run(steps)]
        ruler.server.answer = original
    return wrongs


if __name__ == "__main__":
    import sys

    from standin_ruler import Ruler as Standin

    NUMBER = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with Standin().running() as standin:
        found = run(standin, range(NUMBER))
    sys.stdout.write(json.dumps({"sequences": NUMBER, "wrong": found}) + "\n")
    sys.exit(bool(found))
