"""Trunk: which jobs are red, since when, how long nothing was green, and whether runners are to blame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import watchkeeper.dashboards as d
from watchkeeper.contract import re
from watchkeeper_fleet.alerts.trunk import BADLY_BROKEN, BROKEN, STALE
from watchkeeper_fleet.dashboards.parts import LINE, colours, links, names, tile
from watchkeeper_fleet.metrics.trunk import (
    API_REMAINING,
    API_REQUESTS,
    COMMITS_SINCE_GREEN,
    JOB_FAILING,
    JOBS_FAILING,
    JOBS_UNDECIDED,
    LAST_GREEN,
    LAST_SUCCESS,
    POLL_ERRORS,
    QUEUE_TIME,
    RUN_TIME,
)

if TYPE_CHECKING:
    from watchkeeper import Pack
    from watchkeeper.contract import Histogram

BRANCHES = {"repository": re("$repository"), "branch": re("$branch")}
BRANCH = "{{repository}} {{branch}}"

IN_A_ROW = JOBS_FAILING.where(commits="3", **BRANCHES)

# No alert watches these, so the marks are ours: a morning without green is a nuisance, a day is a lost day.
GREEN_AGE = {4 * 3600: "orange", 24 * 3600: "red"}
# A poll of a branch takes some tens of requests.
API_BUDGET = {None: "red", 100: "orange", 500: "green"}


def dashboard(pack: Pack) -> Any:
    """Return the dashboard `trunk`."""
    return d.dashboard(
        uid="trunk",
        title="Trunk",
        description=(
            "The blocking jobs of each branch: what is red, since when, and whether people or runners broke it."
        ),
        tags=["trunk", "watchkeeper"],
        time=("now-24h", "now"),
        refresh="1m",
        variables=[
            d.datasource(),
            d.label_values("repository", LAST_SUCCESS, label="Repository"),
            d.label_values("branch", LAST_SUCCESS.where(repository=re("$repository")), label="Branch"),
        ],
        links=links(),
        panels=[
            d.row("Is it fine?", _summary(pack)),
            d.row("What is red, and since when?", _red(pack)),
            d.row("How long since it was green?", _green()),
            d.row("Are runners to blame?", _runners()),
            d.row("Is this page true?", _data(pack)),
        ],
    )


def _summary(pack: Pack) -> list[Any]:
    return [
        tile(
            "Jobs red 3 times in a row",
            f"max({IN_A_ROW})",
            "On the worst branch chosen. A few: a commit broke them. Many at once: look at runners and infrastructure.",
            thresholds=_jobs(pack),
        ),
        tile(
            "Jobs undecided",
            f"sum({JOBS_UNDECIDED.where(**BRANCHES)})",
            "Blocking jobs of the newest commits that have no result yet. They are neither red nor green.",
            thresholds={None: "text"},
        ),
        tile(
            "Last green",
            f"time() - min({LAST_GREEN.where(**BRANCHES)})",
            "Age of the newest commit on which every blocking job passed, on the worst branch chosen.",
            unit="s",
            decimals=1,
            thresholds=GREEN_AGE,
        ),
        tile(
            "Commits since green",
            f"max({COMMITS_SINCE_GREEN.where(**BRANCHES)})",
            "Among these is the one that broke it. Many: find it by bisection before more come on top.",
            thresholds={None: "text"},
        ),
        tile(
            "Age of the data",
            f"time() - min({LAST_SUCCESS.where(**BRANCHES)})",
            "Since the last poll that succeeded. Red or no data: nothing else on this page is to be believed.",
            unit="s",
            decimals=0,
            thresholds=colours(pack, STALE),
        ),
        tile(
            "API requests left",
            f"min({API_REMAINING})",
            "Until the API's limit is reset. At 0 polls fail and the data grows old.",
            thresholds=API_BUDGET,
        ),
    ]


def _jobs(pack: Pack) -> dict[Any, str]:
    """Return the colours of both alerts about red jobs: TrunkBroken stands between two numbers, so it draws no line."""
    return {**({1: "orange"} if names(pack, BROKEN) else {}), **colours(pack, BADLY_BROKEN), None: "green"}


def _red(pack: Pack) -> list[Any]:
    return [
        d.timeseries(
            "Jobs red on 3 commits in a row",
            IN_A_ROW,
            legend=BRANCH,
            description=(
                "Blocking jobs that failed on the three newest decided commits. A step up to a few: one commit. A leap "
                "above the red line: as a rule not a commit but infrastructure, for which see the runners below."
            ),
            unit="short",
            min=0,
            decimals=0,
            thresholds=_jobs(pack),
            custom={**LINE, "lineInterpolation": "stepAfter"},
            alerts=names(pack, BROKEN, BADLY_BROKEN),
        ),
        d.timeseries(
            "Jobs red by streak",
            f"sum by (commits) ({JOBS_FAILING.where(**BRANCHES)})",
            legend="{{commits}} or more in a row",
            description=(
                "Red once may be chance, red three times is not. A bulge that moves from 1 to 3 will page soon; one "
                "that stays at 1 is flaky."
            ),
            unit="short",
            min=0,
            decimals=0,
            custom={"lineInterpolation": "stepAfter"},
        ),
        d.timeseries(
            "Jobs undecided",
            JOBS_UNDECIDED.where(**BRANCHES),
            key="jobs-undecided-over-time",
            legend=BRANCH,
            description=(
                "Jobs of the newest commit without a result. It rises and does not fall: jobs wait for runners."
            ),
            unit="short",
            min=0,
            decimals=0,
        ),
        d.table(
            "Jobs that are red",
            f"max by (repository, branch, workflow, job_name) ({JOB_FAILING.where(**BRANCHES)})",
            description=(
                "The 50 longest streaks. Names that share a platform or an image tell where to look. A job leaves the "
                "list when it is green again."
            ),
            columns={
                "repository": "Repository",
                "branch": "Branch",
                "workflow": "Workflow",
                "job_name": "Job",
                "Value": "Commits in a row",
            },
            units={"Commits in a row": "short"},
            sort_by="-Commits in a row",
            width=12,
        ),
        d.table(
            "Now",
            [
                f"max by (repository, branch) ({IN_A_ROW})",
                f"max by (repository, branch) ({JOBS_FAILING.where(commits='1', **BRANCHES)})",
                f"max by (repository, branch) ({JOBS_UNDECIDED.where(**BRANCHES)})",
                f"max by (repository, branch) ({COMMITS_SINCE_GREEN.where(**BRANCHES)})",
                f"time() - max by (repository, branch) ({LAST_GREEN.where(**BRANCHES)})",
                f"time() - max by (repository, branch) ({LAST_SUCCESS.where(**BRANCHES)})",
            ],
            description="Each branch in figures, the worst first. Undecided jobs are neither red nor green.",
            columns={
                "repository": "Repository",
                "branch": "Branch",
                "Value #A": "Red 3 times",
                "Value #B": "Red at least once",
                "Value #C": "Undecided",
                "Value #D": "Commits since green",
                "Value #E": "Last green",
                "Value #F": "Age of the data",
            },
            units={"Red 3 times": "short", "Last green": "s", "Age of the data": "s"},
            sort_by="-Red 3 times",
            width=12,
        ),
    ]


def _green() -> list[Any]:
    return [
        d.timeseries(
            "Age of the last green commit",
            f"time() - {LAST_GREEN.where(**BRANCHES)}",
            legend=BRANCH,
            description=(
                "Rises one second a second and falls at each green commit. A long slope: nobody can build on trunk."
            ),
            unit="s",
            min=0,
            thresholds=GREEN_AGE,
            custom=LINE,
        ),
        d.timeseries(
            "Commits since the last green one",
            COMMITS_SINCE_GREEN.where(**BRANCHES),
            legend=BRANCH,
            description="What a revert has to choose from. It keeps rising: hold merges until trunk is green.",
            unit="short",
            min=0,
            decimals=0,
        ),
    ]


def _quantile(share: float, histogram: Histogram) -> str:
    buckets = histogram.bucket.where(**BRANCHES)
    return f"histogram_quantile({share}, sum by (repository, branch, le) (rate({buckets}[$__rate_interval])))"


def _runners() -> list[Any]:
    # Jobs end now and then, so that shorter steps would be empty.
    return [
        d.timeseries(
            "Wait for a runner",
            [
                d.target(_quantile(0.5, QUEUE_TIME), f"median, {BRANCH}"),
                d.target(_quantile(0.9, QUEUE_TIME), f"9 of 10, {BRANCH}"),
            ],
            description=(
                "How long jobs queue. It rises together with undecided jobs: too few runners, or they are gone."
            ),
            unit="s",
            min=0,
            interval="30m",
        ),
        d.timeseries(
            "Run time",
            [
                d.target(_quantile(0.5, RUN_TIME), f"median, {BRANCH}"),
                d.target(_quantile(0.9, RUN_TIME), f"9 of 10, {BRANCH}"),
            ],
            description=(
                "How long jobs run. Suddenly short: they fail at the start, which is infrastructure. Suddenly long: "
                "they hang, or something they fetch is slow."
            ),
            unit="s",
            min=0,
            interval="30m",
        ),
        d.heatmap(
            "Waits for a runner",
            f"sum by (le) (increase({QUEUE_TIME.bucket.where(**BRANCHES)}[$__rate_interval]))",
            description="Each wait. Two bands: one kind of runner is short while the others are not.",
            unit="s",
            interval="30m",
        ),
        d.timeseries(
            "Jobs ended",
            f"sum by (repository, branch) (increase({RUN_TIME.count.where(**BRANCHES)}[$__rate_interval]))",
            legend=BRANCH,
            description=(
                "In each step. None for long while commits come: jobs do not start, or the exporter sees nothing."
            ),
            unit="short",
            min=0,
            decimals=0,
            interval="30m",
            custom={"drawStyle": "bars", "fillOpacity": 80},
        ),
    ]


def _data(pack: Pack) -> list[Any]:
    return [
        d.timeseries(
            "Age of the data over time",
            f"time() - {LAST_SUCCESS.where(**BRANCHES)}",
            legend=BRANCH,
            description=(
                "Since the last poll that succeeded. Above the line a green trunk may be a blind one: look at the "
                "API's budget beside it and at the exporter's log."
            ),
            unit="s",
            min=0,
            alerts=names(pack, STALE),
        ),
        d.timeseries(
            "API requests left over time",
            API_REMAINING,
            legend="{{instance}}",
            description="A saw-tooth is normal. It touches 0: another user of the same token, or too many branches.",
            unit="short",
            min=0,
        ),
        d.timeseries(
            "Polls that failed",
            f"sum by (repository, branch, reason) (increase({POLL_ERRORS.where(**BRANCHES)}[$__rate_interval])) > 0",
            legend=f"{{{{reason}}}}, {BRANCH}",
            description=(
                "By reason. unauthorized: the token has expired. rate_limit: its budget is used up. not_found: no such "
                "branch. server, network, timeout: GitHub, or the way there; it passes by itself."
            ),
            unit="short",
            min=0,
            decimals=0,
            interval="30m",
            custom={"drawStyle": "bars", "fillOpacity": 80},
        ),
        d.timeseries(
            "API requests by answer",
            f"sum by (code) (rate({API_REQUESTS}[$__rate_interval]))",
            legend="{{code}}",
            description="304 is free, 2xx uses up the budget. All 2xx and no 304: nothing is kept from poll to poll.",
            unit="reqps",
            min=0,
            interval="30m",
        ),
    ]
