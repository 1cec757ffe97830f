"""RC-9902, 24 October 2023: weights were re-quantized in a live process, and a cluster went dark in four minutes.

    data = rc9902.incident("linear")
    run = pack.run(data)
    run.fires("GPUMemoryHeadroomLow", by=rc9902.at(rc9902.OOM))

`LOG` is what was recorded, `ASSUMED` what was not, and `SHAPES` how memory may have grown in between.
"""

from __future__ import annotations

import datetime as dt

from watchkeeper_fleet.incidents.rc9902_log import (
    ASSUMED,
    BLACKOUT,
    CONTEXT,
    END,
    EPOCH_MS,
    LOG,
    OOM,
    QUIET,
    SHAPES,
    START,
    allocated_gib,
    reserved_gib,
    seconds,
)
from watchkeeper_fleet.incidents.rc9902_world import everything, gpu_0
from watchkeeper_fleet.incidents.sampling import Scrapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from watchkeeper.engine import Data

__all__ = [
    "ASSUMED",
    "BLACKOUT",
    "CONTEXT",
    "END",
    "LOG",
    "OOM",
    "POST_MORTEM_RULES",
    "QUIET",
    "SHAPES",
    "START",
    "at",
    "incident",
    "memory",
    "seconds",
]


def at(time: float) -> dt.datetime:
    """The moment that is so many seconds after the start."""
    return START + dt.timedelta(seconds=time)


def incident(shape: str, *, every: float = 15.0, phase: float = 0.0, first: float = QUIET, last: float = END) -> Data:
    """All series from `first` to `last`, by default an hour before and 20 minutes after, scraped `every` seconds."""
    scrapes = Scrapes(EPOCH_MS, first, last, every=every, phase=phase)
    everything(scrapes, lambda time: (allocated_gib(time, shape), reserved_gib(time, shape)))
    return scrapes.data


def memory(shape: str, *, every: float = 15.0, phase: float = 0.0, first: float = -600.0) -> Data:
    """Only what can be seen of GPU 0 of node 04 up to the error: for a look at many phases."""
    scrapes = Scrapes(EPOCH_MS, first, OOM + every, every=every, phase=phase)
    gpu_0(scrapes, lambda time: (allocated_gib(time, shape), reserved_gib(time, shape)))
    return scrapes.data


# The post-mortem's rules, to the letter: https://prometheus.io/docs/prometheus/latest/configuration/alerting_rules/
POST_MORTEM_RULES = {
    "groups": [
        {
            "name": "AI_Inference_Alerts",
            "rules": [
                {
                    "alert": "HighGPUMemoryFragmentation",
                    "expr": "(sum(torch_cuda_memory_reserved_bytes) - sum(torch_cuda_memory_allocated_bytes))"
                    " / sum(torch_cuda_memory_reserved_bytes) > 0.3",
                    "for": "5m",
                    "labels": {"severity": "critical"},
                    "annotations": {
                        "summary": "GPU Memory Fragmentation too high on {{ $labels.instance }}",
                        "description": "Fragmentation is above 30%. OOM imminent. Python 3.11.4 allocator failing.",
                    },
                },
                {
                    "alert": "LatencyP99Spike",
                    "expr": "histogram_quantile(0.99, sum(rate(inference_latency_seconds_bucket[5m])) by (le)) > 2.0",
                    "for": "1m",
                    "labels": {"severity": "warning"},
                    "annotations": {"summary": "p99 Latency exceeds 2 seconds."},
                },
            ],
        }
    ]
}
