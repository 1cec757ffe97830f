"""Trunk: blocking jobs that are red on several commits in a row."""

from watchkeeper import Alert, Group, Severity
from watchkeeper_fleet.metrics.trunk import JOBS_FAILING, LAST_SUCCESS

THREE_IN_A_ROW = JOBS_FAILING.where(commits="3")
FAILING = "Number_of_jobs_Failing={{ $value }}"

BROKEN = Alert(
    "TrunkBroken",
    expr=f"({THREE_IN_A_ROW} > 0) <= 5",
    for_="5m",
    keep_firing_for="10m",
    severity=Severity.WARNING,
    priority="P2",
    team="pytorch-dev-infra",
    summary="{{ $value | humanize }} blocking jobs of {{ $labels.repository }} are red for 3 commits in a row",
    description="Detects when viable/strict blocking jobs on {{ $labels.branch }} have been failing.",
    reason=FAILING,
    runbook="trunk-broken",
)

BADLY_BROKEN = Alert(
    "TrunkBadlyBroken",
    expr=f"{THREE_IN_A_ROW} > 5",
    for_="5m",
    keep_firing_for="10m",
    severity=Severity.CRITICAL,
    priority="P1",
    team="pytorch-dev-infra",
    summary="{{ $value | humanize }} blocking jobs of {{ $labels.repository }} are red for 3 commits in a row",
    description=(
        "Detects when many viable/strict blocking jobs on {{ $labels.branch }} have been failing, "
        "which usually indicates an infrastructure failure."
    ),
    reason=FAILING,
    runbook="trunk-badly-broken",
)

STALE = Alert(
    "TrunkDataStale",
    expr=f"time() - {LAST_SUCCESS} > 1800",
    severity=Severity.WARNING,
    priority="P2",
    team="pytorch-dev-infra",
    summary="Nothing is known of {{ $labels.repository }} {{ $labels.branch }} since {{ $value | humanizeDuration }}",
    description="The trunk exporter reaches the API no more, so a green trunk may be a blind one.",
    runbook="trunk-data-stale",
)

GROUP = Group("trunk", [BROKEN, BADLY_BROKEN, STALE], interval="1m")
