"""The trunk exporter: it polls a branch now and then, and serves what is known of it at any time."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from watchkeeper_fleet.exporter.text import Samples, add
from watchkeeper_fleet.github import REASONS, Trouble
from watchkeeper_fleet.metrics import trunk
from watchkeeper_fleet.metrics.exporter import STATE_SAVED
from watchkeeper_fleet.trunk import green
from watchkeeper_fleet.trunk.fetch import history, remembered
from watchkeeper_fleet.trunk.times import LATE, Times
from watchkeeper_fleet.trunk.verdict import judge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from watchkeeper_fleet.github import GitHub
    from watchkeeper_fleet.trunk.blocking import Blocking
    from watchkeeper_fleet.trunk.cache import Cache
    from watchkeeper_fleet.trunk.commits import Commit, Job
    from watchkeeper_fleet.trunk.verdict import Verdict

_LOG = logging.getLogger(__name__)
KEPT = "exporter"  # in the cache's file
INTERNAL = "internal"  # a fault of ours
LENGTHS = (1, 2, 3)
MOST_NAMED = 50
SHORTEST = 1.0  # seconds between two polls, however long one took


@dataclass(frozen=True)
class Branch:
    """What is watched, and how."""

    repository: str
    branch: str
    blocking: Blocking
    commits: int = 30
    max_age: float = 24 * 3600.0
    interval: float = 300.0


@dataclass(frozen=True, slots=True)
class _Known:
    """What is served of the branch, all of it as of one poll."""

    verdict: Verdict | None = None
    green: green.Green | None = None
    success: float | None = None  # when a poll succeeded last
    up: bool | None = None  # whether the last poll did; None before the first
    duration: float = 0.0
    times: Samples = field(default_factory=dict)


class Trunk:
    """A branch: `poll` asks the API, `collect` says what is known.

    While the API can't be reached that is what was known last, with its age: red stays red until green was seen.
    """

    def __init__(self, of: Branch, github: GitHub, cache: Cache, *, clock: Callable[[], float] = time.time) -> None:
        self._of = of
        self._github = github
        self._cache = cache
        self._clock = clock
        self._labels = (of.repository, of.branch)
        self._errors = dict.fromkeys((*REASONS, INTERNAL), 0)
        self._times = Times()
        self._known = self._recalled()
        if cache.refused:
            _LOG.warning("%s", cache.refused)

    def run(self, stopping: threading.Event) -> None:
        """Poll until it is to stop."""
        wait = 0.0
        while not stopping.wait(wait):
            wait = self.poll()

    def poll(self) -> float:
        """Ask the API; return after how many seconds to ask again. Nothing is raised."""
        begun, before = time.monotonic(), self._known
        retry_at = None
        try:
            known = self._asked(before)
        except Trouble as trouble:
            retry_at = trouble.retry_at
            known = self._failed(before, trouble.reason)
            _LOG.warning("the poll failed (%s): %s", trouble.reason, trouble)
        except Exception:  # noqa: BLE001 - whatever it is, the next poll may do better
            known = self._failed(before, INTERNAL)
            _LOG.exception("the poll failed by a fault of the exporter")
        # Before it is served: what was counted must not be counted again after a restart.
        could_save = self._cache.saved
        self._cache.save()
        if could_save and not self._cache.saved:
            _LOG.warning("nothing is kept: the file of state can't be written, or is too large")
        took = time.monotonic() - begun
        self._known = replace(known, duration=took)
        wait = self._of.interval - took
        if retry_at is not None:
            wait = max(wait, retry_at - self._clock())
        return max(wait, SHORTEST)

    def _asked(self, before: _Known) -> _Known:
        of, now = self._of, self._clock()
        commits = history(
            self._github, self._cache, of.repository, of.branch, commits=of.commits, wanted=of.blocking.wants
        )
        verdict = judge(commits, of.blocking)
        last_green = green.follow(before.green, commits, verdict.green)
        # What was over before anybody looked belongs to no time that is shown.
        since = now if before.success is None else before.success - LATE
        self._times.count(_jobs(commits, of.blocking), since=since)
        self._cache.kept[KEPT] = {
            "of": list(self._labels),
            "success": now,
            "green": green.to_json(last_green),
            "times": self._times.to_json(),
        }
        if not before.up:
            level = logging.INFO if verdict.jobs else logging.WARNING
            _LOG.log(
                level, "%d blocking jobs on the %d newest commits of %s %s", verdict.jobs, len(commits), *self._labels
            )
        return _Known(verdict, last_green, now, True, times=self._rows_of_times())

    def _failed(self, before: _Known, reason: str) -> _Known:
        self._errors[reason] += 1
        return replace(before, up=False)

    def _recalled(self) -> _Known:
        """Return what was known when the exporter stopped last."""
        kept, of = self._cache.kept.get(KEPT), self._of
        if not isinstance(kept, dict) or kept.get("of") != list(self._labels):
            kept = {}
        success = kept.get("success")
        if not isinstance(success, (int, float)):
            return _Known(times=self._rows_of_times())
        self._times.from_json(kept.get("times"))
        commits = remembered(
            self._github, self._cache, of.repository, of.branch, commits=of.commits, wanted=of.blocking.wants
        )
        # Other options ask other questions, to which it may have no answers: that is not green.
        verdict = judge(commits, of.blocking) if commits else None
        last_green = green.from_json(kept.get("green"))
        if verdict is not None:
            last_green = green.follow(last_green, commits, verdict.green)
        return _Known(verdict, last_green, float(success), times=self._rows_of_times())

    def _rows_of_times(self) -> Samples:
        samples: Samples = {}
        self._times.queue.add_to(samples, *self._labels)
        self._times.run.add_to(samples, *self._labels)
        return samples

    def collect(self) -> Samples:
        """Return the samples."""
        known, labels = self._known, self._labels
        samples: Samples = dict(known.times)
        if known.verdict is not None:
            self._add_verdict(samples, known.verdict)
        if known.green is not None:
            add(samples, trunk.LAST_GREEN, known.green.time, *labels)
            add(samples, trunk.COMMITS_SINCE_GREEN, known.green.after, *labels)
        if known.up is not None:
            add(samples, trunk.UP, float(known.up), *labels)
            add(samples, trunk.POLL_DURATION, known.duration, *labels)
        if known.success is not None or known.up is not None:
            add(samples, trunk.LAST_SUCCESS, known.success or 0.0, *labels)
        for reason, count in self._errors.items():
            add(samples, trunk.POLL_ERRORS, count, *labels, reason)
        for code, count in self._github.requests.items():
            add(samples, trunk.API_REQUESTS, count, code)
        for metric, value in (
            (trunk.API_REMAINING, self._github.remaining),
            (trunk.API_LIMIT, self._github.limit),
            (trunk.API_RESET, self._github.reset),
        ):
            if value is not None:
                add(samples, metric, value)
        add(samples, trunk.STATE_REFUSED, float(bool(self._cache.refused)))
        add(samples, STATE_SAVED, float(self._cache.saved))
        return samples

    def _add_verdict(self, samples: Samples, verdict: Verdict) -> None:
        labels = self._labels
        red = verdict.red(self._clock() - self._of.max_age)
        for commits in LENGTHS:
            add(samples, trunk.JOBS_FAILING, sum(one.commits >= commits for one in red), *labels, str(commits))
        for one in red[:MOST_NAMED]:
            add(samples, trunk.JOB_FAILING, one.commits, *labels, one.workflow, one.job)
        add(samples, trunk.JOBS_UNNAMED, max(len(red) - MOST_NAMED, 0), *labels)
        add(samples, trunk.JOBS, verdict.jobs, *labels)
        add(samples, trunk.JOBS_UNDECIDED, verdict.undecided, *labels)


@contextmanager
def polling(of: Branch, github: GitHub, cache: Cache) -> Iterator[Callable[[], Samples]]:
    """Poll in a thread; give what collects."""
    watched, stopping = Trunk(of, github, cache), threading.Event()
    # It may be in the midst of a request when all is to end: what it has learned by then is asked for again.
    threading.Thread(target=watched.run, args=(stopping,), name="poll", daemon=True).start()
    try:
        yield watched.collect
    finally:
        stopping.set()


def _jobs(commits: Sequence[Commit], blocking: Blocking) -> Iterator[Job]:
    """Yield the jobs that block."""
    known: dict[tuple[str, str], bool] = {}
    for commit in commits:
        for run in commit.runs:
            for job in run.jobs:
                name = (job.workflow, job.name)
                if name not in known:
                    known[name] = blocking.group(*name) is not None
                if known[name]:
                    yield job
