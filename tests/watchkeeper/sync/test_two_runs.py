"""Two runs of one project at once, as of two jobs of a CI: whichever is faster, both end well and nothing is asked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from standin_grafana import TOKEN, Grafana
from standin_ruler import TOKEN as RULER_TOKEN
from standin_ruler import Ruler
from sync_faults import AFTER, BEFORE, OWNER

from watchkeeper.sync.apply import KINDS, apply
from watchkeeper.sync.grafana import DELETES, connect
from watchkeeper.sync.http import Client
from watchkeeper.sync.objects import Dashboard, Folder
from watchkeeper.sync.rule_groups import RULE_GROUP, RuleGroup
from watchkeeper.sync.ruler import Ruler as RulerAdapter
from watchkeeper.sync.run import Remote, planned

GROUPS = [{"name": f"g{number}", "rules": [{"record": "a:b", "expr": "vector(1)"}]} for number in range(5)]


def grafana_remote(client, wanted):
    server = connect(client, OWNER, target=(11, 0), rights=DELETES)
    parts = {
        "folder": [thing for thing in wanted if isinstance(thing, Folder)],
        "dashboard": [thing for thing in wanted if isinstance(thing, Dashboard)],
    }
    return Remote(client.url, OWNER, server, KINDS, parts)


def twice(remotes):
    """Plan by both, then apply by both at once; return what came of it."""
    start = Barrier(len(remotes))

    def run(remote):
        changes = planned(remote, prune=True)
        start.wait(60)
        return [outcome.result for outcome in apply(changes, remote.server, remote.owner, kinds=remote.kinds)]

    with ThreadPoolExecutor(max_workers=len(remotes)) as pool:
        return [result for results in pool.map(run, remotes) for result in results]


@pytest.mark.parametrize("has_apis", [True, False], ids=["apis", "api"])
def test_at_a_grafana(has_apis):
    with Grafana(has_apis=has_apis).running() as grafana:
        clients = [Client(grafana.url, lambda: TOKEN) for _ in range(2)]
        for wanted in (BEFORE, AFTER):
            assert set(twice([grafana_remote(client, wanted) for client in clients])) == {"done"}
            actions = {change.action for change in planned(grafana_remote(clients[0], wanted), prune=True)}
            assert actions == {"unchanged"}
        assert sorted(grafana.boards) == ["changed", "hand", "made", "same"]
        for client in clients:
            client.close()


def test_at_a_ruler():
    """There the runs may overwrite each other's list of marks: what has none, and is as wanted, is adopted then."""
    with Ruler().running() as ruler:
        clients = [Client(ruler.url, lambda: RULER_TOKEN) for _ in range(2)]
        wanted = {RULE_GROUP.name: [RuleGroup(group["name"], group) for group in GROUPS]}
        remotes = [
            Remote(
                client.url, OWNER, RulerAdapter(client, OWNER, "watchkeeper", ""), {RULE_GROUP.name: RULE_GROUP}, wanted
            )
            for client in clients
        ]
        twice(remotes)
        changes = planned(remotes[0], prune=True)
        assert {change.action for change in changes} <= {"adopted", "unchanged"}
        apply(changes, remotes[0].server, OWNER, kinds=remotes[0].kinds)
        assert {change.action for change in planned(remotes[0], prune=True)} == {"unchanged"}
        assert sorted(ruler.groups["watchkeeper"]) == ["g0", "g1", "g2", "g3", "g4", "watchkeeper-applied"]
        for client in clients:
            client.close()
