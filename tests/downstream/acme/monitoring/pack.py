"""Acme's pack: the fleet's, less what does not fit, with what Acme adds."""

from monitoring.oncall import PLATFORM, TEAM
from monitoring.routing import ROUTING
from watchkeeper import Alert, Gauge, Group, Pack, Severity
from watchkeeper_fleet.metrics.exporter import GPU_FREE
from watchkeeper_fleet.pack import PACK as FLEET

SPARE = Gauge("acme_spare_gpus", "GPUs that no workload has claimed.", labels=("zone",))

DEVICES = Group(
    "acme_devices",
    [
        Alert(
            "AcmeDeviceFull",
            expr=f"{GPU_FREE} < 1e9",
            for_="5m",
            severity=Severity.INFO,
            team=TEAM,
            summary="{{ $labels.instance }} GPU {{ $labels.gpu }} has {{ $value | humanize1024 }}B left",
            runbook="acme-device-full",
        ),
        Alert(
            "AcmeNoSpareGPU",
            expr=f"min by (zone) ({SPARE}) < 1",
            severity=Severity.WARNING,
            team=TEAM,
            summary="No GPU to spare in {{ $labels.zone }}",
            runbook="acme-device-full",
        ),
    ],
    interval="30s",
)


def spare_dashboard(pack):
    """Return the dashboard `acme-spare` as a plain dict, as someone exports it from Grafana."""
    alert = pack.alerts["AcmeNoSpareGPU"]
    return {
        "uid": "acme-spare",
        "title": "Acme spare GPUs",
        "schemaVersion": 39,
        "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]},
        "panels": [
            {
                "id": 1,
                "title": "Spare",
                "type": "timeseries",
                "datasource": {"type": "prometheus", "uid": "${datasource}"},
                "gridPos": {"h": 8, "w": 24, "x": 0, "y": 0},
                "targets": [{"refId": "A", "expr": f"min by (zone) ({SPARE})"}],
                "watchkeeper": {"alerts": [alert.name]},
            }
        ],
    }


PACK = (
    FLEET.without("GPUMemoryJump", reason="every batch of ours does this, and nobody acted on it")
    .without("trunk", reason="we train nothing on PyTorch's trunk")  # the group
    .without("trunk", reason="the same")  # the dashboard
    .reassign({"gpu-platform": PLATFORM, "monitoring": PLATFORM})
    .replace("GPUAllocatorRetrying", for_="10m", severity=Severity.INFO)
    .replace("HighGPUMemoryFragmentation", threshold=0.5)
    .replace("gpu_memory", interval="1m")
    .add(Pack.discover("monitoring.serving", runbooks="monitoring.runbooks"))
    .add(DEVICES, SPARE, spare_dashboard)
    .with_routing(ROUTING)
)
