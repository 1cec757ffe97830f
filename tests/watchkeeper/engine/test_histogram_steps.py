"""Native histograms through the step-wise evaluator: functions, aggregations, operators, and what is told."""

import math

import pytest

from watchkeeper.engine import Data, Engine, Series
from watchkeeper.engine.data import STALE
from watchkeeper.engine.histogram import Histogram, parse_histogram

MINUTE = 60_000
RESET = "{{count:2 sum:2 buckets:[2]}}"
CUSTOM = "{{schema:-53 count:3 sum:6 custom_values:[1 5] buckets:[1 2]}}"
OTHER_CUSTOM = "{{schema:-53 count:3 sum:6 custom_values:[5 7] buckets:[3]}}"


def value(item):
    if isinstance(item, str):
        return STALE if item == "stale" else parse_histogram(item)
    return float(item)


def counter(*counts, hint=""):
    return [f"{{{{count:{n} sum:{n} buckets:[{n}]{hint}}}}}" for n in counts]


def data(starts=None, **series):
    """Series by name, or by name__label; None is a missing sample."""
    made = []
    for name, items in series.items():
        metric, _, label = name.partition("__")
        labels = {"__name__": metric, **({"i": label} if label else {})}
        kept = [index for index, item in enumerate(items) if item is not None]
        times = [index * MINUTE for index in kept]
        begun = None if starts is None else [starts[index] for index in kept]
        made.append(Series(labels, times, [value(items[index]) for index in kept], begun))
    return Data(made)


def ask(found, expr, minutes=4.0, **options):
    """The values of an instant query, and the texts of what it says."""
    result = Engine(evaluator="steps", **options).instant(found, expr, minutes * 60)
    texts = [text.split(": ", 1)[1] for text in (*result.warnings, *result.infos)]
    return [sample.value for sample in result.samples], texts


def one(found, expr, minutes=4.0, **options):
    values, texts = ask(found, expr, minutes, **options)
    assert len(values) == 1, values
    assert texts == []
    return values[0]


def test_rate_goes_on_over_a_reset():
    found = data(h=counter(5, 10, 15, 5, 10))
    # 25 between the samples; the range goes on for half a minute more.
    assert one(found, "increase(h[5m])").count == pytest.approx(20 + 5 * 20 / 20, rel=0.3)
    assert one(found, "irate(h[5m])").count == pytest.approx(5 / 60)
    assert one(found, "irate(h[5m])", minutes=3.0).count == pytest.approx(5 / 60)
    assert one(found, "resets(h[5m])") == 1
    assert one(found, "changes(h[5m])") == 4
    assert one(found, "histogram_count(increase(h[5m]))") == one(found, "increase(h[5m])").count


def test_rate_is_that_of_the_counts():
    found = data(h=counter(*range(0, 25, 5)), f=range(0, 25, 5))
    by_float = ask(found, "rate(f[3m])")[0][0]
    assert one(found, "rate(h[3m])").count == pytest.approx(by_float)
    assert one(found, "rate(h[3m])", compat="2").counter_reset_hint == "gauge"


def test_start_times_are_looked_at():
    found = data(starts=[-1] * 5, h=counter(1, 2, 3, 4, 5))
    assert one(found, "resets(h[5m])") == 0
    found = data(starts=[-1, -1, MINUTE + 1, MINUTE + 1, MINUTE + 1], h=counter(1, 2, 3, 4, 5))
    assert one(found, "resets(h[5m])") == 1
    single = data(starts=[60_001, 1, 1, 1, 3 * MINUTE], h=[None, None, None, None, *counter(6)])
    assert one(single, "increase(h[2m])").count == 6


GAUGES = counter(1, 2, 3, 4, 5, hint=" counter_reset_hint:gauge")


@pytest.mark.parametrize(
    ("expr", "items", "says"),
    [
        ("rate(h[5m])", GAUGES, 'this native histogram metric is not a counter: "h" (1:6)'),
        ("irate(h[5m])", GAUGES, 'this native histogram metric is not a counter: "h" (1:7)'),
        ("delta(h[5m])", counter(1, 2, 3, 4, 5), 'this native histogram metric is not a gauge: "h" (1:7)'),
        ("idelta(h[5m])", counter(1, 2, 3, 4, 5), 'this native histogram metric is not a gauge: "h" (1:8)'),
    ],
)
def test_the_wrong_flavour_is_told_and_counted_all_the_same(expr, items, says):
    values, texts = ask(data(h=items), expr)
    assert len(values) == 1
    assert texts == [says]


MIXED = "vector contains a mix of histograms with exponential and custom buckets schemas"
FLOATS = "encountered a mix of histograms and floats for"
TYPES = "incompatible sample types encountered for binary operator"


@pytest.mark.parametrize(
    ("expr", "says"),
    [
        ("rate(mixed[5m])", f'{FLOATS} metric name "mixed" (1:6)'),
        ("sum_over_time(mixed[5m])", f'{FLOATS} metric name "mixed" (1:15)'),
        ("irate(mixed[5m])", f'{FLOATS} metric name "mixed" (1:7)'),
        ("rate(kinds[5m])", f'{MIXED} for metric name "kinds" (1:6)'),
        ("avg_over_time(kinds[5m])", f'{MIXED} for metric name "kinds" (1:15)'),
        ("sum(v)", f"{FLOATS} aggregation (1:5)"),
        ('avg(v{i=~"1|2"})', f'{MIXED} for metric name "v" (1:5)'),
        ('v{i="1"} + on() v{i="2"}', "incompatible bucket layout encountered for binary operator + (1:1)"),
        ('v{i="1"} * on() v{i="2"}', f'{TYPES} "*": histogram * histogram (1:1)'),
        ('v{i="3"} - on() v{i="2"}', f'{TYPES} "-": float - histogram (1:1)'),
        ("1 / v{i='1'}", f'{TYPES} "/": float / histogram (1:1)'),
        ("v{i='1'} > bool 1", f'{TYPES} ">": histogram > float (1:1)'),
        ("v{i='3'} </ 1", f'{TYPES} "</": float </ float (1:1)'),
        ("max(v{i='1'})", "ignored histograms in max aggregation (1:5)"),
        ("mixed smoothed", f'{FLOATS} metric name "mixed" (1:1)'),
    ],
)
def test_what_has_no_result_and_why(expr, says):
    found = data(
        mixed=[*counter(1), None, 2.0, *counter(3), 4.0, *counter(5)],
        kinds=[*counter(1, 2), CUSTOM, CUSTOM, *counter(3)],
        v__1=counter(*range(1, 6)),
        v__2=[CUSTOM] * 5,
        v__3=[1.0] * 5,
    )
    minutes = 4.5 if "smoothed" in expr else 4.0
    assert ask(found, expr, minutes) == ([], [says])


def test_infos_beside_a_result():
    found = data(mixed=[1.0, 2.0, *counter(3), 4.0, 5.0], a=[CUSTOM] * 5, b=[OTHER_CUSTOM] * 5)
    note = 'ignored histograms in a range containing both floats and histograms for metric name "mixed"'
    assert ask(found, "max_over_time(mixed[10m])") == ([5.0], [f"{note} (1:15)"])
    values, texts = ask(found, "a + on() b")
    assert values[0].custom_values == (5.0,)
    assert texts == ["mismatched custom buckets were reconciled during addition (1:1)"]
    values, texts = ask(found, 'sum({__name__=~"a|b"})')
    assert values[0].positive == {0: 6.0}
    assert texts == ["mismatched custom buckets were reconciled during aggregation (1:5)"]


def test_contradicting_resets_show_where_only_counts_are_read():
    found = data(a=counter(1, 2, 3, 4, 5), b=counter(5, 4, 3, 2, 1))
    says = "conflicting counter resets during histogram aggregation (1:21)"
    assert ask(found, 'sum({__name__=~"a|b"})')[1] == []
    assert ask(found, 'histogram_count(sum({__name__=~"a|b"}))') == ([6.0], [says])
    # A subquery reads whole histograms again.
    assert ask(found, 'histogram_count(sum(last_over_time({__name__=~"a|b"}[1m:1m])))')[1] == []


def test_where_only_counts_are_read_bounds_cannot_differ():
    found = data(a=[CUSTOM] * 5, b=[OTHER_CUSTOM] * 5)
    assert one(found, "histogram_count(a + on() b)") == 6
    assert one(found, "histogram_sum(a == on() b)") == 6
    assert one(found, "histogram_count(a >/ 1)") < 3
    mixed = data(h=[*counter(1, 2), CUSTOM, CUSTOM, *counter(3)])
    assert ask(mixed, "histogram_count(rate(h[5m]))") == ([], [f'{MIXED} for metric name "h" (1:22)'])


def test_what_reads_no_values_takes_histograms_too():
    found = data(h=[1.0, *counter(3, 4), "stale", *counter(5)])
    for expr, expected in (
        ("count_over_time(h[5m])", 4),
        ("present_over_time(h[5m])", 1),
        ("ts_of_last_over_time(h[5m])", 240),
        ("ts_of_first_over_time(h[5m])", 0),
        ("count(h)", 1),
        ("group(h)", 1),
        ("timestamp(h)", 240),
    ):
        assert one(found, expr) == expected, expr
    assert one(found, "last_over_time(h[5m])").count == 5
    assert one(found, "first_over_time(h[5m])") == 1
    assert one(found, "limitk(1, h)").count == 5
    assert ask(found, "h", minutes=3.0) == ([], [])
    assert ask(found, "abs(h)") == ([], [])


def test_sums_and_means():
    found = data(h__1=counter(1, 2, 3, 4, 5), h__2=counter(3, 3, 3, 3, 7))
    assert one(found, "sum(h)").count == 12
    assert one(found, "avg(h)").positive == {0: 6.0}
    assert one(found, 'sum_over_time(h{i="1"}[2m])').count == 9
    assert one(found, 'avg_over_time(h{i="1"}[2m])').count == 4.5
    assert one(found, 'count_values("v", h{i="1"})') == 1


def test_operators():
    found = data(h=counter(1, 2, 3, 4, 5))
    assert one(found, "h * 2").count == 10
    assert one(found, "2 * h").counter_reset_hint == "not_reset"
    assert one(found, "h / -2").counter_reset_hint == "gauge"
    assert one(found, "-h").count == -5
    assert one(found, "h - h").counter_reset_hint == "gauge"
    assert one(found, "h == h").count == 5
    assert one(found, "h != bool h") == 0
    assert ask(found, "h != h") == ([], [])
    assert one(found, "h </ 0.75").count == pytest.approx(5 * math.log2(1.5))
    result = Engine().instant(found, "h >/ 0.75", 240.0)
    assert result.samples[0].labels == (("__name__", "h"),)


def test_extractions():
    found = data(h=["{{count:4 sum:6 buckets:[2 2]}}"] * 5, f=[1.0] * 5)
    assert one(found, "histogram_sum(h)") == 6
    assert one(found, "histogram_avg(h)") == 1.5
    assert one(found, "histogram_stdvar(h)") == pytest.approx(one(found, "histogram_stddev(h)") ** 2)
    assert one(found, "histogram_quantile(0.5, h)") == 1
    assert one(found, "histogram_fraction(1, 2, h)") == 0.5
    assert one(found, 'histogram_quantiles(h, "q", 0.5)') == 1
    assert ask(found, "histogram_count(f)") == ([], [])


def test_observations_of_nan_are_told():
    found = data(h=["{{count:4 sum:NaN buckets:[2]}}"] * 5)
    says = "input to histogram_quantile has NaN observations, result is"
    assert ask(found, "histogram_quantile(0.5, h)") == ([1.0], [f'{says} skewed higher for metric name "h" (1:25)'])
    assert ask(found, "histogram_quantile(0.9, h)")[1] == [f'{says} NaN for metric name "h" (1:25)']
    values, texts = ask(found, "histogram_fraction(-Inf, 4, h)")
    assert values == [0.5]
    assert "excluded from all fractions" in texts[0]


def test_a_subquery_forgets_what_storage_knew():
    found = data(h=counter(1, 2, 3, 4, 5))
    assert one(found, "last_over_time(h[5m])").counter_reset_hint == "not_reset"
    assert one(found, "last_over_time(h[5m:1m])").counter_reset_hint == "unknown"


def test_smoothed_and_anchored():
    found = data(h=counter(0, 10, 20, 30, 40))
    assert one(found, "h smoothed", minutes=2.5).count == 25
    assert one(found, "increase(h[2m] smoothed)", minutes=3.5).count == 20
    assert one(found, "increase(h[2m] anchored)", minutes=3.5).count == 20
    assert one(found, "rate(h[2m] anchored)", minutes=3.0).count == pytest.approx(1 / 6)
    # One sample in the range has nothing to rise from, though only its count is read and it is known as a reset.
    late = data(h=counter(9, 10, 4))
    assert one(late, "histogram_count(increase(h[30s] anchored))", minutes=2.0) == 4
    assert one(data(h=[None, None, *counter(4)]), "histogram_count(increase(h[30s] anchored))", minutes=2.0) == 0
    # 10 to 4 is a reset: 4 since then, two thirds of it in the range.
    reset = data(h=counter(10, 4, 6))
    assert one(reset, "increase(h[40s] smoothed)", minutes=5 / 6).count == pytest.approx(4 * 2 / 3)
    assert one(reset, "increase(h[1m] smoothed)", minutes=0.5).count == pytest.approx(2)
    assert one(reset, "increase(h[1m] smoothed)", minutes=1.5).count == pytest.approx(3)
    rows = Engine().instant(found, "h[90s] smoothed", 3.25 * 60).series
    assert [sample.count for sample in rows[0][2]] == [17.5, 20, 30, 32.5]


def test_values_are_histograms():
    result = Engine().range(data(h=counter(1, 2, 3)), "h", 0.0, 120.0, 60.0)
    assert [type(item) for item in result.series[0][2]] == [Histogram] * 3
