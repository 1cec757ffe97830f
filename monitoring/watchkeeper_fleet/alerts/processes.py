"""Processes: alive without doing anything, gone without a word, or of different versions."""

from watchkeeper import Alert, Group, Severity
from watchkeeper_fleet.metrics.agent import PROCESS_INFO, PROGRESS_TIMESTAMP, WORK_IN_PROGRESS
from watchkeeper_fleet.metrics.exporter import PROCESS_CPU, PROCESSES_LOST

ZOMBIE = Alert(
    "ZombieRank",
    # An idle server makes no progress either, so work must have been in hand all the while; a collective that waits
    # burns CPU too.
    expr=(
        f"time() - {PROGRESS_TIMESTAMP} > 300 and min_over_time({WORK_IN_PROGRESS}[5m]) == 1"
        f" and on (cluster, instance, process) rate({PROCESS_CPU}[2m]) > 0.5"
    ),
    for_="30s",  # with the group's interval: within 6 minutes of the last progress
    severity=Severity.CRITICAL,
    priority="P1",
    team="inference-sre",
    summary="Rank {{ $labels.rank }} of {{ $labels.workload }} on {{ $labels.instance }} is a zombie",
    description=(
        "Process {{ $labels.process }} burns CPU with work in hand, and has finished nothing for "
        "{{ $value | humanizeDuration }}."
    ),
    reason="Time_without_progress={{ $value | humanizeDuration }}",
    runbook="zombie-rank",
)

LOST = Alert(
    "TorchProcessLost",
    # A ticket only: a process that is stopped by a plain SIGTERM leaves no mark either.
    expr=f"sum by (cluster, node, instance, workload) (increase({PROCESSES_LOST}[5m])) > 0",
    keep_firing_for="10m",
    severity=Severity.WARNING,
    priority="P2",
    team="inference-sre",
    summary="{{ $value | humanize }} processes of {{ $labels.workload }} on {{ $labels.instance }} vanished",
    description="They ended without a stop mark, unasked. `watchkeeper spool last` has their last words.",
    runbook="torch-process-lost",
)

SKEW = Alert(
    "StackVersionSkew",
    expr=(
        "count by (cluster, workload)"
        f" (count by (cluster, workload, python_version, torch_version, cuda_version) ({PROCESS_INFO})) > 1"
    ),
    for_="1h",
    severity=Severity.WARNING,
    priority="P2",
    team="inference-sre",
    summary="{{ $labels.workload }} runs on {{ $value | humanize }} different stacks",
    description="Its processes differ in the version of Python, torch or CUDA, for longer than a rollout takes.",
    runbook="stack-version-skew",
)

GROUP = Group("processes", [ZOMBIE, LOST, SKEW], interval="15s")
