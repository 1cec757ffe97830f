"""What the exporter daemon on a GPU host measures itself: devices, and processes from outside."""

from watchkeeper.contract import Counter, Gauge, Info
from watchkeeper_fleet.metrics.agent import PER_GPU as PER_PROCESS_AND_GPU
from watchkeeper_fleet.metrics.agent import PROCESS

PER_GPU = ("gpu",)

# Devices, from NVML.

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
NON_TORCH = Gauge(
    "gpu_memory_non_torch_bytes",
    "Device memory in use that no torch allocator reports: contexts, NCCL, other programs.",
    labels=PER_GPU,
    unit="bytes",
)
GPU_INFO = Info(
    "gpu_info",
    "What the device is.",
    labels=(*PER_GPU, "uuid", "name", "driver_version"),
)
UTILIZATION = Gauge(
    "gpu_utilization_ratio",
    "Share of the last sample period in which any kernel ran. A spinning collective counts as busy.",
    labels=PER_GPU,
    unit="ratio",
)
TEMPERATURE = Gauge(
    "gpu_temperature_celsius",
    "Temperature of the device.",
    labels=PER_GPU,
    unit="celsius",
)
SLOWDOWN_TEMPERATURE = Gauge(
    "gpu_temperature_slowdown_threshold_celsius",
    "Temperature from which the device slows itself down.",
    labels=PER_GPU,
    unit="celsius",
)
POWER = Gauge(
    "gpu_power_watts",
    "Power that the device draws.",
    labels=PER_GPU,
    unit="watts",
)
THROTTLED = Counter(
    "gpu_throttled_seconds_total",
    "Time that the device spent slowed down, by reason: thermal, power, hardware.",
    labels=(*PER_GPU, "reason"),
    unit="seconds",
)
XID_ERRORS = Counter(
    "gpu_xid_errors_total",
    "Errors that the driver reported, by XID; each known XID exists at 0 from the start.",
    labels=(*PER_GPU, "xid"),
)
ECC_ERRORS = Counter(
    "gpu_ecc_errors_total",
    "Memory errors, by kind: corrected, uncorrected.",
    labels=(*PER_GPU, "kind"),
)
ROW_REMAP_FAILED = Gauge(
    "gpu_row_remap_failed",
    "1 where the device could not remap a faulty row of its memory, else 0.",
    labels=PER_GPU,
)
DEVICES_EXPECTED = Gauge(
    "gpu_devices_expected",
    "Devices that the host should have, from configuration or the most seen since it started.",
)
DEVICES_VISIBLE = Gauge(
    "gpu_devices_visible",
    "Devices that answer.",
)

# Processes, seen from outside.

PROCESS_GPU_MEMORY = Gauge(
    "gpu_process_memory_bytes",
    "Device memory that the driver charges to the process.",
    labels=PER_PROCESS_AND_GPU,
    unit="bytes",
)
PROCESS_CPU = Counter(
    "torch_process_cpu_seconds_total",
    "CPU time of the process.",
    labels=PROCESS,
    unit="seconds",
)
NODE_OOMS = Counter(
    "torch_cuda_node_ooms_total",
    "Out-of-memory errors of all torch processes on this host, kept across their deaths; 0 from the start.",
    labels=PER_GPU,
)
NODE_ALLOC_RETRIES = Counter(
    "torch_cuda_node_alloc_retries_total",
    "Cache flushes of all torch processes on this host, kept across their deaths; 0 from the start.",
    labels=PER_GPU,
)
PROCESSES_LOST = Counter(
    "torch_process_lost_total",
    "Processes that ended without a stop mark and were not asked to stop.",
    labels=("workload",),
)
LAST_EXIT = Gauge(
    "torch_process_last_exit_timestamp_seconds",
    "Unix time at which a process that has ended was last seen alive; kept for a bounded time.",
    labels=PROCESS,
    unit="seconds",
)
LAST_RESERVED = Gauge(
    "torch_process_last_memory_reserved_bytes",
    "What a process that has ended held last; kept for a bounded time.",
    labels=PER_PROCESS_AND_GPU,
    unit="bytes",
)

# The daemon itself.

SPOOL_FILES = Gauge(
    "watchkeeper_spool_files",
    "Files in the spool, by state: live, stale, dead, corrupt, refused.",
    labels=("state",),
)
NVML_UP = Gauge(
    "watchkeeper_nvml_up",
    "1 where NVML answers, else 0; torch's metrics are served all the same.",
)
COLLECTION_DURATION = Gauge(
    "watchkeeper_collection_duration_seconds",
    "Duration of the last collection.",
    unit="seconds",
)
EGRESS_CAPACITY = Gauge(
    "watchkeeper_egress_capacity_bytes_per_second",
    "What the way out of the cluster (a NAT gateway, a peering) carries, from configuration; absent if not configured.",
)
BUILD_INFO = Info(
    "watchkeeper_build_info",
    "Version of the daemon.",
    labels=("version",),
)
