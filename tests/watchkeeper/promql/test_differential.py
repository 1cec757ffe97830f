"""A short run of differential.py against each Prometheus that is here, and tests of its parts."""

import importlib.util
import math
import os
import shutil
import struct
import sys
from pathlib import Path
from random import Random

import pytest

from watchkeeper.engine import Series
from watchkeeper.engine.data import STALE, is_stale
from watchkeeper.promql import parse

ROOT = Path(__file__).parents[3]
PAIRS = 300


def _load():
    spec = importlib.util.spec_from_file_location("differential", Path(__file__).with_name("differential.py"))
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    try:
        spec.loader.exec_module(module)  # a program: it puts its folder on the path
    finally:
        sys.path[:] = before
    return module


differential = _load()
diff_server = sys.modules["diff_server"]
diff_shrink = sys.modules["diff_shrink"]
diff_data = sys.modules["diff_data"]
diff_expressions = sys.modules["diff_expressions"]


def find(major):
    candidates = [
        os.environ.get("WATCHKEEPER_PROMETHEUS3"),
        str(ROOT / ".cache/prometheus3/usr/bin/prometheus"),
        shutil.which("prometheus"),
    ]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK) and diff_server.version(candidate)[0] == major:
            return candidate
    where = {
        2: "Prometheus 2 is not here: apt-get install prometheus",
        3: "Prometheus 3 is not here: name one in WATCHKEEPER_PROMETHEUS3",
    }
    pytest.skip(where[major])


@pytest.mark.parametrize("major", [2, 3])
def test_answers_are_those_of_prometheus(major, capsys):
    differences, counts = differential.run(find(major), PAIRS, 1, str(major), ("steps", "arrays"), show=3)
    assert differences == 0, capsys.readouterr().out
    assert counts["pairs"] == PAIRS
    assert counts["not empty"] > PAIRS / 2


def test_answers_on_native_histograms(capsys):
    run = differential.run(find(3), 200, 2, "3", ("steps", "arrays"), show=3, histograms=True)
    assert run[0] == 0, capsys.readouterr().out


@pytest.mark.parametrize("major", [2, 3])
def test_staleness_markers_reach_the_server(major):
    base = differential.BASE_MS
    series = Series({"__name__": "x"}, [base, base + 1000, base + 2000], [1.0, STALE, math.nan])
    with diff_server.running(find(major)) as server:
        server.write([series])
        answers = [server.query("x", base + at)["data"]["result"] for at in (500, 1500, 2500)]
        assert [[one["value"][1] for one in answer] for answer in answers] == [["1"], [], ["NaN"]]


def test_a_difference_is_found_shrunk_and_printed(monkeypatch, capsys):
    """Sums that are off by a millionth, in one job alone."""
    binary = find(2)
    original = differential.ours

    def wrong(engine, data, expr, times):
        answer = original(engine, data, expr, times)
        if "sum" in expr:
            answer.rows = {
                labels: [(at, value * (1 + 1e-6)) for at, value in points] for labels, points in answer.rows.items()
            }
        return answer

    monkeypatch.setattr(differential, "ours", wrong)
    differences, counts = differential.run(binary, 60, 5, "2", ["arrays"], show=1)
    text = capsys.readouterr().out
    assert differences
    assert counts["arrays: other values"]
    assert "def test_difference():" in text
    shrunk = text.split("shrunk to ")[1].split(" at (")[0]
    assert len(shrunk) < 40
    assert "sum" in shrunk


def test_expressions_are_promql():
    for version in ((2, 42), (3, 5), (3, 14)):
        expressions = diff_expressions.Expressions(Random(3), version, 0)
        for _ in range(500):
            parse(expressions.any())


def test_the_same_seed_gives_the_same():
    texts = [[diff_expressions.Expressions(Random(4), (3, 5), 0).any() for _ in range(5)] for _ in range(2)]
    assert texts[0] == texts[1]
    first, second = (diff_data.make_series(Random(4), 0) for _ in range(2))
    assert [(one.labels, one.times) for one in first] == [(one.labels, one.times) for one in second]
    assert any(is_stale(value) for one in first for value in one.values)


def test_shrinking():
    expr = "sum by (a) (rate(x_total[5m] offset 1m)) / max(y) + 3"
    assert diff_shrink.shrink_expression(expr, lambda text: "rate" in text) == "rate(x_total[5m])"
    series = [Series({"__name__": "x", "n": str(n)}, [1, 2, 3], [1.0, 2.0, float(n)]) for n in range(5)]

    def differs(candidate):
        return any(3 in one.values and 2 in one.times for one in candidate)

    (left,) = diff_shrink.shrink_series(series, differs)
    assert left.labels == (("__name__", "x"), ("n", "3"))
    assert len(left.times) == 2


def test_what_counts_as_a_difference():
    def answer(value, error=None):
        return differential.Answer(error, {} if error else {(): [(0, value)]}, [value], [])

    assert differential.difference("x", answer(1.0), answer(1.0 + 1e-10), 0) is None
    assert differential.difference("x", answer(1.0), answer(1.0 + 1e-8), 0) == "other values"
    assert differential.difference("x", answer(0.0), answer(1e-13), 1e-12) is None
    assert differential.difference("x", answer(math.nan), answer(math.nan), 0) is None
    assert differential.difference("x", answer(math.inf), answer(1e300), 0) == "other values"
    assert differential.difference("x", answer(0, "a"), answer(0, "b"), 0) is None
    assert differential.difference("x", answer(0, "a"), answer(0), 0) == "an error on one side"


def test_remote_write_is_protobuf_in_snappy():
    series = [Series({"__name__": "x"}, [300], [2.5])]
    request = diff_server.write_request(series, 0, 1000)
    label = b"\x0a\x08__name__\x12\x01x"
    sample = b"\x09" + struct.pack("<d", 2.5) + b"\x10\xac\x02"
    body = b"\x0a" + bytes([len(label)]) + label + b"\x12" + bytes([len(sample)]) + sample
    assert request == b"\x0a" + bytes([len(body)]) + body
    assert diff_server.snappy(b"abc") == b"\x03\xf4\x02\x00abc"
    assert diff_server.varint(300) == b"\xac\x02"


def test_differences_that_have_a_reason():
    def known(release, expr, **more):
        answers = [
            differential.Answer(more.get(side), {(): [(0, 1.0), (1, 1.0)]}, [], []) for side in ("mine", "other")
        ]
        return differential.is_known(release, expr, *answers)

    assert known((2, 42), "max_over_time((x @ 1)[1m:] offset -20s)")
    assert not known((2, 42), "max_over_time((x @ 1)[1m:] offset 20s)")
    assert not known((3, 5), "max_over_time(x[1m:] offset -20s)")
    assert known((3, 5), "info(x)")
    assert not known((3, 6), "info(x)")
    assert known((3, 5), "x > on (a) y", mine="multiple matches for labels")
    assert not known((3, 5), "x + on (a) y", mine="multiple matches for labels")
    assert known((3, 5), "rate(x[5m])", other="vector cannot contain metrics with the same labelset")
    assert not known((3, 14), "x > on (a) y", mine="multiple matches for labels")
