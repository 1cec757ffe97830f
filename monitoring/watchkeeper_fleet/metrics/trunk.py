"""What the trunk exporter publishes of a repository's branch."""

from watchkeeper.contract import Gauge, Histogram

BRANCH = ("repository", "branch")

JOBS_FAILING = Gauge(
    "trunk_jobs_failing",
    "Blocking jobs that failed on at least so many decided commits in a row, the newest included (commits: 1, 2, 3).",
    labels=(*BRANCH, "commits"),
)
JOBS_UNDECIDED = Gauge(
    "trunk_jobs_undecided",
    "Blocking jobs of the newest commit that have no result yet.",
    labels=BRANCH,
)
LAST_SUCCESS = Gauge(
    "trunk_last_success_timestamp_seconds",
    "Unix time of the last poll that succeeded.",
    labels=BRANCH,
    unit="seconds",
)
LAST_GREEN = Gauge(
    "trunk_last_green_timestamp_seconds",
    "Unix time of the newest commit on which every blocking job passed.",
    labels=BRANCH,
    unit="seconds",
)
COMMITS_SINCE_GREEN = Gauge(
    "trunk_commits_since_green",
    "Commits on the branch after that one.",
    labels=BRANCH,
)
QUEUE_TIME = Histogram(
    "trunk_job_queue_seconds",
    "Time that blocking jobs waited for a runner.",
    labels=BRANCH,
    unit="seconds",
    buckets=(10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400),
)
RUN_TIME = Histogram(
    "trunk_job_run_seconds",
    "Time that blocking jobs ran.",
    labels=BRANCH,
    unit="seconds",
    buckets=(60, 300, 600, 1200, 1800, 3600, 7200, 10800, 14400, 21600),
)
API_REMAINING = Gauge(
    "trunk_api_requests_remaining",
    "Requests that the API still allows until its limit is reset.",
)
