"""The documentation's examples run."""

import re
from pathlib import Path

DOC = (Path(__file__).parents[3] / "docs" / "testing.md").read_text(encoding="utf-8")
PICTURE = Path(__file__).with_name("test_failures.py").read_text(encoding="utf-8")

pytest_plugins = ["pytester"]

RULES = """groups:
- name: ours
  rules:
  - {alert: InstanceDown, expr: up == 0, for: 5m, annotations: {summary: x}}
"""
DOWN = """
from watchkeeper import *
UP = Gauge("acme_up", "Up.")
PACK = Pack((UP,), (Group("acme", [
    Alert("AcmeDown", expr="acme_up < 1", severity=Severity.INFO, team="acme", summary="down"),
]),))
"""


# The part about routes has a test of its own.
HERE = re.sub(r"^## Who is told$.*?(?=^## )", "", DOC, flags=re.DOTALL | re.MULTILINE)


def test_the_examples_pass(pytester):
    first, second = re.findall(r"```python\n(.*?)```", HERE, re.DOTALL)
    pytester.makefile(".toml", pyproject='[tool.watchkeeper]\ndefinitions = "watchkeeper_fleet.pack:PACK"\n')
    pytester.mkdir("rules").joinpath("ours.yaml").write_text(RULES)
    pytester.makepyfile(test_memory=first, test_others=DOWN + second)
    result = pytester.runpytest_inprocess("-p", "no:randomly", "-p", "no:xdist", "-p", "no:hypothesispytest")
    result.assert_outcomes(passed=4)


def test_the_picture_is_a_real_one():
    (picture,) = re.findall(r"```text\n(.*?)```", HERE, re.DOTALL)
    assert [line for line in picture.splitlines() if line not in PICTURE] == []
