"""What the exporter daemon on a GPU host measures itself, per device."""

from watchkeeper.contract import Counter, Gauge

PER_GPU = ("gpu",)

GPU_FREE = Gauge(
    "gpu_memory_free_bytes",
    "Device memory that no process holds.",
    labels=PER_GPU,
    unit="bytes",
)
GPU_TOTAL = Gauge(
    "gpu_memory_total_bytes",
    "Device memory in all.",
    labels=PER_GPU,
    unit="bytes",
)
NODE_OOMS = Counter(
    "torch_cuda_node_ooms_total",
    "Out-of-memory errors of all torch processes on this host, kept across their deaths; 0 from the start.",
    labels=PER_GPU,
)
