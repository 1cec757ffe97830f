"""The contract: metrics, and the selectors made of them."""

import pytest

from watchkeeper import Counter, Gauge, Histogram, Info, not_, re
from watchkeeper.promql import parse

FREE = Gauge("gpu_memory_free_bytes", "Free.", labels=("gpu",), unit="bytes")


def test_a_metric_formats_to_its_name():
    assert f"min({FREE})" == "min(gpu_memory_free_bytes)"


@pytest.mark.parametrize(
    ("matchers", "expected"),
    [
        ({}, "gpu_memory_free_bytes"),
        ({"gpu": "0"}, 'gpu_memory_free_bytes{gpu="0"}'),
        ({"gpu": re("0|1"), "node": "a"}, 'gpu_memory_free_bytes{gpu=~"0|1",node="a"}'),
        ({"gpu": not_("0")}, 'gpu_memory_free_bytes{gpu!="0"}'),
        ({"gpu": not_(re("0|1"))}, 'gpu_memory_free_bytes{gpu!~"0|1"}'),
    ],
)
def test_where(matchers, expected):
    assert FREE.where(**matchers) == expected


@pytest.mark.parametrize("value", ['a"b', "a\\b", "a\nb\tc\r", "ü 日本 😀", "", "`", "\x00\x1b"])
def test_where_quotes_any_value(value):
    assert parse(FREE.where(gpu=value)).matchers[0].value == value


def test_the_series_of_a_histogram():
    latency = Histogram("inference_latency_seconds", "Latency.", labels=("workload",), unit="seconds", buckets=(1, 2.5))
    assert latency.buckets == (1.0, 2.5)
    assert f"{latency.sum} / {latency.count}" == "inference_latency_seconds_sum / inference_latency_seconds_count"
    assert latency.bucket.where(le="2.5") == 'inference_latency_seconds_bucket{le="2.5"}'
    assert latency.series() == {
        "inference_latency_seconds_bucket": ("workload", "le"),
        "inference_latency_seconds_sum": ("workload",),
        "inference_latency_seconds_count": ("workload",),
    }


def test_metrics_are_equal_by_value_and_of_their_type():
    assert Gauge("gpu_memory_free_bytes", "Free.", labels=["gpu"], unit="bytes") == FREE
    assert len({FREE, Gauge("gpu_memory_free_bytes", "Free.", labels=("gpu",), unit="bytes")}) == 1
    assert Counter("a_total", "A.") != Gauge("a_total", "A.")
    assert Info("a_info", "A.").type == "info"


def test_a_metric_remembers_its_line():
    metric = Gauge("a", "A.")
    assert metric.place.file == __file__
    assert metric.place.line > FREE.place.line
    assert FREE.place.module == __name__
    assert metric.place.module != __name__  # made in a function, not by the module's import


def test_labels_in_a_string_would_be_letters():
    with pytest.raises(TypeError, match=r'a: labels must be a tuple of names, such as \("gpu",\)'):
        Gauge("a", "A.", labels="gpu")
