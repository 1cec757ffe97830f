"""What the agent inside a GPU process reports, per process and GPU. The exporter daemon serves it.

`workload`, `process` (a small stable slot on the host) and `rank` name the process; `gpu` is the NVML index, or
index:MIG.
"""

from watchkeeper.contract import Counter, Gauge

PROCESS = ("workload", "process", "rank")
PER_GPU = (*PROCESS, "gpu")

RESERVED = Gauge(
    "torch_cuda_memory_reserved_bytes",
    "Memory that torch's caching allocator holds on the device, in use or cached.",
    labels=PER_GPU,
    unit="bytes",
)
ALLOCATED = Gauge(
    "torch_cuda_memory_allocated_bytes",
    "Memory that live tensors occupy, rounded up to allocator blocks.",
    labels=PER_GPU,
    unit="bytes",
)
ALLOC_RETRIES = Counter(
    "torch_cuda_alloc_retries_total",
    "Times that the allocator flushed its cache, which synchronises the device, because the device refused memory.",
    labels=PER_GPU,
)
READY = Gauge(
    "torch_process_ready",
    "1 once the process has said that loading is over and it serves or trains, else 0.",
    labels=PROCESS,
)
