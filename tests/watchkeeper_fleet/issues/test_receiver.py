"""The receiver as a real process, on a stand-in of GitHub's issues API: what it takes, and what it refuses."""

from __future__ import annotations

import http.client
import json
import subprocess
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import bcrypt
import pytest
from github_issues import LOGIN, TOKEN, Fault, GitHubIssues
from issues_process import VARIABLE, WATCHKEEPER, environment, receiving
from issues_world import alert, body

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def api():
    found = GitHubIssues()
    yield found
    found.close()


@pytest.fixture
def receiver(api):
    with receiving(api) as running:
        yield running


def ask(url, text=b"", path="/alerts", method="POST", headers=JSON) -> tuple[int, str]:
    client = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=60)
    try:
        client.request(method, path, text, headers)
        response = client.getresponse()
        return response.status, response.read().decode()
    finally:
        client.close()


def samples(url) -> dict[str, float]:
    status, text = ask(url, path="/metrics", method="GET", headers={})
    assert status == 200
    rows = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in rows}


def test_from_firing_to_resolved(api, receiver):
    child, url, lines = receiver
    assert ask(url, body(alert(since=time.time()))) == (200, "done\n")
    assert ask(url, body(alert(firing=False, since=time.time())), path="/")[0] == 200
    (issue,) = api.issues.values()
    assert (issue["state"], len(api.bodies(101))) == ("closed", 1)
    found = samples(url)
    assert found['issue_receiver_actions_total{action="opened"}'] == 1.0
    assert found['issue_receiver_actions_total{action="closed"}'] == 1.0
    assert ask(url, path="/-/healthy", method="GET")[0] == 200
    child.terminate()
    assert child.wait(60) == 0
    assert TOKEN not in "".join(lines)


def test_a_connection_is_kept(receiver):
    _, url, _ = receiver
    client = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=60)
    try:
        for _ in range(3):
            client.request("POST", "/alerts", body(), JSON)
            response = client.getresponse()
            assert (response.status, response.read(), response.getheader("Connection")) == (
                200,
                b"done\n",
                "keep-alive",
            )
    finally:
        client.close()


def test_a_large_notification(api, receiver):
    _, url, _ = receiver
    text = body(alert(description="x" * 2_000_000))
    assert ask(url, text)[0] == 200
    assert len(api.issues[101]["body"]) < 10_000


def test_what_is_refused(api, receiver):
    _, url, _ = receiver
    assert ask(url, b"{}")[0] == 400
    assert ask(url, b"{}", headers={"Content-Type": "text/plain"})[0] == 415
    assert ask(url, b"{}", headers={})[0] == 415
    assert ask(url, b"{}", path="/metrics")[0] == 404
    # No bodies in these: the server does not read them, and then a client may see a reset in place of the answer.
    assert ask(url, method="PUT", headers={})[0] == 405
    assert ask(url, b"", headers={**JSON, "Content-Length": str(5 * 2**20)})[0] == 413
    assert ask(url, b"", headers={**JSON, "Content-Length": "-1"})[0] == 411
    assert ask(url, b"", headers={**JSON, "Transfer-Encoding": "chunked"})[0] == 411
    assert api.requests == []


def test_many_at_the_same_time(api, receiver):
    _, url, _ = receiver
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda n: ask(url, body(alert(n % 4)))[0], range(16)))
    assert statuses == [200] * 16
    assert len(api.issues) == 4


def test_trouble_is_told_to_alertmanager_and_in_one_line(api, receiver):
    _, url, lines = receiver
    api.faults = [Fault(403, {"message": f"no\n{TOKEN} here"}, methods=("POST",))]
    status, text = ask(url, body(alert()))
    assert (status, text) == (503, "GitHub: forbidden\n")
    assert samples(url)['issue_receiver_errors_total{reason="forbidden"}'] == 1.0
    deadline = time.monotonic() + 60
    while len(lines) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert lines[1] == "WARNING: POST /repos/o/r/issues: 403: no *** here; the token may not do this\n"
    assert ask(url, body(alert()))[0] == 200


def test_who_may_ask(api, tmp_path):
    config = tmp_path / "web.yml"
    hashed = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()
    config.write_text(json.dumps({"basic_auth_users": {"alertmanager": hashed}}))
    with receiving(api, "--web-config", config) as (_, url, _):
        assert ask(url, body(alert()))[0] == 401
        assert api.requests == []
        known = {**JSON, "Authorization": "Basic YWxlcnRtYW5hZ2VyOnNlY3JldA=="}
        assert ask(url, body(alert()), headers=known)[0] == 200


def test_options(api):
    options = ["--label", "alerts", "--label", "team/{team}", "--most", 1, "--timezone", "America/Los_Angeles"]
    with receiving(api, *options) as (_, url, _):
        assert ask(url, body(alert(1, since=1_764_036_900.0), alert(2)))[0] == 200
    first, storm = api.issues.values()
    assert [label["name"] for label in first["labels"]] == ["alerts", "team/pytorch-dev-infra"]
    assert "6\\:15pm PST" in first["body"]
    assert storm["title"].startswith("Alert storm: 1 ")
    assert first["user"]["login"] == LOGIN


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing option '--repo'"),
        (["--repo", "pytorch"], "pytorch is no OWNER/NAME"),
        (["--repo", "pytorch/.."], "pytorch/.. is no OWNER/NAME"),
        (["--repo", "o/r", "--label", "Team:{team}"], "one has to be the same for all alerts"),
        (["--repo", "o/r", "--label", "a,b"], "a,b is no label"),
        (["--repo", "o/r", "--timezone", "PST8"], "PST8 is no time zone"),
        (["--repo", "o/r", "--listen", "x"], "x is no HOST:PORT such as 127.0.0.1:29402"),
        (["--repo", "o/r", "--api-url", "http://github.example.com"], "a token is sent by https alone"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_wrong_usage(arguments, message):
    done = subprocess.run(
        [WATCHKEEPER, "issue-receiver", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment(**{VARIABLE: TOKEN}),
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_no_token(tmp_path):
    for more, message in (
        ({}, f"set {VARIABLE}_FILE to a file with a token"),
        ({f"{VARIABLE}_FILE": str(tmp_path / "none")}, "can't be read"),
    ):
        done = subprocess.run(
            [WATCHKEEPER, "issue-receiver", "--repo", "o/r"],
            capture_output=True,
            text=True,
            check=False,
            env=environment(**more),
            timeout=120,
        )
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
