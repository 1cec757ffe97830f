"""What the checks of kinds, units and shapes of expressions say, and where; public_shapes.txt has what they pass."""

import pytest

from watchkeeper import Alert, Counter, Gauge, Group, Histogram, Info, Pack, Recording
from watchkeeper.building import build
from watchkeeper.settings import Settings

CONTRACT = (
    Counter("jobs_total", "Jobs."),
    Counter("jobs_failed_total", "Jobs that failed."),
    Counter("sent_bytes_total", "Sent.", unit="bytes"),
    Counter("busy_seconds_total", "Busy.", unit="seconds"),
    Gauge("free_bytes", "Free.", unit="bytes"),
    Gauge("size_bytes", "Size.", unit="bytes"),
    Gauge("age_seconds", "Age.", unit="seconds"),
    Gauge("capacity_bytes_per_second", "Capacity.", unit="bytes_per_second"),
    Gauge("fill_ratio", "Fill.", unit="ratio"),
    Gauge("power_watts", "Power.", unit="watts"),
    Counter("energy_joules_total", "Energy.", unit="joules"),
    Histogram("latency_seconds", "Latency.", unit="seconds", buckets=(0.1, 1.0)),
    Info("build_info", "Build.", labels=("version",)),
)
RECORDED = (
    Recording("job:jobs:rate5m", "sum(rate(jobs_total[5m]))"),
    Recording("job:jobs:sum", "sum(jobs_total)"),
    Recording("job:latency_seconds_bucket:rate5m", "sum by (job) (rate(latency_seconds_bucket[5m]))"),
    Recording("job:latency:rate5m", "sum by (job, le) (rate(latency_seconds_bucket[5m]))"),
    Recording("job:free:bytes", "free_bytes - 5"),
    Recording("job:full:bytes", "free_bytes < 5"),
    Recording("job:itself:sum", "sum(job:itself:sum)"),
)


@pytest.fixture
def told(tmp_path):
    """Check one alert's expression; return severity, the part that is marked, and the message for each finding."""

    def run(check, expr, contract=CONTRACT, **more):
        alert = Alert("A", expr=expr, severity="warning", team="sre", summary="S", **more)
        groups = (Group("g", [*(RECORDED if contract else ()), alert], interval="30s"),)
        _, found = build(Pack(metrics=contract, groups=groups), Settings(root=tmp_path))
        assert "promql/syntax" not in {finding.check for finding in found}
        mine = [f for f in found if f.check == check and f.message.startswith("alert A: ")]
        assert all(finding.why and finding.fix for finding in mine)
        return [(f.severity, expr[f.excerpt.start : f.excerpt.end], f.message.removeprefix("alert A: ")) for f in mine]

    return run


BY_CONTRACT = [
    # Gauges and counters
    ("promql/counter", "rate(free_bytes[5m]) > 1", "error", "rate", "rate of the gauge free_bytes"),
    ("promql/counter", "increase(free_bytes[5m:1m]) > 1", "error", "increase", "increase of the gauge free_bytes"),
    ("promql/counter", "rate(build_info[5m]) > 1", "error", "rate", "rate of the gauge build_info"),
    ("promql/counter", "delta(jobs_total[5m]) > 1", "error", "delta", "delta of the counter jobs_total"),
    ("promql/counter", "deriv(max(jobs_total)[5m:]) > 1", "error", "deriv", "deriv of the counter jobs_total"),
    ("promql/counter", "rate(rate(jobs_total[5m])[1h:]) > 1", "error", "rate", "rate of a gauge: rate() gives a gauge"),
    ("promql/counter", "rate(count(jobs_total)[1h:]) > 1", "error", "rate", "rate of a gauge: count() gives a gauge"),
    ("promql/counter", "rate((free_bytes > bool 5)[1h:]) > 1", "error", "rate",
     "rate of a gauge: > bool gives 0 or 1"),
    ("promql/counter", "rate(job:jobs:rate5m[5m]) > 1", "error", "rate",
     "rate of a gauge: job:jobs:rate5m is recorded, and rate() gives a gauge"),
    ("promql/counter", "rate(sum(jobs_total)[5m:]) > 1", "error", "rate",
     "rate of a sum of counters: jobs_total is added up first"),
    ("promql/counter", "rate(job:jobs:sum[5m]) > 1", "error", "rate",
     "rate of a sum of counters: jobs_total is added up first"),
    # Counters as they stand
    ("promql/raw-counter", "jobs_total > 5", "warning", "jobs_total > 5",
     "the counter jobs_total is compared with a number"),
    ("promql/raw-counter", "5 < sum(jobs_total) / 2", "warning", "5 < sum(jobs_total) / 2",
     "the counter jobs_total is compared with a number"),
    ("promql/raw-counter", "job:jobs:sum > 5 * 60", "warning", "job:jobs:sum > 5 * 60",
     "the counter jobs_total is compared with a number"),
    ("promql/raw-counter", "jobs_total > 5 and up == 1", "warning", "jobs_total > 5",
     "the counter jobs_total is compared with a number"),
    ("promql/raw-counter", "jobs_total > 0", "note", "jobs_total > 0",
     "the counter jobs_total is > 0 from the first event on until the process restarts"),
    ("promql/raw-counter", "sum(jobs_failed_total) / sum(jobs_total) > 0.1", "warning",
     "sum(jobs_failed_total) / sum(jobs_total)", "a ratio of jobs_failed_total and jobs_total as they stand"),
    # Ratios that are 0/0 in an idle hour
    ("promql/nan", "sum(rate(jobs_failed_total[5m]) / rate(jobs_total[5m])) > 1", "warning", "/",
     "sum of a ratio that can be 0/0"),
    # Quantiles
    ("promql/histogram", "histogram_quantile(0.9, sum(rate(latency_seconds_bucket[5m]))) > 1", "error",
     "sum(rate(latency_seconds_bucket[5m]))",
     "sum without by drops le, which tells the buckets of latency_seconds_bucket apart"),
    ("promql/histogram", "histogram_quantile(0.9, sum without (le, job) (rate(latency_seconds_bucket[5m]))) > 1",
     "error", "sum without (le, job) (rate(latency_seconds_bucket[5m]))",
     "sum without (le, job) drops le, which tells the buckets of latency_seconds_bucket apart"),
    ("promql/histogram", "histogram_quantile(0.9, job:latency_seconds_bucket:rate5m) > 1", "error",
     "job:latency_seconds_bucket:rate5m",
     "job:latency_seconds_bucket:rate5m is recorded, and sum by (job) drops le, which tells the buckets of latency_seconds_bucket apart"),  # noqa: E501 - a message is one text
    ("promql/histogram", "histogram_quantile(0.9, sum by (job) (job:latency:rate5m)) > 1", "error",
     "sum by (job) (job:latency:rate5m)",
     "sum by (job) drops le, which tells the buckets of latency_seconds_bucket apart"),
    ("promql/histogram", "histogram_quantile(0.9, rate(latency_seconds_count[5m])) > 1", "error",
     "latency_seconds_count", "latency_seconds_count is the count of a histogram, not its buckets"),
    ("promql/histogram", "histogram_quantile(0.9, free_bytes) > 1", "error", "free_bytes",
     "free_bytes is a gauge, and no histogram"),
    # Units
    ("promql/unit", "free_bytes < age_seconds", "error", "free_bytes < age_seconds",
     "the left side of < is in bytes, the right side in seconds"),
    ("promql/unit", "time() - free_bytes > 5", "error", "time() - free_bytes",
     "the left side of - is in seconds, the right side in bytes"),
    ("promql/unit", "sum(rate(sent_bytes_total[5m])) > sum(size_bytes)", "error",
     "sum(rate(sent_bytes_total[5m])) > sum(size_bytes)",
     "the left side of > is in bytes per second, the right side in bytes"),
    ("promql/unit", "job:free:bytes > 0.5 * age_seconds", "error", "job:free:bytes > 0.5 * age_seconds",
     "the left side of > is in bytes, the right side in seconds"),
    ("promql/unit", "histogram_quantile(0.9, rate(latency_seconds_bucket[5m])) > on () free_bytes", "error",
     "histogram_quantile(0.9, rate(latency_seconds_bucket[5m])) > on () free_bytes",
     "the left side of > is in seconds, the right side in bytes"),
    ("promql/unit", "free_bytes / size_bytes > on () age_seconds", "error",
     "free_bytes / size_bytes > on () age_seconds", "the left side of > is in a ratio, the right side in seconds"),
    # Thresholds
    ("alert/threshold", "max by (job) (fill_ratio) > 80", "warning", "80",
     "fill_ratio is a ratio, and 80 looks like percent"),
    # No condition
    ("alert/comparison", "free_bytes", "warning", "free_bytes", "nothing is compared here"),
    ("alert/comparison", "job:free:bytes", "warning", "job:free:bytes", "nothing is compared here"),
    ("alert/comparison", "job:itself:sum", "warning", "job:itself:sum", "nothing is compared here"),
]  # fmt: skip

BY_NAME = [
    ("promql/counter", "delta(x_total[5m]) > 1", "note", "delta", "delta of x_total, by its name a counter"),
    ("promql/counter", "rate(job:x:rate5m[5m]) > 1", "warning", "rate",
     "rate of a gauge: job:x:rate5m is named as a gauge, a recorded rate"),
    ("promql/counter", "rate(sum(x_total)[5m:]) > 1", "warning", "rate",
     "rate of a sum of counters: x_total is added up first"),
    ("promql/counter", "rate(up[5m]) > 1", "error", "rate", "rate of the gauge up"),
    ("promql/raw-counter", "x_total > 5", "note", "x_total > 5",
     "x_total, by its name a counter, is compared with a number"),
    ("promql/raw-counter", "x_errors_total / x_total > 0.1", "note", "x_errors_total / x_total",
     "a ratio of x_errors_total and x_total as they stand, counters by their names"),
    ("promql/histogram", "histogram_quantile(99, rate(x[5m])) > 1", "error", "99",
     "the quantile 99 is not from 0 to 1"),
    ("promql/histogram", "quantile(-(0.5), x) > 1", "error", "-(0.5)", "the quantile -0.5 is not from 0 to 1"),
    ("promql/histogram", "quantile_over_time(95, x[5m]) > 1", "error", "95", "the quantile 95 is not from 0 to 1"),
    ("promql/histogram", "histogram_quantile(0.9, max by (le) (rate(x_bucket[5m]))) > 1", "warning",
     "max by (le) (rate(x_bucket[5m]))", "max of the buckets of x_bucket"),
    ("promql/histogram", "histogram_quantile(0.9, avg by (le) (rate(x_bucket[5m]))) > 1", "note",
     "avg by (le) (rate(x_bucket[5m]))", "avg of the buckets of x_bucket"),
    ("promql/histogram", "histogram_quantile(0.9, sum by (le) (x_bucket)) > 1", "warning", "x_bucket",
     "x_bucket is not rated"),
    ("promql/unit", "x_bytes > on () y_seconds", "warning", "x_bytes > on () y_seconds",
     "the left side of > is in bytes, the right side in seconds"),
    ("promql/unit", "x_milliseconds > y_seconds", "warning", "x_milliseconds > y_seconds",
     "the left side of > is in milliseconds, the right side in seconds"),
    ("promql/nan", "sum(rate(a[5m]) / rate(b[5m])) > 1", "note", "/", "sum of a ratio that can be 0/0"),
    ("promql/nan", "avg by (x) (100 * sum by (x, y) (rate(a[5m])) / (sum by (x, y) (rate(b[5m])))) > 1", "note", "/",
     "avg of a ratio that can be 0/0"),
    ("promql/nan", "sum(rate(a[5m]) / (rate(a[5m]) + rate(b[5m]))) > 1", "note", "/",
     "sum of a ratio that can be 0/0"),
    ("promql/nan", "avg_over_time((rate(a[5m]) / rate(b[5m]))[1h:]) > 1", "note", "/",
     "avg_over_time of a ratio that can be 0/0"),
    ("promql/nan", "rate(a[5m]) / rate(b[5m]) != 1", "warning", "rate(a[5m]) / rate(b[5m]) != 1",
     "a ratio that can be 0/0 is compared by !="),
    ("promql/nan", "x / 0 > 1", "error", "/ 0", "/ by 0"),
    ("promql/nan", "x % -(0) > 1", "error", "% -(0)", "% by 0"),
    ("promql/constant", "count(x) == 0", "error", "count(x) == 0",
     "this is never true: count() of nothing is no 0 but nothing at all, and of anything else it is 1 or more"),
    ("promql/constant", "1 > count by (job) (x > 5)", "error", "1 > count by (job) (x > 5)",
     "this is never true: count() of nothing is no 0 but nothing at all, and of anything else it is 1 or more"),
    ("promql/constant", "absent(x) == 0", "error", "absent(x) == 0",
     "this is never true: absent() is 1 or nothing at all"),
    ("promql/constant", "abs(x) < 0", "error", "abs(x) < 0", "this is never true: the other side is never below 0"),
    ("promql/constant", "sum(rate(x[5m])) * 100 < 0", "error", "sum(rate(x[5m])) * 100 < 0",
     "this is never true: the other side is never below 0"),
    ("promql/constant", "(x > 5) < 3", "error", "(x > 5) < 3", "this is never true: the other side is never below 5"),
    ("promql/constant", "hour() > 24", "error", "hour() > 24", "this is never true: the other side is from 0 to 23"),
    ("promql/constant", "max(up) > 1", "error", "max(up) > 1", "this is never true: the other side is from 0 to 1"),
    ("promql/constant", "clamp_max(x, 600) > 5 * 60 * 2", "error", "clamp_max(x, 600) > 5 * 60 * 2",
     "this is never true: the other side is never above 600"),
    ("promql/constant", "x > Inf", "error", "x > Inf", "this is never true: no value is beyond infinity"),
    ("promql/constant", "x > (x)", "error", "x > (x)", "this is never true: both sides of > are the same"),
    ("promql/constant", "2 > bool 3", "error", "2 > bool 3", "this is always 0: the other side is always 2"),
    ("promql/constant", "x > 5 or vector(0) == 0", "warning", "vector(0) == 0",
     "this compares numbers with numbers and is always true"),
    ("promql/constant", "x > bool 5", "error", ">", "> bool gives 0 or 1 and leaves nothing out"),
    ("promql/constant", "x > bool 5 and y == 1", "warning", ">", "> bool gives 0 or 1 and leaves nothing out"),
    ("promql/constant", "count(x) >= 0", "warning", "count(x) >= 0", "this is true of whatever there is"),
    ("alert/comparison", "x > 5 or vector(0)", "warning", "vector(0)", "nothing is compared here"),
    ("alert/comparison", "sum(rate(x[5m])) / 2", "warning", "sum(rate(x[5m])) / 2", "nothing is compared here"),
    ("alert/comparison", "time() - x", "warning", "time() - x", "nothing is compared here"),
    ("alert/comparison", 'max(x{y="z"})', "note", 'max(x{y="z"})', "nothing is compared here"),
    ("alert/threshold", "x > NaN", "error", "NaN", "> NaN is never true"),
    ("promql/regexp", 'x{a=~"b-c"} > 1', "note", 'a=~"b-c"', 'the regular expression "b-c" is a plain text'),
    ("promql/regexp", 'x{a=~"b\\\\.c"} > 1', "note", 'a=~"b\\\\.c"',
     'the regular expression "b\\\\.c" matches one text'),
    ("promql/regexp", 'x{a!~"^b.*$"} > 1', "note", 'a!~"^b.*$"', 'anchors in "^b.*$"'),
    ("promql/regexp", 'x{a=~".*"} > 1', "note", 'a=~".*"', '=~".*" matches everything, series without the label too'),
    ("promql/regexp", 'x{a!~".+"} > 1', "note", 'a!~".+"', '!~".+" says that there is no a'),
    ("promql/regexp", 'x{a!~".*"} > 1', "error", 'a!~".*"', '!~".*" matches no series'),
    ("promql/regexp", 'x{a="/api/.*"} > 1', "warning", 'a="/api/.*"',
     '= compares with the very text "/api/.*", which looks like a regular expression'),
    ("promql/regexp", 'x{a!="b|c"} > 1', "warning", 'a!="b|c"',
     '!= compares with the very text "b|c", which looks like a regular expression'),
    ("promql/regexp", 'x{a="5.."} > 1', "warning", 'a="5.."',
     '= compares with the very text "5..", which looks like a regular expression'),
    ("promql/selector", 'count by (__name__) ({__name__=~".+"}) > 1', "note", '{__name__=~".+"}',
     "this selects every series there is"),
    ("promql/selector", 'sum({job=~".+", x!="y"}) > 1', "warning", '{job=~".+", x!="y"}',
     "this selects metrics of any name"),
    ("promql/fragile", "topk(3, x) > 5", "note", "topk", "topk decides which series the alert is about"),
    ("promql/rate-window", "rate(x[1m:2m]) > 1", "error", "1m",
     "rate over 1m, and the subquery gives a sample every 2m"),
    ("promql/rate-window", "deriv(x[90s:1m]) > 1", "warning", "90s",
     "deriv over 90s, and the subquery gives a sample every 1m"),
    ("promql/rate-window", "rate(x[30s]) > 1", "note", "30s",
     "rate over 30s: too short unless targets are scraped every 7.5s"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "expr", "severity", "marked", "message"), BY_CONTRACT)
def test_what_the_contract_proves(told, check, expr, severity, marked, message):
    assert told(check, expr) == [(severity, marked, message)]


@pytest.mark.parametrize(("check", "expr", "severity", "marked", "message"), BY_NAME)
def test_what_is_told_without_a_contract(told, check, expr, severity, marked, message):
    assert told(check, expr, contract=()) == [(severity, marked, message)]


FINE = [
    ("promql/counter", "rate(max by (job) (jobs_total)[5m:]) > 1"),
    ("promql/counter", "resets(jobs_total[1h]) > 1"),
    ("promql/counter", "resets(free_bytes[1h]) > 1"),  # how often it fell
    ("promql/counter", "rate((free_bytes / size_bytes)[5m:]) > 1"),
    ("promql/counter", "deriv(job:jobs:rate5m[5m]) > 1"),
    ("promql/raw-counter", "changes(jobs_total[5m]) > 1"),
    ("promql/raw-counter", "jobs_total > 100 and rate(jobs_total[5m]) > 1"),
    ("promql/raw-counter", "jobs_total > 5 unless jobs_total offset 5m"),
    ("promql/raw-counter", "timestamp(jobs_total) > 5"),
    ("promql/raw-counter", "rate(latency_seconds_sum[5m]) / rate(latency_seconds_count[5m]) > 5"),
    ("promql/histogram", "histogram_quantile(0.9, job:latency:rate5m) > 1"),
    ("promql/histogram", "histogram_quantile(0.9, topk(5, rate(latency_seconds_bucket[5m]))) > 1"),
    ("promql/histogram",
     'histogram_quantile(0.9, label_replace(sum(rate(latency_seconds_bucket[5m])), "le", "1", "", "")) > 1'),
    ("promql/unit", "rate(busy_seconds_total[5m]) > fill_ratio"),
    ("promql/unit", "rate(energy_joules_total[5m]) > power_watts"),
    ("promql/unit", "rate(sent_bytes_total[5m]) > 0.8 * capacity_bytes_per_second"),
    ("promql/unit", "free_bytes < 300 * deriv(size_bytes[5m])"),
    ("promql/unit", "age_seconds * 1000 > x_milliseconds"),
    ("promql/unit", "histogram_quantile(0.9, rate(latency_seconds_bucket[5m])) > age_seconds"),
    ("promql/unit", "free_bytes == count(age_seconds)"),
    ("promql/nan", "max(rate(jobs_failed_total[5m]) / rate(jobs_total[5m])) > 1"),
    ("promql/nan", "sum(rate(jobs_failed_total[5m]) / (rate(jobs_total[5m]) > 0)) > 1"),
    ("promql/nan", "sum(rate(jobs_failed_total[5m]) / clamp_min(rate(jobs_total[5m]), 1)) > 1"),
    ("promql/nan", "sum(rate(jobs_total[5m]) / size_bytes) > 1"),
    ("promql/constant", "absent(x) == 1"),
    ("promql/constant", "count(x) != 0"),
    ("promql/constant", "rate(x[5m]) <= 0"),
    ("promql/constant", "quantile(2, up) > 1"),
    ("promql/constant", "vector(1) > 0"),
    ("promql/constant", "sum(x > bool 5) > 3"),
    ("promql/constant", "(x > 5) > bool 3"),
    ("promql/constant", "0 - abs(x) < -5"),
    ("alert/comparison", "job:full:bytes"),
    ("alert/comparison", "build_info"),
    ("alert/comparison", 'label_replace(vector(1), "zone", "a", "", "")'),
    ("alert/comparison", "sum(free_bytes > 5)"),
    ("alert/comparison", "max_over_time((free_bytes > 5)[5m:])"),
    ("alert/comparison", "free_bytes unless size_bytes"),
    ("alert/comparison", "absent(free_bytes) or free_bytes < 5"),
    ("alert/threshold", "fill_ratio * 100 > 80"),
    ("alert/threshold", "count(fill_ratio) > 80"),
    ("promql/regexp", 'x{a=~"b|c", d=~".+", e=~"", f="", g=~"(?i)b"} > 1'),
    ("promql/regexp", 'x{a="1.2.3", b="http://c?d", e="5.0.1", f="|"} > 1'),
    ("promql/selector", '{job="x"} > 1'),
    ("promql/fragile", "sum(topk(3, x)) > 5"),
    ("promql/rate-window", "rate(jobs_total[1m]) > 5"),
    ("promql/rate-window", "delta(job:free:bytes[1m]) > 5"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "expr"), FINE)
def test_what_is_fine(told, check, expr):
    assert [one for one in told(check, expr) if one[0] != "note"] == []


def test_a_sample_of_series_with_for_is_a_warning(told):
    assert told("promql/fragile", "topk(3, x) > 5 or y > 5", for_="5m") == [
        ("warning", "topk", "topk decides which series the alert is about")
    ]


def test_the_range_of_a_recorded_series_by_its_groups_interval(told):
    assert told("promql/rate-window", "deriv(job:free:bytes[20s]) > 1") == [
        ("error", "20s", "deriv over 20s, and job:free:bytes is recorded, and its group gives a sample every 30s")
    ]


def test_a_recording_rules_unit_is_that_of_its_expression(tmp_path):
    rules = [
        Recording("job:sent:bytes", "sum(rate(sent_bytes_total[5m]))", unit="bytes"),
        Recording("job:sent:rate5m", "sum(rate(sent_bytes_total[5m]))", unit="bytes_per_second"),
        Recording("job:free:ratio", "free_bytes / size_bytes", unit="ratio"),
    ]
    _, found = build(Pack(metrics=CONTRACT, groups=(Group("g", rules),)), Settings(root=tmp_path))
    assert [(f.severity, f.message) for f in found if f.check == "promql/unit"] == [
        (
            "error",
            "recording rule job:sent:bytes: it is declared to be in bytes, and the expression is in bytes per second",
        )
    ]


@pytest.mark.parametrize(
    "expr",
    [
        " + ".join(["free_bytes"] * 5000) + " > 1",
        " or ".join(["rate(jobs_total[5m]) / rate(jobs_total[5m])"] * 1000),
        "sum(" * 90 + "free_bytes" + ")" * 90 + " > 1",
        "-" * 90 + "free_bytes > 1",
    ],
    ids=["sum", "or", "nested", "signs"],
)
def test_long_and_deep_expressions(told, expr):
    assert told("promql/counter", expr) == []


@pytest.mark.parametrize(
    ("expr", "why"),
    [
        ("x > 5 and up > 1", "the rule never does anything"),
        ("sum(up > 1)", "the rule never does anything"),
        ("x > 5 or up > 1", "this part of the expression decides nothing"),
        ("x > 5 unless up > 1", "this part of the expression decides nothing"),
        ("absent(up > 1)", "this part of the expression decides nothing"),
        ("x > 5 or y > y", "this part of the expression decides nothing"),
    ],
)
def test_what_is_never_true_may_be_a_part(anyone, expr, why):
    rule = {"alert": "A", "expr": expr, "annotations": {"summary": "S"}}
    (finding,) = [one for one in anyone.findings("promql/constant", rule) if "never true" in one.message]
    assert finding.why == why
