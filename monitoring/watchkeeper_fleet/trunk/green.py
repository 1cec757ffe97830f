"""The newest green commit, remembered when it is no longer among the commits that are looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from watchkeeper_fleet.trunk.commits import Commit


@dataclass(frozen=True, slots=True)
class Green:
    """A green commit, how many commits are after it, and which of them is the newest."""

    sha: str
    time: float
    after: int
    newest: str


def follow(before: Green | None, commits: Sequence[Commit], green: int | None) -> Green | None:
    """Return the newest green commit: the one at that place of the commits, or where none is, the one from before."""
    if not commits:
        return None
    newest = commits[0].sha
    if green is not None:
        return Green(commits[green].sha, commits[green].time, green, newest)
    places = {commit.sha: place for place, commit in enumerate(commits)}
    if before is None or before.sha in places:  # there, and not green: a job of it ran again, and failed
        return None
    if before.newest in places:
        after = before.after + places[before.newest]
    elif before.time <= commits[-1].time:
        after = len(commits)  # at least: so many came in between that the two ends are not joined
    else:
        return None  # history was rewritten, and it was in the part that is gone
    return Green(before.sha, before.time, after, newest)


def to_json(green: Green | None) -> Any:
    """Return what `from_json` takes."""
    return None if green is None else [green.sha, green.time, green.after, green.newest]


def from_json(data: Any) -> Green | None:
    """Return the commit, None where data is something else."""
    if not isinstance(data, list) or len(data) != 4:
        return None
    sha, time, after, newest = data
    if not (isinstance(sha, str) and isinstance(newest, str) and type(after) is int and after >= 0):
        return None
    return Green(sha, float(time), after, newest) if isinstance(time, (int, float)) and math.isfinite(time) else None
