"""Rules at a ruler on loopback: the adapter, and what a run of it does."""

from __future__ import annotations

import json

import pytest
from ruler_sequences import run as run_sequences
from standin_ruler import TOKEN, Reply, Ruler
from standin_server import Fault, login_page

from watchkeeper.sync.apply import apply
from watchkeeper.sync.http import Client
from watchkeeper.sync.objects import Refused
from watchkeeper.sync.rule_groups import RULE_GROUP, RuleGroup, digest
from watchkeeper.sync.ruler import MARKS
from watchkeeper.sync.ruler import Ruler as Adapter
from watchkeeper.sync.run import Remote, planned

OWNER, SPACE = "acme", "gpu/fleet"
KINDS = {RULE_GROUP.name: RULE_GROUP}


@pytest.fixture
def ruler():
    with Ruler().running() as ruler:
        yield ruler


@pytest.fixture
def client(ruler):
    client = Client(ruler.url, lambda: TOKEN, sleep=lambda _seconds: None)
    yield client
    client.close()


def group(name="gpu", expr="up < 1", for_="300s", **more):
    rules = [
        {"record": "job:up:min", "expr": "min(up)\n"},
        {"alert": "Down", "expr": expr, "for": for_, "labels": {"severity": "page"}, "annotations": {"a": "é 😀 yes"}},
    ]
    return RuleGroup(name, {"name": name, "interval": "60s", **more, "rules": rules})


def changes(client, *wanted, owner=OWNER, **options):
    server = Adapter(client, owner, SPACE, "team-1")
    remote = Remote(client.url, owner, server, KINDS, {RULE_GROUP.name: wanted})
    return planned(remote, **options), server


def actions(client, *wanted, **options):
    return [change.action for change in changes(client, *wanted, **options)[0]]


def applied(client, *wanted, **options):
    found, server = changes(client, *wanted, **options)
    return [outcome.result for outcome in apply(found, server, OWNER, kinds=KINDS)]


@pytest.mark.parametrize("empty_is_404", [True, False])
def test_a_second_run_writes_nothing(ruler, client, empty_is_404):
    ruler.empty_is_404 = empty_is_404
    assert applied(client, group(), group("more")) == ["done", "done"]
    assert sorted(ruler.groups[SPACE]) == ["gpu", "more", MARKS]
    assert ruler.groups[SPACE]["gpu"]["interval"] == "1m"
    assert ruler.tenants == {"team-1"}
    writes = ruler.writes
    assert applied(client, group(), group("more")) == []
    assert actions(client, group(), group("more")) == ["unchanged", "unchanged"]
    assert ruler.writes == writes


def test_what_changed_is_told_by_rule(client):
    applied(client, group())
    [change] = changes(client, group(expr="up < 2", for_="1m", query_offset="30s"))[0]
    assert change.action == "changed"
    assert change.detail == (
        'alert "Down", expr: "up < 1" -> "up < 2"',
        'alert "Down", for: "5m" -> "1m"',
        'query_offset: "30s" added',
    )


def test_what_is_gone_is_deleted_if_it_is_ours(ruler, client):
    applied(client, group(), group("more"))
    ruler.groups[SPACE]["theirs"] = {"name": "theirs", "rules": []}
    assert actions(client, group()) == ["unchanged", "orphan"]
    assert applied(client, group(), prune=True) == ["done"]
    assert sorted(ruler.groups[SPACE]) == ["gpu", "theirs", MARKS]
    assert actions(client, group(), prune=True) == ["unchanged"]


def test_an_edit_by_hand_is_a_conflict(ruler, client):
    applied(client, group(), group("more"))
    for name in ("gpu", "more"):
        ruler.groups[SPACE][name]["rules"][0]["expr"] = "by_hand"
    assert applied(client, group(expr="up < 2"), prune=True) == []
    found, _ = changes(client, group(expr="up < 2"), prune=True)
    assert [(change.action, change.detail[0]) for change in found] == [
        ("conflict", "it was edited at the server since it was applied"),
        ("conflict", "no longer in the definitions"),
    ]
    assert applied(client, group(), group("more"), overwrite=["gp*"]) == ["done"]
    assert ruler.groups[SPACE]["gpu"]["rules"][0]["expr"] != "by_hand"
    assert ruler.groups[SPACE]["more"]["rules"][0]["expr"] == "by_hand"


def test_a_group_without_our_mark_is_adopted_only_if_it_is_the_same(ruler, client):
    applied(client, group())
    del ruler.groups[SPACE][MARKS]
    assert actions(client, group(expr="other")) == ["conflict"]
    assert actions(client, prune=True) == []
    assert actions(client, group()) == ["adopted"]
    assert applied(client, group()) == ["done"]
    assert actions(client, group()) == ["unchanged"]


def test_a_mark_that_somebody_edited_is_none(ruler, client):
    applied(client, group())
    ruler.groups[SPACE][MARKS]["rules"][0]["annotations"]["applied"] = "[1"
    assert actions(client, group()) == ["adopted"]


def test_the_namespace_of_another_project(client):
    applied(client, group())
    with pytest.raises(Refused, match='the namespace gpu/fleet is that of "acme"'):
        changes(client, group(), owner="other")


@pytest.mark.parametrize("kind", ["cut-before", "cut-after"])
@pytest.mark.parametrize("number", range(8))
def test_a_connection_that_is_cut_loses_nothing(ruler, client, kind, number):
    applied(client, group(), group("gone"))
    ruler.server.faults += [Fault("bye", path="/", times=number), Fault(kind, times=1)]
    applied(client, group(expr="up < 2"), group("new"), prune=True)
    ruler.server.faults.clear()
    applied(client, group(expr="up < 2"), group("new"), prune=True)
    assert sorted(ruler.groups[SPACE]) == ["gpu", "new", MARKS]
    assert actions(client, group(expr="up < 2"), group("new"), prune=True) == ["unchanged", "unchanged"]


def test_a_run_that_ends_between_mark_and_group_goes_on(ruler, client):
    applied(client, group())
    found, server = changes(client, group(expr="up < 2"))
    ruler.server.faults.append(Fault("reply", Reply(500, "down"), "POST", times=100))
    ruler.server.faults.insert(0, Fault("bye", method="POST"))  # that of the mark
    assert [outcome.result for outcome in apply(found, server, OWNER, kinds=KINDS)] == ["failed"]
    ruler.server.faults.clear()
    said = json.loads(ruler.groups[SPACE][MARKS]["rules"][0]["annotations"]["applied"])
    assert said == {"gpu": [digest(group(expr="up < 2")), digest(group())]}
    assert actions(client, group(expr="up < 3")) == ["changed"]
    assert actions(client, group()) == ["unchanged"]


def test_somebody_was_faster(ruler, client):
    applied(client, group())
    found, server = changes(client, group(expr="up < 2"))
    ruler.groups[SPACE]["gpu"]["rules"][0]["expr"] = "by_hand"
    assert [outcome.result for outcome in apply(found, server, OWNER, kinds=KINDS)] == ["stale"]
    assert ruler.groups[SPACE]["gpu"]["rules"][0]["expr"] == "by_hand"


def test_what_the_ruler_says_of_a_group_is_told(client):
    many = RuleGroup("gpu", {"name": "gpu", "rules": [{"record": f"r{n}", "expr": "up"} for n in range(21)]})
    found, server = changes(client, many)
    [outcome] = apply(found, server, OWNER, kinds=KINDS)
    assert outcome.result == "failed"
    assert "rules per rule group limit (limit: 20 actual: 21) exceeded" in outcome.message


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (login_page(), "login page"),
        (Reply(404, "404 page not found", {"Content-Type": "text/plain"}), "is it the address of its rules"),
        (Reply(200, "a: [", {"Content-Type": "text/plain"}), "no YAML"),
        (Reply(200, "just a text", {"Content-Type": "text/plain"}), "no groups of rules"),
        (Reply(200, {SPACE: [3]}), "no groups of rules"),
        (Reply(200, {SPACE: "x"}), "no groups of rules"),
    ],
    ids=["login", "not-found", "no-yaml", "text", "numbers", "no-list"],
)
def test_no_ruler(ruler, client, reply, words):
    ruler.server.faults.append(Fault("reply", reply, times=10))
    with pytest.raises(Refused, match=words):
        changes(client, group())


def test_a_wrong_token(ruler, client):
    ruler.token = "another"
    with pytest.raises(Refused, match="is the token right"):
        changes(client, group())


def test_random_sequences(ruler):
    assert run_sequences(ruler, range(25)) == []
