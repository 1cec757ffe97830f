"""The HUD alert of 24 November, 6:15 pm PST: 14 blocking jobs red on three commits in a row.

    run = pack.run(hud.incident(), every="1m")
    run.fires("TrunkBadlyBroken", summary="14 blocking jobs")

Recorded are the time, the state (firing), the team, the priority P1, the rule (more than five jobs) and the 14 jobs.
The year is not: `ASSUMED` has the rest.
"""

from __future__ import annotations

import datetime as dt

from watchkeeper_fleet.incidents.sampling import Scrapes, switch
from watchkeeper_fleet.metrics.trunk import JOBS_FAILING, JOBS_UNDECIDED, LAST_SUCCESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine import Data

# Recorded, but for the year.
OCCURRED = dt.datetime(2025, 11, 24, 18, 15, tzinfo=dt.timezone(dt.timedelta(hours=-8)))
JOBS = 14
COMMITS = 3

ASSUMED = (
    "the alert's `for` was 5 minutes, so that the third red commit was decided at 6:10 pm",
    "a commit is decided every 20 minutes, and the first two red ones were those before",
    "two flaky jobs were red, on one commit each, in the hours before",
    "the infrastructure was mended at 7:30 pm, and the next commit, decided at 7:50, was green",
)
THIRD_RED = -300.0  # seconds from the alert
APART = 1200.0  # seconds from one commit's decision to the next
GREEN = 5700.0
FIRST, LAST = -4 * 3600.0, 2 * 3600.0

LABELS = {"job": "watchkeeper-trunk", "instance": "trunk", "repository": "pytorch/pytorch", "branch": "main"}


def incident(*, every: float = 60.0, phase: float = 0.0) -> Data:
    """What the trunk exporter showed from four hours before the alert to two hours after."""
    epoch = round(OCCURRED.timestamp() * 1000)
    scrapes = Scrapes(epoch, FIRST, LAST, every=every, phase=phase)
    for commits in range(1, COMMITS + 1):
        red = THIRD_RED - APART * (COMMITS - commits)
        flaky = [(-9000.0, 1.0), (-9000.0 + APART, 0.0), (-7000.0, 1.0), (-7000.0 + APART, 0.0)] if commits == 1 else []
        scrapes.add(JOBS_FAILING, {**LABELS, "commits": str(commits)}, switch(*flaky, (red, JOBS), (GREEN, 0.0)))
    scrapes.add(JOBS_UNDECIDED, LABELS, lambda time: 30.0 if time % APART < APART / 2 else 0.0)
    # It polls every minute.
    scrapes.add(LAST_SUCCESS, LABELS, lambda time: epoch / 1000 + time - time % 60)
    scrapes.add("up", {"job": "watchkeeper-trunk", "instance": "trunk"}, 1.0)
    return scrapes.data
