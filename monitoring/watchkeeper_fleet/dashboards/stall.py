"""GPU stall: which GPUs wait for the CPU to feed them, since when, and whether the loader is to blame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import watchkeeper.dashboards as d
from watchkeeper.contract import re
from watchkeeper_fleet.alerts.gpu_stall import OFFERED, RATIO, STALLED
from watchkeeper_fleet.dashboards.parts import NODES, colours, column, counted, level, links, names, tile, to
from watchkeeper_fleet.metrics.agent import DATA_WAIT, IDLE, STALL, STEP_WALL
from watchkeeper_fleet.metrics.exporter import UTILIZATION

if TYPE_CHECKING:
    from watchkeeper import Pack

# A device belongs to no workload, so only what runs on it is narrowed by that.
DEVICES = {**NODES, "gpu": re("$gpu")}
WORK = {**DEVICES, "workload": re("$workload")}

GPU = "{{workload}} on {{node}} GPU {{gpu}}"
RANK = "{{workload}} rank {{rank}} on {{node}} GPU {{gpu}}"

STALLS, WALL, WAIT = STALL.where(**WORK), STEP_WALL.where(**WORK), DATA_WAIT.where(**WORK)
IDLING = IDLE.where(**WORK)
STALLING, OFFERING, BUSY = RATIO.where(**WORK), OFFERED.where(**WORK), UTILIZATION.where(**DEVICES)

# The alert's second condition: below it there is too little work for a ratio to mean anything.
WITH_WORK = f"{OFFERING} > 0.2"


def dashboard(pack: Pack) -> Any:
    """Return the dashboard `gpu-stall`."""
    return d.dashboard(
        uid="gpu-stall",
        title="GPU stall",
        description="How much of the time in which there was work the GPUs waited for data from the CPU.",
        tags=["gpu", "watchkeeper"],
        time=("now-3h", "now"),
        refresh="30s",
        variables=[
            d.datasource(),
            d.label_values("cluster", OFFERED, label="Cluster"),
            d.label_values("node", OFFERED.where(cluster=re("$cluster")), label="Node"),
            d.label_values("workload", OFFERED.where(**NODES), label="Workload"),
            d.label_values("gpu", OFFERED.where(**NODES, workload=re("$workload")), label="GPU", sort=3),
        ],
        links=links(),
        panels=[
            d.row("Is it fine?", _summary(pack)),
            d.row("Which GPU waits, and since when?", _gpus(pack)),
            d.row("Is the loader too slow?", _loader()),
            d.row("Is there work at all?", _work()),
        ],
    )


def _summary(pack: Pack) -> list[Any]:
    return [
        tile(
            "GPUs stalled",
            counted(f"{STALLING} > {level(pack, STALLED)} and {WITH_WORK}", OFFERING),
            (
                "GPUs that wait for longer than the alert allows. Red: look below for which ones. No data: nothing "
                "reports."
            ),
        ),
        tile(
            "Worst stall ratio",
            f"max({STALLING} and {WITH_WORK})",
            "Of the GPU that waits most, among those with work. No data: no GPU has work.",
            unit="percentunit",
            decimals=0,
            thresholds=colours(pack, STALLED),
        ),
        tile(
            "Stall ratio of all",
            f"sum(rate({STALLS}[2m])) / (sum(rate({WALL}[2m])) > 0)",
            "High together with the worst one: a common cause, such as storage. Low: a single node or rank.",
            unit="percentunit",
            decimals=0,
            thresholds=colours(pack, STALLED),
        ),
        tile(
            "GPUs lost to waiting",
            f"sum(rate({STALLS}[2m]))",
            "What the waiting amounts to: 8 is as if a host with 8 GPUs stood idle.",
            decimals=1,
            thresholds={None: "text"},
        ),
        tile(
            "GPUs with work",
            counted(WITH_WORK, OFFERING),
            "GPUs to which work is offered. Far fewer than usual: nothing is stalled because nothing runs.",
            thresholds={None: "text"},
        ),
        tile(
            "Utilisation",
            f"avg({BUSY})",
            "Of all GPUs chosen, whatever runs on them. Low with few stalls: there is no work.",
            unit="percentunit",
            decimals=0,
            thresholds={None: "text"},
        ),
    ]


def _gpus(pack: Pack) -> list[Any]:
    by = "sum by (cluster, node, workload, gpu)"
    return [
        d.timeseries(
            "Stall ratio",
            STALLING,
            legend=GPU,
            description=(
                "The share of the time with work in which the GPU waited for data. All lines up at once: storage or "
                "network. One line: its host or its loader. Pages after two minutes above the line, if there is work."
            ),
            unit="percentunit",
            min=0,
            alerts=names(pack, STALLED),
        ),
        d.timeseries(
            "Utilisation of the same GPUs",
            f"{BUSY} and on (cluster, instance, gpu) {OFFERING}",
            legend="{{node}} GPU {{gpu}}",
            description=(
                "Falls where stalls rise. High in spite of stalls: kernels that spin, as collectives do while they "
                "wait for a rank that has no data."
            ),
            unit="percentunit",
            min=0,
            max=1,
        ),
        d.table(
            "Now",
            [
                f"{by} ({STALLING})",
                f"{by} ({OFFERING})",
                f"{by} (rate({WAIT}[$__rate_interval])) / ({by} (rate({WALL}[$__rate_interval])) > 0)",
            ],
            description=(
                "The worst first. A ratio counts only where work is offered: 100 % is a GPU that always has something "
                "to do. Data wait well above the stall ratio is hidden behind the GPU's own work, and will show once "
                "that is faster."
            ),
            columns={
                "workload": "Workload",
                "cluster": "Cluster",
                "node": "Node",
                "gpu": "GPU",
                "Value #A": "Stall ratio",
                "Value #B": "Work offered",
                "Value #C": "Data wait",
            },
            units=dict.fromkeys(("Stall ratio", "Work offered", "Data wait"), "percentunit"),
            overrides=[column("Stall ratio", thresholds=colours(pack, STALLED))],
            sort_by="-Stall ratio",
        ),
    ]


def _loader() -> list[Any]:
    by = "by (workload, rank, node, gpu)"
    return [
        d.timeseries(
            "Data wait by rank",
            f"sum {by} (rate({WAIT}[$__rate_interval])) / (sum {by} (rate({WALL}[$__rate_interval])) > 0)",
            legend=RANK,
            description=(
                "The share of its time that the training thread waits for the next batch. One rank above the others "
                "holds up all of them: its host, its shard of the data, its disk."
            ),
            unit="percentunit",
            min=0,
        ),
        d.timeseries(
            "Stalls without data wait",
            f"clamp_min(sum {by} (rate({IDLING}[$__rate_interval])) - sum {by} (rate({STALLS}[$__rate_interval])), 0)",
            legend=RANK,
            description=(
                "Seconds in each second that the GPU stood idle with the batch there and its step not begun. High: the "
                "time goes elsewhere on the CPU, to copies, to making the batch ready or to Python itself."
            ),
            unit="percentunit",
            min=0,
        ),
    ]


def _work() -> list[Any]:
    return [
        d.timeseries(
            "Work offered",
            OFFERING,
            legend=GPU,
            description=(
                "The share of the time in which a step or a request was under way. Near 0: idle, and its stall ratio "
                "means nothing. It ends: the process has stopped, see the fleet."
            ),
            links=[to("Are its processes alive?", "fleet")],
            unit="percentunit",
            min=0,
        ),
        d.timeseries(
            "GPUs lost to waiting, by workload",
            f"sum by (workload) (rate({STALLS}[$__rate_interval]))",
            legend="{{workload}}",
            description="Where the waiting costs most. Mend the workload on top first.",
            unit="short",
            min=0,
            stack=True,
        ),
    ]
