"""What may be given as series, and what is mistyped."""

import numpy as np
import pytest

from watchkeeper import testing
from watchkeeper.engine import Data, Series
from watchkeeper.engine.read import ReadError

TARGET = {"instance": "i1", "job": "acme"}


def given(run):
    return {str(dict(one.labels)): list(zip(one.times, one.values, strict=True)) for one in run.data.series}


def names(run):
    run.asserted = True
    return sorted(dict(one.labels)["__name__"] + ":" + dict(one.labels).get("rack", "") for one in run.data.series)


def test_a_metric_a_name_a_selector(bench, acme):
    for key in (acme.ERRORS.where(rack="r1"), 'acme_errors_total{rack="r1"}'):
        assert names(bench.run({key: "0+1x4"})) == ["acme_errors_total:r1"]
    assert names(bench.run({acme.ERRORS: "0+1x4"})) == ["acme_errors_total:"]
    assert names(bench.run({"acme_errors_total": "0+1x4"})) == ["acme_errors_total:"]
    assert names(bench.run({acme.LATENCY.count: "0+1x4"})) == ["acme_latency_seconds_count:"]


def test_whole_lines(bench):
    run = bench.run('acme_errors_total{rack="r1"} 0+1x4\n\n# a comment\nacme_errors_total{rack="r2"} 0+1x4')
    assert names(run) == ["acme_errors_total:r1", "acme_errors_total:r2"]


def test_several_series_of_a_metric(bench, acme):
    run = bench.run({acme.ERRORS: ['{rack="r1"} 0+1x4', '{rack="r2"} 0+2x4']}, labels={"job": "a"})
    assert names(run) == ["acme_errors_total:r1", "acme_errors_total:r2"]
    run = bench.run({acme.ERRORS: '{rack="r3"} 0+1x4'})
    assert names(run) == ["acme_errors_total:r3"]
    run = bench.run({acme.ERRORS.where(job="a"): ['{rack="r1"} 0+1x4', "7x4"]})
    assert names(run) == ["acme_errors_total:", "acme_errors_total:r1"]


@pytest.mark.parametrize(
    "values", [[1, None, 3.5], (1.0, None, 3.5), np.array([1, None, 3.5]), iter([1, None, 3.5]), "1 _ 3.5"]
)
def test_numbers_with_gaps(bench, acme, values):
    run = bench.run({acme.READY: values}, interval="30s")
    run.asserted = True
    (samples,) = given(run).values()
    assert samples == [(0, 1.0), (60_000, 3.5)]


def test_native_histograms():
    rules = {"groups": [{"name": "g", "rules": [{"alert": "Many", "expr": "histogram_count(h) > 3"}]}]}
    testing.run(rules, {"h": "{{schema:0 sum:5 count:4 buckets:[1 2 1]}}x4"}).fires("Many", first="0s")


def test_parts_are_put_together(bench, acme):
    data = Data([Series({"__name__": "acme_ready", "instance": "i9"}, [0, 15_000], [1.0, 1.0])])
    run = bench.run({acme.ERRORS: "0+1x4"}, 'acme_load{rack="r1"} 1x4', data, labels={"instance": "i1"})
    run.asserted = True
    assert sorted(dict(one.labels)["instance"] for one in run.data.series) == ["i1", "i1", "i9"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.om", '# TYPE acme_load gauge\nacme_load{rack="r1"} 0 100\nacme_load{rack="r1"} 0 160\n# EOF\n'),
        ("x.prom", 'acme_load{rack="r1"} 0 100000\nacme_load{rack="r1"} 0 160000\n'),
        ("x.series", 'acme_load{rack="r1"} 0x4\n'),
    ],
)
def test_a_recorded_file(bench, acme, tmp_path, name, text):
    (tmp_path / name).write_text(text)
    run = bench.run(tmp_path / name, {acme.READY: "1x20"}, every="15s")
    run.fires(acme.COLD, labels={"rack": "r1"})


def test_a_recorded_file_may_hold_anything(bench, acme, tmp_path):
    (tmp_path / "x.om").write_text('other_total{nobody="knows"} 0 100\nother_total{nobody="knows"} 0 160\n# EOF\n')
    bench.run(tmp_path / "x.om").fires(acme.GONE)


def test_a_file_that_is_none(bench, tmp_path):
    with pytest.raises(FileNotFoundError):
        bench.run(tmp_path / "x.om")
    (tmp_path / "x.om").write_text("acme_load{ 5\n# EOF\n")
    with pytest.raises(ReadError, match=r"x\.om:1"):
        bench.run(tmp_path / "x.om")


def test_labels_go_to_the_series_that_can_have_them(bench, acme):
    run = bench.run(
        {acme.ERRORS: "0x4", acme.LOAD.where(rack="r9"): "1x4", acme.READY: "1x4", "up": "1x4"},
        labels={**TARGET, "rack": "r1", "fan": "2"},
    )
    run.asserted = True
    found = {dict(one.labels).pop("__name__"): dict(one.labels) for one in run.data.series}
    assert found["acme_errors_total"] == {**TARGET, "rack": "r1", "__name__": "acme_errors_total"}
    assert found["acme_load"] == {**TARGET, "rack": "r9", "fan": "2", "__name__": "acme_load"}
    assert found["acme_ready"] == {**TARGET, "__name__": "acme_ready"}
    assert found["up"] == {**TARGET, "__name__": "up"}


def test_rules_without_a_contract_take_any_label():
    rules = {"groups": [{"name": "g", "rules": [{"alert": "Any", "expr": "a > 0"}]}]}
    testing.run(rules, {"a": "1x4"}, labels={"x": "y"}).fires("Any", labels={"x": "y"})


@pytest.mark.parametrize(
    ("series", "labels", "message"),
    [
        ({"acme_eror_total": "0x4"}, {}, 'in no rule of it, is "acme_eror_total"; did you mean "acme_errors_total"?'),
        ("acme_laod 1x4", {}, 'is "acme_laod"; did you mean "acme_load"?'),
        ({'acme_errors_total{rak="1"}': "0x4"}, {}, 'acme_errors_total has no label "rak"; did you mean "rack"?'),
        ({"acme_errors_total": "0x4"}, {"rak": "1"}, 'the series can have the label "rak"; did you mean "rack"?'),
        ({"acme_ready": "1x4"}, {"rack": "1"}, 'none of the series can have the label "rack"'),
    ],
)
def test_what_nobody_knows_is_an_error(bench, series, labels, message):
    with pytest.raises(testing.UnknownNameError) as caught:
        bench.run(series, labels=labels)
    assert message in str(caught.value)


def test_what_is_no_series(bench, acme):
    with pytest.raises(ReadError, match="1:10: unexpected"):
        bench.run("acme_load~1")
    with pytest.raises(ReadError):
        bench.run({acme.LOAD: "1 two 3"})
    with pytest.raises(ReadError, match="is for queries"):
        bench.run({'acme_load{rack=~"r.*"}': "1x4"})
    with pytest.raises(TypeError, match="series are a mapping of metrics to values"):
        bench.run(5)
    with pytest.raises(ValueError, match="there is no value in"):
        bench.run({acme.LOAD: [None, None]})


def test_what_is_no_rules():
    with pytest.raises(TypeError, match="rules are a Pack, a rule file's data or its path, not int"):
        testing.run(5, "a 1")


def test_a_rule_file(tmp_path):
    (tmp_path / "rules.yaml").write_text(
        "groups:\n- name: g\n  rules:\n"
        "  - alert: Any\n    expr: a > 0\n    annotations: {summary: 'a is {{ $value }}'}\n"
    )
    testing.run(tmp_path / "rules.yaml", "a 1x4").fires("Any", summary="a is 1", exact=True)


def test_observed(bench, acme):
    series = testing.observed(acme.LATENCY, {0.2: "0+3x4", 3: "0+1x4", 9: [0, 0, 0, 1, 1]}, rack="r1")
    run = bench.run(series, labels=TARGET)
    assert run.values("acme_latency_seconds_bucket", "1m") == {
        f'acme_latency_seconds_bucket{{instance="i1", job="acme", le="{le}", rack="r1"}}': value
        for le, value in (("+Inf", 17.0), ("0.5", 12.0), ("1.0", 12.0), ("5.0", 16.0))
    }
    assert run.value("acme_latency_seconds_count", "1m") == 17
    assert run.value("acme_latency_seconds_sum", "1m") == pytest.approx(12 * 0.2 + 4 * 3 + 9)
    with pytest.raises(ValueError, match="they must be of one length"):
        testing.observed(acme.LATENCY, {0.2: "0+3x4", 3: "0+1x5"})
