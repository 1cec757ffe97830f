"""GPU memory: is it fine, which GPU is full, which process runs out of it, and what the allocator does about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import watchkeeper.dashboards as d
from watchkeeper.contract import re
from watchkeeper_fleet.alerts.gpu_memory import (
    FLOOR,
    FRAGMENTED,
    HEADROOM,
    HEADROOM_LOW,
    JUMP,
    LEAK,
    OUT_OF_MEMORY,
    RETRYING,
    SLACK,
)
from watchkeeper_fleet.dashboards.parts import BARS, LINE, NODES, colours, counted, events, links, names, tile, to
from watchkeeper_fleet.metrics.agent import ALLOC_RETRIES, ALLOCATED, RESERVED
from watchkeeper_fleet.metrics.exporter import GPU_FREE, GPU_TOTAL, NODE_OOMS

if TYPE_CHECKING:
    from watchkeeper import Pack

# What the variables at the top choose. A device belongs to no workload, so only processes are narrowed by it.
DEVICES = {**NODES, "gpu": re("$gpu")}
PROCESSES = {**DEVICES, "workload": re("$workload")}

DEVICE = "{{node}} GPU {{gpu}}"
PROCESS = "{{workload}} {{process}} on {{node}} GPU {{gpu}}"

FREE, TOTAL, OOMS = GPU_FREE.where(**DEVICES), GPU_TOTAL.where(**DEVICES), NODE_OOMS.where(**DEVICES)
HELD, USED, FLUSHES = RESERVED.where(**PROCESSES), ALLOCATED.where(**PROCESSES), ALLOC_RETRIES.where(**PROCESSES)


def dashboard(pack: Pack) -> Any:
    """Return the dashboard `gpu-memory`."""
    return d.dashboard(
        uid="gpu-memory",
        title="GPU memory",
        description="What torch holds of each GPU, what is left, and who will run out of it first.",
        tags=["gpu", "watchkeeper"],
        time=("now-3h", "now"),
        refresh="30s",
        variables=[
            d.datasource(),
            d.label_values("cluster", GPU_TOTAL, label="Cluster"),
            d.label_values("node", GPU_TOTAL.where(cluster=re("$cluster")), label="Node"),
            d.label_values("workload", RESERVED.where(**NODES), label="Workload"),
            d.label_values("gpu", GPU_TOTAL.where(**NODES), label="GPU", sort=3),
        ],
        links=links(),
        panels=[
            d.row("Is it fine?", _summary(pack)),
            d.row("Which GPU is full?", _devices()),
            d.row("Who runs out, and when?", _processes(pack)),
            d.row("What does the allocator do about it?", _allocator(pack)),
        ],
    )


def _summary(pack: Pack) -> list[Any]:
    return [
        tile(
            "Out-of-memory errors",
            f"sum(increase({OOMS}[5m]))",
            "In the last 5 minutes, on all GPUs chosen. Anything but 0 is an error that a caller has seen.",
            decimals=0,
            thresholds=colours(pack, OUT_OF_MEMORY),
        ),
        tile(
            "GPUs nearly full",
            counted(f"{FREE} / {TOTAL} < 0.10", TOTAL),
            "GPUs with less than 10 % free. Fine where servers reserve on purpose and no retries follow.",
            thresholds={1: "orange"},
        ),
        tile(
            "Allocators retrying",
            counted(f"increase({FLUSHES}[2m]) > 0", HELD),
            "Processes on a GPU that flushed their cache in the last 2 minutes: the step before an error.",
            thresholds=colours(pack, RETRYING),
        ),
        tile(
            "Least free",
            f"min({FREE} / {TOTAL})",
            "The share that is free on the fullest GPU.",
            unit="percentunit",
            decimals=0,
            thresholds={None: "red", 0.02: "orange", 0.10: "green"},
        ),
        tile(
            "Least headroom",
            f"min({HEADROOM.where(**PROCESSES)})",
            "What the worst-off process can still get: its own cache, and what the device has free.",
            unit="bytes",
            thresholds={None: "red", 2**30: "orange", 4 * 2**30: "green"},
        ),
        tile(
            "GPUs",
            f"count({TOTAL})",
            "GPUs that report. Fewer than there are is a fault of its own, which the fleet shows.",
            thresholds={None: "text"},
        ),
    ]


def _devices() -> list[Any]:
    return [
        d.timeseries(
            "Used by GPU",
            f"1 - {FREE} / {TOTAL}",
            legend=DEVICE,
            description="The share of each device that any process holds, torch or not.",
            unit="percentunit",
            min=0,
            max=1,
        ),
        d.table(
            "Now",
            [
                f"sum by (cluster, node, gpu) ({TOTAL})",
                f"sum by (cluster, node, gpu) ({FREE})",
                f"sum by (cluster, node, gpu) ({HELD})",
                f"sum by (cluster, node, gpu) ({USED})",
            ],
            description=(
                "What torch processes hold (reserved) and use (allocated). Total less free less reserved is held by "
                "something else: CUDA contexts, NCCL, another program."
            ),
            columns={
                "cluster": "Cluster",
                "node": "Node",
                "gpu": "GPU",
                "Value #A": "Total",
                "Value #B": "Free",
                "Value #C": "Reserved by torch",
                "Value #D": "Allocated by torch",
            },
            units=dict.fromkeys(("Total", "Free", "Reserved by torch", "Allocated by torch"), "bytes"),
            sort_by="Free",
            width=12,
        ),
    ]


def _processes(pack: Pack) -> list[Any]:
    return [
        d.timeseries(
            "Headroom",
            HEADROOM.where(**PROCESSES),
            legend=PROCESS,
            description="What each process can still get. The alert compares it with 300 s of the present growth.",
            unit="bytes",
            min=0,
            width=8,
            alerts=names(pack, HEADROOM_LOW),
        ),
        d.timeseries(
            "Expected in 30 minutes",
            f"predict_linear({FLOOR.where(**PROCESSES)}[30m], 1800)"
            f" / on (cluster, instance, gpu) group_left () {GPU_TOTAL.where(**DEVICES)}",
            legend=PROCESS,
            description="Where the floor of allocated memory will be, as a share of the device: above 100 % is a leak.",
            unit="percentunit",
            min=0,
            width=8,
            thresholds={1: "orange"},
            custom=LINE,
            alerts=names(pack, LEAK),
        ),
        d.timeseries(
            "Taken within a minute",
            f"({HELD} - min_over_time({HELD}[1m])) / on (cluster, instance, gpu) group_left () {TOTAL}",
            legend=PROCESS,
            description="The share of the device that a process took within a minute: loading, or a large batch.",
            unit="percentunit",
            min=0,
            width=8,
            thresholds={0.10: "blue"},
            custom=LINE,
            alerts=names(pack, JUMP),
        ),
    ]


def _allocator(pack: Pack) -> list[Any]:
    return [
        d.timeseries(
            "Reserved but unused",
            f"{SLACK.where(**PROCESSES)} / {HELD}",
            legend=PROCESS,
            description=(
                "The share of reserved memory that no tensor uses. High on an idle process is only its cache; "
                "high on a device that is nearly full is fragmentation."
            ),
            unit="percentunit",
            min=0,
            max=1,
            width=8,
            alerts=names(pack, FRAGMENTED),
        ),
        d.timeseries(
            "Cache flushes in 2 minutes",
            f"increase({FLUSHES}[2m])",
            legend=PROCESS,
            description="Each stalls the device: the allocator gives its cache back because the device refused memory.",
            unit="short",
            min=0,
            width=8,
            alerts=names(pack, RETRYING),
        ),
        d.timeseries(
            "Out-of-memory errors in 5 minutes",
            events(f"increase({OOMS}[5m])", OOMS, DEVICE),
            description=(
                "Counted by the daemon of each host, so that they outlive the process that had them. Look at what was "
                "left just before: the headroom, and who took memory within a minute."
            ),
            unit="short",
            min=0,
            decimals=0,
            width=8,
            custom=BARS,
            links=[to("What became of its processes", "fleet")],
            alerts=names(pack, OUT_OF_MEMORY),
        ),
    ]
