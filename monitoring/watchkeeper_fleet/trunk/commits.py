"""Commits, their workflow runs and the jobs of those, as GitHub's REST API has them. Times are Unix seconds."""

from __future__ import annotations

from dataclasses import dataclass

COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class Job:
    """A job of a run: one shard of a matrix. `conclusion` is None until it is completed."""

    workflow: str
    name: str
    run_id: int
    id: int
    attempt: int
    status: str
    conclusion: str | None
    created: float | None
    started: float | None
    completed: float | None


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a workflow, with the newest attempt of each of its jobs. `file` tells workflows of one name apart."""

    workflow: str
    id: int
    attempt: int
    status: str
    conclusion: str | None
    event: str
    jobs: tuple[Job, ...]
    file: int = 0
    created: float = 0.0


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the branch; `time` is the committer's."""

    sha: str
    time: float
    runs: tuple[Run, ...]

    @property
    def pushed(self) -> float:
        """When it came to the branch, as far as is known: with its runs, or else when it was made."""
        return max(self.time, *(run.created for run in self.runs)) if self.runs else self.time

    @property
    def complete(self) -> bool:
        """Whether it has runs, and all of them are completed. A run again makes it incomplete again."""
        return bool(self.runs) and all(run.status == COMPLETED for run in self.runs)
