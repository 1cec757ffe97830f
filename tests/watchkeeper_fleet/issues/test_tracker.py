"""What becomes of alerts: issues opened, commented, closed, reopened, and nothing twice."""

from __future__ import annotations

import re

import pytest
from github_issues import Fault
from issues_world import HOUR, START, alert, body

from watchkeeper_fleet.issues.tracker import REPEAT, labels_of

LIMIT = Fault(403, {"message": "API rate limit exceeded"}, {"x-ratelimit-remaining": "0"})


def open_issues(world):
    return [issue for issue in world.api.issues.values() if issue["state"] == "open"]


def headings(world, number):
    return [re.match(r"\*\*(.+)\*\*", text)[1] for text in world.api.bodies(number)]


def test_an_alert_opens_an_issue(world):
    assert world.tell(alert()) == []
    (issue,) = world.api.issues.values()
    assert issue["title"] == "[P1] 14 blocking jobs of pytorch/pytorch are red for 3 commits in a row"
    assert {label["name"] for label in issue["labels"]} == {"area:alerting", "Pri:P1", "Team:pytorch-dev-infra"}
    fields = re.findall(r"(?m)^- \*(.+?)\*: (.+)$", issue["body"])
    assert [name for name, _ in fields] == [
        *("Occurred At", "State", "Team", "Priority", "Description", "Reason"),
        *("Runbook", "Dashboard", "View Alert", "Silence Alert"),
    ]
    assert dict(fields)["Occurred At"].replace("\\", "") == "Nov 25, 2:15am UTC"
    assert "<!-- watchkeeper fingerprint: 0000000000000001 -->" in issue["body"]
    assert world.tracker.actions["opened"] == 1


def test_the_same_again_says_nothing(world):
    world.tell(alert())
    for minutes in (5, 10, 15):
        world.now = START + 60 * minutes
        world.tell(alert())
    world.restart()
    world.tell(alert())
    assert world.api.writes() == [("POST", "/repos/o/r/issues")]


def test_an_unchanged_list_costs_nothing(world):
    world.tell(alert())
    world.tell(alert())
    world.api.requests.clear()
    world.tell(alert())
    assert [status for _, _, status in world.api.requests] == [304, 304]


def test_what_changed_is_an_update(world):
    world.tell(alert())
    world.now += 300
    world.tell(alert(reason="Number_of_jobs_Failing=15", summary="15 jobs are red"))
    (issue,) = world.api.issues.values()
    assert headings(world, issue["number"]) == ["Alert Update"]
    assert "Failing\\=15" in world.api.bodies(issue["number"])[0]
    assert "Failing\\=15" in issue["body"]
    assert issue["title"] == "[P1] 15 jobs are red"
    world.tell(alert(reason="Number_of_jobs_Failing=15", summary="15 jobs are red"))
    assert len(world.api.bodies(issue["number"])) == 1


def test_a_repeat_is_an_update(world):
    world.tell(alert())
    world.now += REPEAT - 60
    world.tell(alert())
    assert headings(world, 101) == []
    world.now += 120
    world.restart()
    world.tell(alert())
    world.tell(alert())
    assert headings(world, 101) == ["Alert Update"]


def test_resolved_closes(world):
    world.tell(alert())
    world.now += 600
    world.tell(alert(firing=False))
    (issue,) = world.api.issues.values()
    assert (issue["state"], headings(world, 101)) == ("closed", ["Alert Resolved"])
    assert "- *State*: RESOLVED" in issue["body"]
    world.restart()
    world.tell(alert(firing=False))
    assert len(world.api.bodies(101)) == 1


def test_what_was_never_told_is_not_closed(world):
    assert world.tell(alert(firing=False)) == []
    assert world.api.writes() == []


def test_it_fires_again(world):
    world.tell(alert())
    world.now = START + HOUR
    world.tell(alert(firing=False))
    world.restart()
    world.now = START + 20 * HOUR
    world.tell(alert(since=world.now - 60))
    (issue,) = world.api.issues.values()
    assert (issue["state"], headings(world, 101)) == ("open", ["Alert Resolved", "Fires Again"])
    assert world.tracker.actions["reopened"] == 1
    world.now += 600
    world.tell(alert(firing=False, since=world.now - 660))
    assert issue["state"] == "closed"


def test_much_later_it_is_another_issue(world):
    world.tell(alert())
    world.now = START + HOUR
    world.tell(alert(firing=False))
    world.now = START + 26 * HOUR
    world.tell(alert(since=world.now - 60))
    assert [issue["state"] for issue in world.api.issues.values()] == ["closed", "open"]
    world.restart()
    world.tell(alert(since=world.now - 60))
    assert len(world.api.issues) == 2


def test_who_closes_it_by_hand_is_left_in_peace(world):
    world.tell(alert())
    world.now += 600
    world.api.issues[101].update(state="closed", closed_at=world.api.iso(), updated_at=world.api.iso())
    world.now += 5 * HOUR
    world.tell(alert(reason="Number_of_jobs_Failing=20"))
    assert world.api.issues[101]["state"] == "closed"
    assert world.api.bodies(101) == []
    world.tell(alert(since=world.now - 60))  # the next time
    assert world.api.issues[101]["state"] == "open"


def test_an_old_message_changes_nothing(world):
    world.tell(alert(since=START + HOUR))
    world.tell(alert(firing=False, since=START))
    assert world.api.issues[101]["state"] == "open"


def test_what_people_write_below_stays(world):
    world.tell(alert())
    world.api.issues[101]["body"] += "\n\nIt was the *cache*, see #7.\n"
    world.api.issues[101]["updated_at"] = world.api.iso()
    world.now += 600
    world.tell(alert(firing=False))
    assert world.api.issues[101]["body"].endswith("-->\n\nIt was the *cache*, see #7.\n")


def test_one_fingerprint_is_one_issue(world):
    world.tell(alert(1), alert(2), alert(1))
    world.tell(alert(2), alert(1))
    assert len(world.api.issues) == 2


def test_a_mark_of_a_stranger_is_no_issue_of_ours(world):
    mark = "<!-- watchkeeper fingerprint: 0000000000000001 -->"
    world.api.add("mine", mark, ["area:alerting"], login="mallory")
    world.api.add("a request", mark, ["area:alerting"], pull_request={})
    world.tell(alert())
    assert len(open_issues(world)) == 3
    assert world.api.writes() == [("POST", "/repos/o/r/issues")]


@pytest.mark.parametrize(
    "by",
    [{"login": "someone", "author_association": "MEMBER"}, {"user": {"login": "app[bot]", "type": "Bot"}}],
    ids=["a member", "an app"],
)
def test_an_issue_by_who_had_the_token_before_is_ours(world, by):
    world.api.add("x", "<!-- watchkeeper fingerprint: 0000000000000001 -->", ["area:alerting"], **by)
    world.tell(alert())
    assert len(world.api.issues) == 1


def test_many_pages(world):
    world.tell(alert(1))
    for number in range(250):
        world.api.add("x", f"<!-- watchkeeper fingerprint: {number + 1000:016x} -->", ["area:alerting"])
    world.now += 2 * HOUR
    world.restart()
    world.tell(alert(1), alert(1000))
    assert len(world.api.issues) == 251


def test_a_token_that_may_not_set_labels(world, caplog):
    world.api.may_set_labels = False
    world.tell(alert(1), alert(2))
    world.tell(alert(1, firing=False))
    assert [issue["state"] for issue in world.api.issues.values()] == ["closed", "open"]
    assert [record.message for record in caplog.records if "may not set labels" in record.message] == [
        "the token may not set labels: issues are not found again after a restart; give it that right"
    ]


# What goes wrong, and then Alertmanager tells it again.
FAULTS = {
    "limit": LIMIT,
    "secondary limit": Fault(403, {"message": "You have exceeded a secondary rate limit"}, {"retry-after": "60"}),
    "too many": Fault(429, {"message": "slow down"}, {"retry-after": "30"}),
    "server": Fault(502, "<html>Unicorn!</html>"),
    "HTML": Fault(200, "<html>a proxy</html>"),
    "done, then lost": Fault(502, "<html>Unicorn!</html>", is_done=True),
    "done, then cut short": Fault(201, '{"number": 1', is_done=True),
}


@pytest.mark.parametrize("restarted", [False, True], ids=["same", "restarted"])
@pytest.mark.parametrize("writes", [0, 1, 2], ids=["list", "first write", "second write"])
@pytest.mark.parametrize("name", FAULTS)
def test_a_retry_does_what_is_left(world, name, writes, restarted):
    """Whatever request of an update fails, and in whatever way: afterwards all is done, and nothing twice."""
    fault = FAULTS[name]
    world.tell(alert())
    world.now += 600
    methods = [("GET",), ("POST",), ("PATCH",)][writes]
    # A GET is tried three times.
    world.api.faults = [fault._replace(methods=methods)] * (3 if writes == 0 else 1)
    assert world.take(alert(reason="another")) == 503
    world.api.faults = []
    world.now += HOUR + 60
    if restarted:
        world.restart()
    assert world.take(alert(reason="another")) == 200
    assert headings(world, 101) == ["Alert Update"]
    assert "another" in world.api.issues[101]["body"]
    assert len(world.api.issues) == 1


@pytest.mark.parametrize("restarted", [False, True], ids=["same", "restarted"])
@pytest.mark.parametrize("name", FAULTS)
def test_no_issue_is_opened_twice(world, name, restarted):
    world.api.faults = [FAULTS[name]._replace(methods=("POST",))]
    assert world.take(alert()) == 503
    world.now += HOUR + 60
    if restarted:
        world.restart()
    assert world.take(alert()) == 200
    assert world.take(alert()) == 200
    assert len(world.api.issues) == 1
    assert world.api.bodies(101) == []


def test_what_github_refuses_is_not_sent_again(world):
    world.api.faults = [Fault(422, {"message": "Validation Failed"}, methods=("POST",))]
    assert world.take(alert(1), alert(2)) == 422
    assert len(world.api.issues) == 1  # the other alert has its issue


def test_in_trouble_the_rest_waits(world):
    world.tell()
    world.api.faults = [Fault(502, "", methods=("POST",))]
    world.api.requests.clear()
    assert world.take(alert(1), alert(2)) == 503
    assert len(world.api.writes()) == 1


def test_a_storm_is_one_issue(world):
    world.restart(most=3)
    world.tell(*(alert(n, summary=f"alert {n} @here") for n in range(1, 9)))
    *own, storm = world.api.issues.values()
    assert len(own) == 3
    assert storm["title"] == "Alert storm: 5 alerts without an issue of their own"
    assert {label["name"] for label in storm["labels"]} == {"area:alerting"}
    assert len(re.findall(r"(?m)^- .*alert [4-8] .*held: 000000000000000[4-8] -->$", storm["body"])) == 5
    assert "@here" not in storm["body"]
    assert world.tracker.actions["held"] == 5
    world.restart(most=3)
    world.tell(*(alert(n) for n in range(1, 9)))  # again, and nothing more
    assert len(world.api.issues) == 4
    world.tell(*(alert(n, firing=False) for n in range(7, 9)))
    assert storm["title"] == "Alert storm: 3 alerts without an issue of their own"
    world.now += HOUR + 60
    world.tell(*(alert(n) for n in range(1, 7)))  # there is room now
    assert len(world.api.issues) == 7
    assert storm["state"] == "closed"
    assert "held:" not in storm["body"]


def test_issues_that_were_closed_within_the_hour_count_too(world):
    world.restart(most=1, reopen=0.0)
    world.tell(alert(1))
    world.now += 600
    world.tell(alert(1, firing=False))
    for after, issues in ((2400, 2), (1200, 3)):  # 50 minutes after the first: its summary; 70: one of its own
        world.now += after
        world.restart()
        world.tell(alert(1, since=world.now))
        assert len(world.api.issues) == issues
    assert world.api.issues[102]["state"] == "closed"


def test_the_summary_has_room(world):
    world.restart(most=1)
    assert world.tell(*(alert(n, summary="*" * 500) for n in range(1, 400))) == []
    storm = world.api.issues[102]
    assert 100 < storm["body"].count("<!-- watchkeeper held: ") < 398
    assert 55_000 < len(storm["body"]) < 65_536


def test_labels():
    templates = ("area:alerting", "Pri:{priority}", "Team:{team}", "{cluster}")
    assert labels_of(templates, {"team": "a\nb"}) == ["area:alerting", "Team:a b"]
    assert labels_of(templates, {"priority": "x" * 60}) == ["area:alerting", f"Pri:{'x' * 46}"]
    assert labels_of(templates, {"cluster": "area:alerting"}) == ["area:alerting"]


def test_metrics(world):
    def samples() -> dict[str, float]:
        return {name: value for rows in world.receiver.collect().values() for name, value in rows}

    before = samples()
    assert {value for name, value in before.items() if "errors_total" in name} == {0.0}
    assert before['issue_receiver_errors_total{reason="rate_limit"}'] == 0.0
    world.take(alert())
    world.take(alert(firing=False))
    world.api.faults = [LIMIT]
    world.take(alert(2))
    world.receiver.take(b"{}")
    after = samples()
    assert after['issue_receiver_alerts_total{status="firing"}'] == 2.0
    assert after['issue_receiver_alerts_total{status="resolved"}'] == 1.0
    for action, count in {"opened": 1.0, "commented": 1.0, "closed": 1.0, "reopened": 0.0, "held": 0.0}.items():
        assert after[f'issue_receiver_actions_total{{action="{action}"}}'] == count
    assert after['issue_receiver_errors_total{reason="rate_limit"}'] == 1.0
    assert after['issue_receiver_errors_total{reason="notification"}'] == 1.0
    assert after["issue_receiver_last_success_timestamp_seconds"] == world.now
    assert after['issue_receiver_api_requests_total{code="2xx"}'] >= 3.0


def test_a_body_that_is_no_notification(world, caplog):
    for text in (b"", b"{", b"[]", b"{}", b'{"alerts": []}', b"\xff", b"[" * 100_000, body({"fingerprint": "x"})):
        answer = world.receiver.take(text)
        assert answer.status == 400
        assert answer.body.count(b"\n") == 1
    assert len(caplog.records) == 8
    assert world.api.requests == []
