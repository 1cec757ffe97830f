"""How long jobs waited for a runner, and how long they ran: each job counted once, over restarts too."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from watchkeeper_fleet.exporter.allowed import bound
from watchkeeper_fleet.exporter.text import labels_of
from watchkeeper_fleet.metrics.trunk import QUEUE_TIME, RUN_TIME
from watchkeeper_fleet.trunk.commits import COMPLETED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from watchkeeper.contract import Histogram
    from watchkeeper_fleet.exporter.text import Samples
    from watchkeeper_fleet.trunk.commits import Job

WAITED, RAN = 1, 2  # what of a job is counted
LATE = 3600.0  # seconds after which GitHub shows all that has happened
# GitHub's times are of whole seconds, and of several machines. A job that started longer before it was made is a copy,
# in a new attempt, of one that did not run again.
COPY = 60.0
_RAN = frozenset(("success", "failure", "timed_out"))


class Totals:
    """A histogram's buckets (not cumulative, the last without bound) and sum."""

    def __init__(self, metric: Histogram) -> None:
        self.metric = metric
        self.counts = [0] * (len(metric.buckets) + 1)
        self.sum = 0.0

    def observe(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(self.metric.buckets, seconds)] += 1
        self.sum += seconds

    def add_to(self, samples: Samples, *labels: str) -> None:
        """Add the series."""
        metric, own = self.metric, labels_of(self.metric, labels)
        rows, total = samples.setdefault(metric.name, []), 0
        for le, count in zip([*map(bound, metric.buckets), "+Inf"], self.counts, strict=True):
            total += count
            rows.append((f'{metric.bucket}{{{own},le="{le}"}}', total))
        rows += [(f"{metric.sum}{{{own}}}", self.sum), (f"{metric.count}{{{own}}}", total)]

    def to_json(self) -> Any:
        """Return what `from_json` takes."""
        return {"bounds": self.metric.buckets, "counts": self.counts, "sum": self.sum}

    def from_json(self, data: Any) -> None:
        """Go on from there; from 0 where the buckets are others now."""
        if not isinstance(data, dict) or data.get("bounds") != list(self.metric.buckets):
            return
        counts, total = data.get("counts"), data.get("sum")
        if (
            isinstance(counts, list)
            and len(counts) == len(self.counts)
            and all(type(count) is int and count >= 0 for count in counts)
            and isinstance(total, (int, float))
            and math.isfinite(total)
        ):
            self.counts, self.sum = counts, float(total)


class Times:
    """Both histograms, and which jobs are in them."""

    def __init__(self) -> None:
        self.queue = Totals(QUEUE_TIME)
        self.run = Totals(RUN_TIME)
        self._counted: dict[int, int] = {}

    def count(self, jobs: Iterable[Job], *, since: float) -> None:
        """Count of these jobs those that were not yet, and were not over long before `since`, the last look at them.

        Others were counted then, or are older than the exporter.
        """
        counted: dict[int, int] = {}
        for job in jobs:
            done = self._counted.get(job.id, 0)
            if done < WAITED and job.started is not None and _has_started(job):
                done = WAITED
                if job.created is not None and job.started >= since and job.started - job.created > -COPY:
                    self.queue.observe(max(job.started - job.created, 0.0))
            if done < RAN and job.started is not None and job.completed is not None and job.conclusion in _RAN:
                done = RAN
                if job.completed >= since and (job.created is None or job.started - job.created > -COPY):
                    self.run.observe(max(job.completed - job.started, 0.0))
            if done:
                counted[job.id] = done
        self._counted = counted

    def to_json(self) -> Any:
        """Return what `from_json` takes."""
        return {
            "queue": self.queue.to_json(),
            "run": self.run.to_json(),
            "waited": [id_ for id_, done in self._counted.items() if done == WAITED],
            "ran": [id_ for id_, done in self._counted.items() if done == RAN],
        }

    def from_json(self, data: Any) -> None:
        """Go on from there."""
        if not isinstance(data, dict):
            return
        self.queue.from_json(data.get("queue"))
        self.run.from_json(data.get("run"))
        for name, done in (("waited", WAITED), ("ran", RAN)):
            ids = data.get(name)
            self._counted |= {id_: done for id_ in ids if type(id_) is int} if isinstance(ids, list) else {}


def _has_started(job: Job) -> bool:
    # A job that is queued has a time of its start as well, which is that of its creation.
    return job.status == "in_progress" or (job.status == COMPLETED and job.conclusion in _RAN)
