"""The cases of Prometheus' own parser test that are handed out as data beside the repository."""

import json
from pathlib import Path

import pytest

from watchkeeper.promql import ParseError, parse

SHARED = Path(__file__).resolve().parents[4] / "shared" / "promql"

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared PromQL cases are not beside this repository")


def cases():
    path = SHARED / "parse_cases.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []


@pytest.mark.parametrize("case", cases(), ids=lambda case: ascii(case["input"])[:60])
def test_parse_case(case):
    if case["fail"]:
        with pytest.raises(ParseError) as caught:
            parse(case["input"])
        assert 0 <= caught.value.position <= caught.value.end <= len(case["input"])
    else:
        parse(case["input"])


@pytest.mark.parametrize("name", ["cases_float.jsonl", "cases_native_histogram.jsonl"])
def test_evaluated_expressions_parse(name):
    with (SHARED / name).open(encoding="utf-8") as lines:
        expressions = {case["expr"] for case in map(json.loads, lines) if case["type"] == "eval"}
    assert expressions
    for expression in expressions:
        parse(expression)
