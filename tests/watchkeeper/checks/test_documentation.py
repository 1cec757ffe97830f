"""Each check has a page with a bad and a good example; both run here: no page goes stale, no check is untested."""

import importlib
import re
from pathlib import Path

import pytest

from watchkeeper import Alert, Counter, Gauge, Group, Histogram, Info, Metric, Pack, Recording, Runbook, Severity, not_
from watchkeeper import checks as checks_package
from watchkeeper.project import build
from watchkeeper.settings import Settings, Targets

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "checks"
BLOCK = re.compile(r"^## (Bad|Good)\n.*?^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
CHECKS = [importlib.import_module(f"watchkeeper.checks.{name}") for name in checks_package.NAMES]


def findings(example, folder):
    """Run an example page's code as a module's, and return what the checks find in the pack of what it made."""
    names = {
        "Alert": Alert, "Counter": Counter, "Gauge": Gauge, "Group": Group, "Histogram": Histogram, "Info": Info,
        "Recording": Recording, "Severity": Severity, "not_": not_, "__name__": "example",
    }  # fmt: skip
    exec(compile(example, "example.py", "exec"), names)
    made = [value for value in names.values() if getattr(value, "place", None)]
    groups = tuple(value for value in made if isinstance(value, Group))
    grouped = {id(rule) for group in groups for rule in group.rules}
    pages = tuple(value for value in made if isinstance(value, Runbook))
    pack = Pack(
        runbooks=pages or None,
        metrics=tuple(value for value in made if isinstance(value, Metric)),
        groups=groups,
        dashboards=tuple(value for name, value in names.items() if name.endswith("dashboard")),
        loose=tuple(value for value in made if isinstance(value, (Alert, Recording)) and id(value) not in grouped),
    )
    targets = {key: tuple(map(int, version.split("."))) for key, version in names.get("targets", {}).items()}
    _, found = build(pack, Settings(root=folder, targets=Targets(**targets)))
    return found


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.ID)
def test_a_check_has_a_page_whose_examples_say_the_truth(check, tmp_path):
    page = (PAGES / f"{check.ID.replace('/', '-')}.md").read_text()
    assert page.startswith(f"# {check.ID}\n")
    examples = dict(BLOCK.findall(page))
    assert examples.keys() == {"Bad", "Good"}
    bad = [finding for finding in findings(examples["Bad"], tmp_path) if finding.check == check.ID]
    assert bad
    assert all(finding.place and finding.why + finding.fix for finding in bad)
    good = findings(examples["Good"], tmp_path)
    assert [finding.check for finding in good] == []  # of any check: a good example is good


def test_every_file_is_a_listed_check_and_every_page_is_of_one():
    files = {path.stem for path in Path(checks_package.__file__).parent.glob("[a-z]*.py")}
    assert files == set(checks_package.NAMES)
    assert {path.stem for path in PAGES.glob("*.md")} == {check.ID.replace("/", "-") for check in CHECKS}
    assert all(
        name.replace("_", "/", 1).replace("_", "-") == check.ID
        for check, name in zip(CHECKS, checks_package.NAMES, strict=True)
    )
    assert all(check.__doc__ for check in CHECKS)
