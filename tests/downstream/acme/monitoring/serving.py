"""What Acme's own servers publish, the alerts on it, and their dashboard."""

import watchkeeper.dashboards as d
from monitoring.oncall import TEAM
from watchkeeper import Alert, Counter, Group, Histogram, Recording, Severity, re
from watchkeeper_fleet.metrics.exporter import GPU_FREE

REQUESTS = Counter("acme_requests_total", "Requests by status code.", labels=("route", "code"))
LATENCY = Histogram(
    "acme_request_seconds",
    "Time from the first byte in to the last byte out.",
    labels=("route",),
    unit="seconds",
    buckets=(0.1, 0.5, 1, 5),
)

FAILED = REQUESTS.where(code=re("5.."), route=re(r"/v1\..*"))

P99 = Recording(
    "route:acme_request_seconds:p99",
    f"histogram_quantile(0.99, sum by (route, le) (rate({LATENCY.bucket}[5m])))",
    unit="seconds",
)
SLOW = Alert(
    "AcmeRouteSlow",
    expr=f"{P99} > 2",
    for_="5m",
    severity=Severity.CRITICAL,
    team=TEAM,
    summary="{{ $labels.route }} takes {{ $value | humanizeDuration }}",
    description="One request in a hundred is slower than this.",
    runbook="acme-route-slow",
)
ERRORS = Alert(
    "AcmeErrors",
    # A line break, quotes and a backslash, for the writer.
    expr=f"""sum by (route) (rate({FAILED}[5m]))
  / sum by (route) (rate({REQUESTS}[5m])) > 0.01""",
    severity=Severity.WARNING,
    team=TEAM,
    summary="{{ $value | humanizePercentage }} of {{ $labels.route }} fail",
    runbook="acme-errors",
)
GROUP = Group("acme_serving", [P99, SLOW, ERRORS], interval="30s")


def dashboard(pack):
    """Return the dashboard `acme-serving`."""
    return d.dashboard(
        uid="acme-serving",
        title="Acme serving",
        variables=[d.datasource()],
        panels=[
            d.timeseries("Slowest hundredth", P99, legend="{{route}}", unit="s", alerts=[SLOW.name]),
            d.timeseries(
                "Errors",
                f"sum by (route) (rate({REQUESTS.where(code=re('5..'))}[$__rate_interval]))",
                legend="{{route}}",
                alerts=[ERRORS.name],
            ),
            d.stat("Alerts of this pack", f"vector({len(pack.alerts)})"),
            d.timeseries("Free", GPU_FREE, legend="{{instance}} {{gpu}}", unit="bytes", alerts=["AcmeDeviceFull"]),
        ],
    )
