"""Which jobs block the branch, what they are called without their shards, and what the end of one says."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING

from watchkeeper_fleet.trunk.commits import COMPLETED

if TYPE_CHECKING:
    from watchkeeper_fleet.trunk.commits import Job

JOBS = ("*",)
EXCLUDE = ("*unstable*", "* / *unstable*", "* / *rerun_disabled_tests*", "* / *mem_leak_check*")
BETWEEN = " / "


class Outcome(IntEnum):
    """What a job says of a commit. Of several shards, the greatest is that of all."""

    SKIPPED = 0  # was not to run: neither good nor bad
    PASSED = 1
    NONE = 2  # ended without a result: nobody knows
    PENDING = 3
    FAILED = 4


SILENT = frozenset((Outcome.SKIPPED, Outcome.NONE))

# As GitHub calls how a job ended. One that waits for somebody's consent has not run yet; of a conclusion that is not
# here, nothing is known.
_CONCLUSIONS = {
    "success": Outcome.PASSED,
    "failure": Outcome.FAILED,
    "startup_failure": Outcome.FAILED,
    "skipped": Outcome.SKIPPED,
    "neutral": Outcome.SKIPPED,
    "action_required": Outcome.PENDING,
    None: Outcome.PENDING,
}

# ", 2, 5" of "test, 2, 5", and ", 2, 5, linux.4xlarge" of "test (default, 2, 5, linux.4xlarge)": which runner a shard
# gets changes from commit to commit.
_SHARD = re.compile(r", ([0-9]{1,4}), ([0-9]{1,4})(?:(?:, [^()]*)?(?=\))|$)")


def without_shard(name: str) -> str:
    """Return the name of the job that a shard belongs to; of a job that has none, its own."""
    return _SHARD.sub(_unless_a_shard, name)


def without_runner(name: str) -> str:
    """Return the name of a shard without the runner that it was given; of a job that is none, its own."""
    return _SHARD.sub(_its_number, name)


def _its_number(found: re.Match[str]) -> str:
    return f", {found[1]}, {found[2]}" if not _unless_a_shard(found) else found[0]


def _unless_a_shard(found: re.Match[str]) -> str:
    return "" if 1 <= int(found[1]) <= int(found[2]) else found[0]


@dataclass(frozen=True)
class Blocking:
    """Which jobs block, by patterns such as `pull`, `linux-binary-* / *`, `* / build`, and how their ends are taken.

    In a pattern `*` is any text, `?` any character, `[ab]` one of these. What stands before the first " / " is the
    workflow; alone it means all of its jobs. A pattern holds for a job that it fits with its shard or without.
    """

    jobs: tuple[str, ...] = JOBS
    exclude: tuple[str, ...] = EXCLUDE
    cancelled: Outcome = Outcome.NONE
    timed_out: Outcome = Outcome.FAILED

    @cached_property
    def _jobs(self) -> list[tuple[re.Pattern[str], re.Pattern[str]]]:
        return [*map(_compiled, self.jobs)]

    @cached_property
    def _excluded(self) -> list[tuple[re.Pattern[str], re.Pattern[str]]]:
        return [*map(_compiled, self.exclude)]

    def wants(self, workflow: str) -> bool:
        """Return whether jobs of the workflow may block."""
        if not any(of_workflow.fullmatch(workflow) for of_workflow, _ in self._jobs):
            return False
        return not any(
            of_workflow.fullmatch(workflow) for of_workflow, of_job in self._excluded if of_job.pattern == _ANY
        )

    def group(self, workflow: str, name: str) -> str | None:
        """Return the name of a job without its shard, None where it does not block."""
        group = without_shard(name)
        names = {name, group}
        if _fits(self._jobs, workflow, names) and not _fits(self._excluded, workflow, names):
            return group
        return None

    def outcome(self, job: Job) -> Outcome:
        """Return what a job says."""
        if job.status != COMPLETED:
            return Outcome.PENDING
        if job.conclusion == "cancelled":
            return self.cancelled
        if job.conclusion == "timed_out":
            return self.timed_out
        return _CONCLUSIONS.get(job.conclusion, Outcome.NONE)


def _compiled(pattern: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    workflow, between, job = pattern.partition(BETWEEN)
    return re.compile(fnmatch.translate(workflow)), re.compile(fnmatch.translate(job if between else "*"))


_ANY = fnmatch.translate("*")


def _fits(patterns: list[tuple[re.Pattern[str], re.Pattern[str]]], workflow: str, names: set[str]) -> bool:
    return any(
        of_workflow.fullmatch(workflow) and any(map(of_job.fullmatch, names)) for of_workflow, of_job in patterns
    )
