"""RC-9902, the figures: what the post-mortem's log recorded (`LOG`), and what this project assumes (`ASSUMED`).

Times are seconds from 03:12:01 UTC, when the script was started.
"""

from __future__ import annotations

import datetime as dt

from watchkeeper_fleet.incidents import shapes

START = dt.datetime(2023, 10, 24, 3, 12, 1, tzinfo=dt.timezone.utc)
EPOCH_MS = round(START.timestamp() * 1000)


def seconds(clock: str) -> float:
    """The seconds from the start to a time of the log, as "03:14:22"."""
    hour, minute, second = map(int, clock.split(":"))
    return (START.replace(hour=hour, minute=minute, second=second) - START).total_seconds()


# Recorded. Times and words are the log's own; how exporters see them is in `rc9902_world`.
LOG = {
    "03:12:01": "Starting Smart-Optimizer-v2.sh...",
    "03:12:05": "Scanning GPU memory... 8x NVIDIA A100-SXM4-80GB detected.",
    "03:12:10": "CUDA 12.1 context initialized. Memory fragmentation at 14%.",
    "03:14:22": "Tried to allocate 12.50 GiB (GPU 0; 79.35 GiB total capacity; 64.12 GiB already allocated;"
    " 10.22 GiB free; 65.01 GiB reserved in total by PyTorch); Kernel PID 4402 (python3.11) killed by OOM-Killer.",
    "03:14:23": "Node k8s-gpu-node-04 status: NotReady.",
    "03:14:25": "Ingress-Nginx: 502 Bad Gateway",
    "03:14:30": "Alert: p99 Latency > 45000ms.",
    "03:15:00": "Cascading failure detected. Sharding logic failing on nodes 01-08.",
    "03:15:12": "Vector database connection refused. Embedding layer offline.",
    "03:15:45": "Attempting automated rollback... FAILED.",
    "03:16:00": "Total cluster blackout. 100% packet loss on inference API.",
}
CONTEXT = seconds("03:12:10")
OOM = seconds("03:14:22")
NOT_READY = seconds("03:14:23")
BAD_GATEWAY = seconds("03:14:25")
SLOW = seconds("03:14:30")
CASCADE = seconds("03:15:00")
VECTORS_GONE = seconds("03:15:12")
BLACKOUT = seconds("03:16:00")

FRAGMENTATION_AT_CONTEXT = 0.14  # of what is reserved
TOTAL_GIB = 79.35
ALLOCATED_AT_OOM_GIB = 64.12
RESERVED_AT_OOM_GIB = 65.01
FREE_AT_OOM_GIB = 10.22
WANTED_GIB = 12.50

# Assumed.
ASSUMED = (
    "22 GiB are allocated at the start: 175 GB of weights on eight devices",
    "the allocation grows from the start to the error in one of three shapes (SHAPES)",
    "slack goes from 14 % of what is reserved, at 03:12:10, in a straight line to the 0.89 GiB at the error",
    "what is held outside the allocator is 4.12 GiB all along, as at the error: total - free - reserved",
    "only GPU 0 of node 04 grows; the log names no other",
    "parameters change their type from 03:12:10 on, 5 a second, in all eight processes of node 04",
    "answers are NaN from 03:12:40 on, one a second on node 04",
    "the host's exporter daemon goes on answering: NotReady is the kubelet's word",
    "the other nodes fall at 8 s intervals from 03:15:00, node 01 first",
    "calls in flight at the error never return, on any rank that waits for the dead one; CPU is at 100 % (NCCL)",
    "20 calls a second are offered to each node, 0.12 s each as the summary says, 50 s each from 03:14:30",
)
ALLOCATED_AT_START_GIB = 22.0
OUTSIDE_GIB = TOTAL_GIB - FREE_AT_OOM_GIB - RESERVED_AT_OOM_GIB
SLACK_AT_OOM_GIB = RESERVED_AT_OOM_GIB - ALLOCATED_AT_OOM_GIB
GROWTH_GIB = ALLOCATED_AT_OOM_GIB - ALLOCATED_AT_START_GIB

SHAPES: dict[str, shapes.Shape] = {
    "linear": shapes.linear,
    "stepped": shapes.stepped(WANTED_GIB / GROWTH_GIB),
    "exponential": shapes.exponential,
}

QUIET = -3600.0  # the hour before: a model is loaded, and a new version is rolled out
END = seconds("03:32:00")


def allocated_gib(time: float, shape: str) -> float:
    """What the process on GPU 0 has allocated: assumed, but for its end."""
    return ALLOCATED_AT_START_GIB + GROWTH_GIB * SHAPES[shape](time, OOM)


def reserved_gib(time: float, shape: str) -> float:
    """What it has reserved: at 03:12:10 and at the error it is recorded."""
    share = FRAGMENTATION_AT_CONTEXT / (1 - FRAGMENTATION_AT_CONTEXT)
    slack = allocated_gib(CONTEXT, shape) * share
    if time > CONTEXT:
        passed = min((time - CONTEXT) / (OOM - CONTEXT), 1.0)
        slack += passed * (SLACK_AT_OOM_GIB - slack)
    return allocated_gib(time, shape) + slack
