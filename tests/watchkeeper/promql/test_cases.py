"""The cases of Prometheus' corpus that are handed out as data beside the repository: both evaluators, all re-runs."""

import importlib.util
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[4] / "shared" / "promql"
FILES = ("cases_float.jsonl", "cases_native_histogram.jsonl")

# Cases that fail for a reason that is understood: id, and why. One that passes all the same must go from here.
EXCEPTIONS: dict[str, str] = {}

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared PromQL cases are not beside this repository")


def _load():
    spec = importlib.util.spec_from_file_location("run_cases", Path(__file__).with_name("run_cases.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


run_cases = _load()


def groups():
    """Each file of cases, cut by the file of the corpus that they come from."""
    for name in FILES:
        if (SHARED / name).is_file():
            _, cases = run_cases.read(SHARED / name)
            for origin in dict.fromkeys(case["file"] for case in cases):
                yield pytest.param(name, origin, id=f"{name.split('.')[0]}-{origin}")


@pytest.mark.parametrize(("name", "origin"), list(groups()))
def test_cases(name, origin):
    loads, cases = run_cases.read(SHARED / name)
    runner = run_cases.Runner(loads)
    faults, surprises = [], []
    for case in cases:
        if case["file"] != origin:
            continue
        fault = runner.fault(case)
        if fault is not None and case["id"] not in EXCEPTIONS:
            faults.append(f"{case['id']} {case['expr']}\n  {fault}")
        if fault is None and case["id"] in EXCEPTIONS:
            surprises.append(case["id"])
    assert not faults, "\n".join([f"{len(faults)} fail", *faults[:20]])
    assert not surprises, f"these pass: take them from EXCEPTIONS: {surprises}"


def test_exceptions_are_cases():
    known = {case["id"] for name in FILES for case in run_cases.read(SHARED / name)[1]}
    assert set(EXCEPTIONS) <= known


# The harness itself


def case(expect, **more):
    return {"id": "x:L1", "loads": ["l"], "annotations": {}, "ordered": False, "expect": expect, **more}


LOADS = {
    "l": {
        "gap_ms": 60_000,
        "with_nhcb": False,
        "series": [{"metric": {"__name__": "x", "a": "1"}, "values": [1, None, "stale", "NaN", 5]}],
    }
}


@pytest.mark.parametrize("value", [1, 1.0000001])
def test_a_right_answer_passes(value):
    expect = {"type": "vector", "series": [{"metric": {"__name__": "x", "a": "1", "b": ""}, "values": [value]}]}
    runner = run_cases.Runner(LOADS, ["steps"])
    assert runner.fault(case(expect, mode="instant", expr="x", at_ms=60_000)) is None
    assert runner.tally.asked["steps"] == 7  # as it stands, as a range, at five other times


@pytest.mark.parametrize(
    ("series", "expr", "annotations"),
    [
        ([], "x", {}),
        ([{"metric": {"__name__": "x", "a": "1"}, "values": [1.00001]}], "x", {}),
        ([{"metric": {"a": "1"}, "values": [1]}], "x", {}),
        ([{"metric": {"__name__": "x", "a": "1"}, "values": [1]}], "x", {"warn": [{}]}),
        ([{"metric": {"a": "1"}, "values": [0]}], "delta(x[", {}),
    ],
)
def test_a_wrong_answer_fails(series, expr, annotations):
    runner = run_cases.Runner(LOADS, ["steps"])
    expect = {"type": "vector", "series": series}
    fault = runner.fault({**case(expect, mode="instant", expr=expr, at_ms=60_000), "annotations": annotations})
    assert fault is not None
    assert "expected" in fault


def test_an_error_where_an_answer_is_expected():
    runner = run_cases.Runner(LOADS, ["steps"])
    assert runner.fault(case({"type": "fail"}, mode="instant", expr="x", at_ms=60_000)) is not None
    assert runner.fault(case({"type": "fail"}, mode="instant", expr="topk(NaN, x)", at_ms=60_000)) is None
    wrong = case({"type": "fail", "msg": "another"}, mode="instant", expr="topk(NaN, x)", at_ms=60_000)
    assert runner.fault(wrong) is not None


def test_pins():
    assert run_cases.pin("x + rate(y[5m] offset 1m)", 1500) == "x @ 1.500 + rate(y[5m] offset 1m @ 1.500)"
    assert run_cases.pin("max_over_time(x[5m:1m]) + y @ 3", 0) == "max_over_time(x[5m:1m] @ 0.000) + y @ 3"


def test_start_timestamps():
    assert run_cases.starts(["_", "-30s-1mx2", "_x2", "1ms"], 60_000) == [
        None,
        30_000,
        30_000,
        30_000,
        None,
        None,
        360_001,
    ]
