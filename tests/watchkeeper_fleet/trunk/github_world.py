"""Repositories as plans: commits, runs and jobs with the times at which they change; what is so now follows from these.

The shapes are those of GitHub's REST API, version 2022-11-28, with the fields that nobody here reads.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

STEPS = 8
NEVER = float("inf")


@dataclass
class Job:
    """A job of an attempt. With times in the future it is not there, queued or in progress."""

    name: str
    conclusion: str = "success"
    created: float = 0.0
    started: float = 0.0
    completed: float = 0.0
    attempt: int = 1
    id: int = 0

    def status(self, now: float) -> str:
        return "completed" if now >= self.completed else "in_progress" if now >= self.started else "queued"

    def steps(self, now: float) -> int:
        """Return how many of its steps are done: a page with a job that runs is another one minutes later."""
        if now >= self.completed:
            return STEPS
        return int(STEPS * (now - self.started) / (self.completed - self.started)) if now > self.started else 0


def pending(name: str, attempt: int = 1) -> Job:
    return Job(name, started=NEVER, completed=NEVER, attempt=attempt)


@dataclass
class Run:
    """A run of a workflow, with the jobs of all its attempts."""

    workflow: str
    jobs: list[Job]
    created: float = 0.0
    event: str = "push"
    branch: str = "main"
    id: int = 0
    file: int = 0

    def attempt(self, now: float) -> int:
        return max((job.attempt for job in self.jobs if job.created <= now), default=1)

    def newest(self, now: float) -> list[Job]:
        attempt = self.attempt(now)
        return [job for job in self.jobs if job.attempt == attempt]

    def status(self, now: float) -> str:
        jobs = self.newest(now)
        if all(now >= job.completed for job in jobs):
            return "completed"
        return "in_progress" if any(now >= job.started for job in jobs) else "queued"

    def conclusion(self, now: float) -> str | None:
        if self.status(now) != "completed":
            return None
        found = {job.conclusion for job in self.newest(now)}
        return next((one for one in ("failure", "timed_out", "cancelled") if one in found), "success")


@dataclass
class Commit:
    sha: str
    time: float = 0.0
    runs: list[Run] = field(default_factory=list)
    parents: list[str] | None = None  # the commit after it in the list, where none are named


class World:
    """One repository. `branches` has each branch's log, newest first; what is later than now is not pushed yet."""

    def __init__(self, repo: str = "pytorch/pytorch", now: float = 1_764_000_000.0) -> None:
        self.repo = repo
        self.now = now
        self.branches: dict[str, list[Commit]] = {"main": []}
        self.issues: list[dict] = []
        self._ids = itertools.count(10_000_000_000)

    def push(self, *runs: Run, time: float | None = None, branch: str = "main", sha: str = "", **commit) -> Commit:
        """Put a commit on a branch."""
        log = self.branches.setdefault(branch, [])
        sha = sha or hashlib.sha1(f"{branch} {len(log)}".encode(), usedforsecurity=False).hexdigest()
        log.insert(0, Commit(sha, self.now if time is None else time, list(runs), **commit))
        self.number()
        return log[0]

    def number(self) -> None:
        """Give an id to each run and job that has none: call it after a change to one."""
        for run in self.runs():
            run.id = run.id or next(self._ids)
            for job in run.jobs:
                job.id = job.id or next(self._ids)

    def runs(self) -> Iterator[Run]:
        for log in self.branches.values():
            for commit in log:
                yield from commit.runs

    # What the API answers: a key that changes with it, and the rows.

    def commits(self, branch: str) -> list[dict] | None:
        if branch not in self.branches:
            return None
        log = [commit for commit in self.branches[branch] if commit.time <= self.now]
        parents = [*(commit.sha for commit in log[1:]), None][: len(log)]
        return [_commit(self.repo, one, parent) for one, parent in zip(log, parents, strict=True)]

    def runs_of(self, sha: str, event: str) -> list[dict]:
        found = {
            run.id: run
            for log in self.branches.values()
            for commit in log
            if commit.sha == sha
            for run in commit.runs
            if event in ("", run.event) and run.created <= self.now
        }
        return [_run(self.repo, run, sha, self.now) for run in sorted(found.values(), key=lambda run: -run.id)]

    def jobs_of(self, id_: int, *, latest: bool) -> list[Job] | None:
        for run in self.runs():
            if run.id == id_:
                jobs = run.newest(self.now) if latest else run.jobs
                return [job for job in jobs if job.created <= self.now]
        return None


@functools.lru_cache(1 << 16)
def iso(time: float) -> str:
    return datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _commit(repo: str, commit: Commit, parent: str | None) -> dict:
    url = f"https://api.github.com/repos/{repo}/commits"
    who = {"name": "A U Thor", "email": "author@example.com", "date": iso(commit.time)}
    parents = commit.parents if commit.parents is not None else [parent] if parent else []
    return {
        "sha": commit.sha,
        "node_id": f"C_{commit.sha[:12]}",
        "commit": {
            "author": who,
            "committer": {"name": "GitHub", "email": "noreply@github.com", "date": iso(commit.time)},
            "message": 'Mend "it"\n\nPull Request resolved: #1',
            "tree": {"sha": commit.sha[::-1], "url": f"{url}/trees"},
            "url": f"{url}/{commit.sha}",
            "comment_count": 0,
            "verification": {"verified": False, "reason": "unsigned", "signature": None, "payload": None},
        },
        "url": f"{url}/{commit.sha}",
        "html_url": f"https://github.com/{repo}/commit/{commit.sha}",
        "author": None,
        "committer": {"login": "web-flow", "id": 19_864_447, "type": "User", "site_admin": False},
        "parents": [{"sha": sha, "url": f"{url}/{sha}"} for sha in parents],
    }


def _run(repo: str, run: Run, sha: str, now: float) -> dict:
    url = f"https://api.github.com/repos/{repo}/actions/runs/{run.id}"
    return {
        "id": run.id,
        "name": run.workflow,
        "node_id": f"WFR_{run.id}",
        "head_branch": run.branch,
        "head_sha": sha,
        "path": f".github/workflows/{run.workflow.lower()}.yml",
        "display_title": "Mend it",
        "run_number": 7,
        "event": run.event,
        "status": run.status(now),
        "conclusion": run.conclusion(now),
        "workflow_id": run.file or 1,
        "check_suite_id": 2,
        "url": url,
        "html_url": f"https://github.com/{repo}/actions/runs/{run.id}",
        "pull_requests": [],
        "created_at": iso(run.created),
        "updated_at": iso(run.created),
        "run_attempt": run.attempt(now),
        "run_started_at": iso(run.created),
        "jobs_url": f"{url}/jobs",
        "head_commit": {"id": sha, "message": "Mend it", "timestamp": iso(run.created)},
        "repository": {"id": 65_600_975, "full_name": repo, "private": False},
    }


def job_row(repo: str, run: int, job: Job, now: float) -> dict:
    status, done = job.status(now), job.steps(now)
    url = f"https://api.github.com/repos/{repo}/actions"
    started, ended = iso(min(job.started, now)), iso(min(now, job.completed))
    return {
        "id": job.id,
        "run_id": run,
        "workflow_name": "a workflow",
        "head_branch": "main",
        "run_url": f"{url}/runs/{run}",
        "run_attempt": job.attempt,
        "node_id": f"CR_{job.id}",
        "url": f"{url}/jobs/{job.id}",
        "html_url": f"https://github.com/{repo}/actions/runs/{run}/job/{job.id}",
        "status": status,
        "conclusion": job.conclusion if status == "completed" else None,
        "created_at": iso(job.created),
        "started_at": started,
        "completed_at": ended if status == "completed" else None,
        "name": job.name,
        "steps": [
            {
                "name": f"Step {number}",
                "status": "completed" if number <= done else "queued",
                "conclusion": "success" if number <= done else None,
                "number": number,
                "started_at": started if number <= done else None,
                "completed_at": ended if number <= done else None,
            }
            for number in range(1, (STEPS if status != "queued" else 0) + 1)
        ],
        "check_run_url": f"https://api.github.com/repos/{repo}/check-runs/{job.id}",
        "labels": ["linux.4xlarge"],
        "runner_id": 1 if status != "queued" else None,
        "runner_name": "i-0123456789abcdef0" if status != "queued" else None,
        "runner_group_id": 1,
        "runner_group_name": "default",
    }


def key_of(jobs: Sequence[Job], now: float) -> str:
    """Return what tells one page of jobs from another, with less work than the page."""
    return str([(job.id, job.status(now), job.steps(now)) for job in jobs])
