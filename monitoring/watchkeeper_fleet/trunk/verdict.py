"""What commits say of the branch: which jobs are red, for how many in a row, and when all was green last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from watchkeeper_fleet.trunk.blocking import SILENT, Outcome
from watchkeeper_fleet.trunk.commits import COMPLETED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from watchkeeper_fleet.trunk.blocking import Blocking
    from watchkeeper_fleet.trunk.commits import Commit, Run

# A job is gone that is not in so many of its workflow's newest runs that ended, and with its workflow where that did
# not run on so many of the newest commits.
GONE_AFTER = 3
WORKFLOW_GONE_AFTER = 10
# A run that ended before it had a job: its workflow file is broken. Its jobs would be missing, which is not red.
START = "(did not start)"
_DID_NOT_START = frozenset(("failure", "startup_failure"))
_RAN = frozenset(("success", "failure", "timed_out", "neutral"))

Key = tuple[str, str]  # workflow, and job without shard


@dataclass(frozen=True, slots=True)
class Streak:
    """A job that is red: on how many commits that are decided for it, and when the newest of these was pushed."""

    workflow: str
    job: str
    commits: int
    newest: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of the branch.

    `streaks` has the longest first; `green` is the place of the newest commit on which all passed, None where there is
    none.
    """

    jobs: int
    streaks: tuple[Streak, ...]
    undecided: int
    green: int | None

    def red(self, since: float) -> list[Streak]:
        """Return the streaks that have a commit of that time or a later one."""
        return [one for one in self.streaks if one.newest >= since]


@dataclass(frozen=True, slots=True)
class _Told:
    """What one commit tells."""

    outcomes: dict[Key, Outcome]
    running: frozenset[str]  # workflows that are not done
    ended: frozenset[str]  # those that ran to their end
    complete: bool


def judge(commits: Sequence[Commit], blocking: Blocking) -> Verdict:
    """Return what commits say, the newest of which comes first."""
    groups: dict[Key, str | None] = {}
    told = [_told(commit, blocking, groups) for commit in commits]
    keys = [key for key in dict.fromkeys(key for one in told for key in one.outcomes) if not _gone(key, told)]
    streaks = [one for one in (_streak(key, told, commits) for key in keys) if one is not None]
    return Verdict(
        jobs=sum(job != START for _, job in keys),
        streaks=tuple(sorted(streaks, key=lambda one: (-one.commits, one.workflow, one.job))),
        undecided=sum(_undecided(key, told[0]) for key in keys),
        green=next((place for place, one in enumerate(told) if _green(one)), None),
    )


def _told(commit: Commit, blocking: Blocking, groups: dict[Key, str | None]) -> _Told:
    runs = sorted((run for run in commit.runs if blocking.wants(run.workflow)), key=lambda run: run.id, reverse=True)
    files: dict[int, dict[Key, Outcome]] = {}
    for run in runs:
        of_file = files.setdefault(run.file, {})
        for key, outcome in _outcomes(run, blocking, groups).items():
            # Of several runs of a workflow the newest that knows something.
            known = of_file.get(key)
            if known is None or (known in SILENT and outcome not in SILENT):
                of_file[key] = outcome
            elif known in SILENT:
                of_file[key] = max(known, outcome)
    outcomes: dict[Key, Outcome] = {}
    for of_file in files.values():
        # A job that two files of one name have is one, as if they were its shards.
        for key, outcome in of_file.items():
            outcomes[key] = max(outcomes.get(key, Outcome.SKIPPED), outcome)
    running = frozenset(run.workflow for run in runs if run.status != COMPLETED)
    ended = frozenset(run.workflow for run in runs if run.conclusion in _RAN and run.jobs) - running
    return _Told(outcomes, running, ended, complete=bool(runs) and not running)


def _outcomes(run: Run, blocking: Blocking, groups: dict[Key, str | None]) -> dict[Key, Outcome]:
    newest: dict[str, int] = {}
    for job in run.jobs:
        newest[job.name] = max(newest.get(job.name, 0), job.attempt)
    found: dict[Key, Outcome] = {}
    for job in run.jobs:
        if job.attempt < newest[job.name]:
            continue
        name = (run.workflow, job.name)
        if name not in groups:
            groups[name] = blocking.group(*name)
        group = groups[name]
        if group is not None:
            key = (run.workflow, group)
            found[key] = max(found.get(key, Outcome.SKIPPED), blocking.outcome(job))
    if run.jobs:
        found[run.workflow, START] = Outcome.PASSED
    elif run.status == COMPLETED and run.conclusion in _DID_NOT_START:
        found[run.workflow, START] = Outcome.FAILED
    return found


def _gone(key: Key, told: Sequence[_Told]) -> bool:
    """Return whether a job is no more: it was removed, or has another name now."""
    workflow, job = key
    # A matrix that is skipped is one job, "test" for "test (default)" and "test (slow)".
    whole = (workflow, job.partition(" (")[0])
    without = commits = 0
    for one in told:
        if key in one.outcomes or one.outcomes.get(whole) == Outcome.SKIPPED:
            return False
        without += workflow in one.ended
        commits += one.complete
        if without >= GONE_AFTER or commits >= WORKFLOW_GONE_AFTER:
            return True
    return False


def _streak(key: Key, told: Sequence[_Told], commits: Sequence[Commit]) -> Streak | None:
    length, newest = 0, 0.0
    for one, commit in zip(told, commits, strict=True):
        outcome = one.outcomes.get(key)
        if outcome == Outcome.PASSED:
            break
        if outcome == Outcome.FAILED:
            newest = newest if length else commit.pushed
            length += 1
    return Streak(*key, length, newest) if length else None


def _undecided(key: Key, newest: _Told) -> bool:
    """Return whether a job has no result on the newest commit and will have one, as far as is known."""
    workflow, job = key
    if job == START:
        return False
    # Jobs that need others are not there before those have ended.
    return newest.outcomes.get(key, Outcome.PENDING if workflow in newest.running else None) == Outcome.PENDING


def _green(one: _Told) -> bool:
    found = {outcome for (_, job), outcome in one.outcomes.items() if job != START or outcome == Outcome.FAILED}
    return one.complete and Outcome.PASSED in found and found <= {Outcome.PASSED, Outcome.SKIPPED}
