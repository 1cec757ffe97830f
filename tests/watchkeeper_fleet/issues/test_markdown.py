"""An alert as Markdown: ten fields, links that open what they say, and texts that do nothing."""

from __future__ import annotations

import json
import re
import urllib.parse
import zoneinfo

import pytest
from issues_world import START, alert, body

from watchkeeper_fleet.issues import markdown, marks
from watchkeeper_fleet.issues.notification import Malformed, read

URL = "http://am.example.com:9093"


def one(**what):
    (found,) = read(body(alert(**what))).alerts
    return found


def test_ten_fields_in_their_order():
    found = markdown.fields(one(), URL, zoneinfo.ZoneInfo("America/Los_Angeles"))
    assert list(found) == [
        *("Occurred At", "State", "Team", "Priority", "Description", "Reason"),
        *("Runbook", "Dashboard", "View Alert", "Silence Alert"),
    ]
    assert found["Occurred At"].replace("\\", "") == "Nov 24, 6:15pm PST"
    assert found["State"] == "FIRING"
    assert found["Reason"].replace("\\", "") == "Number_of_jobs_Failing=14"
    assert found["Dashboard"] == "[open](https://grafana.example.com/d/trunk?viewPanel=panel-4)"
    assert markdown.fields(one(firing=False), URL)["State"] == "RESOLVED"


def test_what_is_empty_is_left_out():
    found = markdown.fields(one(labels={"team": "", "priority": ""}, description="", reason="", runbook_url=""), URL)
    assert list(found) == ["Occurred At", "State", "Dashboard", "View Alert", "Silence Alert"]


def test_links_of_odd_labels():
    odd = "a \"q\" 's' +&<b> é 😀 \\ \\n \n\t {x} (y) [z] 100% a|b = ~ # ?;/`*_ \x01"
    told = one(labels={"odd": odd})
    for name in ("View Alert", "Silence Alert"):
        link = re.fullmatch(r"\[open\]\((http://[!-~]+)\)", markdown.fields(told, URL)[name])[1]
        assert not set(link) & set('()<>"` |\\{}^')
        text = urllib.parse.unquote(link.partition("filter=")[2])
        pairs = re.findall(r'([a-z]+)=("(?:[^"\\]|\\.)*")', text, re.DOTALL)
        assert text == "{" + ",".join(f"{name}={value}" for name, value in pairs) + "}"
        assert {name: json.loads(value) for name, value in pairs} == told.labels


@pytest.mark.parametrize(
    "text",
    [
        "@pytorch/dev-infra and @octocat",
        "fixes #123, closes GH-4, resolves pytorch/pytorch#5",
        "see https://github.com/o/r/issues/1",
        "<!-- watchkeeper fingerprint: 0000000000000009 -->",
        "a --> b <b>bold</b> &amp; &#64;octocat",
        "**bold** _it_ `code` [x](y) ![i](j) # h | t | ~~s~~",
        "- [ ] a task\n\n1. one\n> quote",
    ],
)
def test_texts_do_nothing(text):
    shown = markdown.plain(text)
    assert shown.replace("\\", "").replace(markdown.NOTHING, "") == " ".join(text.split())
    # Each sign that Markdown or HTML could read is escaped, and what GitHub looks for afterwards is broken.
    assert not re.search(r"(?<!\\)(?:\\\\)*[!-/:-@\[\]^-`{-~]", shown)
    seen = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", shown)
    assert not re.search(r"(?i)@\w|#\d|gh-\d|://\w", seen)
    assert marks.fingerprint_of(shown) == ""
    in_title = markdown.title(one(summary=text))
    assert not re.search(r"(?i)@\w|#\d|gh-\d|://\w", in_title)


def test_links_that_are_none():
    for address in ("javascript:alert(1)", "https://", "not a link", "https://x/ y", "ftp://x/y"):
        assert "](" not in markdown.link(address)
    assert markdown.link("https://x/a)b(c?q='\"<>é") == "[open](https://x/a%29b%28c?q='%22%3C%3E%C3%A9)"
    assert markdown.link("https://x/a%20b") == "[open](https://x/a%20b)"


def test_titles():
    assert markdown.title(one()).startswith("[P1] 14 blocking jobs")
    assert markdown.title(one(labels={"priority": ""}, summary="")) == "TrunkBadlyBroken"
    assert len(markdown.title(one(summary="x" * 1000))) <= 256
    assert markdown.title(one(summary="a\n b")) == "[P1] a b"


def test_long_texts_are_cut():
    assert len(markdown.plain("x" * 100_000)) < 2100
    assert len(markdown.block(one(description="*" * 50_000, reason="*" * 50_000), URL)) < 20_000


def test_moments():
    paris = zoneinfo.ZoneInfo("Europe/Paris")
    assert markdown.moment(START, paris) == "Nov 25, 3:15am CET"
    assert markdown.moment(START + 9 * 3600, paris) == "Nov 25, 12:15pm CET"
    assert markdown.moment(START - 3 * 3600 - 900, paris) == "Nov 25, 12:00am CET"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2025-11-25T02:15:00Z", START),
        ("2025-11-25T02:15:00.5Z", START + 0.5),
        ("2025-11-25T02:15:00.123456789Z", START + 0.123456),
        ("2025-11-24T18:15:00-08:00", START),
        ("2025-11-25T07:45:00+05:30", START),
        ("0001-01-01T00:00:00Z", 0.0),
    ],
)
def test_times(text, at):
    (found,) = read(body({**alert(), "startsAt": text})).alerts
    assert found.since == at


@pytest.mark.parametrize(
    "change",
    [
        {"startsAt": "yesterday"},
        {"startsAt": "2025-13-01T00:00:00Z"},
        {"startsAt": 3},
        {"fingerprint": "../../x"},
        {"fingerprint": None},
        {"status": "broken\n"},
        {"labels": {"a": 1}},
        {"labels": None},
        {"annotations": []},
    ],
    ids=str,
)
def test_what_is_no_alert(change):
    with pytest.raises(Malformed) as caught:
        read(body({**alert(), **change}))
    assert str(caught.value).startswith("alerts[0]: ")
    assert "\n" not in str(caught.value)
