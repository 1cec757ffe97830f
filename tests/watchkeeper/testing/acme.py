"""A small pack, for tests of how packs are tested."""

from watchkeeper import Alert, Counter, Gauge, Group, Histogram, Pack, Recording, Severity

ERRORS = Counter("acme_errors_total", "Errors.", labels=("rack",))
LOAD = Gauge("acme_load", "Load.", labels=("rack", "fan"))
LIMIT = Gauge("acme_load_limit", "Most load.", labels=("rack",))
READY = Gauge("acme_ready", "Whether it serves.")
LATENCY = Histogram("acme_latency_seconds", "Duration.", labels=("rack",), unit="seconds", buckets=(0.5, 1, 5))

RATE = Recording("rack:acme_errors:irate1m", f"sum by (instance, rack) (irate({ERRORS}[1m]))")


def alert(name, expr, **more):
    given = {"severity": Severity.WARNING, "team": "acme", "summary": "Rack {{ $labels.rack }}: {{ $value }}"}
    return Alert(name, expr=expr, **{**given, **more})


FAILING = alert("AcmeFailing", f"{RATE} > 0.5", for_="1m", description="{{ $labels.instance }} fails")
LOADED = alert("AcmeLoaded", f"{LOAD} > on (instance, rack) group_left () {LIMIT} and on (instance) {READY} == 1")
COLD = alert("AcmeCold", f"{LOAD} < 0.1", for_="30s", keep_firing_for="1m", severity=Severity.CRITICAL)
EITHER = alert("AcmeEither", f'{LOAD}{{fan="9"}} > 5 or {READY} == 7')
QUIET = alert("AcmeQuiet", f"{ERRORS} > 0 unless on (instance) {READY} == 1")
GONE = alert("AcmeGone", f"absent({READY})")

PACK = Pack(
    metrics=(ERRORS, LOAD, LIMIT, READY, LATENCY),
    groups=(Group("acme", [RATE, FAILING, LOADED, COLD, EITHER, QUIET, GONE], interval="15s"),),
)
