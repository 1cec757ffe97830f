"""What the exporter serves: by the real client, from a stand-in of GitHub's API on loopback."""

from __future__ import annotations

import logging
import math
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as text_families

from watchkeeper.contract import Counter, Metric
from watchkeeper_fleet.exporter.text import render
from watchkeeper_fleet.github import REASONS, STATUSES, GitHub
from watchkeeper_fleet.metrics import trunk as metrics
from watchkeeper_fleet.trunk.blocking import Blocking
from watchkeeper_fleet.trunk.cache import Cache
from watchkeeper_fleet.trunk.exporter import Branch, Trunk

# Not a package, so that a test finds its helper as a script does.
sys.path.insert(0, str(Path(__file__).parent))

from github_standin import TOKEN, Fault, cut_short, hang_up, html, serving
from github_world import Job, Run, World, pending

REPO = "pytorch/pytorch"
BRANCH = f'repository="{REPO}",branch="main"'
MINUTE = 60.0
PAGE = Path(__file__).parents[3] / "docs/trunk.md"


class Exporter:
    """One process' worth of an exporter."""

    def __init__(self, standin, state, *, token=TOKEN, **options):
        self.world = standin.world
        self.github = GitHub(
            standin.url, lambda: token, clock=lambda: self.world.now, sleep=lambda _: None, jitter=lambda: 0.5
        )
        of = Branch(REPO, "main", options.pop("blocking", Blocking()), **options)
        self.trunk = Trunk(of, self.github, Cache(state), clock=lambda: self.world.now)

    def poll(self, after: float = 0.0) -> float:
        self.world.now += after
        return self.trunk.poll()

    def text(self) -> str:
        return render(self.trunk.collect()).decode()

    def scrape(self) -> dict[str, float]:
        rows = [row for rows in self.trunk.collect().values() for row in rows]
        assert len(dict(rows)) == len(rows), "a series was served twice"
        return dict(rows)

    def failing(self) -> list[float]:
        found = self.scrape()
        return [found[f'trunk_jobs_failing{{{BRANCH},commits="{commits}"}}'] for commits in (1, 2, 3)]

    def errors(self) -> dict[str, float]:
        pattern = re.compile(rf'trunk_poll_errors_total{{{re.escape(BRANCH)},reason="(\w+)"}}')
        return {found[1]: value for series, value in self.scrape().items() if (found := pattern.fullmatch(series))}

    def value(self, metric: Metric) -> float | None:
        return self.scrape().get(f"{metric.name}{{{BRANCH}}}" if metric.labels else metric.name)

    def named(self) -> dict[str, float]:
        start = f'trunk_job_failing_commits{{{BRANCH},workflow="pull",job_name="'
        return {one[len(start) : -2]: value for one, value in self.scrape().items() if one.startswith(start)}


@pytest.fixture
def world():
    return World(REPO)


@pytest.fixture
def standin(world):
    with serving(world) as server:
        yield server


@pytest.fixture
def make(standin, tmp_path):
    """Make an exporter on the state of the one before it."""
    made = []

    def one(state="trunk.state", **options):
        made.append(Exporter(standin, tmp_path / state, **options))
        return made[-1]

    yield one
    for exporter in made:
        exporter.github.close()


def push(world, *jobs, after=10 * MINUTE, workflow="pull"):
    """Push a commit, on which these jobs run: a Job, or its name, with a ! before it where it fails."""
    world.now += after
    made = [
        one
        if isinstance(one, Job)
        else Job(one.removeprefix("!"), "failure" if one.startswith("!") else "success", *[world.now] * 3)
        for one in jobs
    ]
    return world.push(Run(workflow, made, created=world.now))


def test_before_the_first_poll_all_counters_are_there(make):
    exporter = make()
    found = exporter.scrape()
    assert exporter.errors() == dict.fromkeys((*REASONS, "internal"), 0)
    for code in STATUSES:
        assert found[f'trunk_api_requests_total{{code="{code}"}}'] == 0
    assert found[f"trunk_job_queue_seconds_count{{{BRANCH}}}"] == 0
    assert found[f'trunk_job_run_seconds_bucket{{{BRANCH},le="+Inf"}}'] == 0
    # What is not known is not there, or nobody would see that it is not.
    for metric in (metrics.JOBS_FAILING, metrics.LAST_SUCCESS, metrics.LAST_GREEN, metrics.UP, metrics.API_REMAINING):
        assert metric.name not in exporter.trunk.collect()


def test_the_hud_alert(world, make):
    jobs = [f"linux-{number} / test (default, {shard}, 2, linux.4xlarge)" for number in range(14) for shard in (1, 2)]
    green = push(world, *jobs, "lint")
    for _ in range(3):
        push(world, *(f"!{job}" if ", 2, 2," in job else job for job in jobs), "lint")
    push(world, *map(pending, jobs), "!lint")
    exporter = make()
    exporter.poll(after=MINUTE)
    assert exporter.failing() == [15, 14, 14]
    assert exporter.value(metrics.JOBS) == 15
    assert exporter.value(metrics.JOBS_UNDECIDED) == 14
    assert exporter.value(metrics.LAST_GREEN) == green.time
    assert exporter.value(metrics.COMMITS_SINCE_GREEN) == 4
    assert exporter.value(metrics.LAST_SUCCESS) == world.now
    assert exporter.value(metrics.UP) == 1
    assert exporter.value(metrics.API_LIMIT) == 5000
    assert exporter.value(metrics.API_REMAINING) == 5000 - 1 - 5 - 5
    assert exporter.value(metrics.API_RESET) == math.ceil(world.now / 3600) * 3600
    assert exporter.value(metrics.JOBS_UNNAMED) == 0
    assert exporter.named() == {"lint": 1, **{f"linux-{number} / test (default)": 3 for number in range(14)}}


def test_jobs_are_named_as_long_as_they_are_red_and_no_more_than_some(world, make):
    jobs = [f"job {number:02}" for number in range(60)]
    push(world, *jobs[:59], "!job 59")
    push(world, *(f"!{job}" for job in jobs))
    exporter = make()
    exporter.poll()
    assert exporter.named() == {"job 59": 2, **dict.fromkeys(jobs[:49], 1)}
    assert exporter.value(metrics.JOBS_UNNAMED) == 10
    push(world, *jobs[:-1], "!job 59")
    exporter.poll()
    assert exporter.named() == {"job 59": 3}
    push(world, *jobs)
    exporter.poll()
    assert exporter.named() == {}
    assert exporter.failing() == [0, 0, 0]


NAMES = [
    'say "hello"',
    "two\nlines",
    "rocket \N{ROCKET}",
    "C:\\new",
    "{a=~b}",
    "x" * 400,
    "",
    "\ud83d",
    "tab\tand\rmore",
]


def test_whatever_a_job_is_called_the_page_can_be_read(world, make):
    push(world, *(Job(name, "failure") for name in NAMES))
    exporter = make()
    exporter.poll()
    assert exporter.failing() == [len(NAMES), 0, 0]
    samples = exporter.trunk.collect()
    expected = {name.encode("utf-8", "replace").decode() for name in NAMES}
    for families in (
        text_families(render(samples).decode()),
        openmetrics_families(render(samples, openmetrics=True).decode()),
    ):
        found = {one.labels["job_name"] for family in families for one in family.samples if "job_name" in one.labels}
        assert found == expected
    if shutil.which("promtool"):
        run = subprocess.run(["promtool", "check", "metrics"], input=render(samples), capture_output=True, check=False)
        assert (run.stdout + run.stderr).decode() == ""


def test_a_pattern_that_fits_nothing_is_told(world, make, caplog):
    push(world, "!build")
    exporter = make(blocking=Blocking(("pull request",)))
    with caplog.at_level(logging.INFO):
        exporter.poll()
        exporter.poll()  # and is not told again
    assert exporter.value(metrics.JOBS) == 0
    assert [one.levelname for one in caplog.records] == ["WARNING"]
    assert f"0 blocking jobs on the 1 newest commits of {REPO} main" in caplog.text


def test_a_branch_without_commits_is_neither_red_nor_an_error(make):
    exporter = make()
    exporter.poll()
    assert exporter.failing() == [0, 0, 0]
    assert exporter.value(metrics.UP) == 1
    assert exporter.value(metrics.LAST_GREEN) is None


def test_a_red_branch_that_rests(world, make):
    push(world, "!build")
    exporter = make(max_age=3600.0)
    exporter.poll()
    world.now += 3599
    assert exporter.failing() == [1, 0, 0]
    # Also where no poll comes in between.
    world.now += 2
    assert exporter.failing() == [0, 0, 0]
    assert exporter.named() == {}


# Queue and run times.


def observed(exporter):
    found = exporter.scrape()
    return tuple(
        (found[f"trunk_job_{name}_seconds_count{{{BRANCH}}}"], found[f"trunk_job_{name}_seconds_sum{{{BRANCH}}}"])
        for name in ("queue", "run")
    )


def test_each_job_is_counted_once_when_it_started_and_when_it_ended(world, make):
    now = world.now
    push(world, Job("old", "success", now - 900, now - 800, now - 700), after=0)
    exporter = make()
    exporter.poll()
    # Over before anybody looked: of no time that is shown.
    assert observed(exporter) == ((0, 0), (0, 0))
    push(world, Job("new", "failure", now + 100, now + 150, now + 1000), after=100)
    exporter.poll()
    assert observed(exporter) == ((0, 0), (0, 0))
    exporter.poll(after=100)
    assert observed(exporter) == ((1, 50), (0, 0))
    exporter = make()
    assert observed(exporter) == ((1, 50), (0, 0))
    exporter.poll(after=1000)
    assert observed(exporter) == ((1, 50), (1, 850))
    exporter = make()
    exporter.poll(after=1000)
    exporter.poll(after=1000)
    assert observed(exporter) == ((1, 50), (1, 850))
    found = exporter.scrape()
    assert found[f'trunk_job_queue_seconds_bucket{{{BRANCH},le="30.0"}}'] == 0
    assert found[f'trunk_job_queue_seconds_bucket{{{BRANCH},le="60.0"}}'] == 1
    assert found[f'trunk_job_queue_seconds_bucket{{{BRANCH},le="+Inf"}}'] == 1


def test_a_job_that_github_shows_late_is_counted(world, make):
    exporter = make()
    exporter.poll()
    push(world, Job("build", "success", world.now - 100, world.now - 90, world.now - 30), after=0)
    exporter.poll(after=MINUTE)
    assert observed(exporter) == ((1, 10), (1, 60))


@pytest.mark.parametrize(
    ("job", "waited", "ran"),
    [
        (Job("skipped", "skipped"), 0, 0),
        (Job("cancelled", "cancelled"), 0, 0),
        (Job("timed out", "timed_out"), 1, 1),
        (Job("does not block, unstable", "failure"), 0, 0),
    ],
    ids=lambda one: getattr(one, "name", None),
)
def test_jobs_that_did_not_run_or_do_not_block_are_not_counted(world, make, job, waited, ran):
    exporter = make()
    push(world, "build")
    exporter.poll(after=1)
    job.created, job.started, job.completed = (world.now + seconds for seconds in (600, 610, 700))
    push(world, job)
    exporter.poll(after=200)
    ((queued, _), (done, _)) = observed(exporter)
    assert (queued, done) == (waited, ran)


def test_what_a_new_attempt_took_over_is_not_counted_again(world, make):
    exporter = make()
    exporter.poll()
    now = world.now
    again = [
        Job("good", "success", now + 900, now + 110, now + 200, attempt=2),  # a copy, as its start says
        Job("bad", "success", now + 900, now + 920, now + 1000, attempt=2),
    ]
    push(world, Job("good", "success", *(now + 100, now + 110, now + 200)), Job("bad", "failure", *[now + 100] * 3))
    exporter.poll(after=300)
    assert observed(exporter) == ((2, 10), (2, 90))
    world.branches["main"][0].runs[0].jobs += again
    world.number()
    exporter.poll(after=600)
    assert observed(exporter) == ((3, 30), (3, 170))


def test_more_commits_than_before_are_not_counted_anew(world, make):
    exporter = make(commits=2)
    exporter.poll()
    for _ in range(6):
        push(world, Job("build", "success", world.now + 600, world.now + 610, world.now + 700), after=3600)
        exporter.poll(after=MINUTE)
    before = observed(exporter)
    exporter = make(commits=10)
    exporter.poll(after=MINUTE)
    assert exporter.value(metrics.LAST_GREEN) == world.branches["main"][0].time
    assert observed(exporter) == before
    assert before[0][0] == 6


# What goes wrong.

FAULTS = {
    "unauthorized": [Fault(401, "Bad credentials")],
    "forbidden": [Fault(403, "Resource not accessible by personal access token")],
    "secondary_limit": [Fault(403, "You have exceeded a secondary rate limit.", {"Retry-After": "1200"})],
    "rate_limit": [
        Fault(403, "API rate limit exceeded", {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1764003000"})
    ],
    "malformed": [html()] * 3,
    "server": [html(502)] * 3,
    "network": [hang_up()] * 6,  # of a connection that was kept, the first is no failure
    "not_found": [Fault(404, "Not Found")],
}


@pytest.mark.parametrize("reason", FAULTS)
def test_a_poll_that_fails_is_counted_and_told_in_one_line_and_red_stays_red(world, standin, make, caplog, reason):
    push(world, "!build")
    exporter = make()
    exporter.poll()
    success = world.now
    standin.faults.extend(FAULTS[reason])
    exporter.poll(after=5 * MINUTE)
    standin.faults.clear()
    assert exporter.errors() == {**dict.fromkeys((*REASONS, "internal"), 0), reason: 1}
    (record,) = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert f"the poll failed ({reason}): " in record.getMessage()
    assert "\n" not in record.getMessage()
    assert TOKEN not in caplog.text + exporter.text()
    assert exporter.value(metrics.UP) == 0
    assert exporter.value(metrics.LAST_SUCCESS) == success
    assert exporter.failing() == [1, 0, 0]
    push(world, "build", after=3600)
    exporter.poll()
    assert exporter.value(metrics.UP) == 1
    assert exporter.value(metrics.LAST_SUCCESS) == world.now
    assert exporter.failing() == [0, 0, 0]


def test_a_body_that_is_cut_short_costs_one_try(world, standin, make):
    push(world, "!build")
    exporter = make()
    standin.faults.append(cut_short())
    exporter.poll()
    assert exporter.value(metrics.UP) == 1
    assert exporter.failing() == [1, 0, 0]


def test_an_exporter_that_never_succeeded_says_so(make):
    exporter = make(token="expired")
    exporter.poll()
    assert exporter.value(metrics.UP) == 0
    assert exporter.value(metrics.LAST_SUCCESS) == 0  # so that TrunkDataStale fires
    assert metrics.JOBS_FAILING.name not in exporter.trunk.collect()


def test_a_branch_that_does_not_exist(world, make, caplog):
    del world.branches["main"]
    world.push(branch="other")
    exporter = make()
    exporter.poll()
    assert exporter.errors()["not_found"] == 1
    assert f"{REPO} has no branch main" in caplog.text


def test_the_next_poll_comes_when_it_may(world, standin, make):
    push(world, "build")
    assert make(interval=0.0).poll() == 1
    exporter = make(interval=300.0)
    assert 200 < exporter.poll() <= 300  # less what it took
    standin.faults.append(FAULTS["secondary_limit"][0])
    assert exporter.poll() == pytest.approx(1200, abs=5)


def test_a_fault_of_the_exporter_ends_one_poll_only(world, make, caplog):
    class Broken(Blocking):
        def wants(self, workflow):
            raise LookupError(workflow)

    push(world, "build")
    exporter = make(blocking=Broken())
    exporter.poll()
    assert exporter.errors()["internal"] == 1
    assert exporter.value(metrics.UP) == 0
    assert "the poll failed by a fault of the exporter" in caplog.text


# State.


def test_a_restart_costs_nothing_and_loses_nothing(world, standin, make):
    push(world, "build")
    for _ in range(3):
        push(world, "!build")
    exporter = make()
    exporter.poll()
    before, spent = exporter.scrape(), sum(standin.used.values())
    standin.seen.clear()
    exporter = make()
    # All that it knew, before any request.
    assert standin.seen == []
    assert exporter.failing() == [1, 1, 1]
    same = [name for name in before if name.startswith(("trunk_job", "trunk_last", "trunk_commits"))]
    assert len(same) > 20
    assert {name: exporter.scrape()[name] for name in same} == {name: before[name] for name in same}
    exporter.poll()
    assert {name: exporter.scrape()[name] for name in same} == {name: before[name] for name in same}
    assert sum(standin.used.values()) == spent
    assert set(standin.statuses) == {304}


def test_a_restart_while_the_api_is_away(world, standin, make):
    for _ in range(3):
        push(world, "!build")
    make().poll()
    success = world.now
    standin.faults.extend([html(502)] * 3)
    exporter = make()
    exporter.poll(after=3600)
    assert exporter.failing() == [1, 1, 1]
    assert exporter.value(metrics.LAST_SUCCESS) == success


def test_other_options_and_an_api_that_is_away_are_not_green(world, standin, make):
    push(world, "!build")
    make().poll()
    standin.faults.append(Fault(403, "Resource not accessible"))
    exporter = make(commits=7)
    exporter.poll()
    assert metrics.JOBS_FAILING.name not in exporter.trunk.collect()
    exporter.poll()
    assert exporter.failing() == [1, 0, 0]


def test_the_state_of_another_branch_is_not_taken(world, make):
    push(world, "!build")
    make().poll()
    world.branches["other"] = []
    exporter = make()
    exporter.trunk = Trunk(
        Branch(REPO, "other", Blocking()), exporter.github, exporter.trunk._cache, clock=lambda: world.now
    )
    assert not {metrics.JOBS_FAILING.name, metrics.LAST_SUCCESS.name} & exporter.trunk.collect().keys()


@pytest.mark.parametrize("garbage", [b"", b"garbage", b'{"format": "watchkeeper trunk", "version": 1}\n'])
def test_a_state_that_can_not_be_read_is_told_and_made_anew(world, make, tmp_path, caplog, garbage):
    (tmp_path / "trunk.state").write_bytes(garbage)
    push(world, "!build")
    exporter = make()
    assert exporter.value(metrics.STATE_REFUSED) == 1
    assert len(caplog.records) == 1
    exporter.poll()
    assert exporter.failing() == [1, 0, 0]
    assert make().value(metrics.STATE_REFUSED) == 0


def test_a_state_that_can_not_be_written_is_told(world, make, caplog):
    push(world, "!build")
    exporter = make(state="no/such/folder/trunk.state")
    exporter.poll()
    exporter.poll()
    assert [one.getMessage().partition(":")[0] for one in caplog.records] == ["nothing is kept"]
    assert exporter.scrape()["watchkeeper_state_saved"] == 0
    assert exporter.failing() == [1, 0, 0]


# Green.


def test_a_green_commit_is_remembered_when_others_have_pushed_it_out(world, make):
    green = push(world, "build")
    exporter = make(commits=3)
    exporter.poll()
    for number in range(1, 6):
        push(world, "!build")
        exporter = make(commits=3)
        exporter.poll()
        assert exporter.value(metrics.LAST_GREEN) == green.time
        assert exporter.value(metrics.COMMITS_SINCE_GREEN) == number
    # So many in between that nobody knows how many: at least those that are seen.
    for _ in range(10):
        push(world, "!build")
    exporter.poll()
    assert exporter.value(metrics.LAST_GREEN) == green.time
    assert exporter.value(metrics.COMMITS_SINCE_GREEN) >= 3


def test_a_green_commit_that_was_rewritten_is_none(world, make):
    push(world, "!build")
    push(world, "build")
    exporter = make()
    exporter.poll()
    assert exporter.value(metrics.COMMITS_SINCE_GREEN) == 0
    del world.branches["main"][0]
    push(world, "!build").sha = "f" * 40
    exporter.poll()
    assert exporter.value(metrics.LAST_GREEN) is None
    assert exporter.failing() == [1, 1, 0]


def test_a_green_commit_of_which_a_job_ran_again_and_failed_is_none(world, make):
    commit = push(world, "build")
    exporter = make()
    exporter.poll()
    assert exporter.value(metrics.COMMITS_SINCE_GREEN) == 0
    commit.runs[0].jobs.append(Job("build", "failure", *[world.now + 60] * 3, attempt=2))
    world.number()
    exporter.poll(after=120)
    assert exporter.value(metrics.LAST_GREEN) is None


# The loop, the contract.


def test_it_polls_until_it_is_stopped(world, standin, make):
    push(world, "build")
    exporter = make(interval=0.0)  # a second, at the least
    stopping = threading.Event()
    thread = threading.Thread(target=exporter.trunk.run, args=(stopping,))
    thread.start()
    try:
        deadline = threading.Event()
        for _ in range(600):
            if len([path for path, _ in list(standin.seen) if "/commits" in path]) >= 2:
                break
            deadline.wait(0.1)
        else:
            pytest.fail("it did not poll a second time")
    finally:
        stopping.set()
        thread.join(60)
    assert not thread.is_alive()


def test_all_that_is_declared_is_served_and_told_of(world, make):
    push(world, "build")
    push(world, "!build")
    exporter = make()
    exporter.poll()
    declared = {one.name for one in vars(metrics).values() if isinstance(one, Metric)}
    served = set(exporter.trunk.collect())
    assert served == declared | {"watchkeeper_state_saved"}
    assert set(re.findall(r"`(trunk_[a-z_]+)`", PAGE.read_text())) >= declared
    assert all(one.name.endswith("_total") for one in vars(metrics).values() if isinstance(one, Counter))


def test_every_reason_is_told_of():
    rows = PAGE.read_text().split("| `reason` |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `([a-z_]+)`", rows, re.MULTILINE)) == {*REASONS, "internal"}
