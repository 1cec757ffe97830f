"""Each check has a page with a bad and a good example; both run here: no page goes stale, no check is untested."""

import importlib
import re
from datetime import date
from pathlib import Path

import pytest

from watchkeeper import (
    Alert,
    Counter,
    Gauge,
    Group,
    Histogram,
    Info,
    Metric,
    Pack,
    Recording,
    Runbook,
    Severity,
    not_,
    routing,
)
from watchkeeper import checks as checks_package
from watchkeeper.building import build
from watchkeeper.files import check, read, waivers
from watchkeeper.settings import Settings, Targets
from watchkeeper.waivers import Waiver
from watchkeeper.waivers.held import apply, of_definitions

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "checks"
BLOCK = re.compile(r"^## (Bad|Good)\n.*?^```(python|yaml|json)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Pages with settings or commands in their examples are run by cli/test_pages.py.
IDS = [check for check in checks_package.ids() if not check.startswith(("policy/", "dashboard/folder"))]
CHECKS = [importlib.import_module(f"watchkeeper.checks.{name}") for name in checks_package.NAMES]


def findings(language, example, folder):
    if language == "python":
        return findings_of_definitions(example, folder)
    # One file, or several: each begins with a comment that is its name.
    parts = re.split(r"^# (\w+\.(?:ya?ml|json))\n", example, flags=re.MULTILINE)
    files = dict(zip(parts[1::2], parts[2::2], strict=True)) if len(parts) > 1 else {f"example.{language}": example}
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return findings_in_files([str(folder / name) for name in files], folder)


def findings_in_files(names, folder):
    contents = read(names, lambda items, *_: items)
    _, found = check(contents, Settings(root=folder, targets=Targets.newest()))
    held, faults = waivers(contents)
    kept, _ = apply([*found, *faults], held, date(2026, 12, 1))
    return kept


def findings_of_definitions(example, folder):
    """Run an example page's code as a module's, and return what the checks find in the pack of what it made."""
    names = {
        "Alert": Alert, "Counter": Counter, "Gauge": Gauge, "Group": Group, "Histogram": Histogram, "Info": Info,
        "Recording": Recording, "Severity": Severity, "Waiver": Waiver, "not_": not_, "__name__": "example",
        **{name: getattr(routing, name) for name in routing.__all__},
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
        routing=next((value for value in made if isinstance(value, routing.Routing)), None),
    )
    targets = {key: tuple(map(int, version.split("."))) for key, version in names.get("targets", {}).items()}
    _, found = build(pack, Settings(root=folder, targets=Targets(**targets)))
    held, faults = of_definitions(pack, checks_package.ids())
    return apply([*found, *faults], held, date(2026, 12, 1))[0]


@pytest.mark.parametrize("check", IDS)
def test_a_check_has_a_page_whose_examples_say_the_truth(check, tmp_path):
    page = (PAGES / f"{check.replace('/', '-')}.md").read_text()
    assert page.startswith(f"# {check}\n")
    examples = {word: (language, text) for word, language, text in BLOCK.findall(page)}
    assert examples.keys() == {"Bad", "Good"}
    bad = [finding for finding in findings(*examples["Bad"], tmp_path / "bad") if finding.check == check]
    assert bad
    assert all(finding.place and finding.why + finding.fix for finding in bad)
    good = findings(*examples["Good"], tmp_path / "good")
    assert [finding.check for finding in good] == []  # of any check: a good example is good


def test_every_file_is_a_listed_check_and_every_page_is_of_one():
    files = {path.stem for path in Path(checks_package.__file__).parent.glob("[a-z]*.py")}
    assert files == set(checks_package.NAMES)
    pages = {path.stem for path in PAGES.glob("*.md")} - {"README"}
    assert pages == {check.replace("/", "-") for check in (*checks_package.ids(), *checks_package.COMMANDS)}
    assert all(
        name.replace("_", "/", 1).replace("_", "-") == check.ID
        for check, name in zip(CHECKS, checks_package.NAMES, strict=True)
    )
    assert all(check.__doc__ for check in CHECKS)
