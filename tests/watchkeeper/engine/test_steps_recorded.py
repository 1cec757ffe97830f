"""Answers of real servers, recorded: Prometheus 3.5.3 with and without delayed name removal, and 2.42.0.

`test_steps_recorded.json` holds the series and, for each expression and server, the answer at 900 s and over the range
from 300 to 1100 s in steps of 400. What has changed between 3.5 and 3.14 is named here, with the change's number.
"""

import json
import math
from pathlib import Path

import pytest

from watchkeeper.engine import Data, Engine, EvalError, Series
from watchkeeper.promql import ParseError

RECORDED = json.loads((Path(__file__).parent / "test_steps_recorded.json").read_text(encoding="utf-8"))
ENGINES = {
    "3": Engine(evaluator="steps"),
    "3 delayed": Engine(delayed_name_removal=True, evaluator="steps"),
    "2": Engine(compat="2", evaluator="steps"),
}
# Expressions whose answer is another one in 3.14.
CHANGED = {
    'g > on(inst) group_left(job) c_total{job="a"}': "#17668: matches are counted before a comparison filters",
    "(-g) > c_total": "a comparison does not forget that the name is to go",
    "round(c_total, 0.1) == c_total": "the same",
    'histogram_quantile(0.5, h_bucket or label_replace(h_bucket{le="1"}, "le", "1.0", "", ""))': "the name in an info",
    "last_over_time((-g)[5m:1m])": "#18409: nor does last_over_time of a subquery",
    "info(-g)": "#19413: nor does info",
    "limit_ratio(NaN, c_total)": "another message",
    "topk(NaN, g)": "another message",
}
# Parts of expressions that tell of a change or of what a server leaves to chance.
CHANGED_PARTS = {
    "mad_over_time(g": "#19040: NaN is not lost",
    "histogram_fraction(": "the first bucket starts at 0, or is not interpolated",
    "topk by (__name__) (1, abs(g))": "equal values, in the order of a Go map",
    'predict_linear(g{job="a"}[5m] @ 900': "2.42 loses samples of a fixed range",
}
_SPECIAL = {"NaN": math.nan, "+Inf": math.inf, "-Inf": -math.inf}


@pytest.fixture(scope="module")
def data():
    return Data(
        [
            Series(labels, [time * 1000 for time in times], [_SPECIAL.get(value, value) for value in values])
            for labels, times, values in RECORDED["data"]
        ]
    )


def number(text):
    return _SPECIAL[text] if text in _SPECIAL else float(text)


def key(labels):
    return tuple(sorted(labels.items()))


def same(a, b):
    return (a != a and b != b) or a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def close(expected, got):
    assert expected.keys() == got.keys()
    for labels, value in expected.items():
        if isinstance(value, dict):
            close(value, got[labels])
        else:
            assert same(value, got[labels]), (labels, value, got[labels])


def compare(answer, ask):
    if "error" in answer:
        with pytest.raises((EvalError, ParseError)) as caught:
            ask()
        if caught.type is EvalError and "found duplicate series" not in answer["error"]:
            assert str(caught.value) in answer["error"]
        return None
    result = ask()
    if "scalar" in answer:
        assert same(number(answer["scalar"]), result.value)
    elif "string" in answer:
        assert answer["string"] == result.value
    elif "vector" in answer:
        expected = {key(labels): number(value) for labels, value in answer["vector"]}
        close(expected, {sample.labels: sample.value for sample in result.samples})
    else:
        expected = {key(labels): {time: number(text) for time, text in row} for labels, row in answer["matrix"]}
        close(expected, {labels: dict(zip(times, values, strict=True)) for labels, times, values in result.series})
    return result


def annotations_alike(answer, result, compat):
    if compat == "2":
        assert result.warnings == result.infos == []
        return
    # Since 3.6 a name that is not known is not told, and since 3.14 sorting a range query warns.
    for kind, got in (("warnings", result.warnings), ("infos", result.infos)):
        expected = {text.replace(' for metric name ""', "") for text in answer.get(kind, [])}
        assert expected == {text for text in got if "sort is ineffective" not in text}


@pytest.mark.parametrize("row", RECORDED["answers"], ids=lambda row: row["expr"][:60])
def test_as_recorded(data, row):
    expr = row["expr"]
    if expr in CHANGED or any(part in expr for part in CHANGED_PARTS):
        return
    for compat, engine in ENGINES.items():
        answers = row.get(compat, row.get("3") if compat == "3 delayed" else None)
        if answers == "3":
            answers = row["3"]
        if answers is None:
            continue
        instant, ranged = answers
        result = compare(instant, lambda engine=engine: engine.instant(data, expr, 900.0))
        if result is not None:
            annotations_alike(instant, result, compat)
        result = compare(ranged, lambda engine=engine: engine.range(data, expr, 300.0, 1100.0, 400.0))
        if result is not None:
            annotations_alike(ranged, result, compat)


def test_what_has_changed_is_recorded():
    exprs = [row["expr"] for row in RECORDED["answers"]]
    assert set(CHANGED) <= set(exprs)
    for part in CHANGED_PARTS:
        assert any(part in expr for expr in exprs)
