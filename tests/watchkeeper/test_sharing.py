"""Rules checked a part at a time, in other processes: the findings are those of one process."""

import os

import pytest

from watchkeeper import files
from watchkeeper.settings import Settings, Targets
from watchkeeper.spread import FEW

RULE = """
      - alert: Alert{n}
        expr: sum by (gpu) (rate(errors_total[5m])) > {n}
        annotations:
          summary: "{{{{ $labels.instance }}}} has {{{{ $value }}}}"
          description: fine
"""
BROKEN = """
      - alert: Broken{n}
        expr: "rate(errors_total[5m]) >"
"""


@pytest.fixture
def checked(tmp_path, monkeypatch):
    def checked(numbers, cores):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
        for name, count in numbers.items():
            rules = [(BROKEN if n % 97 == 5 else RULE).format(n=n) for n in range(count)]
            (tmp_path / name).write_text(f"groups:\n  - name: g\n    rules:{''.join(rules)}")
        contents = files.read([str(tmp_path / name) for name in numbers], lambda items, *_: items)
        project, found = files.check(contents, Settings(root=tmp_path, targets=Targets.newest()))
        return contents, project, found

    return checked


@pytest.mark.parametrize("numbers", [{"a.yml": 30 * FEW}, {"a.yml": 15 * FEW + 7, "b.yml": 15 * FEW}])
def test_the_findings_are_those_of_one_process(checked, numbers):
    _, _, alone = checked(numbers, cores=1)
    _, _, shared = checked(numbers, cores=3)
    assert [finding.check for finding in alone if finding.severity == "error"]
    assert shared == alone  # places, messages and excerpts
    assert len({id(finding.excerpt.text) for finding in shared if finding.excerpt}) <= 2 * len(numbers)


def test_rules_are_parsed_in_children(checked):
    _, project, _ = checked({"a.yml": 30 * FEW}, cores=2)
    parsed = 0
    for rule in project.groups[0].rules:
        try:
            object.__getattribute__(rule.expression, "tree")
        except AttributeError:  # nobody has asked in this process
            continue
        parsed += 1
    assert parsed == 0
