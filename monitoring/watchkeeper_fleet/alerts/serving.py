"""Serving: what callers see."""

from watchkeeper import Alert, Group, Recording, Severity, re
from watchkeeper_fleet.metrics.external import INGRESS_REQUESTS, PROBE_SUCCESS

BY = "by (cluster, namespace, ingress)"

REQUESTS = Recording("namespace_ingress:nginx_requests:rate2m", f"sum {BY} (rate({INGRESS_REQUESTS}[2m]))")

ERRORS = Recording(
    "namespace_ingress:nginx_errors:ratio_rate2m",
    f"sum {BY} (rate({INGRESS_REQUESTS.where(status=re('5..'))}[2m])) / {REQUESTS}",
    unit="ratio",
)

UPSTREAM = Alert(
    "IngressUpstreamErrors",
    expr=f"{ERRORS} > 0.05 and {REQUESTS} > 1",
    for_="1m",
    severity=Severity.CRITICAL,
    priority="P1",
    team="inference-sre",
    summary="{{ $value | humanizePercentage }} of the requests to {{ $labels.namespace }}/{{ $labels.ingress }} fail",
    description="The ingress answers 5xx: what stands behind it refuses, crashes or does not answer.",
    reason="Error_ratio={{ $value | humanizePercentage }}",
    runbook="ingress-upstream-errors",
)

ENDPOINT_DOWN = Alert(
    "InferenceEndpointDown",
    # The only one that sees what a caller sees when nothing answers at all.
    expr=f"{PROBE_SUCCESS.where(job='blackbox-inference')} == 0",
    for_="1m",
    severity=Severity.CRITICAL,
    priority="P1",
    team="inference-sre",
    summary="{{ $labels.instance }} does not answer",
    description="The probe of this inference endpoint, from outside the cluster's services, fails.",
    runbook="inference-endpoint-down",
)

VECTORS_DOWN = Alert(
    "VectorDatabaseDown",
    expr=f"{PROBE_SUCCESS.where(job='blackbox-vector-database')} == 0",
    for_="1m",
    severity=Severity.CRITICAL,
    priority="P1",
    team="inference-sre",
    summary="Vector database {{ $labels.instance }} does not answer",
    description="What retrieves embeddings from it fails or answers without them.",
    runbook="vector-database-down",
)

GROUP = Group("serving", [REQUESTS, ERRORS, UPSTREAM, ENDPOINT_DOWN, VECTORS_DOWN], interval="15s")
