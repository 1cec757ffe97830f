"""What is served as text: readable by others' parsers, and nothing in it but what the contract has."""

from __future__ import annotations

import math
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as text_families
from prometheus_client.utils import floatToGoString

from watchkeeper.contract import Counter, Gauge, Histogram, Info
from watchkeeper_fleet.exporter.allowed import PARTS, Plan, bound
from watchkeeper_fleet.exporter.gpus import Device, Snapshot
from watchkeeper_fleet.exporter.text import FAMILIES, add, escape, render, series
from watchkeeper_fleet.metrics import agent, exporter
from watchkeeper_fleet.spool import Field

HOSTILE = 'a"} 1\n# EOF\\'
LATENCY = agent.LATENCY
LIMITS = [*map(str, LATENCY.buckets), "+Inf"]


def histogram(function: str = "f", counts=None, limits=LIMITS, total: float = 12.5):
    counts = range(1, len(limits) + 1) if counts is None else counts
    buckets = [
        ((LATENCY.bucket.name, {"function": function, "le": le}), float(count))
        for le, count in zip(limits, counts, strict=True)
    ]
    rest = [(LATENCY.sum.name, total), (LATENCY.count.name, 999.0)]
    return buckets + [((name, {"function": function}), value) for name, value in rest]


EVERYTHING = [
    ((agent.RESERVED.name, {"gpu": "0"}), 8.5e10),
    ((agent.OOMS.name, {"gpu": "0"}), 2.0),
    ((agent.PARAMETER_BYTES.name, {"dtype": 'bf"16\\'}), 1e9),
    ((agent.INITIALIZED.name, {}), 1.0),
    ((agent.PROGRESS_TIMESTAMP.name, {}), 1.7e9),
    ((agent.INFERENCE_ERRORS.name, {"function": "f", "class": "ValueError"}), 1.0),
    *histogram(),
]
TEXTS = {"torch_version": "2.13.0+cpu", "backend": "native", "expandable_segments": "true"}


@pytest.fixture
def samples(daemon, writers):
    daemon.snapshot = Snapshot(
        [
            Device(
                "0",
                "GPU-8f5b3c1e-0000-4444-8888-0123456789ab",
                "H100",
                80,
                10,
                70,
                0.5,
                60,
                90,
                350.5,
                {"corrected": 1},
            )
        ],
        driver="550",
    )
    writers.start("0", workload='a "quoted" \\ name ☃', fields=EVERYTHING, texts=TEXTS)
    return daemon.samples()


@pytest.mark.parametrize("openmetrics", [False, True])
def test_the_parsers_of_prometheus_client_read_it(samples, openmetrics):
    document = render(samples, openmetrics=openmetrics).decode()
    families = list((openmetrics_families if openmetrics else text_families)(document))
    read = {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }
    assert len(read) == sum(map(len, samples.values()))
    labels = {"workload": 'a "quoted" \\ name ☃', "process": "0", "rank": "0", "gpu": "0"}
    assert read[agent.RESERVED.name, frozenset(labels.items())] == 8.5e10
    assert {family.name.removesuffix("_info") for family in families} >= {
        "torch_process",
        "gpu",
        "inference_latency_seconds",
    }
    if openmetrics:
        assert {family.unit for family in families if family.name == "gpu_temperature_celsius"} == {"celsius"}
        assert document.endswith("# EOF\n")


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not here")
def test_promtool_finds_nothing(samples):
    run = subprocess.run(["promtool", "check", "metrics"], input=render(samples), capture_output=True, check=False)
    assert (run.stdout + run.stderr).decode() == ""
    assert run.returncode == 0


def test_every_metric_of_the_contract_reads_well_in_both_formats():
    every = {}
    for metric in FAMILIES.values():
        if not isinstance(metric, Histogram):
            add(every, metric, 1.0, *metric.labels)
    list(text_families(render(every).decode()))
    assert len(list(openmetrics_families(render(every, openmetrics=True).decode()))) == len(every)
    if shutil.which("promtool"):
        run = subprocess.run(["promtool", "check", "metrics"], input=render(every), capture_output=True, check=False)
        assert (run.stdout + run.stderr).decode() == ""


def test_types_as_each_format_has_them():
    rows = {}
    for metric in (exporter.NODE_OOMS, exporter.GPU_INFO):
        add(rows, metric, 1.0, *metric.labels)
    assert "# TYPE torch_cuda_node_ooms_total counter" in render(rows).decode()
    assert "# TYPE gpu_info gauge" in render(rows).decode()
    assert "# TYPE torch_cuda_node_ooms counter" in render(rows, openmetrics=True).decode()
    assert "# TYPE gpu info" in render(rows, openmetrics=True).decode()


def test_histograms_are_whole(daemon, writers):
    writers.start(fields=histogram(counts=[3, 1, *range(4, 20), 7][: len(LIMITS)]))
    rows = dict(daemon.samples()[LATENCY.name])
    own = 'workload="vlm",process="0",rank="0",function="f"'
    assert len(rows) == len(LIMITS) + 2
    assert rows[f'inference_latency_seconds_bucket{{{own},le="0.01"}}'] == 3, "no bucket holds less than the one below"
    assert (
        rows[f"inference_latency_seconds_count{{{own}}}"]
        == rows[f'inference_latency_seconds_bucket{{{own},le="+Inf"}}']
    )
    assert rows[f"inference_latency_seconds_sum{{{own}}}"] == 12.5


@pytest.mark.parametrize("limits", [LIMITS[:-1], LIMITS[1:], ["0.5", "+Inf"], [*LIMITS[:-2], "77.0", "+Inf"]])
def test_a_histogram_in_part_is_left_out(daemon, writers, limits):
    writers.start(fields=histogram(limits=limits))
    samples = daemon.samples()
    assert not samples[LATENCY.name]
    assert dict(samples[exporter.SERIES_DROPPED.name])["watchkeeper_spool_dropped_series"] > 0
    list(openmetrics_families(render(samples, openmetrics=True).decode()))


@pytest.mark.parametrize(
    "field",
    [
        ("up", {}),
        ("torch_process_info", {}),
        ("gpu_memory_free_bytes", {"gpu": "0"}),
        ("torch_cuda_node_ooms_total", {"gpu": "0"}),
        ("watchkeeper_nvml_up", {}),
        (agent.RESERVED.name, {}),
        (agent.RESERVED.name, {"gpu": "0", "job": "other"}),
        (agent.READY.name, {"instance": "other"}),
        (agent.READY.name, {"le": "1"}),
        (agent.INFERENCE_ERRORS.name, {"function": "f"}),
    ],
    ids=str,
)
def test_what_the_contract_does_not_have_is_dropped(daemon, writers, field):
    writers.start(fields=[(field, 5.0), ((agent.READY.name, {}), 1.0)])
    before, found = daemon.scrape(), daemon.scrape()
    assert found["watchkeeper_spool_dropped_series"] == 1
    assert found['torch_process_ready{workload="vlm",process="0",rank="0"}'] == 1
    assert 5.0 not in [value for series, value in found.items() if not series.startswith("watchkeeper_")]
    assert before.keys() == found.keys()


def test_values_below_zero_are_none_of_ours(daemon, writers):
    writers.start(
        fields=[((agent.OOMS.name, {"gpu": "0"}), -5.0), ((agent.EMBEDDING_COSINE.name, {"embedding": "e"}), -0.5)]
    )
    found = daemon.scrape()
    own = 'workload="vlm",process="0",rank="0"'
    assert found[f'torch_cuda_ooms_total{{{own},gpu="0"}}'] == 0
    assert found['torch_cuda_node_ooms_total{gpu="0"}'] == 0
    assert found[f'inference_embedding_centroid_cosine_ratio{{{own},embedding="e"}}'] == -0.5


LABEL = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20) | st.sampled_from(
    [HOSTILE, "0", "+Inf", "1"]
)
FIELDS = st.builds(
    lambda name, labels: Field(name, tuple(sorted(labels.items()))),
    st.sampled_from([*PARTS, "up"]),
    st.dictionaries(
        st.sampled_from(["gpu", "function", "class", "le", "dtype", "embedding", "kernel"]), LABEL, max_size=3
    ),
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)  # how fast is the machine's affair
@given(st.lists(st.tuples(FIELDS, st.floats(-1e18, 1e18)), max_size=30), LABEL)
def test_whatever_a_file_describes_the_document_can_be_read(described, workload):
    own = f'workload="{escape(workload)}",process="0",rank=""'
    samples = {name: [] for name in FAMILIES}
    plan = Plan(tuple(field for field, _ in described), own, lambda written: written)
    plan.write([value for _, value in described], samples)
    for family in openmetrics_families(render(samples, openmetrics=True).decode()):
        for sample in family.samples:
            assert sample.labels["workload"] == workload
            assert math.isfinite(sample.value)


def test_bounds_are_written_as_go_does():
    bounds = [one for metric in FAMILIES.values() if isinstance(metric, Histogram) for one in metric.buckets]
    assert 1e-06 in bounds
    assert [*map(bound, bounds)] == [*map(floatToGoString, bounds)]


def test_values_keep_all_their_digits():
    assert series(exporter.GPU_FREE, 'x"y\\z\n') == 'gpu_memory_free_bytes{gpu="x\\"y\\\\z\\n"}'
    rows = {exporter.GPU_FREE.name: [("gpu_memory_free_bytes", 0.1 + 0.2)]}
    assert b"gpu_memory_free_bytes 0.30000000000000004\n" in render(rows)


def test_the_contract_is_served_by_its_names():
    assert {type(metric) for metric in FAMILIES.values()} == {Counter, Gauge, Histogram, Info}
    assert not [name for name in PARTS if name.endswith("_info")]
