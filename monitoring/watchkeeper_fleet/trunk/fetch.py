"""A branch's commits with their runs and jobs, from GitHub, in as few requests as can be.

A poll asks for the branch's newest commits, for the runs of each, and for the jobs of each run that was not completed
when it was asked last. Where nothing has changed the answer is 304, which GitHub does not count.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from sys import intern
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from watchkeeper_fleet.github import Trouble
from watchkeeper_fleet.trunk.blocking import without_runner
from watchkeeper_fleet.trunk.cache import Page
from watchkeeper_fleet.trunk.commits import COMPLETED, Commit, Job, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from watchkeeper_fleet.github import GitHub
    from watchkeeper_fleet.trunk.cache import Cache, Row

PAGE = 100  # GitHub gives no more at a time
MOST_PAGES = 30  # of one question: 3,000 jobs with all their attempts; GitHub gives no more than 1,000 runs
LONGEST = 500  # of a name; nothing that GitHub takes is longer
# Of an attempt before the newest one these results stay; a job with another may be what runs again.
STAY = frozenset({"success", "skipped", "neutral"})


def history(
    github: GitHub, cache: Cache, repo: str, branch: str, *, commits: int, wanted: Callable[[str], bool]
) -> list[Commit]:
    """Return the newest commits of a branch, newest first: the first parents, as each was the branch's head.

    They have the runs that the push started, of wanted workflows. Trouble where GitHub doesn't answer; what it had
    answered until then stays in the cache, so that the next poll goes on from there.
    """
    reader = _Reader(github, cache)
    found = list(_commits(reader, repo, branch, commits, wanted))
    cache.keep(reader.used)
    return found


def remembered(
    github: GitHub, cache: Cache, repo: str, branch: str, *, commits: int, wanted: Callable[[str], bool]
) -> list[Commit]:
    """Return what `history` returned last, without a request."""
    return list(_commits(_Reader(github, cache, ask=False), repo, branch, commits, wanted))


class _Reader:
    """Pages by way of the cache; `used` are those that were looked at."""

    def __init__(self, github: GitHub, cache: Cache, *, ask: bool = True) -> None:
        self._github = github
        self._cache = cache
        self._ask = ask
        self.used: set[str] = set()

    def rows(
        self,
        path: str,
        params: Mapping[str, str | int],
        reduce: Callable[[Any], list[Row] | None],
        *,
        mark: str = "",
        last: Callable[[Row], bool] | None = None,
    ) -> Iterator[Row]:
        """Yield the rows of one page after the other.

        `reduce` makes rows of an answer, or None of one with another shape. `mark` sets apart what the path doesn't.
        `last` tells of which rows no change is to come: a page with no others is not asked for again.
        """
        for number in range(1, MOST_PAGES + 1):
            asked = {**params, "per_page": params.get("per_page", PAGE), "page": number}
            page = self._page(path, asked, reduce, mark, last)
            if page is None:
                return
            yield from page.rows
            if not page.more:
                return

    def _page(
        self,
        path: str,
        params: Mapping[str, str | int],
        reduce: Callable[[Any], list[Row] | None],
        mark: str,
        last: Callable[[Row], bool] | None,
    ) -> Page | None:
        key = f"{self._github.url}{path}?{urlencode(params)}{mark}"
        self.used.add(key)
        page = self._cache.pages.get(key)
        if not self._ask or (page is not None and page.final and last is not None):
            return page
        answer = self._github.get(path, params, etag=page.etag if page is not None else "")
        if answer.status == 304 and page is not None:
            rows, etag, more = page.rows, page.etag, page.more
        else:
            reduced = reduce(answer.data)
            if reduced is None:
                raise Trouble("malformed", f"GET {path}: JSON of another shape than GitHub's")
            rows, etag, more = tuple(reduced), answer.etag, answer.more
        # None at all may be too early an answer.
        page = Page(etag, more, last is not None and bool(rows) and all(map(last, rows)), rows)
        self._cache.pages[key] = page
        return page


def _commits(reader: _Reader, repo: str, branch: str, number: int, wanted: Callable[[str], bool]) -> Iterator[Commit]:
    top = f"/repos/{quote(repo)}"
    for sha, time in _first_parents(reader, top, repo, branch, number):
        params = {"head_sha": sha, "event": "push"}
        runs = []
        for workflow, id_, attempt, status, conclusion, event, head, file, created in reader.rows(
            f"{top}/actions/runs", params, _runs
        ):
            # A tag or another branch on the same commit has runs of its own.
            if head == branch and wanted(workflow):
                run = Run(workflow, id_, attempt, status, conclusion, event, (), file, created)
                runs.append(replace(run, jobs=_jobs_of(reader, top, run)))
        yield Commit(sha, time, tuple(runs))


def _first_parents(reader: _Reader, top: str, repo: str, branch: str, number: int) -> Iterator[tuple[str, float]]:
    """Yield the commits that were the branch's head, and when.

    The list has those of merged branches between them, and where clocks differed a parent before its child.
    """
    left, following = number, None
    passed: dict[str, tuple[float, str]] = {}
    params: dict[str, str | int] = {"sha": branch, "per_page": min(2 * number, PAGE)}
    try:
        for sha, time, parent in reader.rows(f"{top}/commits", params, _listed):
            passed[sha] = time, parent
            following = sha if following is None else following
            while following in passed:
                head, (time_, parent_) = following, passed.pop(following)
                yield head, time_
                left, following = left - 1, parent_
                if not left or not parent_:
                    return
    except Trouble as trouble:
        if trouble.status == 409:  # a repository without a commit
            return
        if trouble.status in (404, 422):
            message = f"{repo} has no branch {branch}, or the token may not see the repository ({trouble.status})"
            raise Trouble("not_found", message, status=trouble.status) from None
        raise


def _jobs_of(reader: _Reader, top: str, run: Run) -> tuple[Job, ...]:
    """Return the newest attempt of each job.

    All attempts are asked for: where failed jobs alone ran again, the latest attempt leaves out those that had passed
    (r-universe-org/help#607).
    """
    path = f"{top}/actions/runs/{run.id}/jobs"
    done = run.status == COMPLETED
    last = (lambda row: bool(row[3] == COMPLETED)) if done else None
    try:
        rows = {row[1]: row for row in reader.rows(path, {"filter": "all"}, _jobs, mark=f"#{run.attempt}", last=last)}
    except Trouble as trouble:
        if trouble.status == 404:  # deleted between two questions
            return ()
        raise
    attempts: dict[str, dict[str, set[int]]] = {}  # of each name, by the job that it is on any runner
    for row in rows.values():
        attempts.setdefault(without_runner(row[0]), {}).setdefault(row[0], set()).add(row[2])
    found = []
    for name, id_, attempt, status, conclusion, created, started, completed in rows.values():
        if _is_newest(name, attempt, attempts[without_runner(name)]):
            job = Job(run.workflow, name, run.id, id_, attempt, status, conclusion, created, started, completed)
            # It failed before the run was started again: until that is completed nobody knows whether it still does.
            if not done and attempt < run.attempt and status == COMPLETED and conclusion not in STAY:
                job = replace(job, status="queued", conclusion=None, started=None, completed=None)
            found.append(job)
    return tuple(found)


def _is_newest(name: str, attempt: int, attempts: Mapping[str, set[int]]) -> bool:
    """Return whether no later attempt has the job, by its name or by one that came in its place on another runner."""
    if attempt < max(attempts[name]):
        return False
    return not any(attempt < max(theirs) and attempt not in theirs for theirs in attempts.values())


def _listed(data: Any) -> list[Row] | None:
    """Return sha, time and first parent of each commit."""
    if not isinstance(data, list):
        return None
    rows: list[Row] = []
    for one in data:
        commit, parents = _of(one, "commit"), _of(one, "parents")
        time = _time(_of(_of(commit, "committer"), "date"))
        sha = _of(one, "sha")
        if not isinstance(sha, str) or not isinstance(parents, list):
            return None
        parent = _of(parents[0], "sha") if parents else ""
        rows.append((sha, time or 0.0, parent if isinstance(parent, str) else ""))
    return rows


def _runs(data: Any) -> list[Row] | None:
    runs = _of(data, "workflow_runs")
    if not isinstance(runs, list):
        return None
    rows: list[Row] = []
    for one in runs:
        id_ = _of(one, "id")
        if not isinstance(id_, int):
            return None
        # A workflow that can't be read has no name but its file's.
        name = _text(_of(one, "name")) or _text(_of(one, "path"))
        status, conclusion = _text(_of(one, "status")), _text(_of(one, "conclusion")) or None
        head = _text(_of(one, "head_branch"))
        created = _time(_of(one, "created_at")) or 0.0
        attempt, file = _number(_of(one, "run_attempt")), _number(_of(one, "workflow_id"))
        rows.append((name, id_, attempt, status, conclusion, _text(_of(one, "event")), head, file, created))
    return rows


def _jobs(data: Any) -> list[Row] | None:
    jobs = _of(data, "jobs")
    if not isinstance(jobs, list):
        return None
    rows: list[Row] = []
    for one in jobs:
        id_ = _of(one, "id")
        if not isinstance(id_, int):
            return None
        status, conclusion = _text(_of(one, "status")), _text(_of(one, "conclusion")) or None
        times = (_time(_of(one, f"{name}_at")) for name in ("created", "started", "completed"))
        rows.append((_text(_of(one, "name")), id_, _number(_of(one, "run_attempt")), status, conclusion, *times))
    return rows


def _of(data: Any, key: str) -> Any:
    return data.get(key) if isinstance(data, dict) else None


def _number(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 1


def _text(value: Any) -> str:
    """Return a name as it is, but of bounded length and without halves of characters, which UTF-8 can't hold."""
    if not isinstance(value, str):
        return ""
    return intern(value[:LONGEST].encode("utf-8", "replace").decode())


def _time(value: Any) -> float | None:
    """Return a time as Unix seconds; None for what is none, and for the year 1 that stands for none."""
    if not isinstance(value, str):
        return None
    try:
        seconds = datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError):
        return None
    return seconds if seconds > 0 else None
