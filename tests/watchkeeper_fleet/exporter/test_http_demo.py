"""The demonstration: all of it by the clock, and what a real host would be served as."""

import shutil
import subprocess

import pytest

from watchkeeper_fleet.exporter.demo import DEVICES, LIFE, TOTAL, Demo
from watchkeeper_fleet.exporter.text import FAMILIES, render

START = 1_790_000_000.0


def at(seconds: float, demo: Demo, now: list[float]) -> dict[str, float]:
    now[0] = START + seconds
    return {series: value for rows in demo.collect().values() for series, value in rows}


@pytest.fixture
def now():
    return [START]


@pytest.fixture
def demo(now):
    return Demo(clock=lambda: now[0])


def test_the_same_time_gives_the_same(demo, now):
    again = Demo(clock=lambda: now[0])
    for seconds in (0.0, 61.7, LIFE):
        one, other = at(seconds, demo, now), at(seconds, again, now)
        one.pop("watchkeeper_collection_duration_seconds")
        other.pop("watchkeeper_collection_duration_seconds")
        assert one == other


def test_eight_devices_and_two_workloads(demo, now):
    found = at(0, demo, now)
    assert found["gpu_devices_visible"] == DEVICES == 8
    assert found["watchkeeper_nvml_up"] == 1
    assert found["watchkeeper_spool_dropped_series"] == 0
    assert found['watchkeeper_spool_files{state="live"}'] == 8
    ready = {series.split('"')[1] for series in found if series.startswith("torch_process_ready{")}
    assert ready == {"pretrain", "serving"}
    # Joined by UUID: each process reports its own device as torch's 0.
    assert found['torch_cuda_memory_reserved_bytes{workload="pretrain",process="4",rank="4",gpu="4"}'] > 0
    assert found['gpu_memory_non_torch_bytes{gpu="4"}'] == pytest.approx(0.6 * 2**30, rel=0.01)


def test_what_an_agent_with_a_gpu_always_serves_is_there(demo, now):
    served = {series.partition("{")[0] for series in at(LIFE - 610, demo, now)}  # as one of them ends
    assert served >= {
        *("torch_cuda_oversize_allocations", "torch_cuda_oversize_segments", "torch_cuda_expected_bytes"),
        *("torch_cuda_memory_reserved_peak_bytes", "torch_cuda_device_alloc_calls_total", "torch_cuda_allocator_info"),
        *("torch_cuda_last_oom_request_bytes", "inference_memory_delta_bytes", "inference_oldest_in_progress_seconds"),
    }


def test_values_move_and_stay_possible(demo, now):
    before: dict[str, float] = {}
    moved = set()
    for seconds in range(0, int(1.5 * LIFE), 37):
        found = at(seconds, demo, now)
        for series, value in found.items():
            name = series.partition("{")[0]
            family = name if name in FAMILIES else name.rpartition("_")[0]
            assert value >= 0, series
            if name.endswith("_bytes") and "memory" in name:
                assert value <= TOTAL, series
            if name.endswith("_ratio"):
                assert value <= 1, series
            if series in before and value != before[series]:
                moved.add(name)
                counts = FAMILIES[family].type in ("counter", "histogram")
                # A process that serves begins anew.
                assert not counts or value > before[series] or 'workload="serving"' in series, series
        before = found
    assert moved >= {
        *("gpu_utilization_ratio", "gpu_power_watts", "gpu_temperature_celsius", "gpu_memory_free_bytes"),
        *("torch_cuda_memory_allocated_bytes", "torch_cuda_alloc_retries_total", "torch_cuda_node_ooms_total"),
        *("gpu_stall_seconds_total", "gpu_step_wall_seconds_total", "inference_latency_seconds_bucket"),
    }


def test_totals_outlive_the_processes(demo, now):
    found: dict[str, float] = {}
    for seconds in range(0, int(2 * LIFE), 20):
        found = at(seconds, demo, now)
    # Two lives have ended, each with two; of the second the last look may have come too early.
    assert found['torch_cuda_node_ooms_total{gpu="6"}'] >= 2
    assert found['torch_cuda_ooms_total{workload="serving",process="6",rank="0",gpu="6"}'] == 0
    assert found['torch_cuda_node_ooms_total{gpu="0"}'] == 0
    assert found["torch_host_oom_kills_total"] == 0


def test_alerts_tell_who_is_ill(pack, demo, now):
    """Whoever sees the alerts first on the demonstration must not meet false ones."""
    rows: dict[str, list[float | None]] = {}
    steps = int(0.5 * LIFE / 15)  # one of the two ends its life meanwhile
    for step in range(steps):
        for series, value in at(15.0 * step, demo, now).items():
            if series.startswith(("torch_cuda", "torch_process_ready", "gpu_memory", "inference_")):
                rows.setdefault(series, [None] * steps)[step] = value
    text = "\n".join(
        f"{series} {' '.join('_' if value is None else repr(value) for value in values)}"
        for series, values in rows.items()
    )
    labels = {"job": "watchkeeper", "instance": "n1", "node": "n1", "cluster": "c"}
    run = pack.run(text, labels=labels, interval="15s")
    for ill in ("GPUMemoryHeadroomLow", "GPUAllocatorRetrying"):
        run.fires(ill, labels={"workload": "serving", "gpu": "7"})
        run.silent(ill, labels={"workload": "pretrain"})
    run.fires("GPUOutOfMemory", labels={"gpu": "7"})
    run.silent("LatencyP99Spike")
    run.silent("HighGPUMemoryFragmentation")


def test_buckets_rise(demo, now):
    found = at(LIFE / 2, demo, now)
    buckets = [
        value
        for series, value in found.items()
        if series.startswith('inference_latency_seconds_bucket{workload="serving",process="6"')
    ]
    assert buckets == sorted(buckets)
    assert 0 < buckets[0] < buckets[-1]


def test_promtool_finds_nothing(demo, now):
    if not shutil.which("promtool"):
        pytest.skip("Prometheus is not here: apt-get install prometheus")
    at(0, demo, now)
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=render(demo.collect()), capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
