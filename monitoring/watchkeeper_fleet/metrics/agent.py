"""What the agent inside a GPU process reports. The exporter daemon of the host serves it.

`workload`, `process` (a small stable slot on the host) and `rank` name the process; `gpu` is the NVML index, or
index:MIG. What has no bound (pid, pod, UUID) stands in info metrics alone.
"""

from watchkeeper.contract import Counter, Gauge, Histogram, Info

PROCESS = ("workload", "process", "rank")
PER_GPU = (*PROCESS, "gpu")
PER_FUNCTION = (*PROCESS, "function")

# The caching allocator, as torch.cuda.memory_stats() has it.

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
ACTIVE = Gauge(
    "torch_cuda_memory_active_bytes",
    "Memory in blocks that are allocated, or freed but still in use by another stream.",
    labels=PER_GPU,
    unit="bytes",
)
REQUESTED = Gauge(
    "torch_cuda_memory_requested_bytes",
    "Memory that callers asked for, before rounding.",
    labels=PER_GPU,
    unit="bytes",
)
INACTIVE_SPLIT = Gauge(
    "torch_cuda_memory_inactive_split_bytes",
    "Free pieces of split segments, which can't be given back; not counted under expandable segments.",
    labels=PER_GPU,
    unit="bytes",
)
RESERVED_PEAK = Gauge(
    "torch_cuda_memory_reserved_peak_bytes",
    "The most that was reserved in the life of the process, by the agent's own mark.",
    labels=PER_GPU,
    unit="bytes",
)
ALLOCATED_PEAK = Gauge(
    "torch_cuda_memory_allocated_peak_bytes",
    "The most that was allocated in the life of the process, by the agent's own mark.",
    labels=PER_GPU,
    unit="bytes",
)
OVERSIZE_ALLOCATIONS = Gauge(
    "torch_cuda_oversize_allocations",
    "Live allocations larger than max_split_size.",
    labels=PER_GPU,
)
OVERSIZE_SEGMENTS = Gauge(
    "torch_cuda_oversize_segments",
    "Reserved segments larger than max_split_size.",
    labels=PER_GPU,
)
ALLOC_RETRIES = Counter(
    "torch_cuda_alloc_retries_total",
    "Times that the allocator flushed its cache, which synchronises the device, because the device refused memory.",
    labels=PER_GPU,
)
OOMS = Counter(
    "torch_cuda_ooms_total",
    "Out-of-memory errors that this process raised.",
    labels=PER_GPU,
)
DEVICE_ALLOCS = Counter(
    "torch_cuda_device_alloc_calls_total",
    "Calls that took memory from the device (cudaMalloc, cuMemMap).",
    labels=PER_GPU,
)
DEVICE_FREES = Counter(
    "torch_cuda_device_free_calls_total",
    "Calls that gave memory back to the device (cudaFree, cuMemUnmap).",
    labels=PER_GPU,
)
SYNC_ALL_STREAMS = Counter(
    "torch_cuda_sync_all_streams_total",
    "Times that the allocator waited for all streams of the device, to free memory that they share.",
    labels=PER_GPU,
)
PRIVATE_POOLS = Gauge(
    "torch_cuda_memory_private_pools",
    "Private pools (of CUDA graphs, of torch.cuda.MemPool) that hold memory.",
    labels=PER_GPU,
)
PRIVATE_POOLS_RESERVED = Gauge(
    "torch_cuda_memory_private_pools_reserved_bytes",
    "Memory that the private pools hold; it is among what is reserved.",
    labels=PER_GPU,
    unit="bytes",
)
LAST_OOM_REQUEST = Gauge(
    "torch_cuda_last_oom_request_bytes",
    "The size of the last request that was refused; absent before the first.",
    labels=PER_GPU,
    unit="bytes",
)
EXPECTED = Gauge(
    "torch_cuda_expected_bytes",
    "Memory that the process has said it will want soon, by agent.expect().",
    labels=PER_GPU,
    unit="bytes",
)
DEVICE_FREE = Gauge(
    "torch_cuda_device_free_bytes",
    "Free memory of the device, as the process found it at the end of a step.",
    labels=PER_GPU,
    unit="bytes",
)
DEVICE_TOTAL = Gauge(
    "torch_cuda_device_total_bytes",
    "Memory of the device, as the process found it at the end of a step.",
    labels=PER_GPU,
    unit="bytes",
)
ALLOCATOR_INFO = Info(
    "torch_cuda_allocator_info",
    "How the allocator is configured.",
    labels=(*PROCESS, "backend", "expandable_segments", "max_split_size_mb"),
)

# The process.

INITIALIZED = Gauge(
    "torch_cuda_initialized",
    "1 once the process has a CUDA context; memory is only reported then.",
    labels=PROCESS,
)
READY = Gauge(
    "torch_process_ready",
    "1 once the process has said that loading is over and it serves or trains, else 0.",
    labels=PROCESS,
)
PROCESS_INFO = Info(
    "torch_process_info",
    "What runs: where, and which versions.",
    labels=(
        *PROCESS,
        "pid",
        "namespace",
        "pod",
        "container",
        "python_version",
        "torch_version",
        "cuda_version",
        "cudnn_version",
        "nccl_version",
        "driver_version",
    ),
)
WORK_IN_PROGRESS = Gauge(
    "torch_work_in_progress",
    "1 while a step or a request is under way, else 0.",
    labels=PROCESS,
)
PROGRESS_TIMESTAMP = Gauge(
    "torch_progress_timestamp_seconds",
    "Unix time of the last step or request that was finished.",
    labels=PROCESS,
    unit="seconds",
)
AGENT_FAULTS = Counter(
    "watchkeeper_agent_faults_total",
    "Errors inside the agent, which it keeps from the workload.",
    labels=PROCESS,
)
PARAMETER_BYTES = Gauge(
    "torch_parameter_bytes",
    "Size of the watched model's parameters, by their type.",
    labels=(*PROCESS, "dtype"),
    unit="bytes",
)
DTYPE_CHANGES = Counter(
    "torch_parameter_dtype_changes_total",
    "Times that a parameter of the watched model was found to be of another type than before.",
    labels=PROCESS,
)
NONFINITE_TENSORS = Counter(
    "torch_nonfinite_tensors_total",
    "Looks of agent.watch_finite that found NaN or infinity, by the name that the program gave.",
    labels=(*PROCESS, "tensor"),
)
COLLECTIVE_SEQUENCE = Gauge(
    "torch_collective_sequence",
    "Number of the last collective of a process group that is in this state: enqueued, started or completed.",
    labels=(*PROCESS, "group", "state"),
)

# Steps and kernels.

STALL = Counter(
    "gpu_stall_seconds_total",
    "Time in which work was offered and the GPU stood idle for want of data from the CPU.",
    labels=PER_GPU,
    unit="seconds",
)
STEP_WALL = Counter(
    "gpu_step_wall_seconds_total",
    "Time in which work was offered: inside the training loop, or with a request under way.",
    labels=PER_GPU,
    unit="seconds",
)
DATA_WAIT = Counter(
    "gpu_data_wait_seconds_total",
    "Time that the training thread waited for the next batch.",
    labels=PER_GPU,
    unit="seconds",
)
IDLE = Counter(
    "gpu_idle_seconds_total",
    "Time from asking for a batch to the begin of the step with it in which the step's stream had nothing to do.",
    labels=PER_GPU,
    unit="seconds",
)
UNMEASURED_WAITS = Counter(
    "gpu_stall_unmeasured_waits_total",
    "Waits for a batch of which it is not known how long the GPU stood idle: it was too far behind, or captured.",
    labels=PER_GPU,
)
KERNEL = Histogram(
    "gpu_kernel_seconds",
    "Duration of GPU kernels in the sampled steps; kernel is one of the most expensive ones, or other.",
    labels=(*PER_GPU, "kernel"),
    unit="seconds",
    buckets=(1e-6, 5e-6, 1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 0.1, 0.5, 1.0),
)

# Inference, by the decorator monitor_inference.

LATENCY = Histogram(
    "inference_latency_seconds",
    "Duration of finished calls, those that raised included. A call that never returns is in no bucket.",
    labels=PER_FUNCTION,
    unit="seconds",
    # 2 is the alert's threshold; 120 so that a p99 of 45 s can be read at all.
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0),
)
IN_PROGRESS = Gauge(
    "inference_in_progress",
    "Calls under way.",
    labels=PER_FUNCTION,
)
OLDEST_IN_PROGRESS = Gauge(
    "inference_oldest_in_progress_seconds",
    "Age of the oldest call under way, 0 where there is none.",
    labels=PER_FUNCTION,
    unit="seconds",
)
INFERENCE_ERRORS = Counter(
    "inference_errors_total",
    "Calls that raised, by the class of the exception (a bounded number of classes, then other).",
    labels=(*PER_FUNCTION, "class"),
)
NONFINITE = Counter(
    "inference_nonfinite_outputs_total",
    "Calls whose output held NaN or infinity.",
    labels=PER_FUNCTION,
)
MEMORY_JUMPS = Counter(
    "inference_memory_jumps_total",
    "Calls after which allocated memory was more than a tenth higher than before.",
    labels=PER_FUNCTION,
)
MEMORY_DELTA = Gauge(
    "inference_memory_delta_bytes",
    "Memory allocated after the last call that ran alone, less that before it.",
    labels=PER_FUNCTION,
    unit="bytes",
)
EMBEDDING_PSI = Gauge(
    "inference_embedding_psi",
    "Population stability index of the embeddings in the window against the saved reference.",
    labels=(*PROCESS, "embedding"),
)
EMBEDDING_COSINE = Gauge(
    "inference_embedding_centroid_cosine_ratio",
    "Cosine between the mean embedding of the window and that of the reference.",
    labels=(*PROCESS, "embedding"),
    unit="ratio",
)
EMBEDDING_SAMPLES = Gauge(
    "inference_embedding_window_samples",
    "Embeddings in the window.",
    labels=(*PROCESS, "embedding"),
)
EMBEDDING_NORM = Gauge(
    "inference_embedding_norm_ratio",
    "Mean norm of the embeddings in the window over that of the reference; 1 where it has not shifted.",
    labels=(*PROCESS, "embedding"),
    unit="ratio",
)
EMBEDDING_NONFINITE = Counter(
    "inference_embedding_nonfinite_total",
    "Embeddings that held NaN or infinity, which no other figure of the window counts.",
    labels=(*PROCESS, "embedding"),
)
