"""The daemon of a GPU host: it reads the spool, asks NVML and /proc, and serves the result to Prometheus."""
