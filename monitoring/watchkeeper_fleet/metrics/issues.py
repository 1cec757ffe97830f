"""What the issue receiver publishes of itself."""

from watchkeeper.contract import Counter, Gauge

ALERTS = Counter(
    "issue_receiver_alerts_total",
    "Alerts that Alertmanager told of, its retries included, by status (firing, resolved).",
    labels=("status",),
)
ACTIONS = Counter(
    "issue_receiver_actions_total",
    "What was done in the repository, by action: an issue opened, reopened, commented or closed, or an alert held.",
    labels=("action",),
)
ERRORS = Counter(
    "issue_receiver_errors_total",
    "Notifications and requests to the API that failed, by reason (docs/issue-receiver.md).",
    labels=("reason",),
)
LAST_SUCCESS = Gauge(
    "issue_receiver_last_success_timestamp_seconds",
    "Unix time at which a notification was last dealt with to its end; 0 before the first.",
    unit="seconds",
)
API_REQUESTS = Counter(
    "issue_receiver_api_requests_total",
    "Requests sent to the API, by how they were answered; 304 uses up no budget, and none is no answer.",
    labels=("code",),
)
API_REMAINING = Gauge(
    "issue_receiver_api_requests_remaining",
    "Requests that the API still allows until its limit is reset; absent until it has said so.",
)
