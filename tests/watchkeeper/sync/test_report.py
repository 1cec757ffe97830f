"""What a sync tells: for people, for programs, and as a comment of a pull request."""

import json
from html import unescape

import pytest

from watchkeeper.sync.alert_groups import ALERT_GROUP
from watchkeeper.sync.apply import Outcome
from watchkeeper.sync.objects import Change
from watchkeeper.sync.report import LONGEST, MARK, to_json, to_markdown, to_text
from watchkeeper.sync.run import Remote, Result

HOSTILE = "@everyone <img src=x> `code` **bold** [a](b) </summary>\x1b[31m"
CREATED = Change("dashboard", "created", "free", "Free")
CONFLICT = Change("dashboard", "conflict", "use", HOSTILE, ("```", "@all <b>"))
SAME = Change("dashboard", "unchanged", "same", "Same")

ALERTS = {ALERT_GROUP.name: ALERT_GROUP}


def result(*changes, outcomes=()):
    return Result(Remote("https://grafana.example.com", "acme", None, {}, {}), changes, outcomes)


def test_text():
    failed = Outcome(CREATED, "failed", "403: no")
    assert to_text([result(CREATED, SAME, outcomes=[failed])]) == (
        '+ dashboard free "Free": created: failed: 403: no\nhttps://grafana.example.com: 1 unchanged, 1 failed\n'
    )
    assert to_text([result()]) == "https://grafana.example.com: nothing there\n"


def test_the_two_parts_of_a_grafana_are_told_apart():
    found = [Result(Remote("https://grafana.example.com", "acme", None, kinds, {}), ()) for kinds in ({}, ALERTS)]
    assert to_text(found).splitlines() == [
        "https://grafana.example.com: nothing there",
        "https://grafana.example.com (alert rules): nothing there",
    ]


def test_what_is_written_to_a_terminal_is_printable():
    assert "\x1b" not in to_text([result(CONFLICT)]) + to_markdown([result(CONFLICT)])


def test_json_leaves_out_what_stays():
    [server] = json.loads(to_json([result(CREATED, SAME, outcomes=[Outcome(CREATED, "done")])]))["servers"]
    assert [change["uid"] for change in server["changes"]] == ["free"]
    assert server["changes"][0]["result"] == "done"
    assert server["counts"]["unchanged"] == 1


def test_a_title_is_no_markdown_no_html_and_calls_nobody():
    text = to_markdown([result(CONFLICT)])
    assert text.startswith(f"{MARK}\n")
    body, _, detail = text.partition("```text\n")
    for hostile in ("@everyone", "<img", "`code`", "**", "[a]"):
        assert hostile not in body
        assert hostile in unescape(body)
    assert body.count("</summary>") == 1
    assert detail.count("```") == 1  # the end of the block, in which nothing is read


@pytest.mark.parametrize("size", [10, 1000])
def test_a_long_comment_is_cut_between_changes(size):
    changes = [Change("dashboard", "changed", f"b{n}", "B", ("x" * 100,) * 10) for n in range(size)]
    text = to_markdown([result(*changes)])
    assert len(text) < LONGEST + 100
    assert text.count("<details>") == text.count("</details>")
    assert ("more: see the log" in text) == (size == 1000)
