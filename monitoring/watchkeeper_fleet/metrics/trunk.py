"""What the trunk exporter publishes of a repository's branch."""

from watchkeeper.contract import Counter, Gauge, Histogram

BRANCH = ("repository", "branch")

JOBS_FAILING = Gauge(
    "trunk_jobs_failing",
    "Blocking jobs that failed on at least so many decided commits in a row, the newest included (commits: 1, 2, 3).",
    labels=(*BRANCH, "commits"),
)
JOB_FAILING = Gauge(
    "trunk_job_failing_commits",
    "Decided commits in a row, the newest included, on which a blocking job failed; absent for jobs that are not red.",
    labels=(*BRANCH, "workflow", "job_name"),  # `job` is the scrape's
)
JOBS_UNNAMED = Gauge(
    "trunk_jobs_failing_unnamed",
    "Blocking jobs that are red and have no series of their own: only the longest streaks have.",
    labels=BRANCH,
)
JOBS = Gauge(
    "trunk_jobs",
    "Blocking jobs that the patterns found; 0 where they fit none.",
    labels=BRANCH,
)
JOBS_UNDECIDED = Gauge(
    "trunk_jobs_undecided",
    "Blocking jobs of the newest commit that have no result yet.",
    labels=BRANCH,
)
UP = Gauge(
    "trunk_up",
    "1 where the last poll succeeded, else 0.",
    labels=BRANCH,
)
LAST_SUCCESS = Gauge(
    "trunk_last_success_timestamp_seconds",
    "Unix time of the last poll that succeeded; 0 where the first ones failed.",
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
POLL_DURATION = Gauge(
    "trunk_poll_duration_seconds",
    "Duration of the last poll.",
    labels=BRANCH,
    unit="seconds",
)
POLL_ERRORS = Counter(
    "trunk_poll_errors_total",
    "Polls that failed, by reason (docs/trunk.md).",
    labels=(*BRANCH, "reason"),
)
STATE_REFUSED = Gauge(
    "trunk_state_refused",
    "1 where the file of state could not be used at the start, so that all was asked for anew, else 0.",
)
API_REQUESTS = Counter(
    "trunk_api_requests_total",
    "Requests sent to the API, by how they were answered; 304 uses up no budget, and none is no answer.",
    labels=("code",),
)
API_REMAINING = Gauge(
    "trunk_api_requests_remaining",
    "Requests that the API still allows until its limit is reset.",
)
API_LIMIT = Gauge(
    "trunk_api_requests_limit",
    "Requests that the API allows between two resets.",
)
API_RESET = Gauge(
    "trunk_api_reset_timestamp_seconds",
    "Unix time at which the limit is reset.",
    unit="seconds",
)
