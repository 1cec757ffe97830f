"""`watchkeeper trunk-exporter` as a real process, on a stand-in of GitHub's API."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

# Not a package, so that a test finds its helper as a script does.
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from daemons import VARIABLE, WATCHKEEPER, daemon, environment
from github_standin import TOKEN, Fault, serving
from github_world import Job, Run, World

REPO = "pytorch/pytorch"
BRANCH = f'repository="{REPO}",branch="main"'


@pytest.fixture
def standin():
    # The process has the clock of this machine, by which streaks grow old.
    world = World(REPO, now=time.time())
    for number in range(3):
        jobs = [Job(f"test ({shard}, 1, 1)", "failure") for shard in ("default", "slow")]
        world.push(Run("pull", [*jobs, Job("lint")]), time=world.now - 600 + number)
    with serving(world) as server:
        yield server


def exporter(standin, *arguments, **variables):
    """Start the exporter; give the process, its URL, and a list that fills with the lines that it writes."""
    return daemon("trunk-exporter", standin.url, REPO, *arguments, **(variables or {VARIABLE: TOKEN}))


def get(url: str) -> str:
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as response:
        return response.read().decode()


def until(url: str, text: str) -> str:
    """Return the page as soon as it has the text."""
    deadline = time.monotonic() + 60
    while text not in (page := get(url)):
        assert time.monotonic() < deadline, page
        time.sleep(0.05)
    return page


def stop(child) -> None:
    child.terminate()
    assert child.wait(60) == 0


def test_from_start_to_stop_and_again(standin, tmp_path):
    state = tmp_path / "trunk.state"
    with exporter(standin, "--state", state) as (child, url, lines):
        page = until(url, f"trunk_up{{{BRANCH}}} 1.0\n")
        for commits in "123":
            assert f'trunk_jobs_failing{{{BRANCH},commits="{commits}"}} 2\n' in page
        assert f'trunk_job_failing_commits{{{BRANCH},workflow="pull",job_name="test (slow)"}} 3\n' in page
        assert f"INFO: 3 blocking jobs on the 3 newest commits of {REPO} main\n" in lines
        stop(child)
    assert state.is_file()
    assert TOKEN not in "".join(lines) + page + state.read_text()
    spent = sum(standin.used.values())
    # After the restart GitHub is away, and what was known is known still.
    standin.faults.append(Fault(403, "Resource not accessible"))
    with exporter(standin, "--state", state) as (_, url, lines):
        page = until(url, f"trunk_up{{{BRANCH}}} 0.0\n")
        assert f'trunk_jobs_failing{{{BRANCH},commits="3"}} 2\n' in page
        assert f'trunk_poll_errors_total{{{BRANCH},reason="forbidden"}} 1\n' in page
    with exporter(standin, "--state", state) as (_, url, _):
        until(url, f"trunk_up{{{BRANCH}}} 1.0\n")
    assert sum(standin.used.values()) == spent


def test_patterns_and_what_ends_are_taken_for(standin):
    standin.world.push(Run("pull", [Job("lint", "cancelled")]), time=standin.world.now)
    options = ["--job", "pull / [tl]*", "--exclude", "* / *slow*", "--cancelled", "fail", "--commits", "3"]
    with exporter(standin, *options, "--max-age", "30d", "--timed-out", "ignore") as (_, url, _):
        page = until(url, f"trunk_up{{{BRANCH}}} 1.0\n")
    assert f"trunk_jobs{{{BRANCH}}} 2\n" in page
    assert f'trunk_job_failing_commits{{{BRANCH},workflow="pull",job_name="lint"}} 1\n' in page
    assert f'trunk_job_failing_commits{{{BRANCH},workflow="pull",job_name="test (default)"}} 2\n' in page


def test_a_token_from_a_file_and_state_where_systemd_says(standin, tmp_path):
    token = tmp_path / "token"
    token.write_text("expired\n")
    with exporter(standin, **{f"{VARIABLE}_FILE": str(token), "STATE_DIRECTORY": str(tmp_path)}) as (child, url, lines):
        page = until(url, f"trunk_up{{{BRANCH}}} 0.0\n")
        assert f'trunk_poll_errors_total{{{BRANCH},reason="unauthorized"}} 1\n' in page
        stop(child)
    assert (tmp_path / "trunk.state").is_file()
    (line,) = [line for line in lines if line.startswith("WARNING")]
    assert "Bad credentials" in line
    assert "expired?" in line
    assert "Traceback" not in "".join(lines)
    token.write_text(f"{TOKEN}\n")
    with exporter(standin, **{f"{VARIABLE}_FILE": str(token)}) as (_, url, _):
        until(url, f"trunk_up{{{BRANCH}}} 1.0\n")


def test_while_a_limit_holds_the_page_is_served(standin):
    standin.faults.append(Fault(429, "Slow down", {"Retry-After": "3000"}))
    with exporter(standin) as (child, url, _):
        page = until(url, f"trunk_up{{{BRANCH}}} 0.0\n")
        assert f'trunk_poll_errors_total{{{BRANCH},reason="secondary_limit"}} 1\n' in page
        assert f"trunk_last_success_timestamp_seconds{{{BRANCH}}} 0.0\n" in page
        assert "trunk_jobs_failing{" not in page
        stop(child)


WRONG = {
    "no repository": ([], "Missing option '--repo'"),
    "no owner": (["--repo", "pytorch"], "pytorch is no OWNER/NAME such as pytorch/pytorch"),
    "an address": (["--repo", "https://github.com/a/b"], "is no OWNER/NAME"),
    "a folder": (["--repo", "../b"], "is no OWNER/NAME"),
    "another folder": (["--repo", "a/.."], "is no OWNER/NAME"),
    "no branch": (["--repo", "a/b", "--branch", ""], "a branch has a name"),
    "a branch of two lines": (["--repo", "a/b", "--branch", "a\nb"], "a branch has a name"),
    "no unit": (["--repo", "a/b", "--interval", "5"], "5 is no duration such as 90s, 5m, 24h or 7d"),
    "too often": (["--repo", "a/b", "--interval", "1s"], "1s is not within 10s and 1d"),
    "a conclusion": (["--repo", "a/b", "--cancelled", "maybe"], "'maybe' is not one of"),
    "no commits": (["--repo", "a/b", "--commits", "0"], "0 is not in the range 1<=x<=100"),
    "an empty pattern": (["--repo", "a/b", "--job", ""], "a pattern has at least one character"),
    "no port": (["--repo", "a/b", "--listen", "localhost"], "localhost is no HOST:PORT such as 127.0.0.1:29401"),
    "in clear": (["--repo", "a/b", "--api-url", "http://github.example.com"], "a token is sent by https alone"),
    "no address of an API": (["--repo", "a/b", "--api-url", "github"], "github"),
}


# In a process of its own, since what is not refused would serve; one for all, since each takes time to start.
REFUSING = """
import json, sys
from click.testing import CliRunner
from watchkeeper.cli.app import app
for arguments in json.load(sys.stdin):
    run = CliRunner().invoke(app, ["trunk-exporter", "--listen", "127.0.0.1:0", *arguments])
    print(json.dumps([run.exit_code, run.output]), flush=True)
"""


@pytest.fixture(scope="module")
def refused():
    run = subprocess.run(
        [sys.executable, "-c", REFUSING],
        input=json.dumps([arguments for arguments, _ in WRONG.values()]),
        capture_output=True,
        text=True,
        env=environment(),
        timeout=300,
        check=False,
    )
    return dict(zip(WRONG, map(json.loads, run.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage_is_told_in_a_line(refused, case):
    status, output = refused[case]
    assert status == 2, output
    assert WRONG[case][1] in output
    assert "Traceback" not in output


def test_two_tokens_are_one_too_many(tmp_path):
    variables = {VARIABLE: TOKEN, f"{VARIABLE}_FILE": str(tmp_path / "token")}
    command = [WATCHKEEPER, "trunk-exporter", "--listen", "127.0.0.1:0", "--repo", "a/b"]
    run = subprocess.run(
        command, capture_output=True, text=True, env=environment(**variables), timeout=120, check=False
    )
    assert run.returncode == 2
    assert f"set {VARIABLE} or {VARIABLE}_FILE, not both" in run.stderr
    assert TOKEN not in run.stderr


def test_an_address_that_is_taken(standin):
    with exporter(standin) as (_, url, _):
        until(url, f"trunk_up{{{BRANCH}}} 1.0\n")
        asked = len(standin.seen)
        taken = url.removeprefix("http://")
        command = [WATCHKEEPER, "trunk-exporter", "--listen", taken, "--repo", REPO, "--api-url", standin.url]
        run = subprocess.run(
            command, capture_output=True, text=True, env=environment(**{VARIABLE: TOKEN}), timeout=120, check=False
        )
    assert run.returncode == 1
    assert f"error: can't listen on {taken}: Address already in use" in run.stderr
    assert len(standin.seen) == asked
