"""A branch's history from a stand-in for GitHub: what comes, and what it costs."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from github_standin import TOKEN, Fault, html, serving
from github_world import Commit, Job, Run, World, pending

from watchkeeper_fleet.github import GitHub, Trouble
from watchkeeper_fleet.trunk.blocking import Blocking
from watchkeeper_fleet.trunk.cache import Cache
from watchkeeper_fleet.trunk.fetch import history, remembered
from watchkeeper_fleet.trunk.verdict import judge

START = 1_764_000_000.0 - 1_764_000_000.0 % 3600  # a full hour, at which the budget is new


class Poller:
    """Polls a world, and says what it cost."""

    def __init__(self, standin, path):
        self.standin = standin
        self.world = standin.world
        self.path = path
        self.wanted = lambda _: True
        self.commits = 10
        self.github = None
        self.restart()

    def restart(self):
        self.close()
        self.github = GitHub(self.standin.url, lambda: TOKEN, clock=lambda: self.world.now, sleep=lambda _: None)
        self.cache = Cache(self.path)
        assert self.cache.refused == ""

    def close(self):
        if self.github is not None:
            self.github.close()

    def __call__(self, branch="main"):
        """Poll; return the commits, and leave in `asked` the statuses by the kind of question."""
        self.world.number()
        before = len(self.standin.seen)
        try:
            return history(self.github, self.cache, self.world.repo, branch, commits=self.commits, wanted=self.wanted)
        finally:
            self.cache.save()
            self.asked = {}
            for path, status in self.standin.seen[before:]:
                kind = path.partition("?")[0].rpartition("/")[2]
                self.asked.setdefault(kind, []).append(status)

    def remembered(self):
        return remembered(self.github, self.cache, self.world.repo, "main", commits=self.commits, wanted=self.wanted)

    def fails(self, branch="main") -> Trouble:
        with pytest.raises(Trouble) as caught:
            self(branch)
        return caught.value

    def used(self):
        return sum(self.standin.used.values())


@pytest.fixture
def world():
    return World(now=START)


@pytest.fixture
def poll(world, tmp_path):
    with serving(world) as standin:
        poller = Poller(standin, tmp_path / "trunk.state")
        yield poller
        poller.close()


def names(commits):
    return [[f"{run.workflow} / {job.name}" for run in commit.runs for job in run.jobs] for commit in commits]


def ends(commit):
    return {job.name: (job.attempt, job.conclusion or job.status) for run in commit.runs for job in run.jobs}


def test_commits_come_with_runs_and_jobs_newest_first(world, poll):
    world.push(Run("lint", [Job("quick")]), time=START - 600)
    world.push(
        Run(
            "pull",
            [
                Job("build", "failure", START - 300, START - 200, START - 100),
                Job("test", "success", START - 290, START - 100, START + 100),
                Job("docs", "success", START - 250, START + 50, START + 100),
            ],
        ),
        time=START - 300,
    )
    newest, oldest = poll()
    assert (newest.sha, oldest.sha) == tuple(commit.sha for commit in world.branches["main"])
    assert (newest.time, oldest.time) == (START - 300, START - 600)
    assert (newest.complete, oldest.complete) == (False, True)
    (run,) = newest.runs
    assert (run.workflow, run.attempt, run.status, run.conclusion, run.event) == (
        "pull",
        1,
        "in_progress",
        None,
        "push",
    )
    build, test, docs = run.jobs
    assert (build.workflow, build.name, build.run_id, build.attempt) == ("pull", "build", run.id, 1)
    assert (build.status, build.conclusion) == ("completed", "failure")
    assert (build.created, build.started, build.completed) == (START - 300, START - 200, START - 100)
    assert (test.status, test.conclusion, test.started, test.completed) == ("in_progress", None, START - 100, None)
    assert (docs.status, docs.conclusion, docs.completed) == ("queued", None, None)


def test_no_more_commits_than_asked_for(world, poll):
    for number in range(20):
        world.push(Run("pull", [Job(str(number))]))
    assert names(poll()) == [[f"pull / {number}"] for number in range(19, 9, -1)]
    poll.commits = 3
    assert len(poll()) == 3


def test_jobs_and_runs_come_in_pages(world, poll):
    world.push(Run("pull", [Job(f"job {number}") for number in range(230)]))
    world.push(*(Run(f"w {number}", [Job("one")]) for number in range(120)))
    runs, jobs = poll()
    assert len(runs.runs) == 120
    assert [job.name for job in jobs.runs[0].jobs] == [f"job {number}" for number in range(230)]
    assert poll.asked == {"commits": [200], "runs": [200] * 3, "jobs": [200] * 123}


def test_what_has_not_changed_costs_nothing(world, poll):
    for _ in range(3):
        world.push(Run("pull", [Job(f"job {number}") for number in range(230)]), Run("lint", [Job("x")]))
    first = poll()
    assert poll.asked == {"commits": [200], "runs": [200] * 3, "jobs": [200] * 12}
    used = poll.used()
    # Of runs that are completed the jobs are not asked for at all.
    assert poll() == first
    assert poll.asked == {"commits": [304], "runs": [304] * 3}
    assert poll.used() == used


def test_of_a_run_under_way_the_pages_that_changed_cost_something(world, poll):
    jobs = [Job(f"job {number}", completed=START + 10.0 * (number == 150)) for number in range(300)]
    world.push(Run("pull", jobs))
    assert not poll()[0].complete
    poll()
    assert poll.asked == {"commits": [304], "runs": [304], "jobs": [304] * 3}
    world.now += 10
    assert poll()[0].complete
    assert poll.asked == {"commits": [304], "runs": [200], "jobs": [304, 200, 304]}
    poll()
    assert poll.asked == {"commits": [304], "runs": [304]}


def test_a_new_commit_costs_what_is_its_own(world, poll):
    for _ in range(4):
        world.push(Run("pull", [Job("a")]))
    poll()
    world.push(Run("pull", [pending("a")]))
    assert len(poll()) == 5
    assert poll.asked == {"commits": [200], "runs": [200, 304, 304, 304, 304], "jobs": [200]}


def test_a_restart_costs_nothing(world, poll):
    world.push(Run("pull", [Job("a"), Job("b", "failure")]))
    world.push(Run("pull", [Job("a"), pending("b")]))
    first = poll()
    used = poll.used()
    poll.restart()
    before = len(poll.standin.seen)
    assert poll.remembered() == first
    assert len(poll.standin.seen) == before
    assert poll() == first
    assert poll.asked == {"commits": [304], "runs": [304, 304], "jobs": [304]}
    assert poll.used() == used


def test_nothing_is_remembered_of_what_was_never_seen(poll):
    assert poll.remembered() == []


def test_another_branch_is_not_remembered(world, poll):
    world.push(Run("pull", [Job("a")]))
    world.push(Run("pull", [Job("a")], branch="release/2.9"), branch="release/2.9")
    assert len(poll("release/2.9")[0].runs) == 1
    assert poll.remembered() == []


def test_a_run_again_is_seen(world, poll):
    run = Run("pull", [Job("a"), Job("b", "failure")])
    world.push(run)
    assert ends(poll()[0]) == {"a": (1, "success"), "b": (1, "failure")}
    world.now += 60
    run.jobs += [
        Job("a", "success", world.now, world.now + 10, world.now + 20, attempt=2),
        Job("b", "success", world.now, world.now + 10, world.now + 30, attempt=2),
    ]
    commit = poll()[0]
    assert not commit.complete
    assert ends(commit) == {"a": (2, "queued"), "b": (2, "queued")}
    world.now += 60
    commit = poll()[0]
    assert commit.complete
    assert commit.runs[0].attempt == 2
    assert ends(commit) == {"a": (2, "success"), "b": (2, "success")}
    poll()
    assert "jobs" not in poll.asked


def test_failed_jobs_that_run_again_do_not_hide_those_that_passed(world, poll):
    run = Run("pull", [Job("a"), Job("b", "failure"), Job("c", "failure")])
    world.push(run)
    poll()
    # A single one is started again: the others are of the attempt before.
    world.now += 60
    run.jobs.append(Job("b", "failure", world.now, world.now + 10, world.now + 20, attempt=2))
    commit = poll()[0]
    assert ends(commit) == {"a": (1, "success"), "b": (2, "queued"), "c": (1, "queued")}
    assert [job.completed for job in commit.runs[0].jobs if job.name == "c"] == [None]
    world.now += 60
    assert ends(poll()[0]) == {"a": (1, "success"), "b": (2, "failure"), "c": (1, "failure")}


def test_a_shard_that_runs_again_on_another_runner_is_the_same(world, poll):
    red, other = Job("test (default, 1, 2, linux.2xlarge)", "failure"), Job("test (default, 2, 2, linux.2xlarge)")
    run = Run("pull", [red, other])
    world.push(run)
    poll()
    world.now += 60
    run.jobs.append(
        Job("test (default, 1, 2, lf.linux.2xlarge)", "success", world.now, world.now + 10, world.now + 20, attempt=2)
    )
    found = {"test (default, 1, 2, lf.linux.2xlarge)": (2, "queued"), other.name: (1, "success")}
    assert ends(poll()[0]) == found
    world.now += 60
    assert ends(poll()[0]) == {**found, "test (default, 1, 2, lf.linux.2xlarge)": (2, "success")}


def test_shards_on_two_runners_in_one_attempt_are_two(world, poll):
    first, second = Job("test (default, 1, 1, small)", "failure"), Job("test (default, 1, 1, large)", "failure")
    run = Run("pull", [first, second])
    world.push(run)
    run.jobs.append(Job(first.name, "success", attempt=2))
    assert ends(poll()[0]) == {first.name: (2, "success"), second.name: (1, "failure")}


def test_a_commit_that_was_pushed_long_after_it_was_made_is_new(world, poll):
    world.push(Run("pull", [Job("a", "failure")], created=START - 60), time=START - 3 * 86400)
    verdict = judge(poll(), Blocking())
    assert [one.newest for one in verdict.streaks] == [START - 60]
    assert len(verdict.red(START - 86400)) == 1


def test_workflows_of_one_name_are_told_apart_by_their_files(world, poll):
    world.push(Run("build", [Job("linux", "failure")], file=7), Run("build", [Job("linux")], file=8))
    world.push(Run("build", [Job("linux")], file=7), Run("build", [Job("linux", "failure")], file=8))
    verdict = judge(poll(), Blocking())
    assert [(one.workflow, one.job, one.commits) for one in verdict.streaks] == [("build", "linux", 2)]
    assert (verdict.jobs, verdict.green) == (1, None)


def test_shards_of_one_name_are_all_there(world, poll):
    world.push(Run("pull", [Job("test"), Job("test", "failure")]))
    assert [job.conclusion for job in poll()[0].runs[0].jobs] == ["success", "failure"]


def test_jobs_that_come_late_are_not_missed(world, poll):
    # All that is there is completed, but more is to come: what waits for another job has no job yet.
    later = Job("test", "failure", START + 100, START + 110, START + 120)
    world.push(Run("pull", [Job("build"), later]))
    world.branches["main"][0].runs[0].status = lambda now: "completed" if now >= START + 120 else "in_progress"
    assert ends(poll()[0]) == {"build": (1, "success")}
    world.now += 120
    assert ends(poll()[0]) == {"build": (1, "success"), "test": (1, "failure")}


def test_a_run_that_is_completed_before_its_jobs_is_asked_again(world, poll):
    world.push(Run("pull", [Job("a", completed=START + 5), Job("b")]))
    world.branches["main"][0].runs[0].status = lambda _: "completed"
    assert ends(poll()[0]) == {"a": (1, "in_progress"), "b": (1, "success")}
    world.now += 5
    assert ends(poll()[0]) == {"a": (1, "success"), "b": (1, "success")}
    poll()
    assert "jobs" not in poll.asked


def test_workflows_that_are_not_wanted_cost_nothing(world, poll):
    poll.wanted = {"pull", "trunk"}.__contains__
    world.push(*(Run(name, [Job("a")]) for name in ("pull", "periodic", "trunk", "nightly")))
    assert names(poll()) == [["trunk / a", "pull / a"]]
    assert poll.asked["jobs"] == [200, 200]


def test_runs_of_something_else_on_the_same_commit_are_left_out(world, poll):
    world.push(
        Run("pull", [Job("a")]),
        Run("pull", [Job("of a tag")], branch="ciflow/trunk/12345"),
        Run("labeler", [Job("of an issue")], event="issue_comment"),
    )
    assert names(poll()) == [["pull / a"]]


def test_a_commit_without_runs_is_not_complete(world, poll):
    world.push()
    (commit,) = poll()
    assert (commit.runs, commit.complete) == ((), False)


def test_a_run_without_jobs(world, poll):
    world.push(Run("broken", []))
    (commit,) = poll()
    assert (commit.runs[0].jobs, commit.complete) == ((), True)
    # It may have been too early to ask: the question is put again, and costs nothing.
    poll()
    assert poll.asked["jobs"] == [304]
    world.branches["main"][0].runs[0].jobs.append(Job("a", "failure"))
    assert ends(poll()[0]) == {"a": (1, "failure")}
    poll()
    assert "jobs" not in poll.asked


def test_first_parents_are_the_branch(world, poll):
    """A merge brings commits that were never the branch's head; they lie between, by date."""
    log = {
        "m2": ["m1", "s2"],
        "s2": ["s1"],
        "m1": ["b", "r1"],
        "s1": ["b"],
        "r1": ["a"],
        "b": ["a"],
        "a": [],
    }
    world.branches["main"] = [Commit(sha, START, parents=parents) for sha, parents in log.items()]
    assert [commit.sha for commit in poll()] == ["m2", "m1", "b", "a"]
    poll.commits = 2
    assert [commit.sha for commit in poll()] == ["m2", "m1"]


def test_a_parent_that_is_listed_before_its_child_is_found(world, poll):
    """Clocks differ: the commit c is older by its date than its parent, which the merged s brought into the list."""
    log = {"m": ["c", "s"], "s": ["p"], "p": ["a"], "a": [], "c": ["p"]}
    world.branches["main"] = [Commit(sha, START, parents=parents) for sha, parents in log.items()]
    assert [commit.sha for commit in poll()] == ["m", "c", "p", "a"]
    poll.commits = 3
    assert [commit.sha for commit in poll()] == ["m", "c", "p"]


def test_first_parents_are_found_pages_later(world, poll):
    side = [f"s{number}" for number in range(250)]
    log = {"m": ["b", "s0"], **{sha: [f"s{number + 1}"] for number, sha in enumerate(side)}, "b": ["a"], "a": []}
    world.branches["main"] = [Commit(sha, START, parents=parents) for sha, parents in log.items()]
    poll.commits = 50
    assert [commit.sha for commit in poll()] == ["m", "b", "a"]
    assert poll.asked["commits"] == [200] * 3


def test_a_branch_that_was_pushed_with_force(world, poll):
    for name in ("a", "b", "c"):
        world.push(Run("pull", [Job(name)]))
    poll()
    old = [commit.sha for commit in world.branches["main"]]
    world.branches["main"] = world.branches["main"][2:]
    world.push(Run("pull", [Job("d")]), sha="d" * 40)
    assert names(poll()) == [["pull / d"], ["pull / a"]]
    assert poll.asked == {"commits": [200], "runs": [200, 304], "jobs": [200]}
    # Of what is gone nothing is kept.
    assert not any(sha in key for key in poll.cache.pages for sha in old[:2])
    assert any(old[2] in key for key in poll.cache.pages)


def test_an_empty_repository_has_no_commits(poll):
    assert poll() == []
    assert poll.asked == {"commits": [409]}


@pytest.mark.parametrize("status", [404, 422])
def test_a_branch_that_is_not_there(world, poll, status):
    world.push()
    poll.standin.faults.append(Fault(status, "Not Found"))
    trouble = poll.fails("mian")
    assert (trouble.reason, trouble.status) == ("not_found", status)
    assert str(trouble) == f"pytorch/pytorch has no branch mian, or the token may not see the repository ({status})"


def test_a_branch_may_have_any_name(world, poll):
    branch = 'release/2.9 & "x"?#%\U0001f525'
    world.push(Run("pull", [Job("a")], branch=branch), branch=branch)
    assert names(poll(branch)) == [["pull / a"]]


def test_a_run_that_was_deleted_meanwhile(world, poll):
    world.push(Run("pull", [Job("a")]), Run("lint", [Job("b")]))
    world.number()
    poll.standin.faults.extend([None, None, Fault(404, "Not Found")])
    assert sorted(names(poll())[0]) == ["pull / a"]


def test_a_poll_that_failed_goes_on_where_it_was(world, poll):
    for _ in range(5):
        world.push(Run("pull", [Job("a")]))
    poll.standin.faults.extend([*[None] * 7, Fault(403, "secondary rate limit", {"Retry-After": "60"})])
    trouble = poll.fails()
    assert (trouble.reason, trouble.retry_at) == ("secondary_limit", START + 60)
    world.now += 61
    assert len(poll()) == 5
    assert poll.asked == {"commits": [304], "runs": [304, 304, 304, 200, 200], "jobs": [200, 200]}


def test_a_poll_that_failed_forgets_nothing(world, poll):
    for _ in range(5):
        world.push(Run("pull", [Job("a")]))
    first = poll()
    poll.standin.faults.extend([None, *[html(502)] * 3])
    assert poll.fails().reason == "server"
    assert poll.remembered() == first
    poll.restart()
    assert poll.remembered() == first
    poll()
    assert poll.asked == {"commits": [304], "runs": [304] * 5}


@pytest.mark.parametrize(
    ("given", "is_"),
    [
        ('with "quotes"', 'with "quotes"'),
        ("two\nlines\\", "two\nlines\\"),
        ("\U0001f525 fire", "\U0001f525 fire"),
        ("half \ud83d", "half ?"),
        ("\x00\x1b[31m", "\x00\x1b[31m"),
        ("x" * 100_000, "x" * 500),
        ("", ""),
    ],
    ids=["quotes", "lines", "emoji", "half", "controls", "long", "none"],
)
def test_names_are_anything(world, poll, given, is_):
    world.push(Run("pull", [Job(given)]))
    first = poll()
    assert names(first) == [[f"pull / {is_}"]]
    poll.restart()
    assert poll.remembered() == first


SHA = "c" * 40
LOG = [{"sha": SHA, "commit": {"committer": {"date": "2025-11-24T16:00:00Z"}}, "parents": []}]
RUN = {"id": 1, "name": "pull", "head_branch": "main", "status": "completed", "conclusion": "success", "event": "push"}
JOB = {"id": 2, "name": "a", "status": "completed", "conclusion": "success"}


def answers(*bodies):
    return [Fault(200, body=json.dumps(body).encode()) for body in bodies]


@pytest.mark.parametrize(
    "bodies",
    [
        [{}],
        [{"message": "hello"}],
        [None],
        ["text"],
        [[1]],
        [[{"sha": None, "parents": []}]],
        [[{"sha": SHA, "parents": 7}]],
        [LOG, []],
        [LOG, {"workflow_runs": None}],
        [LOG, {"workflow_runs": [7]}],
        [LOG, {"workflow_runs": [{**RUN, "id": "1"}]}],
        [LOG, {"workflow_runs": [RUN]}, {"jobs": {}}],
        [LOG, {"workflow_runs": [RUN]}, {"jobs": [[]]}],
        [LOG, {"workflow_runs": [RUN]}, {"jobs": [{**JOB, "id": None}]}],
    ],
    ids=str,
)
def test_json_of_another_shape_is_malformed(poll, bodies):
    poll.standin.faults.extend(answers(*bodies))
    trouble = poll.fails()
    assert trouble.reason == "malformed"
    assert "another shape" in str(trouble)


@pytest.mark.parametrize(
    "part",
    [
        {},
        {"name": None},
        {"status": 7, "conclusion": []},
        {"run_attempt": None},
        {"run_attempt": -1},
        {"created_at": "0001-01-01T00:00:00Z", "started_at": "yesterday", "completed_at": 7},
        {"created_at": "9999-99-99T99:99:99Z", "started_at": "0000-00-00", "completed_at": {}},
    ],
    ids=str,
)
def test_what_a_row_lacks_is_left_open(poll, part):
    poll.standin.faults.extend(answers(LOG, {"workflow_runs": [RUN]}, {"jobs": [{**JOB, **part}]}))
    (commit,) = poll()
    (job,) = commit.runs[0].jobs
    assert (job.attempt, job.created, job.started, job.completed) == (1, None, None, None)
    assert (commit.time, job.id, job.run_id) == (1_764_000_000.0, 2, 1)


def test_a_commit_without_a_time_is_of_1970(poll):
    poll.standin.faults.extend(answers([{"sha": SHA, "parents": [None]}], {"workflow_runs": []}))
    (commit,) = poll()
    assert (commit.sha, commit.time) == (SHA, 0.0)


def test_a_workflow_without_a_name_has_that_of_its_file(poll):
    run = {**RUN, "name": None, "path": ".github/workflows/pull.yml"}
    poll.standin.faults.extend(answers(LOG, {"workflow_runs": [run]}, {"jobs": [JOB]}))
    assert names(poll()) == [[".github/workflows/pull.yml / a"]]
