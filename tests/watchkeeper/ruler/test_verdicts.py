"""promtool's verdict on each file of verdicts/, recorded by verdicts/record.py, is ours: the same assertions fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from watchkeeper.ruler.rules import RuleError
from watchkeeper.ruler.unit import failures, load, testfile, verdict

HERE = Path(__file__).parent / "verdicts"
CASES = json.loads((HERE / "verdicts.json").read_text())["cases"]

# A test of an alert that no rule has passes in promtool as long as it expects none. Ours says that there is no such.
UNKNOWN_ALERTS = {
    f"{name}.test" for name in ("matching_error", "record_name_tested", "unknown_alert", "unknown_alert_expected")
}


def test_the_table_is_large_and_whole():
    assert len(CASES) >= 60
    assert sorted(CASES) == sorted(path.name for path in HERE.glob("*.test"))
    assert 0.25 < sum(case["ok"] for case in CASES.values()) / len(CASES) < 0.75


def judged(name: str, mode: str) -> list[list[object]] | None:
    """The failures of a file as they are recorded; None for one that can't be loaded."""
    found: list[list[object]] = []
    try:
        file = testfile.read(str(HERE / name))
        verdict.check_values(file)
        loaded = load.load(file)
        for test in file.tests:
            found += [shown(failure) for failure in verdict.run(file, test, loaded, mode).failures]
    except RuleError:
        return None
    return found


def shown(failure: object) -> list[object]:
    if isinstance(failure, failures.AlertFailure):
        return ["alert", failure.case.name, failure.case.eval_ms // 1000, ""]
    if isinstance(failure, failures.ExprFailure):
        return ["expr", failure.case.expr, failure.case.eval_ms // 1000, failure.error]
    if isinstance(failure, failures.RuleFailure):
        return ["rule", failure.error.rule.name, int(failure.error.time), failure.error.message]
    assert isinstance(failure, failures.UnknownAlert)
    return ["unknown", failure.case.name, failure.case.eval_ms // 1000, ""]


@pytest.mark.parametrize("mode", ["", "whole", "arrays", "steps"])
@pytest.mark.parametrize("name", sorted(CASES.keys() - UNKNOWN_ALERTS))
def test_the_verdict_is_promtools(name, mode):
    case = CASES[name]
    found = judged(name, mode)
    assert (found is not None) == case["loads"]
    assert sorted(key(one) for one in found or ()) == sorted(key(one) for one in case["failures"])
    # Which of two duplicates is named first is no promise of Prometheus'.
    mine = {key(one): one[3] for one in found or () if one[0] == "rule" and "duplicate series" not in one[3]}
    assert mine.items() <= {key(one): one[3] for one in case["failures"]}.items()


def key(failure: list[object]) -> tuple[object, ...]:
    return tuple(failure[:3])


@pytest.mark.parametrize("name", sorted(UNKNOWN_ALERTS))
def test_an_unknown_alert_fails(name):
    found = judged(name, "")
    assert found
    assert {one[0] for one in found} == {"unknown"}
