import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from sync_memory import Crash, Memory, Record, board, essence

from watchkeeper.sync.apply import apply
from watchkeeper.sync.audit import Audit
from watchkeeper.sync.canonical import digest
from watchkeeper.sync.objects import Folder, Refused, Unsure
from watchkeeper.sync.plan import plan

OWNER = "acme"
GPU = Folder("gpu", "GPU")
BOARDS = [board(f"b{number}", f"Board {number}", "gpu", "up") for number in range(6)]


def planned(server, *wanted, **options):
    live = server.list("folder", []) + server.list("dashboard", [thing.uid for thing in wanted])
    return plan(wanted, live, OWNER, **options)


def synced(server, *wanted, prune=True, **options):
    return [outcome.result for outcome in apply(planned(server, *wanted, prune=prune), server, OWNER, **options)]


@pytest.fixture(params=[True, False], ids=["annotations", "messages"])
def server(request):
    return Memory(annotates=request.param)


def faults(server, *given):
    """Let the next writes go wrong in these ways, and those after them well."""
    left = list(given)
    server.fault = lambda: left.pop(0) if left else ""


def test_a_second_apply_writes_nothing(server):
    assert synced(server, GPU, *BOARDS) == ["done"] * 7
    assert server.writes == 7
    assert synced(server, GPU, *BOARDS) == []
    assert server.writes == 7
    assert [essence(server.records["dashboard", one.uid].thing) for one in BOARDS] == [essence(one) for one in BOARDS]


def test_all_goes(server):
    synced(server, GPU, *BOARDS)
    assert synced(server) == ["done"] * (7 if server.annotates else 6)
    assert [key for key in server.records if key[0] == "dashboard"] == []


@pytest.mark.parametrize("fault", ["lost", "cut", "late"])
@pytest.mark.parametrize("action", ["create", "update", "delete"])
def test_a_write_of_which_no_answer_came(server, fault, action):
    first, wanted = BOARDS[0], {"create": BOARDS[:2], "update": [replace(BOARDS[0], folder="")], "delete": []}[action]
    synced(server, GPU, first)
    faults(server, fault)
    assert synced(server, GPU, *wanted) == ["done"]
    assert synced(server, GPU, *wanted) == []
    assert server.wrongs == []


def test_answers_that_never_come(server):
    faults(server, *["lost"] * 9)
    [outcome] = apply(planned(server, GPU), server, OWNER)
    assert (outcome.result, outcome.message) == ("failed", "cut off before it arrived")


@pytest.mark.parametrize("action", ["changed", "deleted", "created"])
def test_what_was_written_since_the_plan_is_left(server, action):
    first = BOARDS[0]
    by_hand = board("b0", "By hand", "", "mine")
    if action == "created":
        changes = planned(server, GPU, first)[1:]
        server.put("dashboard", Record(by_hand, 0))
        server.put("folder", Record(GPU, 0))
    else:
        synced(server, GPU, first)
        changes = planned(server, GPU, *([replace(first, folder="")] if action == "changed" else []), prune=True)
        server.by_hand("dashboard", "b0", by_hand)
    [outcome] = apply(changes, server, OWNER)
    assert (outcome.change.uid, outcome.result) == ("b0", "stale")
    assert server.records["dashboard", "b0"].thing == by_hand


def test_an_edit_while_nobody_knows(server):
    """The answer is lost, the write too, and somebody edits before we look again: that is theirs."""
    synced(server, GPU, BOARDS[0])
    changes = planned(server, GPU, replace(BOARDS[0], folder=""))
    by_hand = board("b0", "By hand", "", "mine")

    def fault():
        server.fault = lambda: ""
        server.by_hand("dashboard", "b0", by_hand)
        return "lost"

    server.fault = fault
    [outcome] = apply(changes, server, OWNER)
    assert (outcome.result, outcome.message) == ("stale", "somebody else has written it since the plan: run it again")
    assert server.records["dashboard", "b0"].thing == by_hand


def test_after_a_failure_nothing_is_deleted(server):
    synced(server, GPU, BOARDS[0])
    faults(server, "down")
    changes = planned(server, GPU, BOARDS[1], prune=True)
    found = {outcome.change.uid: (outcome.result, outcome.message) for outcome in apply(changes, server, OWNER)}
    assert found == {"b1": ("failed", "503"), "b0": ("skipped", "nothing is deleted after a failure")}
    assert synced(server, GPU, BOARDS[1]) == ["done", "done"]


def test_what_has_no_folder_is_not_tried(server):
    faults(server, "down")
    changes = planned(server, GPU, Folder("below", "Below", "gpu"), BOARDS[0], board("top", "Top", "", "up"))
    found = {outcome.change.uid: (outcome.result, outcome.message) for outcome in apply(changes, server, OWNER)}
    assert found == {
        "gpu": ("failed", "503"),
        "below": ("skipped", 'its folder "gpu" could not be made'),
        "b0": ("skipped", 'its folder "gpu" could not be made'),
        "top": ("done", ""),
    }


def test_what_would_fail_for_all_ends_it(server):
    def create(_kind, _wanted, _mark):
        raise Refused("unauthorized", "401: the token is not valid")

    changes = planned(server, *BOARDS[:3])
    server.put("folder", Record(GPU, 0))
    changes = planned(server, GPU, *BOARDS)
    server.create = create
    outcomes = apply(changes, server, OWNER, workers=1)
    assert [outcome.result for outcome in outcomes].count("failed") == 1
    assert {outcome.message for outcome in outcomes} == {
        "401: the token is not valid",
        "not tried after a failure that is not of this object",
    }


def test_a_crash_and_a_run_after_it(server):
    synced(server, GPU)
    faults(server, "", "crash after")
    with pytest.raises(Crash):
        synced(server, GPU, *BOARDS, workers=2)
    server.fault = lambda: ""
    synced(server, GPU, *BOARDS)
    assert server.writes == 7
    assert server.wrongs == []


def test_a_server_with_a_form_of_its_own():
    server = Memory(annotates=True, odd=True)
    synced(server, GPU, BOARDS[0])
    writes = server.writes
    assert synced(server, GPU, BOARDS[0]) == []
    assert synced(server, GPU, replace(BOARDS[0], folder="")) == ["done"]
    assert [change.action for change in planned(server, GPU, replace(BOARDS[0], folder=""))] == ["unchanged"] * 2
    assert server.writes == writes + 2  # the board, and what the server made of it
    server.by_hand("dashboard", "b0", board("b0", "By hand", "", "mine"))
    assert [change.action for change in planned(server, GPU, BOARDS[0])] == ["unchanged", "conflict"]


def test_an_edit_just_after_our_write_is_not_taken_for_the_servers_form():
    server = Memory(annotates=True, odd=True)
    synced(server, GPU)
    update, create = server.update, server.create
    by_hand = board("b0", "By hand", "", "mine")

    def created(*given):
        version = create(*given)
        server.by_hand("dashboard", "b0", by_hand)
        return version

    server.create = created
    assert synced(server, GPU, BOARDS[0]) == ["done"]
    server.update = update
    assert server.records["dashboard", "b0"].thing == by_hand
    assert [change.action for change in planned(server, GPU, BOARDS[0])] == ["unchanged", "conflict"]


def test_progress_and_audit(server):
    lines, seen = [], []
    audit = Audit(lines.append, lambda: 0.0, "https://grafana.example")
    changes = planned(server, GPU, *BOARDS)
    faults(server, "", "down")
    outcomes = apply(changes, server, OWNER, audit=audit, progress=seen.append, workers=1)
    assert seen == outcomes
    assert len(lines) == 7
    assert sum('"outcome": "written"' in line for line in lines) == 6
    assert sum('"outcome": "refused"' in line for line in lines) == 1
    assert f'"before": "", "after": "{digest(GPU)}"' in lines[0]


def test_a_write_that_stays_unsure_is_told_as_such(server):
    lines = []

    def create(*_):
        raise Unsure("unsure", "cut off")

    server.create = create
    [outcome] = apply(planned(server, GPU), server, OWNER, audit=Audit(lines.append, lambda: 0.0))
    assert outcome.result == "failed"
    assert '"outcome": "unsure"' in lines[0]
