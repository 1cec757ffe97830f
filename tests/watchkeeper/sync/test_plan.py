import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from sync_memory import board

from watchkeeper.sync.canonical import digest
from watchkeeper.sync.marks import tagged
from watchkeeper.sync.objects import Folder, Live
from watchkeeper.sync.plan import is_drift, phase, plan

OWNER = "acme"
GPU = Folder("gpu", "GPU")
MEMORY = Folder("memory", "Memory", "gpu")
BOARD = board("free", "Free memory", "gpu", "up", "down")


def ours(thing, *, applied=None, owner=OWNER, **more):
    """An object of ours at the server; `applied` is what it was when we applied it."""
    live = replace(thing, model=tagged(thing.model, owner)) if hasattr(thing, "model") else thing
    return Live(live, owner, digest(applied or thing), **more)


def edited(thing, expr="by_hand"):
    panels = [{**panel, "targets": [{"refId": "A", "expr": expr}]} for panel in thing.model["panels"]]
    return replace(thing, model={**thing.model, "panels": panels})


def one(wanted, live, **options):
    [change] = plan([GPU, *wanted], [Live(GPU), *live], OWNER, **options)[1:]
    return change.action, list(change.detail)


def test_created():
    assert one([BOARD], []) == ("created", [])


def test_unchanged():
    assert one([BOARD], [ours(BOARD)]) == ("unchanged", [])


def test_changed_says_what():
    action, detail = one([edited(BOARD, "up > 1")], [ours(BOARD)])
    assert action == "changed"
    assert detail == [
        'panel "Panel 1", query "A", expr: "up" -> "up > 1"',
        'panel "Panel 2", query "A", expr: "down" -> "up > 1"',
    ]


def test_moved():
    assert one([BOARD], [ours(replace(BOARD, folder=""))]) == ("moved", ['folder: "" -> "gpu"'])


def test_moved_and_changed_is_changed():
    action, detail = one([edited(BOARD)], [ours(replace(BOARD, folder=""))])
    assert action == "changed"
    assert detail[0] == 'folder: "" -> "gpu"'


@pytest.mark.parametrize("live", [edited(BOARD), replace(BOARD, folder="")], ids=["edited", "moved"])
def test_what_was_edited_by_hand_is_a_conflict(live):
    wanted = edited(BOARD, "new")
    action, detail = one([wanted], [ours(live, applied=BOARD)])
    assert action == "conflict"
    assert detail[0] == "it was edited at the server since it was applied"
    assert len(detail) > 1
    action, detail = one([wanted], [ours(live, applied=BOARD)], overwrite=["Free*"])
    assert action == "changed"
    assert detail[0] == "overwritten, though it was edited at the server since it was applied"
    assert one([wanted], [ours(live, applied=BOARD)], overwrite=["other"])[0] == "conflict"


def test_an_edit_that_the_definitions_followed_is_adopted():
    assert one([edited(BOARD)], [ours(edited(BOARD), applied=BOARD)]) == (
        "adopted",
        ["edited at the server to what the definitions say now"],
    )


def test_without_a_mark():
    assert one([BOARD], [Live(BOARD)]) == ("adopted", ["it is as the definitions have it"])
    action, detail = one([BOARD], [Live(edited(BOARD))])
    assert (action, detail[0]) == ("conflict", "it has this uid, but other content, and no mark of ours")
    assert one([BOARD], [Live(edited(BOARD))], overwrite=["free"])[0] == "changed"


@pytest.mark.parametrize("content", [BOARD, edited(BOARD)], ids=["same", "other"])
def test_another_owners_is_never_adopted(content):
    live = ours(content, owner="other")
    action, detail = one([BOARD], [live])
    assert (action, detail[0]) == ("conflict", 'it is marked as of "other"')
    assert plan([], [live], OWNER, prune=True) == []


@pytest.mark.parametrize(
    ("held", "reason"),
    [
        ({"provisioned": True}, "it is provisioned from files: take it out there, or here"),
        ({"manager": "terraform"}, "it is managed by terraform: take it out there, or here"),
    ],
    ids=["files", "manager"],
)
def test_what_others_hold_is_not_even_overwritten(held, reason):
    for live in (ours(BOARD, **held), ours(edited(BOARD), **held), Live(BOARD, **held)):
        assert one([BOARD], [live], overwrite=["*"]) == ("conflict", [reason])
    assert plan([], [ours(BOARD, **held)], OWNER, prune=True, overwrite=["*"]) == []


def test_only_what_is_marked_is_deleted():
    foreign = Live(board("theirs", "Theirs", "", "up"))
    assert one([], [ours(BOARD), foreign]) == ("orphan", ["no longer in the definitions"])
    assert one([], [ours(BOARD), foreign], prune=True) == ("deleted", ["no longer in the definitions"])


def test_an_edited_one_is_not_deleted():
    live = ours(edited(BOARD), applied=BOARD)
    reason = "it was edited at the server since it was applied"
    assert one([], [live]) == ("orphan", ["no longer in the definitions", reason])
    assert one([], [live], prune=True) == ("conflict", ["no longer in the definitions", reason])
    assert one([], [live], prune=True, overwrite=["free"]) == (
        "deleted",
        ["no longer in the definitions", f"deleted, though {reason}"],
    )


def test_a_copy_is_neither_deleted_nor_drift():
    copy = replace(BOARD, uid="copy")
    with_tag, with_annotations = Live(copy, OWNER), Live(copy, OWNER, digest(BOARD))
    [change] = plan([], [with_tag], OWNER, prune=True, overwrite=["*"])
    assert (change.action, is_drift(change)) == ("orphan", False)
    assert [change.action for change in plan([], [with_annotations], OWNER, prune=True)] == ["conflict"]


def test_a_mark_of_another_form_says_so():
    action, detail = one([BOARD], [Live(edited(BOARD), OWNER, "0-abc")])
    assert (action, detail[0]) == (
        "conflict",
        "it was applied by another version of Watchkeeper, which compared otherwise",
    )


def test_a_form_of_the_servers_own_is_no_edit():
    odd = replace(BOARD, model={**BOARD.model, "grafanaMigrated": 44})
    live = Live(odd, OWNER, digest(BOARD), digest(odd))
    assert one([BOARD], [live]) == ("unchanged", [])
    assert one([edited(BOARD)], [live])[0] == "changed"
    assert one([BOARD], [replace(live, object=edited(odd))])[0] == "conflict"


def test_a_folder_that_there_is_not():
    assert one([replace(BOARD, folder="nowhere")], []) == (
        "conflict",
        ['there is no folder "nowhere": add it to [tool.watchkeeper.folders]'],
    )


def test_folders():
    other = Folder("memory", "Speicher")

    def action(live, **options):
        return [change.action for change in plan([GPU, MEMORY], [Live(GPU), live], OWNER, **options)]

    assert action(Live(MEMORY)) == ["unchanged", "unchanged"]
    assert action(ours(MEMORY)) == ["unchanged", "unchanged"]
    assert action(ours(MEMORY, owner="other")) == ["unchanged", "unchanged"]
    assert action(Live(other)) == ["unchanged", "conflict"]
    assert action(Live(other), overwrite=["memory"]) == ["unchanged", "changed"]
    assert action(ours(other)) == ["unchanged", "changed"]
    assert action(ours(Folder("memory", "Memory"))) == ["unchanged", "moved"]
    assert action(ours(other, applied=MEMORY)) == ["unchanged", "conflict"]


def test_the_order_survives_a_crash():
    old, older = Folder("a-old", "Old"), Folder("b-older", "Older", "a-old")
    gone = board("gone", "Gone", "b-older", "up")
    changes = plan([MEMORY, BOARD, GPU], [ours(old), ours(older), ours(gone)], OWNER, prune=True)
    assert [(change.action, change.uid) for change in changes] == [
        ("created", "gpu"),
        ("created", "memory"),
        ("created", "free"),
        ("deleted", "gone"),
        ("deleted", "b-older"),
        ("deleted", "a-old"),
    ]
    assert [phase(change) for change in changes] == [0, 0, 1, 2, 3, 3]


def test_a_folder_with_others_things_in_it_is_kept():
    old, older = Folder("a-old", "Old"), Folder("b-older", "Older", "a-old")
    theirs = Live(board("theirs", "Theirs", "b-older", "up"))
    mine = ours(board("gone", "Gone", "b-older", "up"))
    changes = {change.uid: change for change in plan([], [ours(old), ours(older), theirs, mine], OWNER, prune=True)}
    assert {uid: change.action for uid, change in changes.items()} == {
        "gone": "deleted",
        "a-old": "orphan",
        "b-older": "orphan",
    }
    assert changes["b-older"].detail == ("no longer in the definitions", 'kept: "Theirs" is in it')
    assert changes["a-old"].detail == ("no longer in the definitions", 'kept: "Older" is in it')


def test_a_folder_is_deleted_once_all_has_moved_out():
    old = Folder("old", "Old")
    changes = plan([GPU, BOARD], [ours(GPU), ours(old), ours(replace(BOARD, folder="old"))], OWNER, prune=True)
    assert [(change.action, change.uid) for change in changes] == [
        ("unchanged", "gpu"),
        ("moved", "free"),
        ("deleted", "old"),
    ]


def test_only_what_is_named_and_the_folders_that_it_needs():
    wanted = [GPU, MEMORY, Folder("other", "Other"), replace(BOARD, folder="memory"), board("b", "B", "other", "up")]
    gone = ours(board("gone", "Gone", "", "up"))
    changes = plan(wanted, [gone], OWNER, prune=True, only=["free"])
    assert [(change.action, change.uid) for change in changes] == [
        ("created", "gpu"),
        ("created", "memory"),
        ("created", "free"),
    ]
    # Those that are there need nothing for it, whatever their titles are.
    live = [ours(Folder("gpu", "X")), Live(Folder("memory", "Y"))]
    assert [change.uid for change in plan(wanted, live, OWNER, only=["Free memory"])] == ["free"]
    assert [change.uid for change in plan(wanted, [gone], OWNER, prune=True, only=["go*"])] == ["gone"]


@pytest.mark.parametrize("title", ["GPU [A]", "what?", "[b-d]", "Größe \N{GRINNING FACE}"])
def test_a_title_names_itself_whatever_is_in_it(title):
    wanted = [replace(BOARD, title=title), board("other", "A", "", "up")]
    assert [change.uid for change in plan([GPU, *wanted], [Live(GPU)], OWNER, only=[title])] == ["free"]


def test_a_loop_of_folders_at_the_server_ends():
    live = [ours(Folder("a", "A", "b")), ours(Folder("b", "B", "a"))]
    assert [change.uid for change in plan([], live, OWNER, prune=True)] == ["a", "b"]
