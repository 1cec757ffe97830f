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
ROW_REMAP_PENDING = Gauge(
    "gpu_row_remap_pending",
    "1 where a faulty row of memory is remapped at the next reset of the device, else 0.",
    labels=PER_GPU,
)
PCIE_REPLAYS = Counter(
    "gpu_pcie_replays_total",
    "Packets that the device sent again over PCIe; more than a few an hour tell of a bad slot or riser.",
    labels=PER_GPU,
)
PCIE_WIDTH = Gauge(
    "gpu_pcie_lanes",
    "PCIe lanes in use now.",
    labels=PER_GPU,
)
PCIE_WIDTH_MAX = Gauge(
    "gpu_pcie_max_lanes",
    "PCIe lanes that device and slot could use.",
    labels=PER_GPU,
)
NVLINK_BYTES = Counter(
    "gpu_nvlink_bytes_total",
    "Data over all NVLinks of the device, by direction: transmit, receive.",
    labels=(*PER_GPU, "direction"),
    unit="bytes",
)
NVLINK_ERRORS = Counter(
    "gpu_nvlink_errors_total",
    "Errors on all NVLinks of the device, by kind: flit_crc, data_crc, replay, recovery.",
    labels=(*PER_GPU, "kind"),
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
HEARTBEAT_AGE = Gauge(
    "torch_process_heartbeat_age_seconds",
    "Time since the agent wrote last; where it grows while the process lives, something holds the interpreter.",
    labels=PROCESS,
    unit="seconds",
)
PROGRESS_AGE = Gauge(
    "torch_progress_age_seconds",
    "Time since the process finished a step or a request, by the clock of the host.",
    labels=PROCESS,
    unit="seconds",
)
CGROUP_OOM_KILLS = Counter(
    "torch_process_cgroup_oom_kills_total",
    "Processes that the kernel killed in the control group of this one, for want of host memory.",
    labels=PROCESS,
)
HOST_OOM_KILLS = Counter(
    "torch_host_oom_kills_total",
    "Processes that the kernel of the host killed for want of memory, in whichever control group.",
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
LAST_OOM_KILLED = Gauge(
    "torch_process_last_oom_killed",
    "1 where the kernel killed in the control group of a process that has ended as it ended, else 0.",
    labels=PROCESS,
)

# The daemon itself.

SPOOL_UP = Gauge(
    "watchkeeper_spool_up",
    "1 where the folder of the spool can be read, else 0.",
)
SPOOL_FILES = Gauge(
    "watchkeeper_spool_files",
    "Files in the spool, by state: live, stale, lock_lost, dead, corrupt, refused.",
    labels=("state",),
)
SPOOL_UNREAD = Gauge(
    "watchkeeper_spool_unread_files",
    "Files in the spool that are corrupt or refused, by reason (docs/spool.md).",
    labels=("reason",),
)
SERIES_DROPPED = Gauge(
    "watchkeeper_spool_dropped_series",
    "Series in the spool that are not served: not in the contract, given twice, or too many.",
)
STATE_SAVED = Gauge(
    "watchkeeper_state_saved",
    "1 where the totals are kept in a file, 0 where that failed or there is none: they start at 0 with it.",
)
NVML_UP = Gauge(
    "watchkeeper_nvml_up",
    "1 where NVML answers, else 0; torch's metrics are served all the same.",
)
NVML_FAILURE = Gauge(
    "watchkeeper_nvml_failure",
    "1 for the reason that NVML does not answer, 0 for the others: no_package, no_library, no_driver, version_mismatch,"
    " no_permission, timeout, error.",
    labels=("reason",),
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
