"""Streaks: a table, each case a handful of commits, one a line, the newest first.

A line is the jobs of a commit: `name outcome`, with `workflow: ` before it where that is not pull. `!` before the
outcome: by a run that has not ended. `name FAIL > ok` is a retry, attempt by attempt; `name FAIL + ok` are two runs.
"""

from __future__ import annotations

import itertools
import re
from random import Random
from typing import NamedTuple

import pytest

from watchkeeper_fleet.trunk.blocking import Blocking, Outcome, without_shard
from watchkeeper_fleet.trunk.commits import Commit, Job, Run
from watchkeeper_fleet.trunk.verdict import START, judge

NOW = 1_764_000_000.0
APART = 600.0
OUTCOMES = {
    "ok": ("completed", "success"),
    "FAIL": ("completed", "failure"),
    "skipped": ("completed", "skipped"),
    "neutral": ("completed", "neutral"),
    "cancelled": ("completed", "cancelled"),
    "timeout": ("completed", "timed_out"),
    "stale": ("completed", "stale"),
    "nobody-knows": ("completed", "a conclusion of next year"),
    "consent": ("completed", "action_required"),
    "broken": ("completed", "startup_failure"),
    "queued": ("queued", None),
    "runs": ("in_progress", None),
}
JOB = re.compile(r"(?:(?P<workflow>[^:|]+): )?(?P<name>.+?) (?P<outcomes>!?[\w-]+(?: [>+] !?[\w-]+)*)")


class Case(NamedTuple):
    name: str
    commits: str
    failing: dict[str, int]
    blocking: Blocking = Blocking()
    undecided: int = 0
    green: int | None = None
    max_age: float = 24 * 3600.0
    rests: float = 0.0  # since the newest commit


CASES = [
    Case("no history", "", {}),
    Case("one green commit", "build ok", {}, green=0),
    Case("one red commit", "build FAIL", {"build": 1}),
    Case("three in a row", "build FAIL \n build FAIL \n build FAIL \n build ok", {"build": 3}, green=3),
    Case("red from the beginning", "build FAIL \n build FAIL \n build FAIL \n build FAIL", {"build": 4}),
    Case("mended", "build ok \n build FAIL \n build FAIL \n build FAIL", {}, green=0),
    Case("red, green, red", "build FAIL \n build ok \n build FAIL \n build FAIL", {"build": 1}, green=1),
    Case(
        "each job has its own streak",
        """build FAIL | test ok
           build FAIL | test FAIL
           build FAIL | test FAIL
           build ok   | test ok""",
        {"build": 3},
        green=3,
    ),
    Case(
        "the same name in two workflows",
        """build FAIL | trunk: build ok
           build FAIL | trunk: build FAIL""",
        {"build": 2},
    ),
    # Commits that say nothing of a job.
    Case(
        "the newest commit is pending, which hides nothing",
        """build runs
           build FAIL
           build FAIL
           build FAIL""",
        {"build": 3},
        undecided=1,
    ),
    Case(
        "the newest commit is queued in all, and the next as well",
        """build queued | test queued
           build queued | test runs
           build FAIL   | test ok
           build FAIL   | test ok""",
        {"build": 2},
        undecided=2,
    ),
    Case("a pending commit within", "build FAIL \n build runs \n build FAIL \n build ok", {"build": 2}, green=3),
    Case("a skipped commit within", "build FAIL \n build skipped \n build FAIL \n build ok", {"build": 2}, green=3),
    Case("a neutral commit within", "build FAIL \n build neutral \n build FAIL \n build ok", {"build": 2}, green=3),
    Case("the newest is skipped", "build skipped \n build FAIL \n build FAIL", {"build": 2}),
    Case("nothing but skipped", "build skipped \n build skipped", {}),
    Case(
        "the job did not run on all commits",
        """lint ok
           lint ok | build FAIL
           lint ok
           lint ok | build FAIL
           lint ok | build ok""",
        {"build": 2},
        green=0,
    ),
    Case(
        "its workflow did not run on all commits",
        """lint ok
           lint ok | docs: build FAIL
           lint ok
           lint ok | docs: build FAIL""",
        {"docs: build": 2},
        green=0,
    ),
    Case("a commit without any run", "\n build FAIL \n build FAIL \n build ok", {"build": 2}, green=3),
    Case("a job that waits for consent has not run", "build consent \n build FAIL", {"build": 1}, undecided=1),
    # Cancelled, timed out.
    Case("cancelled says nothing", "build cancelled \n build FAIL \n build FAIL \n build ok", {"build": 2}, green=3),
    Case("cancelled is not green", "build cancelled \n build ok", {}, green=1),
    Case("cancelled as a failure", "build cancelled \n build FAIL", {"build": 2}, Blocking(cancelled=Outcome.FAILED)),
    Case(
        "cancelled as undecided",
        "build cancelled \n build FAIL",
        {"build": 1},
        Blocking(cancelled=Outcome.PENDING),
        undecided=1,
    ),
    Case("timed out is a failure", "build timeout \n build FAIL \n build ok", {"build": 2}, green=2),
    Case(
        "timed out as nothing",
        "build timeout \n build FAIL \n build ok",
        {"build": 1},
        Blocking(timed_out=Outcome.NONE),
        green=2,
    ),
    Case("stale says nothing", "build stale \n build FAIL \n build ok", {"build": 1}, green=2),
    Case("a conclusion that is not known says nothing", "build nobody-knows \n build ok", {}, green=1),
    # Shards.
    Case(
        "one shard is red",
        """test (default, 1, 2, linux.4xlarge) ok | test (default, 2, 2, linux.4xlarge) FAIL
           test (default, 1, 2, linux.4xlarge) FAIL | test (default, 2, 2, linux.4xlarge) ok""",
        {"test (default)": 2},
    ),
    Case(
        "shards run elsewhere, and their number changes",
        """test (default, 1, 3, lf.linux.4xlarge) FAIL | test (default, 2, 3, linux.4xlarge) ok
           test (default, 1, 2, linux.4xlarge) FAIL | test (default, 2, 2, linux.4xlarge) FAIL""",
        {"test (default)": 2},
    ),
    Case(
        "a pending shard, and the others pass: the streak goes on",
        """test (default, 1, 2) ok | test (default, 2, 2) runs
           test (default, 1, 2) ok | test (default, 2, 2) FAIL
           test (default, 1, 2) ok | test (default, 2, 2) FAIL""",
        {"test (default)": 2},
        undecided=1,
    ),
    Case(
        "a pending shard within, and the others pass",
        """test (default, 1, 2) FAIL | test (default, 2, 2) ok
           test (default, 1, 2) ok   | test (default, 2, 2) queued
           test (default, 1, 2) FAIL | test (default, 2, 2) ok""",
        {"test (default)": 2},
    ),
    Case(
        "a pending shard, and another has failed: decided",
        """test (default, 1, 2) FAIL | test (default, 2, 2) runs
           test (default, 1, 2) FAIL | test (default, 2, 2) ok""",
        {"test (default)": 2},
    ),
    Case(
        "a cancelled shard, and the others pass: nobody knows",
        """test (default, 1, 2) ok | test (default, 2, 2) cancelled
           test (default, 1, 2) ok | test (default, 2, 2) FAIL""",
        {"test (default)": 1},
    ),
    Case(
        "a skipped shard, and the others pass: green",
        """test (default, 1, 2) ok | test (default, 2, 2) skipped
           test (default, 1, 2) ok | test (default, 2, 2) FAIL""",
        {},
        green=0,
    ),
    Case(
        "shards of two configurations",
        """test (slow, 1, 2) FAIL | test (slow, 2, 2) ok | test (default, 1, 2) ok | test (default, 2, 2) ok
           test (slow, 1, 2) ok | test (slow, 2, 2) FAIL | test (default, 1, 2) ok | test (default, 2, 2) FAIL""",
        {"test (slow)": 2},
    ),
    Case(
        "a matrix of versions is no shards",
        """test (ubuntu, 3, 11) FAIL | test (3.10) FAIL | test (3.11) ok
           test (3.10) FAIL | test (3.11) FAIL""",
        {"test (ubuntu)": 1, "test (3.10)": 2},
    ),
    Case("two jobs of one name are as shards", "build FAIL | build ok \n build ok | build FAIL", {"build": 2}),
    # Retries, runs.
    Case("a retry that passes", "build FAIL > ok \n build FAIL \n build FAIL", {}, green=0),
    Case("a retry that fails", "build FAIL > FAIL \n build FAIL \n build ok", {"build": 2}, green=2),
    Case("a retry under way", "build FAIL > runs \n build FAIL \n build ok", {"build": 1}, undecided=1, green=2),
    Case("a retry that is cancelled", "build FAIL > cancelled \n build FAIL \n build ok", {"build": 1}, green=2),
    Case(
        "a retry of the red shard alone",
        """test (default, 1, 2) ok | test (default, 2, 2) FAIL > ok
           test (default, 1, 2) ok | test (default, 2, 2) FAIL""",
        {},
        green=0,
    ),
    Case("a second run that passes", "build FAIL + ok \n build FAIL", {}, green=0),
    Case("a second run that fails", "build ok + FAIL \n build FAIL", {"build": 2}),
    Case("a second run that skips it", "build FAIL + skipped \n build FAIL", {"build": 2}),
    Case("a second run that was cancelled", "build FAIL + cancelled \n build FAIL", {"build": 2}),
    Case("two runs, and neither knows", "a ok | build cancelled + skipped \n a ok | build ok", {}, green=1),
    Case("the same in the other order", "a ok | build skipped + cancelled \n a ok | build ok", {}, green=1),
    Case("a second run under way", "build ok + !runs \n build FAIL", {"build": 1}, undecided=1),
    # Which jobs.
    Case(
        "unstable and other runs are left out",
        """build ok | test (default, 1, 2, linux.4xlarge, unstable) FAIL
           build ok | mem_leak_check / test FAIL | x / test (default, 1, 2, rerun_disabled_tests) FAIL
           build ok | unstable: build FAIL | pull-unstable: build FAIL""",
        {},
        green=0,
    ),
    Case(
        "a job becomes unstable",
        """build ok | test (default, 1, 1, l4, unstable) FAIL
           build ok | test (default, 1, 1, l4, unstable) FAIL
           build ok | test (default, 1, 1, l4, unstable) FAIL
           build ok | test (default, 1, 1, l4) FAIL""",
        {},
        green=0,
    ),
    Case(
        "by workflow",
        "build FAIL | trunk: build FAIL | linux-binary-wheel: build FAIL | lint: build FAIL",
        {"build": 1, "linux-binary-wheel: build": 1},
        Blocking(("pull", "linux-binary-*")),
    ),
    Case(
        "by job",
        "linux / build FAIL | linux / test FAIL | win / build FAIL | trunk: linux / build FAIL",
        {"linux / build": 1},
        Blocking(("pull / linux / *",), exclude=("* / *test*",)),
    ),
    Case("none that is wanted", "build FAIL", {}, Blocking(("trunk",))),
    # Jobs that come and go.
    Case("a new job", "build ok | new FAIL \n build ok \n build ok", {"new": 1}, green=1),
    Case(
        "a job was removed",
        """build ok
           build ok
           build ok
           build ok | old FAIL
           build ok | old FAIL
           build ok | old FAIL""",
        {},
        green=0,
    ),
    Case(
        "removed, or it has not run yet: two runs are not enough",
        "build ok \n build ok \n build ok | old FAIL \n build ok | old FAIL",
        {"old": 2},
        green=0,
    ),
    Case(
        "runs that have not ended do not tell that it was removed",
        "build !ok \n build !ok \n build !ok \n build !ok \n build ok | old FAIL",
        {"old": 1},
        undecided=1,
    ),
    Case(
        "nor do runs that were cancelled",
        "build cancelled \n build cancelled \n build cancelled \n build ok | old FAIL",
        {"old": 1},
    ),
    Case(
        "nor do runs that could not start",
        f"{START} FAIL \n {START} FAIL \n {START} FAIL \n build ok | old FAIL",
        {START: 3, "old": 1},
    ),
    Case(
        "nor do those of which a second run goes on",
        "build ok + !ok \n build ok + !ok \n build ok + !ok \n build ok | old FAIL",
        {"old": 1},
        undecided=1,
    ),
    Case("nor do commits without a run", "\n" * 10 + "build FAIL", {"build": 1}),
    Case(
        "a renamed job: both, then the new one",
        """new FAIL
           new FAIL
           new FAIL
           old FAIL
           old FAIL""",
        {"new": 3},
    ),
    Case(
        "a matrix that is skipped has another name, and was not removed",
        """build FAIL | test skipped
           build FAIL | test skipped
           build FAIL | test skipped
           build ok   | test (default, 1, 1) FAIL
           build ok   | test (default, 1, 1) FAIL""",
        {"build": 3, "test (default)": 2},
    ),
    Case(
        "a workflow was removed",
        "\n".join([*["lint: lint ok"] * 10, "lint: lint ok | build FAIL", "lint: lint ok | build FAIL"]),
        {},
        green=0,
    ),
    Case(
        "a workflow that runs now and then was not",
        "\n".join([*["lint: lint ok"] * 9, "lint: lint ok | build FAIL", "lint: lint ok | build FAIL"]),
        {"build": 2},
        green=0,
    ),
    Case(
        "jobs that need others come later",
        """build !ok
           build ok | test FAIL
           build ok | test FAIL""",
        {"test": 2},
        undecided=1,
    ),
    Case("a run that has no jobs yet", f"{START} runs \n build ok | test FAIL", {"test": 1}, undecided=2),
    Case("what can't start is not green", f"{START} FAIL | lint: lint ok", {START: 1}),
    Case("a workflow that can't start", f"{START} FAIL \n {START} FAIL \n build ok", {START: 2}, green=2),
    Case("the same, as GitHub says it too", f"{START} broken \n {START} broken \n build ok", {START: 2}, green=2),
    Case("a workflow that starts again", f"build ok \n {START} FAIL \n {START} FAIL", {}, green=0),
    # Age: as the known query, by the newest red commit.
    Case("a red branch that rests", "build FAIL \n build FAIL", {}, rests=25 * 3600.0),
    Case("old, and within", "build ok | test runs \n build ok | test FAIL", {"test": 1}, undecided=1, max_age=APART),
    Case("old", "build ok | test runs \n build ok | test FAIL", {}, undecided=1, max_age=APART - 1),
    # Green.
    Case("green is complete", "build !ok \n build ok", {}, green=1),
    Case("green in spite of what does not block", "build ok | trunk: build FAIL", {}, Blocking(("pull",)), green=0),
    Case("skipped alone is not green", "build skipped \n build ok", {}, green=1),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_streaks(case):
    verdict = judge(commits_of(case.commits), case.blocking)
    red = verdict.red(NOW + case.rests - case.max_age)
    found = {one.job if one.workflow == "pull" else f"{one.workflow}: {one.job}": one.commits for one in red}
    assert found == case.failing
    assert verdict.undecided == case.undecided
    assert verdict.green == case.green


def test_there_are_enough_cases_and_each_has_its_own_name():
    assert len({case.name for case in CASES}) == len(CASES) >= 30


def test_the_longest_streak_comes_first_and_says_when():
    verdict = judge(commits_of("a runs | b FAIL | c FAIL \n a FAIL | b FAIL | c ok \n a FAIL"), Blocking())
    assert [(one.job, one.commits, NOW - one.newest) for one in verdict.streaks] == [
        ("a", 2, APART),
        ("b", 2, 0.0),
        ("c", 1, 0.0),
    ]
    assert verdict.jobs == 3


@pytest.mark.parametrize(
    ("name", "job"),
    [
        ("build", "build"),
        ("linux / test (default, 1, 5, linux.4xlarge)", "linux / test (default)"),
        ("linux / test (default, 1, 5)", "linux / test (default)"),
        ("linux / test (default, 5, 5, lf.linux.4xlarge, unstable)", "linux / test (default)"),
        ("linux / test (default, linux.4xlarge)", "linux / test (default, linux.4xlarge)"),
        ("test, 2, 5", "test"),
        ("test (1, 5)", "test (1, 5)"),
        ("test (py, 3, 10) on (x86, 1, 2)", "test (py) on (x86)"),
        ("test (ubuntu, 3, 2)", "test (ubuntu, 3, 2)"),
        ("test (ubuntu, 0, 2)", "test (ubuntu, 0, 2)"),
        ("test (default, 1, 5, ", "test (default, 1, 5, "),
        ("1, 2, 3, 4", "1, 2"),
        ("", ""),
    ],
)
def test_names_without_shards(name, job):
    assert without_shard(name) == job


@pytest.mark.parametrize(
    ("patterns", "exclude", "wanted"),
    [
        (("*",), (), True),
        (("pull",), (), True),
        (("PULL",), (), False),
        (("pul",), (), False),
        (("trunk", "p?ll / linux*"), (), True),
        (("pull / linux*",), ("pull",), False),
        (("pull / linux*",), ("p* / *",), False),
        (("pull / linux*",), ("pull / linux*",), True),
        ((), (), False),
    ],
)
def test_workflows_of_which_nothing_is_wanted_are_not_asked_for(patterns, exclude, wanted):
    assert Blocking(patterns, exclude).wants("pull") is wanted


@pytest.mark.parametrize(
    ("pattern", "blocks"),
    [
        ("pull / test (default, 1, 5)", True),
        ("pull / test (default)", True),
        ("pull / test (default, 2, 5)", False),
        ("pull / *", True),
        ("pull / ", False),
        ("* / [tu]est *", True),
        ("pull/*", False),
    ],
)
def test_a_pattern_fits_a_job_with_its_shard_or_without(pattern, blocks):
    group = Blocking((pattern,)).group("pull", "test (default, 1, 5)")
    assert group == ("test (default)" if blocks else None)


def test_where_all_is_decided_it_is_as_the_known_query():
    """What clickhouse_db_schema/grafana_alerts/broken_viable_strict.sql of pytorch/test-infra counts."""
    random = Random(9)
    found = set()
    for _ in range(200):
        rows = [[random.choice(("ok", "FAIL", "FAIL")) for _ in range(6)] for _ in range(random.randrange(8))]
        names = [f"test ({name}, {shard}, 2, l4)" for name in ("a", "b", "c") for shard in (1, 2)]
        lines = (" | ".join(f"{name} {end}" for name, end in zip(names, row, strict=True)) for row in rows)
        commits = commits_of("\n".join(lines))
        streaks = {one.job: one.commits for one in judge(commits, Blocking()).streaks}
        for place, name in enumerate("abc"):
            red = ["FAIL" in row[2 * place : 2 * place + 2] for row in rows]
            expected = len(list(itertools.takewhile(bool, red)))
            assert streaks.get(f"test ({name})", 0) == expected
            found.add(expected)
    assert found >= {0, 1, 2, 3, 4}


def commits_of(text: str) -> list[Commit]:
    ids = itertools.count(1)
    return [
        Commit(f"{place:040x}", NOW - APART * place, tuple(runs_of(line.strip(), ids)))
        for place, line in enumerate(text.split("\n") if text else ())
    ]


def runs_of(line: str, ids: itertools.count[int]) -> list[Run]:
    runs: dict[tuple[str, int], list[Job]] = {}
    ends: dict[tuple[str, int], list[str | None]] = {}  # how its jobs ended, None where one has not
    for written in line.split("|") if line else ():
        found = JOB.fullmatch(written.strip())
        assert found, written
        workflow = found["workflow"] or "pull"
        for place, attempts in enumerate(found["outcomes"].split(" + ")):
            jobs = runs.setdefault((workflow, place), [])
            for attempt, outcome in enumerate(attempts.split(" > "), 1):
                status, conclusion = OUTCOMES[outcome.lstrip("!")]
                if found["name"] != START:
                    jobs.append(
                        Job(workflow, found["name"], place, next(ids), attempt, status, conclusion, None, None, None)
                    )
            ends.setdefault((workflow, place), []).append(None if outcome.startswith("!") else conclusion)
    return [
        Run(
            workflow,
            next(ids),
            max((job.attempt for job in jobs), default=1),
            "in_progress" if None in ends[workflow, place] else "completed",
            None if None in ends[workflow, place] else conclusion_of(ends[workflow, place]),
            "push",
            tuple(jobs),
        )
        for (workflow, place), jobs in runs.items()
    ]


def conclusion_of(ends: list[str | None]) -> str:
    return next((one for one in ("startup_failure", "failure", "cancelled", "success") if one in ends), "skipped")
